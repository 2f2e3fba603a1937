//! One card, some access points, one clock.

use std::collections::VecDeque;

use airlane_air::{Air, AirConfig, AirEvent, Heard, Position, RadioConfig, RadioId, Transmission};
use airlane_dma::{Frame, Memory};
use airlane_dot11::frame::{FrameControl, FrameKind, Header};
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use airlane_waist::VmId;
use airlane_waist::*;

use crate::nic::Nic;

pub(super) const KEY: [u8; 16] = [0x11; 16];

/// An access point: acknowledges, remembers, beacons, keeps frames for stations that sleep.
pub(super) struct Ap {
    pub(super) radio: RadioId,
    pub(super) bssid: MacAddr,
    pub(super) channel: Channel,
    pub(super) heard: Vec<Buffer>,
    pub(super) asleep: Vec<MacAddr>,
    kept: VecDeque<(MacAddr, Buffer)>,
    next_beacon: Instant,
}

pub(super) struct World {
    pub(super) air: Air,
    pub(super) nic: Nic,
    pub(super) aps: Vec<Ap>,
    pub(super) now: Instant,
    pub(super) events: Vec<(VmId, Event)>,
    /// Visits answered.
    pub(super) slots_done: usize,
    slots: VecDeque<ScanSlot>,
    /// How often the card's own timers, and nothing else, have moved the clock.
    pub(super) wakes: u64,
    memory: Memory,
    at: u64,
    tag: u16,
    token: u64,
}

pub(super) fn vm(number: usize) -> VmId {
    VmId::new(number).unwrap()
}

pub(super) fn own(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number as u8 + 1])
}

pub(super) fn bssid(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number as u8])
}

pub(super) fn channel(number: u16) -> Channel {
    Channel::new(Band::Ghz5, number).unwrap()
}

const MEMORY: u64 = 1 << 20;

impl World {
    /// A card, and one access point per channel number.
    pub(super) fn new(channels: &[u16]) -> Self {
        Self::on(AirConfig::default(), channels)
    }

    /// The same on another medium.
    pub(super) fn on(air: AirConfig, channels: &[u16]) -> Self {
        let mut air = Air::new(AirConfig { seed: 7, ..air });
        let card = air.add_radio(radio("card"));
        let aps = channels.iter().enumerate();
        let aps = aps.map(|(n, &number)| Ap {
            radio: air.add_radio(radio("ap")),
            bssid: bssid(n),
            channel: channel(number),
            heard: Vec::new(),
            asleep: Vec::new(),
            kept: VecDeque::new(),
            next_beacon: Instant(1_000 + 7_000 * n as u64),
        });
        let aps: Vec<Ap> = aps.collect();
        for ap in &aps {
            air.tune(Instant(0), ap.radio, Some(ap.channel));
            air.set_addresses(ap.radio, &[ap.bssid]);
        }
        Self {
            air,
            nic: Nic::new(card),
            aps,
            now: Instant(0),
            events: Vec::new(),
            slots_done: 0,
            slots: VecDeque::new(),
            wakes: 0,
            memory: Memory::anonymous(MEMORY).unwrap(),
            at: 0,
            tag: 0,
            token: 1 << 60,
        }
    }

    /// Asks and lets the NIC answer; gives the tag.
    pub(super) fn ask(&mut self, number: usize, command: VifCommand) -> Tag {
        self.tag = self.tag.wrapping_add(1);
        self.request(NicRequest::Vif(vm(number), Tag(self.tag), command));
        Tag(self.tag)
    }

    /// Asks what the host driver alone asks for, or anything else; gives what that is answered at once, if it is for
    /// the host driver.
    pub(super) fn request(&mut self, request: NicRequest) -> Option<NicEvent> {
        self.nic.request(self.now, request, &mut self.air);
        self.collect()
    }

    /// The VM takes part in the scan no longer.
    pub(super) fn leave_scan(&mut self, number: usize) -> Result<(), Refusal> {
        match self.request(NicRequest::LeaveScan(vm(number))) {
            Some(NicEvent::LeftScan(owner, left)) if owner == vm(number) => left,
            other => panic!("answered at once: {other:?}"),
        }
    }

    /// Asks and gives the answer.
    pub(super) fn answer(&mut self, number: usize, command: VifCommand) -> Reply {
        let tag = self.ask(number, command);
        let found = self.events.iter().find_map(|(owner, event)| match event {
            Event::Done(known, reply) if *known == tag && *owner == vm(number) => Some(reply),
            _ => None,
        });
        found.expect("answered at once").clone()
    }

    /// Brings a vMAC up and associates it with access point `ap`.
    pub(super) fn join(&mut self, number: usize, ap: usize) {
        assert_eq!(self.answer(number, VifCommand::Initialize), Reply::Ok);
        self.configure(number, |_| {}, Some(ap));
        let timing = Timing {
            beacon_interval: 100,
            listen_interval: 1,
            dtim_period: 1,
        };
        self.ask(number, VifCommand::Timing(timing));
        self.ask(
            number,
            VifCommand::AddStation(StationIndex(0), bssid(ap), PeerHt::default()),
        );
        self.ask(
            number,
            VifCommand::RateTable(
                StationIndex(0),
                Box::new(ladder()),
                AggregationLimits::default(),
            ),
        );
    }

    /// Configures with `change` applied to an associated station's configuration.
    pub(super) fn configure(
        &mut self,
        number: usize,
        change: impl FnOnce(&mut VifConfig),
        ap: Option<usize>,
    ) -> Reply {
        let mut configuration = VifConfig {
            address: own(number),
            bssid: ap.map(bssid).unwrap_or_default(),
            mode: Mode::Station,
            channel: ap.map_or(channel(36), |ap| self.aps[ap].channel),
            associated: ap.is_some(),
            association_id: 1,
            filter: ReceiveFilter::GROUP,
            short_slot: true,
            short_preamble: true,
            protect: false,
            forget_stations: false,
        };
        change(&mut configuration);
        self.answer(number, VifCommand::Configure(Box::new(configuration)))
    }

    pub(super) fn set_key(&mut self, number: usize, index: u8, group: bool, bytes: [u8; 16]) {
        let key = Key {
            station: StationIndex(0),
            slot: index + if group { 4 } else { 0 },
            index,
            group,
            cipher: Cipher::Ccmp,
            bytes,
        };
        assert_eq!(
            self.answer(number, VifCommand::SetKey(Box::new(key))),
            Reply::Ok
        );
    }

    /// Puts `bytes` into guest memory and asks to send them.
    pub(super) fn send(
        &mut self,
        number: usize,
        bytes: &[u8],
        change: impl FnOnce(&mut Transmit),
    ) -> Tag {
        if self.at + bytes.len() as u64 > MEMORY {
            self.at = 0;
        }
        self.memory.write(self.at, bytes).unwrap();
        let frame = Frame::new(&mut self.memory, [(self.at, bytes.len())]).unwrap();
        self.at += bytes.len() as u64;
        let mut transmit = Transmit {
            frame,
            queue: 2,
            category: AccessCategory::BestEffort,
            station: StationIndex(0),
            acknowledge: true,
            assign_sequence: true,
            protect: false,
            aggregate: false,
            rate: TxRate::Table,
            cipher: TxCipher::None,
            retry_limit: 7,
        };
        change(&mut transmit);
        self.ask(number, VifCommand::Transmit(transmit))
    }

    /// Lets virtual time pass.
    pub(super) fn run(&mut self, span: Micros) {
        let end = self.now + span;
        loop {
            let wake = self.nic.step(self.now, &mut self.air);
            let before = self.slots_done;
            self.collect();
            let beacon = self.beacons();
            let air = self.air.step(self.now);
            if self.route() || before != self.slots_done {
                continue;
            }
            let next = [wake, air, beacon].into_iter().flatten().min();
            let next = next.unwrap_or(end).max(self.now);
            if next > end || self.now >= end {
                break;
            }
            let others = [air, beacon].into_iter().flatten().min();
            self.wakes += u64::from(others.is_none_or(|others| others > next));
            self.now = next;
        }
        self.now = end;
    }

    fn route(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.air.next_event() {
            any = true;
            let radio = event.radio();
            if let Some(at) = self.aps.iter().position(|ap| ap.radio == radio) {
                self.at_ap(at, event);
            } else {
                self.nic.air_event(self.now, &event);
            }
        }
        self.collect();
        any
    }

    /// Has the card listen in these scan slots, one after the other, as the host driver does.
    pub(super) fn scan(&mut self, slots: Vec<ScanSlot>) {
        self.slots.extend(slots);
        self.next_slot();
    }

    fn next_slot(&mut self) {
        let Some(slot) = self.slots.pop_front() else {
            return;
        };
        let request = NicRequest::ScanSlot(Box::new(slot));
        self.nic.request(self.now, request, &mut self.air);
    }

    fn collect(&mut self) -> Option<NicEvent> {
        let mut for_host = None;
        while let Some(event) = self.nic.next_event() {
            match event {
                NicEvent::Vif(vm, event) => self.events.push((vm, event)),
                other => {
                    if matches!(other, NicEvent::ScanDone(Ok(()))) {
                        self.slots_done += 1;
                        self.next_slot();
                    }
                    for_host = Some(other);
                }
            }
        }
        for_host
    }

    fn at_ap(&mut self, at: usize, event: AirEvent) {
        let AirEvent::Received(Heard { frame, .. }) = event else {
            return;
        };
        let Ok(header) = Header::parse(&frame) else {
            return;
        };
        let ap = &mut self.aps[at];
        if header.receiver != ap.bssid && !header.receiver.is_group() {
            return;
        }
        if header.receiver == ap.bssid && header.is_data() {
            let from = header.transmitter.unwrap();
            ap.asleep.retain(|&station| station != from);
            if header.control.contains(FrameControl::POWER_MANAGEMENT) {
                ap.asleep.push(from);
            }
        }
        ap.heard.push(frame);
        let awake: Vec<Buffer> = {
            let asleep = ap.asleep.clone();
            let (out, kept) = std::mem::take(&mut ap.kept)
                .into_iter()
                .partition(|(to, _)| !asleep.contains(to));
            ap.kept = kept;
            let out: VecDeque<_> = out;
            out.into_iter().map(|(_, frame)| frame).collect()
        };
        for frame in awake {
            self.ap_sends(at, frame);
        }
    }

    /// Access point `at` sends `frame`, or keeps it while its receiver sleeps.
    pub(super) fn ap_sends(&mut self, at: usize, frame: Buffer) {
        let header = Header::parse(&frame).unwrap();
        let ap = &mut self.aps[at];
        if ap.asleep.contains(&header.receiver) {
            ap.kept.push_back((header.receiver, frame));
            return;
        }
        self.token += 1;
        let rate = Rate::Ofdm(OfdmRate::M24);
        let mut transmission = Transmission::new(self.token, frame, ap.channel, rate);
        transmission.acknowledge = !header.receiver.is_group();
        self.air.transmit(self.now, ap.radio, transmission);
    }

    fn beacons(&mut self) -> Option<Instant> {
        for at in 0..self.aps.len() {
            if self.aps[at].next_beacon <= self.now {
                self.aps[at].next_beacon = self.now + time_units(100);
                let beacon = beacon(at);
                self.ap_sends(at, Buffer::from_slice(&beacon).unwrap());
            }
        }
        self.aps.iter().map(|ap| ap.next_beacon).min()
    }

    /// Frames that this VM got, beacons left out.
    pub(super) fn received(&self, number: usize) -> Vec<&Received> {
        let mine = self.events.iter().filter(|(owner, _)| *owner == vm(number));
        mine.filter_map(|(_, event)| match event {
            Event::Received(received) => Some(received),
            _ => None,
        })
        .filter(|received| !Header::parse(&received.frame).unwrap().is_beacon())
        .collect()
    }

    pub(super) fn beacons_of(&self, number: usize, ap: usize) -> usize {
        let mine = self.events.iter().filter(|(owner, _)| *owner == vm(number));
        mine.filter(|(_, event)| match event {
            Event::Received(received) => {
                let header = Header::parse(&received.frame).unwrap();
                header.is_beacon() && header.transmitter == Some(bssid(ap))
            }
            _ => false,
        })
        .count()
    }

    /// Reports on this VM's frames, in order.
    pub(super) fn reports(&self, number: usize) -> Vec<(Tag, TxReport)> {
        let mine = self.events.iter().filter(|(owner, _)| *owner == vm(number));
        mine.filter_map(|(_, event)| match event {
            Event::Transmitted(tag, report) => Some((*tag, *report)),
            _ => None,
        })
        .collect()
    }

    pub(super) fn status_of(&self, number: usize, tag: Tag) -> TxStatus {
        let reports = self.reports(number);
        let found = reports.iter().find(|(known, _)| *known == tag);
        found.expect("reported").1.status
    }

    /// Data frames with payload that an access point heard from this VM.
    pub(super) fn heard_from(&self, ap: usize, number: usize) -> Vec<&Buffer> {
        let heard = self.aps[ap].heard.iter();
        heard
            .filter(|frame| {
                let header = Header::parse(frame).unwrap();
                header.transmitter == Some(own(number)) && header.has_payload()
            })
            .collect()
    }

    pub(super) fn scan_events(&self, number: usize) -> Vec<ScanEvent> {
        let mine = self.events.iter().filter(|(owner, _)| *owner == vm(number));
        mine.filter_map(|(_, event)| match event {
            Event::Scan(event) => Some(*event),
            _ => None,
        })
        .collect()
    }

    pub(super) fn assert_conserved(&self) {
        for vm in VmId::all() {
            let counters = self.nic.vm_counters(vm);
            assert!(counters.conserved(), "VM {vm}: {counters:?}");
        }
    }
}

fn radio(name: &str) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: Position::default(),
        tx_power: Dbm(20.0),
    }
}

pub(super) fn ladder() -> RateTable {
    RateTable::from_iter([
        Rate::Ofdm(OfdmRate::M54),
        Rate::Ofdm(OfdmRate::M24),
        Rate::OFDM_6,
    ])
}

pub(super) fn management(kind: FrameKind, to: MacAddr, from: MacAddr, bssid: MacAddr) -> Vec<u8> {
    let head = [kind.octet(), 0, 0, 0];
    [
        &head[..],
        &to.0,
        &from.0,
        &bssid.0,
        &[0, 0],
        b"body body body",
    ]
    .concat()
}

/// A beacon: interval 100 time units, DTIM period 1, no group frames.
fn beacon(ap: usize) -> Vec<u8> {
    let head = [FrameKind::BEACON.octet(), 0, 0, 0];
    let addresses = [MacAddr::BROADCAST.0, bssid(ap).0, bssid(ap).0].concat();
    let fixed = [0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 1, 0];
    let elements = [0, 2, b'a', b'p', 5, 4, 0, 1, 0, 0];
    [&head[..], &addresses, &[0, 0], &fixed, &elements].concat()
}

/// Data to the access point.
pub(super) fn uplink(number: usize, ap: usize, body: &[u8]) -> Vec<u8> {
    let addresses = [&bssid(ap).0[..], &own(number).0, &bssid(ap).0];
    [&[0x08, 0x01, 0, 0][..], &addresses.concat(), &[0, 0], body].concat()
}

/// Data from the access point.
pub(super) fn downlink(to: MacAddr, ap: usize, body: &[u8]) -> Vec<u8> {
    let addresses = [&to.0[..], &bssid(ap).0, &bssid(9).0];
    [&[0x08, 0x02, 0, 0][..], &addresses.concat(), &[0, 0], body].concat()
}

/// The same with CCMP: header with this packet number and key ID, and room for no MIC.
pub(super) fn protect(mut frame: Vec<u8>, pn: u8, key_id: u8) -> Vec<u8> {
    frame[1] |= 0x40;
    let header = [pn, 0, 0, 0x20 | key_id << 6, 0, 0, 0, 0];
    frame.splice(24..24, header);
    frame
}

/// Encrypts as an access point would.
pub(super) fn encrypted(frame: Vec<u8>, key: [u8; 16]) -> Buffer {
    let mut frame = frame;
    frame.extend([0; 8]);
    let header = Header::parse(&frame).unwrap();
    airlane_dot11::ccmp::Ccmp::new(&key)
        .encrypt(&header, &mut frame)
        .unwrap();
    Buffer::from_slice(&frame).unwrap()
}
