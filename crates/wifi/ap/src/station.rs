//! One station as its access point knows it: how far it has joined, its keys, what waits for it.

use airlane_dot11::MacAddr;
use airlane_lane::Instant;
use arrayvec::ArrayVec;

use crate::authenticator::Authenticator;
use crate::keys::Pairwise;
use crate::power_save::Waiting;
use crate::rate_control::RateControl;

/// Traffic identifiers, and one place for frames without any.
const STREAMS: usize = 17;

/// How far a station has joined (IEEE 802.11-2020 11.3.1, states 2 to 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Has been authenticated.
    Authenticated,
    /// Has been associated, and has no key yet.
    Associated,
    /// Sends and receives data.
    Authorized,
}

/// What the access point knows of one station.
pub struct Station {
    /// The MAC address under which it sends.
    pub address: MacAddr,
    /// Its association ID, 1 to 2007; also before it is associated.
    pub id: u16,
    /// How far it has joined. Changed by [`Station::advance`] alone.
    state: State,
    /// Knows WMM.
    pub wmm: bool,
    /// Its handshake, in a protected BSS.
    pub authenticator: Option<Authenticator>,
    /// Its keys, as soon as both can know them.
    pub pairwise: Option<Pairwise>,
    /// What waits for it.
    pub waiting: Waiting,
    /// Frames for it that the medium has.
    pub on_air: usize,
    /// At what rate it is sent to.
    pub rate: RateControl,
    /// When it was heard last.
    pub heard_at: Instant,
    /// Since when it is here.
    pub since: Instant,
    next_sequence: [u16; STREAMS],
    last_heard: [Option<u16>; STREAMS],
}

impl Station {
    /// One that has just been authenticated.
    pub fn new(now: Instant, address: MacAddr, id: u16) -> Self {
        Self {
            address,
            id,
            state: State::Authenticated,
            wmm: false,
            authenticator: None,
            pairwise: None,
            waiting: Waiting::default(),
            on_air: 0,
            rate: RateControl::default(),
            heard_at: now,
            since: now,
            next_sequence: [0; STREAMS],
            last_heard: [None; STREAMS],
        }
    }

    /// How far it has joined.
    pub fn state(&self) -> State {
        self.state
    }

    /// True once it may send and receive data.
    pub fn is_authorized(&self) -> bool {
        self.state == State::Authorized
    }

    /// Moves on along a legal edge; `false` and no change for any other.
    pub fn advance(&mut self, to: State) -> bool {
        let legal = matches!(
            (self.state, to),
            (State::Authenticated, State::Associated)
                | (State::Associated, State::Authorized)
                | (_, State::Authenticated)
        );
        if legal {
            self.state = to;
        }
        legal
    }

    /// The sequence number of the next frame of this priority.
    pub fn sequence(&mut self, tid: Option<u8>) -> u16 {
        let Some(next) = self.next_sequence.get_mut(stream(tid)) else {
            return 0;
        };
        let now = *next;
        *next = (now + 1) & 0xfff;
        now
    }

    /// True for a frame that has been received before (IEEE 802.11-2020 10.3.2.14).
    pub fn is_duplicate(&mut self, tid: Option<u8>, sequence_control: u16, retry: bool) -> bool {
        let Some(last) = self.last_heard.get_mut(stream(tid)) else {
            return false;
        };
        let before = last.replace(sequence_control);
        retry && before == Some(sequence_control)
    }
}

fn stream(tid: Option<u8>) -> usize {
    tid.map_or(STREAMS - 1, |tid| usize::from(tid & 0xf))
}

/// Stations that one BSS may have: association IDs 1 to this.
pub const MAX_STATIONS: usize = 64;

/// All stations of a BSS, by association ID.
#[derive(Default)]
pub struct Stations(ArrayVec<Station, MAX_STATIONS>);

impl Stations {
    /// The station with this address.
    pub fn get(&self, address: MacAddr) -> Option<&Station> {
        self.0.iter().find(|station| station.address == address)
    }

    /// The station with this address.
    pub fn get_mut(&mut self, address: MacAddr) -> Option<&mut Station> {
        self.0.iter_mut().find(|station| station.address == address)
    }

    /// All, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Station> {
        self.0.iter()
    }

    /// All, in no order that means anything.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Station> {
        self.0.iter_mut()
    }

    /// A place for a newcomer. When all are taken, whoever is longest here without having been
    /// associated must give way: a flood of newcomers drives out newcomers only. `None` when all
    /// are associated.
    pub fn admit(&mut self, now: Instant, address: MacAddr) -> Option<&mut Station> {
        if self.0.is_full() {
            let strangers = self.0.iter().enumerate();
            let strangers = strangers.filter(|(_, s)| s.state == State::Authenticated);
            let (oldest, _) = strangers.min_by_key(|(_, station)| station.since)?;
            self.0.swap_remove(oldest);
        }
        let id = (1..).find(|&id| self.0.iter().all(|station| station.id != id))?;
        self.0.try_push(Station::new(now, address, id)).ok()?;
        self.0.last_mut()
    }

    /// Takes a station away.
    pub fn remove(&mut self, address: MacAddr) -> Option<Station> {
        let at = self.0.iter().position(|s| s.address == address)?;
        Some(self.0.swap_remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u16) -> MacAddr {
        let [high, low] = number.to_be_bytes();
        MacAddr([2, 0, 0, 0, high, low])
    }

    #[test]
    fn only_legal_edges_are_taken() {
        let mut station = Station::new(Instant(0), address(1), 1);
        assert!(
            !station.advance(State::Authorized),
            "not before association"
        );
        assert!(station.advance(State::Associated) && station.advance(State::Authorized));
        assert!(!station.advance(State::Associated));
        assert!(station.advance(State::Authenticated));
    }

    #[test]
    fn a_flood_of_newcomers_drives_out_newcomers_only() {
        let mut stations = Stations::default();
        for number in 0..4 {
            let station = stations.admit(Instant(0), address(number)).unwrap();
            station.advance(State::Associated);
        }
        for number in 4..1_000 {
            let newcomer = stations.admit(Instant(u64::from(number)), address(number));
            let id = newcomer.unwrap().id;
            assert!((1..=MAX_STATIONS as u16).contains(&id));
        }
        assert_eq!(stations.iter().count(), MAX_STATIONS);
        assert!((0..4).all(|number| stations.get(address(number)).is_some()));
        assert!(stations.get(address(999)).is_some() && stations.get(address(500)).is_none());
    }

    #[test]
    fn when_all_are_associated_nobody_else_comes_in() {
        let mut stations = Stations::default();
        for number in 0..MAX_STATIONS as u16 {
            stations
                .admit(Instant(0), address(number))
                .unwrap()
                .advance(State::Associated);
        }
        assert!(stations.admit(Instant(1), address(999)).is_none());
        stations.remove(address(7)).unwrap();
        assert_eq!(stations.admit(Instant(1), address(999)).unwrap().id, 8);
    }

    #[test]
    fn a_retry_of_the_last_frame_of_its_stream_is_a_duplicate() {
        let mut station = Station::new(Instant(0), address(1), 1);
        assert!(!station.is_duplicate(Some(0), 0x10, false));
        assert!(station.is_duplicate(Some(0), 0x10, true));
        assert!(!station.is_duplicate(Some(1), 0x10, true), "another stream");
        assert!(!station.is_duplicate(Some(0), 0x10, false), "not a retry");
    }
}
