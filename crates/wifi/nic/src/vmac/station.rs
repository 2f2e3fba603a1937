//! The peers of a vMAC: the station table that its driver fills.

use airlane_air::Aggregation;
use airlane_dot11::{MacAddr, PeerHt, RateTable};
use airlane_lane::Micros;
use airlane_waist::{AggregationLimits, BlockAck, STATIONS, StationIndex};

/// A peer.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) address: MacAddr,
    pub(crate) rates: RateTable,
    /// What it can receive.
    ht: PeerHt,
    /// What the driver wants of A-MPDUs to it.
    limits: AggregationLimits,
    /// Bit n: we receive TID n under a block-ack agreement.
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
