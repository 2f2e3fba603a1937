//! From a frame in the guest's memory to one that is ready for the air: one copy, then every check
//! on that copy, then sequence number and encryption.

use airlane_air::Aggregation;
use airlane_dma::Frame;
use airlane_dot11::frame::{CCMP_HEADER, CCMP_MIC, FrameControl, Header, set_sequence_number};
use airlane_dot11::{AccessCategory, Band, Buffer, BufferPool, CAPACITY, MacAddr, Rate, RateTable};
use airlane_lane::stamp::{Point, Stamps};
use airlane_lane::{Micros, VmId};
use airlane_waist::{Mode, Transmit, TxCipher, TxRate, TxReport, TxStatus, VifConfig};

use crate::counters::DropReason;
use crate::rx::keys::KeyTable;
use crate::tx::airtime::estimate;
use crate::vmac::{Station, Vmac};

/// How a frame is protected from stations that cannot hear or understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shield {
    None,
    Rts,
    CtsToSelf,
}

/// A frame that is ready for the air.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) frame: Buffer,
    pub(crate) rates: RateTable,
    pub(crate) category: AccessCategory,
    pub(crate) sequence_control: u16,
    pub(crate) acknowledge: bool,
    /// How it may share a PPDU.
    pub(crate) aggregation: Option<Aggregation>,
    pub(crate) shield: Shield,
    pub(crate) retry_limit: u8,
    /// What it is expected to cost: one attempt.
    pub(crate) cost: Micros,
    /// It tells the access point that the driver's station sleeps, or that it is awake.
    pub(crate) dozes: Option<bool>,
}

/// A frame that is not sent: why, and what its driver is told.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) drop: DropReason,
    pub(crate) report: TxReport,
}

/// Makes `transmit` ready, or says why not. A rejected frame leaves no trace but a buffer that is free again.
pub(crate) fn prepare(
    vm: VmId,
    vmac: &mut Vmac,
    keys: &mut KeyTable,
    pool: &mut BufferPool,
    transmit: &Transmit,
    stamps: &mut Stamps,
) -> Result<Prepared, Rejected> {
    let rate = nominal_rate(vmac, transmit);
    let mut sealed = None;
    let length = transmit.frame.len() + room(transmit.cipher);
    let result = if transmit.frame.is_empty() || length > CAPACITY {
        Err(DropReason::Malformed)
    } else {
        pool.fill(length, |bytes| {
            sealed = Some(seal(vm, vmac, keys, transmit, bytes, stamps)?);
            Ok(())
        })
    };
    match (result, sealed) {
        (Ok(frame), Some((header, rates))) => Ok(ready(vmac, transmit, frame, &header, rates)),
        (result, _) => {
            let drop = result.err().unwrap_or(DropReason::Malformed);
            let report = report(status(drop), rate, 0);
            Err(Rejected { drop, report })
        }
    }
}

/// Attempts beyond the first that a VM may ask for; the driver's largest (`dvm/tx.c`, block-ack requests).
/// More would let one frame that nobody answers hold up everybody's.
const MAX_RETRIES: u8 = 60;

/// Fills `bytes` with the frame as it goes on the air. This is the card's DMA, the one copy of a
/// frame on its way out. All checks look at this copy, because the guest may change its own memory
/// at any moment: a check of what stands there would say nothing about what is sent.
fn seal(
    vm: VmId,
    vmac: &mut Vmac,
    keys: &mut KeyTable,
    transmit: &Transmit,
    bytes: &mut [u8],
    stamps: &mut Stamps,
) -> Result<(Header, RateTable), DropReason> {
    copy(&transmit.frame, bytes)?;
    let header = Header::parse(bytes).map_err(|_| DropReason::Malformed)?;
    check_identity(vmac, &header)?;
    let rates = ladder(vmac, transmit, &header)?;
    check_shape(transmit.cipher, &header, bytes)?;
    if transmit.assign_sequence && header.sequence_control.is_some() {
        set_sequence_number(bytes, vmac.next_sequence());
    }
    let header = Header::parse(bytes).map_err(|_| DropReason::Malformed)?;
    stamps.mark(Point::Encrypt);
    encrypt(vm, keys, transmit.cipher, &header, bytes)?;
    stamps.mark(Point::Encrypted);
    Ok((header, rates))
}

fn ready(
    vmac: &Vmac,
    transmit: &Transmit,
    frame: Buffer,
    header: &Header,
    rates: RateTable,
) -> Prepared {
    let rate = rates.first().copied().unwrap_or_else(|| lowest(vmac));
    let to_own_bss = Some(header.receiver) == vmac.bssid();
    let station = vmac.station(transmit.station);
    let aggregation = station.filter(|_| transmit.aggregate);
    let aggregation = aggregation.and_then(Station::aggregation);
    Prepared {
        category: transmit.category,
        sequence_control: header.sequence_control.unwrap_or(0),
        acknowledge: transmit.acknowledge && !header.receiver.is_group(),
        shield: shield(vmac.config.as_ref(), transmit.protect, rate),
        retry_limit: transmit.retry_limit.min(MAX_RETRIES),
        cost: estimate(frame.len(), rate, aggregation.is_some()),
        aggregation,
        frame,
        rates,
        dozes: to_own_bss.then_some(header.control.contains(FrameControl::POWER_MANAGEMENT)),
    }
}

/// What a driver is told about a frame that was not sent.
pub(crate) fn report(status: TxStatus, rate: Rate, sequence_control: u16) -> TxReport {
    TxReport {
        status,
        retries: 0,
        rts_failures: 0,
        rate,
        sequence_control,
        airtime: Micros(0),
    }
}

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

fn room(cipher: TxCipher) -> usize {
    match cipher {
        TxCipher::None => 0,
        TxCipher::Ccmp(_) => CCMP_MIC,
    }
}

/// The frame into the first bytes, zero into the room behind it.
fn copy(frame: &Frame, bytes: &mut [u8]) -> Result<(), DropReason> {
    let (body, room) = bytes
        .split_at_mut_checked(frame.len())
        .ok_or(DropReason::Malformed)?;
    room.fill(0);
    match frame.read(body) {
        Ok(read) if read == frame.len() => Ok(()),
        _ => Err(DropReason::Malformed),
    }
}

/// A frame that the NIC is to encrypt is marked as protected and holds a CCMP header.
fn check_shape(cipher: TxCipher, header: &Header, bytes: &[u8]) -> Result<(), DropReason> {
    let holds = header.is_protected() && bytes.len() >= header.length + CCMP_HEADER + CCMP_MIC;
    match cipher {
        TxCipher::Ccmp(_) if !holds => Err(DropReason::Malformed),
        _ => Ok(()),
    }
}

/// A VM sends under its own address only, and data to its own BSS only.
fn check_identity(vmac: &Vmac, header: &Header) -> Result<(), DropReason> {
    let sends = vmac
        .config
        .as_ref()
        .is_some_and(|config| config.mode != Mode::Monitor);
    let address = vmac.address().filter(|_| sends);
    let address = address.ok_or(DropReason::NotConfigured)?;
    if header.transmitter != Some(address) {
        return Err(DropReason::Identity);
    }
    if header.is_data() && own_bss(vmac, header).is_none() {
        return Err(DropReason::ForeignBss);
    }
    Ok(())
}

fn own_bss(vmac: &Vmac, header: &Header) -> Option<MacAddr> {
    let bssid = vmac.bssid()?;
    let adhoc = vmac.config.as_ref()?.mode == Mode::Adhoc;
    let target = match header.control & FrameControl::DS {
        FrameControl::TO_DS | FrameControl::DS => header.receiver,
        way if adhoc && way.is_empty() => header.address3?,
        _ => return None,
    };
    (target == bssid).then_some(bssid)
}

/// The rates to try. Frames of the driver's own choice of rate need no station: management frames
/// go out before there is one.
fn ladder(vmac: &Vmac, transmit: &Transmit, header: &Header) -> Result<RateTable, DropReason> {
    let station = vmac.station(transmit.station);
    if let TxRate::Fixed(rate) = transmit.rate {
        if header.is_data() && station.is_none() {
            return Err(DropReason::UnknownStation);
        }
        return Ok(single(rate));
    }
    let ladder = &station.ok_or(DropReason::UnknownStation)?.ladder;
    if ladder.is_empty() {
        return Ok(single(lowest(vmac)));
    }
    Ok(ladder.clone())
}

fn single(rate: Rate) -> RateTable {
    RateTable::from_iter([rate])
}

/// The slowest rate of the band: what every station understands.
pub(crate) fn lowest(vmac: &Vmac) -> Rate {
    match vmac.channel().map(|channel| channel.band()) {
        Some(Band::Ghz5) => Rate::OFDM_6,
        _ => Rate::DSSS_1,
    }
}

/// The rate that a report on an unsent frame names.
pub(crate) fn nominal_rate(vmac: &Vmac, transmit: &Transmit) -> Rate {
    let first = vmac
        .station(transmit.station)
        .and_then(|station| station.ladder.first().copied());
    match transmit.rate {
        TxRate::Fixed(rate) => rate,
        TxRate::Table => first.unwrap_or_else(|| lowest(vmac)),
    }
}

fn encrypt(
    vm: VmId,
    keys: &mut KeyTable,
    cipher: TxCipher,
    header: &Header,
    bytes: &mut [u8],
) -> Result<(), DropReason> {
    let TxCipher::Ccmp(key) = cipher else {
        return Ok(());
    };
    keys.transmit(vm, header.receiver, &key)
        .ok_or(DropReason::Malformed)?
        .encrypt(header, bytes)
        .map_err(|_| DropReason::Malformed)
}

/// CTS-to-self is for OFDM frames among 802.11b stations (IEEE 802.11-2020 10.27), so in 2.4 GHz only.
fn shield(config: Option<&VifConfig>, rts: bool, rate: Rate) -> Shield {
    let erp = config.is_some_and(|config| {
        config.protect && config.channel.band() == Band::Ghz2 && !matches!(rate, Rate::Dsss { .. })
    });
    match (rts, erp) {
        (true, _) => Shield::Rts,
        (false, true) => Shield::CtsToSelf,
        (false, false) => Shield::None,
    }
}
