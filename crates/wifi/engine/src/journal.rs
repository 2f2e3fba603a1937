//! What happens to each VM, told from the requests and events that pass between its card and the
//! radio: a pure observer. It decides nothing; without listeners it costs a comparison per frame.
//!
//! Not here: what happens inside the guest (its supplicant, its addresses), which no card sees.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use airlane_dot11::{Channel, Dbm, MacAddr, Rate};
use airlane_lane::{Instant, LaneId, Micros, Seldom};
use airlane_waist::{
    Command, Event, Mode, Received, Refusal, Reply, ScanEvent, TxStatus, VifConfig,
};
use enum_map::{Enum, EnumMap};

/// A new association this soon after the last one ended says which access point was left.
const ROAM: Micros = Micros::from_millis(5_000);
/// What a VM can bring about as often as it likes is told at most this often: drops of one kind, refusals.
const TOLD_EVERY: Micros = Micros::from_millis(1_000);
/// Events that wait to be fetched; older ones give way.
const BACKLOG: usize = 1_024;

/// One thing that happened to a VM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VmEvent {
    /// When, on the run's clock.
    pub at: Instant,
    /// The lane of the VM.
    pub lane: LaneId,
    /// What it was.
    pub kind: Kind,
}

/// What happened to a VM's card, its association or its scans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The driver has started the card.
    Started,
    /// The card was reset, or its VM has gone.
    Stopped,
    /// The VM has attached, and its card has no VM-ID left for it.
    Refused {
        /// How often since this was last told.
        times: u64,
    },
    /// The driver has told the card that it is associated.
    Associated {
        /// With this access point.
        bssid: MacAddr,
        /// The channel of the association.
        channel: Channel,
        /// The other access point that it left a moment ago.
        previous: Option<MacAddr>,
    },
    /// The association is over.
    Disassociated {
        /// With this access point.
        bssid: MacAddr,
    },
    /// A scan was asked for.
    ScanStarted,
    /// A scan has ended.
    ScanEnded {
        /// Channels that were scanned, those answered from the cache included.
        channels: u8,
        /// True when it was ended early.
        aborted: bool,
    },
    /// The access point's beacons fail to come.
    BeaconsMissed {
        /// Beacons missed in a row.
        consecutive: u32,
    },
    /// The VM has followed its access point to another channel.
    ChannelSwitched {
        /// The new channel.
        channel: Channel,
    },
    /// The VM wanted to bear an address that it may not bear, and sends nothing under it: no probe request, either.
    AddressRefused {
        /// The address of the last time.
        address: MacAddr,
        /// Why it may not bear that one.
        why: AddressRefusal,
        /// How often since this was last told, whatever the address.
        times: u64,
    },
    /// Frames that the VM may not send, or that were no frames.
    Dropped {
        /// Why the frames were not sent.
        status: TxStatus,
        /// How many since this was last told.
        frames: u64,
    },
}

/// Why a VM may not bear an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRefusal {
    /// Its address is fixed, and this is another.
    Fixed,
    /// Another station has it, or it is kept for one.
    Taken,
    /// It is a group's.
    Group,
}

impl fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed => "its address is fixed: change_mac = false",
            Self::Taken => "another station has it, or it is kept for a VM or an access point",
            Self::Group => "it is the address of a group",
        })
    }
}

impl AddressRefusal {
    /// The address that was refused, and why, where it was one.
    fn of(refusal: Refusal) -> Option<(MacAddr, Self)> {
        match refusal {
            Refusal::AddressFixed(address) => Some((address, Self::Fixed)),
            Refusal::AddressTaken(address) => Some((address, Self::Taken)),
            Refusal::AddressOfGroup(address) => Some((address, Self::Group)),
            _ => None,
        }
    }
}

/// What a VM's link is like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Signal of the last frame from its access point.
    pub signal: Option<Dbm>,
    /// First rate of the last frame sent.
    pub tx_rate: Option<Rate>,
    /// Rate of the last frame from its access point.
    pub rx_rate: Option<Rate>,
}

/// What is remembered of one VM.
#[derive(Default)]
struct Vm {
    bssid: Option<MacAddr>,
    associated: Option<MacAddr>,
    left: Option<(Instant, MacAddr)>,
    link: Link,
    drops: EnumMap<DropKind, Seldom>,
    refusals: Seldom,
    address_refusals: Seldom,
}

/// Sees every request and event of all lanes, and keeps what is worth telling.
#[derive(Default)]
pub struct Journal {
    /// The VMs that have been heard of.
    vms: BTreeMap<LaneId, Vm>,
    events: VecDeque<VmEvent>,
}

impl Journal {
    /// A VM's card asks for something.
    pub fn request(&mut self, at: Instant, lane: LaneId, command: &Command) {
        match command {
            Command::Initialize => self.tell(at, lane, Kind::Started),
            Command::Reset => self.reset(at, lane),
            Command::Configure(configuration) => self.configured(at, lane, configuration),
            Command::Scan(_) => self.tell(at, lane, Kind::ScanStarted),
            _ => {}
        }
    }

    /// A VM that has attached gets no VM-ID.
    pub fn refused(&mut self, at: Instant, lane: LaneId) {
        let times = self.vm(lane).refusals.happened(at, TOLD_EVERY);
        if let Some(times) = times {
            self.tell(at, lane, Kind::Refused { times });
        }
    }

    /// A VM's card is told something.
    pub fn event(&mut self, at: Instant, lane: LaneId, event: &Event) {
        match event {
            Event::Received(received) => self.received(lane, received),
            Event::Done(_, Reply::Refused(refusal)) => self.not_done(at, lane, *refusal),
            Event::Transmitted(_, report) => {
                if let Some(kind) = drop_kind(report.status) {
                    return self.dropped(at, lane, kind, report.status);
                }
                self.vm(lane).link.tx_rate = Some(report.rate);
            }
            &Event::Scan(ScanEvent::Complete {
                channels, aborted, ..
            }) => self.tell(at, lane, Kind::ScanEnded { channels, aborted }),
            Event::MissedBeacons(missed) => {
                let consecutive = missed.consecutive;
                self.tell(at, lane, Kind::BeaconsMissed { consecutive });
            }
            &Event::ChannelSwitched(channel) => {
                self.tell(at, lane, Kind::ChannelSwitched { channel });
            }
            _ => {}
        }
    }

    /// Takes the oldest event that was not taken yet.
    pub fn next_event(&mut self) -> Option<VmEvent> {
        self.events.pop_front()
    }

    /// What this VM's link is like; nothing is known of one that was never heard of.
    pub fn link(&self, lane: LaneId) -> Link {
        self.vms.get(&lane).map_or(Link::default(), |vm| vm.link)
    }

    /// What is remembered of the VM behind a lane.
    fn vm(&mut self, lane: LaneId) -> &mut Vm {
        self.vms.entry(lane).or_default()
    }

    fn tell(&mut self, at: Instant, lane: LaneId, kind: Kind) {
        if self.events.len() >= BACKLOG {
            self.events.pop_front();
        }
        self.events.push_back(VmEvent { at, lane, kind });
    }

    fn reset(&mut self, at: Instant, lane: LaneId) {
        let state = self.vm(lane);
        let associated = std::mem::take(state).associated;
        if let Some(bssid) = associated {
            self.tell(at, lane, Kind::Disassociated { bssid });
        }
        self.tell(at, lane, Kind::Stopped);
    }

    fn configured(&mut self, at: Instant, lane: LaneId, configuration: &VifConfig) {
        let state = self.vm(lane);
        let bssid = Some(configuration.bssid).filter(|bssid| bssid.is_station());
        if state.bssid != bssid {
            state.bssid = bssid;
            state.link = Link::default();
        }
        // A member of an IBSS sets the same bit, and has no access point.
        let admitted = configuration.associated && configuration.mode == Mode::Station;
        let now = bssid.filter(|_| admitted);
        let before = std::mem::replace(&mut state.associated, now);
        if before == now {
            return;
        }
        if let Some(bssid) = before {
            state.left = Some((at, bssid));
            self.tell(at, lane, Kind::Disassociated { bssid });
        }
        if let Some(bssid) = now {
            let kind = self.association(at, lane, bssid, configuration.channel);
            self.tell(at, lane, kind);
        }
    }

    fn association(&self, at: Instant, lane: LaneId, bssid: MacAddr, channel: Channel) -> Kind {
        let left = self.vms.get(&lane).and_then(|vm| vm.left);
        let recent =
            left.filter(|&(when, other)| other != bssid && at.saturating_since(when) <= ROAM);
        Kind::Associated {
            bssid,
            channel,
            previous: recent.map(|(_, other)| other),
        }
    }

    fn received(&mut self, lane: LaneId, received: &Received) {
        let vm = self.vm(lane);
        // Transmitter address (IEEE 802.11-2020 9.3.2.1).
        let from_own = vm
            .bssid
            .is_some_and(|bssid| received.frame.get(10..16) == Some(&bssid.0));
        if from_own {
            vm.link.signal = Some(received.signal);
            vm.link.rx_rate = Some(received.rate);
        }
    }

    /// A command was refused: told where the VM cannot learn it otherwise. Its driver is not told that an address was.
    fn not_done(&mut self, at: Instant, lane: LaneId, refusal: Refusal) {
        let Some((address, why)) = AddressRefusal::of(refusal) else {
            return;
        };
        let times = self.vm(lane).address_refusals.happened(at, TOLD_EVERY);
        if let Some(times) = times {
            let kind = Kind::AddressRefused {
                address,
                why,
                times,
            };
            self.tell(at, lane, kind);
        }
    }

    fn dropped(&mut self, at: Instant, lane: LaneId, kind: DropKind, status: TxStatus) {
        let frames = self.vm(lane).drops[kind].happened(at, TOLD_EVERY);
        if let Some(frames) = frames {
            self.tell(at, lane, Kind::Dropped { status, frames });
        }
    }
}

/// Why a frame was not sent, each told by itself.
#[derive(Clone, Copy, Enum)]
enum DropKind {
    Refused,
    UnknownStation,
    Malformed,
}

fn drop_kind(status: TxStatus) -> Option<DropKind> {
    match status {
        TxStatus::Refused => Some(DropKind::Refused),
        TxStatus::UnknownStation => Some(DropKind::UnknownStation),
        TxStatus::Malformed => Some(DropKind::Malformed),
        TxStatus::Success | TxStatus::NoAck | TxStatus::Flushed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_dot11::Band;
    use airlane_waist::{ReceiveFilter, Tag, TxReport};

    const LANE: LaneId = LaneId::new(3);
    const ONE: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
    const TWO: MacAddr = MacAddr([2, 0, 0, 0, 1, 2]);

    fn channel() -> Channel {
        Channel::new(Band::Ghz5, 36).unwrap()
    }

    fn configuration(bssid: MacAddr, associated: bool) -> Command {
        Command::Configure(Box::new(VifConfig {
            address: MacAddr([2, 0, 0, 0, 0, 1]),
            bssid,
            mode: Mode::Station,
            channel: channel(),
            associated,
            association_id: 1,
            filter: ReceiveFilter::empty(),
            short_slot: true,
            short_preamble: true,
            protect: false,
            forget_stations: false,
        }))
    }

    fn told(journal: &mut Journal) -> Vec<Kind> {
        std::iter::from_fn(|| journal.next_event())
            .map(|event| event.kind)
            .collect()
    }

    fn associated(bssid: MacAddr, previous: Option<MacAddr>) -> Kind {
        let channel = channel();
        Kind::Associated {
            bssid,
            channel,
            previous,
        }
    }

    fn refused() -> Event {
        let report = TxReport {
            status: TxStatus::Refused,
            retries: 0,
            rts_failures: 0,
            rate: Rate::OFDM_6,
            sequence_control: 0,
            airtime: Micros(0),
        };
        Event::Transmitted(Tag(1), report)
    }

    #[test]
    fn an_association_is_told_once_however_often_it_is_configured() {
        let mut journal = Journal::default();
        journal.request(Instant(0), LANE, &configuration(ONE, false));
        for at in 1..4 {
            journal.request(Instant(at), LANE, &configuration(ONE, true));
        }
        assert_eq!(told(&mut journal), [associated(ONE, None)]);
    }

    #[test]
    fn a_member_of_an_ibss_is_associated_with_nobody() {
        let mut journal = Journal::default();
        let Command::Configure(mut member) = configuration(ONE, true) else {
            panic!("a configuration");
        };
        member.mode = Mode::Adhoc;
        journal.request(Instant(0), LANE, &Command::Configure(member));
        assert_eq!(told(&mut journal), []);
    }

    #[test]
    fn who_soon_joins_another_access_point_says_which_it_left() {
        let mut journal = Journal::default();
        journal.request(Instant(0), LANE, &configuration(ONE, true));
        journal.request(Instant(1), LANE, &configuration(TWO, false));
        journal.request(Instant(2), LANE, &configuration(TWO, true));
        let left = Kind::Disassociated { bssid: ONE };
        let expected = [associated(ONE, None), left, associated(TWO, Some(ONE))];
        assert_eq!(told(&mut journal), expected);
    }

    #[test]
    fn who_comes_much_later_has_not_roamed() {
        let mut journal = Journal::default();
        journal.request(Instant(0), LANE, &configuration(ONE, true));
        journal.request(Instant(1), LANE, &configuration(TWO, false));
        let later = Instant(2) + ROAM;
        journal.request(later, LANE, &configuration(TWO, true));
        assert_eq!(told(&mut journal).last(), Some(&associated(TWO, None)));
    }

    #[test]
    fn a_reset_ends_the_association() {
        let mut journal = Journal::default();
        journal.request(Instant(0), LANE, &configuration(ONE, true));
        journal.request(Instant(1), LANE, &Command::Reset);
        let ended = [Kind::Disassociated { bssid: ONE }, Kind::Stopped];
        assert_eq!(told(&mut journal)[1..], ended);
    }

    #[test]
    fn a_flood_of_refused_frames_is_told_once_a_second_with_its_size() {
        let mut journal = Journal::default();
        for at in 0..1_000 {
            journal.event(Instant(at), LANE, &refused());
        }
        journal.event(Instant(0) + TOLD_EVERY, LANE, &refused());
        let dropped = |frames| Kind::Dropped {
            status: TxStatus::Refused,
            frames,
        };
        assert_eq!(told(&mut journal), [dropped(1), dropped(1_000)]);
    }

    #[test]
    fn a_vm_that_comes_and_is_refused_in_a_loop_is_told_of_once_a_second_and_hides_no_other() {
        let (mut journal, other) = (Journal::default(), LaneId::new(9));
        for at in 0..1_000 {
            journal.refused(Instant(at), LANE);
        }
        journal.refused(Instant(1_000), other);
        journal.refused(Instant(0) + TOLD_EVERY, LANE);
        let refused = |times| Kind::Refused { times };
        assert_eq!(told(&mut journal), [refused(1), refused(1), refused(1_000)]);
    }

    #[test]
    fn refused_addresses_are_told_once_a_second_with_the_last_one_and_why() {
        let mut journal = Journal::default();
        let not_done = |refusal| Event::Done(Tag(1), Reply::Refused(refusal));
        journal.event(Instant(0), LANE, &not_done(Refusal::AddressTaken(ONE)));
        for at in 1..1_000 {
            journal.event(Instant(at), LANE, &not_done(Refusal::AddressFixed(ONE)));
            journal.event(Instant(at), LANE, &not_done(Refusal::NoScan));
        }
        let later = Instant(0) + TOLD_EVERY;
        journal.event(later, LANE, &not_done(Refusal::AddressFixed(TWO)));
        let refused = |address, why, times| Kind::AddressRefused {
            address,
            why,
            times,
        };
        let expected = [
            refused(ONE, AddressRefusal::Taken, 1),
            refused(TWO, AddressRefusal::Fixed, 1_000),
        ];
        assert_eq!(told(&mut journal), expected);
    }

    #[test]
    fn events_that_nobody_fetches_are_bounded() {
        let mut journal = Journal::default();
        for at in 0..2 * BACKLOG as u64 {
            journal.request(Instant(at), LANE, &Command::Initialize);
        }
        assert_eq!(told(&mut journal).len(), BACKLOG);
    }
}
