//! More VMs than a card has VM-IDs come, ask and go at random, some of them while the card works for them: what holds
//! whatever the order.

use std::collections::BTreeSet;

use airlane_lane::Admission;
use airlane_waist::{ScanChannel, ScanRequest};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

const LANES: usize = 20;
/// Each with an engine of its own, so that VM-IDs that are lost early do not hide those that are lost late.
const ROUNDS: u64 = 12;
const STEPS: usize = 400;

/// One lane's VMs, as they see it.
#[derive(Clone, Copy, Default)]
struct Visitor {
    is_in: bool,
    /// Of the lane's VMs, which this is; counted from 1, modulo 256.
    visit: u8,
    /// Resets asked for whose end was not told yet.
    resets: u32,
}

struct Bustle {
    wifi: Wifi,
    lanes: Vec<LaneId>,
    visitors: [Visitor; LANES],
    random: SmallRng,
    now: Instant,
}

impl Bustle {
    fn new(seed: u64) -> Self {
        let (wifi, lanes) = lanes(LANES);
        Self {
            wifi,
            lanes,
            visitors: [Visitor::default(); LANES],
            random: SmallRng::seed_from_u64(seed),
            now: NOW,
        }
    }

    fn act(&mut self) {
        let number = self.random.random_range(0..LANES);
        self.now += Micros(self.random.random_range(0..20_000));
        let is_in = self.visitors[number].is_in;
        match self.random.random_range(0..12) {
            0..=2 if !is_in => self.come(number),
            0 | 1 => self.go(number),
            3 | 4 => {
                let budget = self.random.random_range(1..20);
                let _ = self.wifi.run(self.now, budget);
            }
            5 => {
                self.wifi.step(self.now);
            }
            _ => self.ask(number),
        }
    }

    fn come(&mut self, number: usize) {
        let is_full = self.visitors.iter().filter(|it| it.is_in).count() == MAX_VMS;
        match self.wifi.admit(self.now, self.lanes[number]) {
            Admission::Admitted => {
                let visitor = &mut self.visitors[number];
                visitor.is_in = true;
                visitor.visit = visitor.visit.wrapping_add(1);
            }
            Admission::Later => assert!(!is_full, "nobody leaves"),
            Admission::Refused(reason) => assert!(is_full, "{reason}"),
        }
    }

    fn go(&mut self, number: usize) {
        self.wifi.dismiss(self.now, self.lanes[number]);
        self.visitors[number].is_in = false;
    }

    /// The tag says who asks.
    fn ask(&mut self, number: usize) {
        let command = match self.random.random_range(0..6) {
            0 => Command::Reset,
            1 => Command::Initialize,
            2 => Command::Statistics { clear: true },
            3 => Command::AbortScan,
            4 => Command::Flush(u32::MAX),
            _ => Command::Scan(Box::new(scan())),
        };
        let visitor = &mut self.visitors[number];
        visitor.resets += u32::from(matches!(command, Command::Reset));
        let tag = tag(number, visitor.visit);
        let request = Request { tag, command };
        self.wifi.request(self.now, self.lanes[number], request);
    }

    /// No VM-ID is held twice, and every VM that was admitted holds one.
    fn check_vm_ids(&self) {
        let mut held = BTreeSet::new();
        for (&lane, visitor) in self.lanes.iter().zip(&self.visitors) {
            let vm = self.wifi.vm(lane);
            assert_eq!(vm.is_some(), visitor.is_in, "lane {lane}");
            assert!(vm.is_none_or(|vm| held.insert(vm)), "lane {lane}");
        }
    }

    /// Who is there hears answers to what it has asked for itself, who is not hears the end of resets alone.
    fn hear(&mut self) {
        for (number, visitor) in self.visitors.iter_mut().enumerate() {
            while let Some(event) = self.wifi.next_event(self.lanes[number]) {
                match event {
                    Event::ResetDone => {
                        let left = visitor.resets.checked_sub(1);
                        visitor.resets = left.expect("the reset was asked for");
                    }
                    other => {
                        assert!(visitor.is_in, "lane {number} hears {other:?}");
                        if let Event::Done(heard, _) = other {
                            assert_eq!(heard, tag(number, visitor.visit));
                        }
                    }
                }
            }
        }
    }

    /// All go; nothing is left of them.
    fn close(mut self) {
        for number in 0..LANES {
            self.go(number);
        }
        self.wifi.step(self.now);
        self.hear();
        assert!(self.visitors.iter().all(|it| it.resets == 0));
        for (number, &lane) in self.lanes.iter().take(MAX_VMS).enumerate() {
            assert_eq!(self.wifi.attach(lane).map(|vm| vm.index()), Ok(number));
        }
        let nic = self.wifi.cards()[0].nic();
        assert_eq!(nic.counters().broken_invariants, 0);
    }
}

fn tag(lane: usize, visit: u8) -> Tag {
    Tag(u16::from_be_bytes([lane as u8, visit]))
}

fn scan() -> ScanRequest {
    let channels = [36, 40, 44].map(|number| ScanChannel {
        channel: Channel::new(Band::Ghz5, number).unwrap(),
        active: true,
        dwell: Micros(20_000),
    });
    ScanRequest {
        channels: channels.to_vec(),
        probe: vec![0x40; 40],
        ssids: Vec::new(),
        rate: Rate::OFDM_6,
        max_away: Micros(0),
        filter: ReceiveFilter::all(),
    }
}

#[test]
fn whatever_vms_do_no_vm_id_is_lost_or_held_twice_and_nobody_hears_anothers_answers() {
    for seed in 0..ROUNDS {
        let mut bustle = Bustle::new(seed);
        for _ in 0..STEPS {
            bustle.act();
            bustle.check_vm_ids();
            bustle.hear();
        }
        bustle.close();
    }
}
