//! A virtual MAC: everything that the card keeps per VM (Virtual WiFi, section 3.3).

pub(crate) mod beacons;

use airlane_air::Aggregation;
use airlane_dot11::frame::{FrameControl, FrameKind, three_address_header};
use airlane_dot11::{
    Band, Buffer, Channel, Dbm, EdcaParameters, MacAddr, PeerHt, PerAc, Rate, RateTable,
};
use airlane_lane::{Instant, Micros};
use airlane_waist::{
    AggregationLimits, BlockAck, Mode, PowerSave, ReceiveFilter, STATIONS, StationIndex,
    Statistics, Timing, VifConfig, VmId,
};

use crate::tx::frame::{Kind, OwnFrame};
use crate::tx::queue::TxQueues;
use crate::vmac::beacons::Beacons;

/// How long a vMAC with a BSS and without an association is taken to be joining it.
const JOINING: Micros = Micros::from_millis(2_000);
/// How long after its association the four-way handshake may take.
const HANDSHAKE: Micros = Micros::from_millis(1_000);

/// Attempts beyond the first for a null frame.
const ANNOUNCE_RETRIES: u8 = 4;

/// What the card keeps of one VM.
#[derive(Debug)]
pub(crate) struct Vmac {
    pub(crate) config: Option<VifConfig>,
    pub(crate) stations: Stations,
    pub(crate) edca: PerAc<EdcaParameters>,
    pub(crate) timing: Timing,
    pub(crate) beacons: Beacons,
    /// When the last data frame to it came.
    pub(crate) received_at: Instant,
    /// When its last frame went to the air.
    pub(crate) sent_at: Instant,
    /// When its access point was last told, because of frames, that it is awake again.
    pub(crate) woken_at: Instant,
    /// Transmit power that its driver has set; `None`: the radio's own.
    pub(crate) tx_power: Option<Dbm>,
    pub(crate) statistics: Statistics,
    sequence: u16,
    /// Its frames on their way out.
    pub(crate) tx: TxQueues,
    /// Since when it has this BSS, or this association.
    since: Instant,
    /// The card has announced to its access point that its station sleeps.
    pub(crate) pm_announced: bool,
    /// Its driver has told the access point that it sleeps.
    pub(crate) driver_sleeps: bool,
    /// When it follows its access point to another channel, and to which.
    pub(crate) switch: Option<(Instant, Channel)>,
}

impl Vmac {
    pub(crate) fn new() -> Self {
        Self {
            config: None,
            stations: Stations::default(),
            edca: PerAc::from_fn(|_| EdcaParameters::DCF),
            timing: Timing::default(),
            beacons: Beacons::default(),
            received_at: Instant(0),
            sent_at: Instant(0),
            woken_at: Instant(0),
            tx_power: None,
            statistics: Statistics::default(),
            sequence: 0,
            tx: TxQueues::default(),
            since: Instant(0),
            pm_announced: false,
            driver_sleeps: false,
            switch: None,
        }
    }

    /// Its address, once it has one.
    pub(crate) fn address(&self) -> Option<MacAddr> {
        let address = self.config.as_ref()?.address;
        address.is_station().then_some(address)
    }

    /// Its BSS, once it has one.
    pub(crate) fn bssid(&self) -> Option<MacAddr> {
        let bssid = self.config.as_ref()?.bssid;
        bssid.is_station().then_some(bssid)
    }

    /// Its association ID; zero when not associated.
    pub(crate) fn association_id(&self) -> u16 {
        let config = self.config.as_ref().filter(|config| config.associated);
        config.map_or(0, |config| config.association_id & 0x3fff)
    }

    /// What its driver has made of it; a station before that.
    pub(crate) fn mode(&self) -> Mode {
        self.config
            .as_ref()
            .map_or(Mode::Station, |config| config.mode)
    }

    /// Where its driver has configured it to be.
    pub(crate) fn channel(&self) -> Option<Channel> {
        self.config.as_ref().map(|config| config.channel)
    }

    /// True when its channel has the same primary 20 MHz as `other`.
    pub(crate) fn is_on(&self, other: Channel) -> bool {
        self.channel().is_some_and(|own| own.shares_primary(other))
    }

    pub(crate) fn associated(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.associated) && self.bssid().is_some()
    }

    /// What it wants to receive beyond frames to its own address.
    pub(crate) fn filter(&self) -> ReceiveFilter {
        let config = self.config.as_ref();
        config.map_or(ReceiveFilter::empty(), |config| config.filter)
    }

    /// True when it receives frames that are not its own.
    pub(crate) fn listens_to_all(&self) -> bool {
        self.filter().contains(ReceiveFilter::PROMISCUOUS)
    }

    /// The slowest rate of its band: what every station understands.
    pub(crate) fn lowest_rate(&self) -> Rate {
        match self.channel().map(Channel::band) {
            Some(Band::Ghz5) => Rate::OFDM_6,
            _ => Rate::DSSS_1,
        }
    }

    /// Takes a new configuration from its driver.
    pub(crate) fn configure(&mut self, now: Instant, config: VifConfig) {
        let old = (self.bssid(), self.associated());
        if config.forget_stations {
            self.stations = Stations::default();
        }
        self.config = Some(config);
        self.switch = None;
        if old != (self.bssid(), self.associated()) {
            self.since = now;
            self.beacons.start(now);
        }
        if !self.associated() {
            self.pm_announced = false;
            self.driver_sleeps = false;
        }
    }

    /// Takes over the beacon timing of its BSS.
    pub(crate) fn set_timing(&mut self, now: Instant, timing: Timing) {
        self.beacons.set_timing(now, &timing);
        self.timing = timing;
    }

    /// Follows its access point to another channel if that is due; gives the channel.
    pub(crate) fn follow_switch(&mut self, now: Instant) -> Option<Channel> {
        let (_, channel) = self.switch.take_if(|(at, _)| *at <= now)?;
        if let Some(config) = &mut self.config {
            config.channel = channel;
        }
        Some(channel)
    }

    /// Until when it is in the middle of joining its BSS, if it is.
    pub(crate) fn joining_until(&self, now: Instant) -> Option<Instant> {
        self.bssid()?;
        let span = if self.associated() {
            HANDSHAKE
        } else {
            JOINING
        };
        let until = self.since + span;
        (now < until).then_some(until)
    }

    /// When the last data frame went to it or came from it.
    pub(crate) fn traffic_at(&self) -> Instant {
        self.received_at.max(self.sent_at)
    }

    /// True when it must be on its channel: it has a BSS, or something to send.
    pub(crate) fn needs_channel(&self) -> bool {
        self.config.is_some() && (self.bssid().is_some() || !self.tx.is_empty())
    }

    /// True when it can do without the radio between beacons.
    pub(crate) fn may_sleep(&self) -> bool {
        let Some(config) = &self.config else {
            return true;
        };
        let regular = match self.bssid() {
            None => self.tx.is_empty(),
            Some(_) => self.associated() && self.beacons.are_regular(),
        };
        config.mode == Mode::Station && regular && self.switch.is_none() && !self.listens_to_all()
    }

    /// When it counts as idle; `None` while something waits or is on the air.
    pub(crate) fn idle_at(&self, power: &PowerSave) -> Option<Instant> {
        let quiet = self.tx.is_empty() && !self.tx.any_in_air();
        let received = self.received_at.max(self.woken_at) + power.receive_timeout;
        quiet.then(|| received.max(self.sent_at + power.transmit_timeout))
    }

    /// Beacons from one that it hears to the next: no more than its access point keeps frames for.
    pub(crate) fn longest_sleep(&self, power: &PowerSave) -> u32 {
        let asked = power.sleep_interval.max(1);
        match self.timing.listen_interval {
            0 => asked,
            listen => asked.min(listen.into()),
        }
    }

    /// The next sequence number of frames that the driver leaves to us.
    pub(crate) fn next_sequence(&mut self) -> u16 {
        let number = self.sequence;
        self.sequence = (number + 1) & 0xfff;
        number
    }

    /// Notes in the card's name that its station sleeps, or is awake, and gives the null frame that tells its access
    /// point (IEEE 802.11-2020 9.3.2.1.3, 11.2.3.2). `None` when that is known, or must not be told.
    pub(crate) fn announce(
        &mut self,
        vm: VmId,
        here: Option<Channel>,
        sleeps: bool,
    ) -> Option<OwnFrame> {
        let channel = here.filter(|&here| self.is_on(here))?;
        if !self.associated() || self.pm_announced == sleeps {
            return None;
        }
        self.pm_announced = sleeps;
        // A station that its own driver has put to sleep stays asleep for its access point.
        if self.driver_sleeps {
            return None;
        }
        Some(OwnFrame {
            kind: Kind::Announcement { vm, sleeps },
            frame: self.null_frame(sleeps)?,
            channel,
            rate: self.lowest_rate(),
            retries: Some(ANNOUNCE_RETRIES),
        })
    }

    /// Power management 1 says that the station sleeps, 0 that it is awake.
    fn null_frame(&mut self, sleeps: bool) -> Option<Buffer> {
        let (own, bssid) = (self.address()?, self.bssid()?);
        let mut flags = FrameControl::TO_DS;
        flags.set(FrameControl::POWER_MANAGEMENT, sleeps);
        let control = FrameKind::NULL.with(flags);
        let frame = three_address_header(control, [bssid, own, bssid], self.next_sequence());
        Buffer::from_slice(&frame)
    }
}

/// A peer of a vMAC: an access point or another station that its driver has put into its table.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) address: MacAddr,
    pub(crate) rates: RateTable,
    /// What the peer can receive.
    ht: PeerHt,
    /// What the driver wants of A-MPDUs to the peer.
    limits: AggregationLimits,
    /// Bit n: the vMAC receives TID n from the peer under a block-ack agreement.
    agreements: u16,
}

impl Station {
    /// How frames to it may share PPDUs; `None` when its driver wants none to.
    pub(crate) fn aggregation(&self) -> Option<Aggregation> {
        let largest = Aggregation::LARGEST;
        let limits = self.limits;
        if limits.frames == 1 {
            return None;
        }
        Some(Aggregation {
            window: match limits.frames {
                0 => largest.window,
                frames => frames.min(largest.window),
            },
            octets: self.ht.max_ampdu(),
            time: match limits.time {
                Micros(0) => largest.time,
                time => time.min(largest.time),
            },
            spacing_nanos: self.ht.ampdu_spacing_nanos(),
        })
    }
}

/// The station table: a driver may name an index outside it, or one that holds nobody.
#[derive(Debug, Default)]
pub(crate) struct Stations([Option<Station>; STATIONS]);

impl Stations {
    pub(crate) fn get(&self, index: StationIndex) -> Option<&Station> {
        self.0.get(usize::from(index.0))?.as_ref()
    }

    fn get_mut(&mut self, index: StationIndex) -> Option<&mut Station> {
        self.0.get_mut(usize::from(index.0))?.as_mut()
    }

    /// Puts a station in; `false` when the index lies outside the table.
    pub(crate) fn add(&mut self, index: StationIndex, address: MacAddr, ht: PeerHt) -> bool {
        let Some(slot) = self.0.get_mut(usize::from(index.0)) else {
            return false;
        };
        *slot = Some(Station {
            address,
            rates: RateTable::new(),
            ht,
            limits: AggregationLimits::default(),
            agreements: 0,
        });
        true
    }

    /// Takes a station out; `false` when there is none.
    pub(crate) fn remove(&mut self, address: MacAddr) -> bool {
        let mut found = false;
        for slot in &mut self.0 {
            found |= slot.take_if(|known| known.address == address).is_some();
        }
        found
    }

    /// Gives a station its rates; `false` when there is none.
    pub(crate) fn set_rates(
        &mut self,
        index: StationIndex,
        rates: RateTable,
        limits: AggregationLimits,
    ) -> bool {
        let Some(station) = self.get_mut(index) else {
            return false;
        };
        station.rates = rates;
        station.limits = limits;
        true
    }

    /// Notes what a station can receive; `false` when there is none.
    pub(crate) fn set_ht(&mut self, index: StationIndex, ht: PeerHt) -> bool {
        let station = self.get_mut(index);
        station.map(|station| station.ht = ht).is_some()
    }

    /// Notes a block-ack agreement; `false` when there is no such station or TID.
    pub(crate) fn set_agreement(&mut self, agreement: BlockAck) -> bool {
        let bit = 1u16.checked_shl(u32::from(agreement.tid));
        let (Some(bit), Some(station)) = (bit, self.get_mut(agreement.station)) else {
            return false;
        };
        match agreement.start {
            Some(_) => station.agreements |= bit,
            None => station.agreements &= !bit,
        }
        true
    }

    /// True while this peer may send frames of this TID in A-MPDUs.
    pub(crate) fn receives_aggregates(&self, peer: MacAddr, tid: u8) -> bool {
        let mut stations = self.0.iter().flatten();
        let station = stations.find(|known| known.address == peer);
        let bit = 1u16.checked_shl(u32::from(tid)).unwrap_or(0);
        station.is_some_and(|station| station.agreements & bit != 0)
    }
}
