//! Sleep of the radio (Virtual WiFi, section 3.3, "power save command"). While the schedule that all VMs agree to
//! allows it, the card tells the access point of each idle vMAC that its station sleeps, and turns the radio off
//! between the beacons that somebody must hear (IEEE 802.11-2020 11.2.3): every DTIM, and as many others as the
//! shortest sleep asks for. What a traffic map promises is fetched by saying that the station is awake; a PS-Poll
//! has no way to hostapd on hwsim, whose transport takes no frame that short.
//!
//! Not here: whose wish counts (the host driver), absence for another channel (the schedule). With networks on
//! several channels one of them needs the radio nearly always: it stays awake.

use airlane_air::Outcome;
use airlane_dot11::Channel;
use airlane_lane::{Instant, Micros, VmId};
use airlane_waist::{Mode, PowerSave};

use crate::channel::context::same;
use crate::nic::Nic;
use crate::phy::Phy;
use crate::vmac::Vmac;

/// How long before its time the radio is on for a beacon.
const LEAD: Micros = Micros::from_millis(2);
/// Time for what an access point had handed to its transmitter before it learned that its station sleeps.
const LINGER: Micros = Micros::from_millis(2);

/// What the radio is doing. Edges: `Off ⇄ Awake ⇄ Asleep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// There is no vMAC.
    #[default]
    Off,
    Awake,
    Asleep,
}

/// Time that the radio has spent awake and asleep. Neither while there was no vMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AwakeTime {
    /// On: it heard, or could have heard.
    pub awake: Micros,
    /// Off between beacons.
    pub asleep: Micros,
    /// How often it fell asleep.
    pub naps: u64,
}

/// The sleep of one radio.
#[derive(Default)]
pub(crate) struct Doze {
    state: State,
    since: Instant,
    spent: AwakeTime,
    /// When an access point has last learned that a station sleeps.
    told_at: Instant,
    /// Some access point may believe that its station sleeps.
    told: bool,
}

impl Doze {
    /// Since when the radio has been on the channel where it is tuned since `tuned`; `None` while it is not.
    pub(crate) fn present_since(&self, tuned: Option<Instant>) -> Option<Instant> {
        let on = (self.state != State::Asleep).then_some(self.since);
        on.zip(tuned).map(|(on, tuned)| on.max(tuned))
    }

    /// The radio gets its first vMAC, or loses its last one.
    pub(crate) fn turn(&mut self, now: Instant, on: bool) {
        match (on, self.state) {
            (true, State::Off) => self.go(now, State::Awake),
            (false, State::Awake) => self.go(now, State::Off),
            _ => {}
        }
    }

    /// Time spent up to now.
    pub(crate) fn spent(&self, now: Instant) -> AwakeTime {
        let mut spent = self.spent;
        match self.state {
            State::Off => {}
            State::Awake => spent.awake += now.saturating_since(self.since),
            State::Asleep => spent.asleep += now.saturating_since(self.since),
        }
        spent
    }

    fn go(&mut self, now: Instant, state: State) {
        self.spent = self.spent(now);
        self.spent.naps += u64::from(state == State::Asleep);
        (self.state, self.since) = (state, now);
    }
}

impl Nic {
    /// Time that the radio has spent awake and asleep.
    pub fn awake_time(&self, now: Instant) -> AwakeTime {
        self.doze.spent(now)
    }

    /// True while the radio may sleep, or an access point believes that one of its stations does.
    pub(crate) fn saves_power(&self) -> bool {
        self.power.enabled || self.doze.told
    }

    /// Lets the radio and the stations of its vMACs sleep or wake; says when to look again.
    pub(crate) fn rest<M: Phy>(&mut self, now: Instant, air: &mut M) -> Option<Instant> {
        // Without power save nothing is looked at for each frame.
        if !self.saves_power() || !self.schedule.is_open() {
            return None;
        }
        self.rouse(now, air, |vmac| vmac.pending() > 0);
        if self.schedule.scanning().is_some() || self.sweep.stop().is_some() {
            self.rise(now, air);
            return None;
        }
        if !self.may_rest(now) {
            self.rise(now, air);
            self.rouse(now, air, |_| true);
            self.doze.told = self.power.enabled;
            let mut joining = self.active().map(|(_, vmac)| vmac.joining_until(now));
            return joining.by_ref().flatten().min();
        }
        let idle = self.let_stations_sleep(now, air);
        Instant::earlier(idle, self.let_radio_sleep(now, air))
    }

    /// True when nobody needs the radio all the time.
    fn may_rest(&self, now: Instant) -> bool {
        let mut home: Option<Channel> = None;
        let mut vmacs = self.active();
        self.power.enabled
            && vmacs.all(|(_, vmac)| {
                let channel = vmac.channel().filter(|_| vmac.bssid().is_some());
                let elsewhere =
                    channel.is_some_and(|channel| home.is_some() && !same(home, channel));
                home = home.or(channel);
                !elsewhere && vmac.joining_until(now).is_none() && vmac.may_rest()
            })
    }

    /// Tells the access points that these stations are awake.
    fn rouse<M: Phy>(&mut self, now: Instant, air: &mut M, which: impl Fn(&Vmac) -> bool) {
        for vm in VmId::all() {
            let here = self.schedule.here();
            let roused = self.vmac_mut(vm).filter(|vmac| {
                let there = vmac.channel().is_some_and(|channel| same(here, channel));
                there && vmac.told_away && which(vmac)
            });
            let Some(vmac) = roused else {
                continue;
            };
            vmac.roused_at = now;
            vmac.beacons.fetch();
            self.rise(now, air);
            self.tell(now, vm, false, air);
        }
    }

    /// Tells the access points of idle vMACs that their stations sleep; gives when the next one is idle.
    fn let_stations_sleep<M: Phy>(&mut self, now: Instant, air: &mut M) -> Option<Instant> {
        self.rouse(now, air, |vmac| vmac.beacons.promises_frames());
        let power = self.power;
        let mut next = None;
        for vm in VmId::all() {
            let awake = |vmac: &&Vmac| vmac.associated() && !vmac.told_away;
            let idle = self.vmac(vm).filter(awake).and_then(|v| v.idle_at(&power));
            match idle {
                Some(at) if at <= now => {
                    self.doze.told = true;
                    self.tell(now, vm, true, air);
                }
                Some(at) => next = Instant::earlier(next, Some(at)),
                None => {}
            }
        }
        next
    }

    /// Turns the radio off until the next beacon that somebody must hear, or on for it.
    fn let_radio_sleep<M: Phy>(&mut self, now: Instant, air: &mut M) -> Option<Instant> {
        let associated = |vmac: &Vmac| vmac.associated();
        let all_told = self
            .active()
            .all(|(_, vmac)| !associated(vmac) || vmac.told_away);
        if !all_told || self.flights.len() > 0 || self.doze.state == State::Off {
            return None;
        }
        let group = self
            .active()
            .map(|(_, vmac)| vmac.beacons.group_until())
            .max();
        let stay = group.unwrap_or_default().max(self.doze.told_at);
        if self.doze.state == State::Awake && now < stay {
            return Some(stay);
        }
        match self.next_call() {
            Some(call) if call <= now => {
                self.rise(now, air);
                self.beacon_deadline()
            }
            call => {
                self.fall_asleep(now, air);
                call
            }
        }
    }

    /// When the radio must be on for a beacon.
    fn next_call(&self) -> Option<Instant> {
        let from = self.since();
        let vmacs = self.active().filter(|(_, vmac)| vmac.associated());
        let calls = vmacs.filter_map(|(_, vmac)| {
            let longest = vmac.longest_sleep(&self.power);
            vmac.beacons.needed(from, longest)
        });
        calls.min().map(|at| at.saturating_sub(LEAD))
    }

    /// Since when the radio does what it does, here: beacons before that are none of its business.
    fn since(&self) -> Instant {
        let here = self.schedule.here();
        let tuned = here.and_then(|here| self.schedule.present_since(here));
        self.doze.since.max(tuned.unwrap_or_default())
    }

    /// When the first of the awaited beacons counts as missed.
    fn beacon_deadline(&self) -> Option<Instant> {
        let here = Some(self.since());
        let vmacs = self.active().filter(|(_, vmac)| vmac.associated());
        vmacs
            .filter_map(|(_, vmac)| vmac.beacons.deadline(here))
            .min()
    }

    fn fall_asleep<M: Phy>(&mut self, now: Instant, air: &mut M) {
        if self.doze.state == State::Awake {
            self.doze.go(now, State::Asleep);
            air.tune(now, self.radio, None);
        }
    }

    /// Turns the radio on, if it sleeps.
    pub(crate) fn rise<M: Phy>(&mut self, now: Instant, air: &mut M) {
        if self.doze.state == State::Asleep {
            self.doze.go(now, State::Awake);
            air.tune(now, self.radio, self.schedule.here());
        }
    }

    /// An access point has been told, or could not be.
    pub(crate) fn announced(&mut self, now: Instant, vm: VmId, sleeps: bool, outcome: Outcome) {
        let heard = outcome == Outcome::Acknowledged;
        self.counters.unheard_announcements += u64::from(!heard);
        // Where the radio leaves for another channel, nobody is left to try again.
        if !sleeps || !self.schedule.is_open() {
            return;
        }
        self.doze.told_at = now + LINGER;
        if let Some(vmac) = self.vmac_mut(vm).filter(|_| !heard) {
            (vmac.told_away, vmac.roused_at) = (false, now);
        }
    }
}

impl Vmac {
    /// True when it can do without the radio between beacons.
    fn may_rest(&self) -> bool {
        let Some(config) = &self.config else {
            return true;
        };
        let regular = match self.bssid() {
            None => self.pending() == 0,
            Some(_) => self.associated() && self.beacons.are_regular(),
        };
        config.mode == Mode::Station && regular && self.switch.is_none() && !self.listens_to_all()
    }

    /// When it counts as idle; `None` while something waits or is on the air.
    fn idle_at(&self, power: &PowerSave) -> Option<Instant> {
        let quiet = self.pending() == 0 && self.in_air.iter().all(|&frames| frames == 0);
        let received = self.received_at.max(self.roused_at) + power.receive_timeout;
        quiet.then(|| received.max(self.sent_at + power.transmit_timeout))
    }

    /// Beacons from one that it hears to the next: no more than its access point keeps frames for.
    fn longest_sleep(&self, power: &PowerSave) -> u32 {
        let asked = power.sleep_interval.max(1);
        match self.timing.listen_interval {
            0 => asked,
            listen => asked.min(listen.into()),
        }
    }
}
