//! A virtual MAC: everything that the card keeps per VM (Virtual WiFi, section 3.3).

use std::collections::VecDeque;

pub(crate) mod beacons;

use airlane_air::Aggregation;
use airlane_dot11::{
    AccessCategory, Channel, Dbm, EdcaParameters, MacAddr, PeerHt, RateTable, Width,
};
use airlane_lane::{Instant, Micros};
use airlane_waist::{
    AggregationLimits, BlockAck, ReceiveFilter, STATIONS, StationIndex, Statistics, Tag, Timing,
    Transmit, TxReport, VifConfig,
};

use crate::channel::context::Home;
use crate::tx::prepare::Prepared;
use crate::vmac::beacons::{Beacons, Due};

/// How long a vMAC with a BSS and without an association is taken to be joining it.
const JOINING: Micros = Micros::from_millis(2_000);
/// How long after its association the four-way handshake may take.
const HANDSHAKE: Micros = Micros::from_millis(1_000);

/// A vMAC counts as working for so long after its last data frame.
const WORKING: Micros = Micros::from_millis(200);

/// A peer.
pub(crate) struct Station {
    pub(crate) address: MacAddr,
    pub(crate) ladder: RateTable,
    /// What it can receive, and what the driver wants of A-MPDUs to it.
    ht: PeerHt,
    limits: AggregationLimits,
    /// Bit n: we receive TID n under a block-ack agreement.
    pub(crate) agreements: u16,
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

/// A frame that waits for the air.
pub(crate) struct Pending {
    /// Order of arrival; queues are sorted by it.
    pub(crate) serial: u64,
    pub(crate) tag: Tag,
    pub(crate) work: Work,
}

/// What is left to do.
pub(crate) enum Work {
    /// Everything: the frame is in the guest's memory.
    Fresh(Transmit),
    /// Sending only: it came back from the air unsent; its queue.
    Again(Prepared, u8),
}

impl Work {
    /// True when it may share a PPDU.
    pub(crate) fn aggregates(&self) -> bool {
        match self {
            Self::Fresh(transmit) => transmit.aggregate,
            Self::Again(prepared, _) => prepared.aggregation.is_some(),
        }
    }

    pub(crate) fn queue(&self) -> u8 {
        match self {
            Self::Fresh(transmit) => transmit.queue,
            Self::Again(_, queue) => *queue,
        }
    }
}

/// A frame that has left its queue and whose report is still to be given.
pub(crate) struct Outstanding {
    pub(crate) serial: u64,
    pub(crate) tag: Tag,
    pub(crate) queue: u8,
    pub(crate) stage: Stage,
}

/// Where an outstanding frame is.
pub(crate) enum Stage {
    /// In the air's queue under this token.
    InAir(u64, Prepared),
    /// Back in its queue.
    Back,
    /// Ended.
    Ended(TxReport),
}

/// A flush that waits for the frames that are on the air.
pub(crate) struct Flush {
    pub(crate) tag: Tag,
    pub(crate) mask: u32,
    /// Younger frames are not its business.
    pub(crate) before: u64,
    /// Frames taken out of the queues, to be reported after those on the air.
    pub(crate) taken: Vec<(Tag, TxReport)>,
}

/// True when `queue` is among those of `mask`.
pub(crate) fn in_mask(mask: u32, queue: u8) -> bool {
    1u32.checked_shl(u32::from(queue))
        .is_some_and(|bit| mask & bit != 0)
}

/// One vMAC.
pub(crate) struct Vmac {
    pub(crate) config: Option<VifConfig>,
    stations: [Option<Station>; STATIONS],
    pub(crate) edca: [EdcaParameters; 4],
    pub(crate) timing: Timing,
    pub(crate) beacons: Beacons,
    /// The last data frame to it, and from it.
    pub(crate) received_at: Instant,
    pub(crate) sent_at: Instant,
    /// When its access point was last told that it is awake after all.
    pub(crate) roused_at: Instant,
    /// Instead of the radio's own.
    pub(crate) tx_power: Option<Dbm>,
    pub(crate) statistics: Statistics,
    sequence: u16,
    pub(crate) queues: [VecDeque<Pending>; 4],
    pub(crate) outstanding: VecDeque<Outstanding>,
    /// Frames that the air has, by access category.
    pub(crate) in_air: [usize; 4],
    pub(crate) flushes: Vec<Flush>,
    /// Since when it has this BSS, or this association.
    since: Instant,
    /// We have told its access point that it is away.
    pub(crate) told_away: bool,
    /// Its driver has told the access point that it sleeps.
    pub(crate) dozes: bool,
    /// When and where it follows its access point.
    pub(crate) switch: Option<(Instant, Channel)>,
}

impl Vmac {
    pub(crate) fn new() -> Self {
        Self {
            config: None,
            stations: Default::default(),
            edca: [EdcaParameters::DCF; 4],
            timing: Timing::default(),
            beacons: Beacons::default(),
            received_at: Instant(0),
            sent_at: Instant(0),
            roused_at: Instant(0),
            tx_power: None,
            statistics: Statistics::default(),
            sequence: 0,
            queues: Default::default(),
            outstanding: VecDeque::new(),
            in_air: [0; 4],
            flushes: Vec::new(),
            since: Instant(0),
            told_away: false,
            dozes: false,
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

    /// Its channel, once configured.
    pub(crate) fn channel(&self) -> Option<Channel> {
        self.config.as_ref().map(|config| config.channel)
    }

    pub(crate) fn associated(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.associated) && self.bssid().is_some()
    }

    /// Takes a new configuration.
    pub(crate) fn configure(&mut self, now: Instant, config: VifConfig) {
        let old = (self.bssid(), self.associated());
        if config.forget_stations {
            self.stations = Default::default();
        }
        self.config = Some(config);
        self.switch = None;
        if old != (self.bssid(), self.associated()) {
            self.since = now;
            self.beacons.start(now);
        }
        if !self.associated() {
            self.told_away = false;
            self.dozes = false;
        }
    }

    /// Takes over the beacon timing of its BSS.
    pub(crate) fn set_timing(&mut self, now: Instant, timing: Timing) {
        self.beacons.set_timing(now, &timing);
        self.timing = timing;
    }

    /// True when it receives frames that are not its own.
    pub(crate) fn listens_to_all(&self) -> bool {
        let promiscuous = ReceiveFilter::PROMISCUOUS;
        let config = self.config.as_ref();
        config.is_some_and(|config| config.filter.contains(promiscuous))
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

    /// True when it must be on its channel: it has a BSS, or something to send.
    pub(crate) fn needs_channel(&self) -> bool {
        self.config.is_some() && (self.bssid().is_some() || self.has_pending())
    }

    /// Adds what this vMAC needs of its home channel. `here`: the radio is tuned to it.
    pub(crate) fn speak_for(&self, home: &mut Home, now: Instant, here: bool, weight: u16) {
        if let Some(channel) = self.channel()
            && home.channel.width() == Width::Mhz20
        {
            home.channel = channel;
        }
        let traffic = self.received_at.max(self.sent_at);
        let working = self.has_pending() || now.saturating_since(traffic) < WORKING;
        if working {
            home.weight = home.weight.saturating_add(u32::from(weight));
        }
        home.pending |= self.has_pending();
        home.traffic = home.traffic.max(traffic);
        home.joining = home.joining.max(self.joining_until(now));
        if !self.associated() {
            return;
        }
        home.heard_at = home.heard_at.max(self.beacons.heard_at());
        home.group_until = home.group_until.max(self.beacons.group_until());
        let beacon = self.beacons.due(now, Home::beacon_from(now, here));
        home.blind |= beacon.is_none();
        let matters = |due: &Due| (due.urgency, std::cmp::Reverse(due.at));
        home.beacon = home.beacon.into_iter().chain(beacon).max_by_key(matters);
    }

    fn has_pending(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    /// Frames that wait.
    pub(crate) fn pending(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    pub(crate) fn queue(&self, category: AccessCategory) -> Option<&VecDeque<Pending>> {
        self.queues.get(category as usize)
    }

    pub(crate) fn queue_mut(&mut self, category: AccessCategory) -> Option<&mut VecDeque<Pending>> {
        self.queues.get_mut(category as usize)
    }

    pub(crate) fn edca(&self, category: AccessCategory) -> EdcaParameters {
        let parameters = self.edca.get(category as usize);
        parameters.copied().unwrap_or(EdcaParameters::DCF)
    }

    /// The air got a frame of this category, or has one no longer.
    pub(crate) fn note_in_air(&mut self, category: AccessCategory, more: bool) {
        if let Some(count) = self.in_air.get_mut(category as usize) {
            *count = if more {
                *count + 1
            } else {
                count.saturating_sub(1)
            };
        }
    }

    /// The next sequence number of frames that the driver leaves to us.
    pub(crate) fn next_sequence(&mut self) -> u16 {
        let number = self.sequence;
        self.sequence = (number + 1) & 0xfff;
        number
    }

    pub(crate) fn station(&self, index: StationIndex) -> Option<&Station> {
        self.stations.get(usize::from(index.0))?.as_ref()
    }

    /// Puts a station in; `false` when the index lies outside the table.
    pub(crate) fn add_station(
        &mut self,
        index: StationIndex,
        address: MacAddr,
        ht: PeerHt,
    ) -> bool {
        let Some(slot) = self.stations.get_mut(usize::from(index.0)) else {
            return false;
        };
        *slot = Some(Station {
            address,
            ladder: RateTable::new(),
            ht,
            limits: AggregationLimits::default(),
            agreements: 0,
        });
        true
    }

    /// Takes a station out; `false` when there is none.
    pub(crate) fn remove_station(&mut self, address: MacAddr) -> bool {
        let mut found = false;
        for slot in &mut self.stations {
            if slot
                .as_ref()
                .is_some_and(|station| station.address == address)
            {
                *slot = None;
                found = true;
            }
        }
        found
    }

    /// Gives a station its rates; `false` when there is none.
    pub(crate) fn set_ladder(
        &mut self,
        index: StationIndex,
        ladder: RateTable,
        limits: AggregationLimits,
    ) -> bool {
        let Some(station) = self.station_mut(index) else {
            return false;
        };
        station.ladder = ladder;
        station.limits = limits;
        true
    }

    /// Notes what a station can receive; `false` when there is none.
    pub(crate) fn set_ht(&mut self, index: StationIndex, ht: PeerHt) -> bool {
        let station = self.station_mut(index);
        station.map(|station| station.ht = ht).is_some()
    }

    /// Notes a block-ack agreement; `false` when there is no such station or TID.
    pub(crate) fn set_agreement(&mut self, agreement: BlockAck) -> bool {
        let Some(bit) = 1u16.checked_shl(u32::from(agreement.tid)) else {
            return false;
        };
        let Some(station) = self.station_mut(agreement.station) else {
            return false;
        };
        match agreement.start {
            Some(_) => station.agreements |= bit,
            None => station.agreements &= !bit,
        }
        true
    }

    /// True while this station may send frames of this TID in A-MPDUs.
    pub(crate) fn receives_aggregates(&self, station: MacAddr, tid: u8) -> bool {
        let mut stations = self.stations.iter().flatten();
        let station = stations.find(|known| known.address == station);
        let bit = 1u16.checked_shl(u32::from(tid)).unwrap_or(0);
        station.is_some_and(|station| station.agreements & bit != 0)
    }

    fn station_mut(&mut self, index: StationIndex) -> Option<&mut Station> {
        self.stations.get_mut(usize::from(index.0))?.as_mut()
    }
}
