//! The shapes that a frame takes, one per stage. In its queue it is a [`Transmit`], which names it in the guest's
//! memory. On the air, and back in its queue after that, it is [`Prepared`]: the card's own copy. At its end it is a
//! [`TxReport`], which is all that its driver hears of it.
//!
//! [`Transmit`]: airlane_waist::Transmit

use airlane_air::{Ended, Outcome, Transmission};
use airlane_dot11::{AccessCategory, Buffer, Channel, Rate, RateTable};
use airlane_lane::Micros;
use airlane_waist::{TxReport, TxStatus, VmId};

use crate::counters::DropReason;

/// A frame that is ready for the air.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// As the air gets it. Token, channel and channel access are set each time it goes there.
    pub(crate) transmission: Transmission,
    pub(crate) sequence_control: u16,
    /// Airtime that one attempt is expected to take.
    pub(crate) cost: Micros,
    /// What the frame tells the station's own access point: that the driver's station sleeps, or that it is awake.
    /// `None`: it goes to another receiver.
    pub(crate) power_management: Option<bool>,
}

impl Prepared {
    pub(crate) fn category(&self) -> AccessCategory {
        self.transmission.category
    }

    pub(crate) fn aggregates(&self) -> bool {
        self.transmission.aggregation.is_some()
    }

    /// What the air gets: the frame stays here too, since the air may give it back unsent.
    pub(crate) fn for_air(&self) -> Transmission {
        Transmission {
            frame: self.transmission.frame.clone(),
            rates: copied(&self.transmission.rates),
            ..self.transmission
        }
    }

    /// The report on the frame when its driver flushes it out of its queue.
    pub(crate) fn flushed(&self) -> TxReport {
        let rate = self.transmission.rate(0);
        unsent(TxStatus::Flushed, rate, self.sequence_control)
    }
}

/// The report on a frame with this sequence control that the air is done with.
pub(crate) fn report(ended: &Ended, sequence_control: u16) -> TxReport {
    TxReport {
        status: match ended.outcome {
            Outcome::Acknowledged | Outcome::Unacknowledged => TxStatus::Success,
            Outcome::NoAck => TxStatus::NoAck,
            Outcome::Cancelled => TxStatus::Flushed,
        },
        retries: ended.retries(),
        rts_failures: ended.rts_failures,
        rate: ended.rate,
        sequence_control,
        airtime: ended.airtime,
    }
}

/// A copy in one piece; `clone` goes rate by rate.
pub(crate) fn copied(rates: &RateTable) -> RateTable {
    let mut copy = RateTable::new();
    let copied = copy.try_extend_from_slice(rates);
    debug_assert!(copied.is_ok(), "a rate table has room for another's rates");
    copy
}

/// The report on a frame that was not sent.
pub(crate) fn unsent(status: TxStatus, rate: Rate, sequence_control: u16) -> TxReport {
    TxReport {
        status,
        retries: 0,
        rts_failures: 0,
        rate,
        sequence_control,
        airtime: Micros(0),
    }
}

/// What a driver is told about a frame that was dropped.
pub(crate) fn status(drop: DropReason) -> TxStatus {
    match drop {
        DropReason::NotConfigured | DropReason::Identity | DropReason::ForeignBss => {
            TxStatus::Refused
        }
        DropReason::QueueFull | DropReason::Flushed | DropReason::Reset => TxStatus::Flushed,
        DropReason::Malformed => TxStatus::Malformed,
        DropReason::UnknownStation => TxStatus::UnknownStation,
    }
}

/// A frame of the card's own, in the highest category.
#[derive(Debug)]
pub(crate) struct OwnFrame {
    pub(crate) kind: Kind,
    pub(crate) frame: Buffer,
    pub(crate) channel: Channel,
    pub(crate) rate: Rate,
    /// Attempts beyond the first; `None`: no acknowledgement is asked for.
    pub(crate) retries: Option<u8>,
}

/// What the air sends for the card under one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A frame of a VM, by its serial number.
    Frame { vm: VmId, serial: u64 },
    /// A null frame of the card itself, under this VM's address: its station sleeps, or is awake. The VM does not hear
    /// of it.
    Announcement { vm: VmId, sleeps: bool },
    /// A probe request of a scan.
    Probe { vm: VmId },
}

impl Kind {
    /// The VM whose frame it is, or under whose address the card sends it.
    pub(crate) fn vm(self) -> VmId {
        match self {
            Self::Frame { vm, .. } | Self::Announcement { vm, .. } | Self::Probe { vm } => vm,
        }
    }
}

/// Every transmission whose end the air has not told, by token. Few at a time: a list is fastest.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Vec<(u64, Kind)>);

impl InFlight {
    pub(crate) fn add(&mut self, token: u64, kind: Kind) {
        self.0.push((token, kind));
    }

    /// Takes one out; `None` when its vMAC is gone.
    pub(crate) fn complete(&mut self, token: u64) -> Option<Kind> {
        let at = self.0.iter().position(|&(known, _)| known == token)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes all of one VM out; their ends will be nobody's.
    pub(crate) fn forget(&mut self, vm: VmId) -> Vec<u64> {
        let (gone, keep): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|&(_, kind)| kind.vm() == vm);
        self.0 = keep;
        gone.into_iter().map(|(token, _)| token).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
