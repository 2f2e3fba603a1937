//! From a frame in the guest's memory to one that is ready for the air: one copy, then every check
//! on that copy, then sequence number and encryption.

use airlane_air::{Protection, Transmission};
use airlane_dma::Frame;
use airlane_dot11::frame::{CCMP_HEADER, CCMP_MIC, FrameControl, Header, set_sequence_number};
use airlane_dot11::{Band, Buffer, BufferPool, CAPACITY, Channel, MacAddr, Rate, RateTable};
use airlane_waist::stamp::{Point, Stamps};
use airlane_waist::{Mode, Transmit, TxCipher, TxRate, TxReport, VifConfig, VmId};

use crate::counters::DropReason;
use crate::rx::keys::KeyTable;
use crate::tx::airtime::estimate;
use crate::tx::frame::{Prepared, copied, status, unsent};
use crate::vmac::{Station, Stations, Vmac};

/// A frame that is not sent: why, and what its driver is told.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) drop: DropReason,
    pub(crate) report: TxReport,
}

/// Makes `transmit` ready, or says why not. A rejected frame leaves no trace but a buffer that is free again.
/// `here`: the channel that the radio is tuned to.
pub(crate) fn prepare(
    (vm, vmac): (VmId, &mut Vmac),
    here: Option<Channel>,
    keys: &mut KeyTable,
    pool: &mut BufferPool,
    transmit: &Transmit,
    stamps: &mut Stamps,
) -> Result<Prepared, Rejected> {
    let mut sealed = None;
    let length = transmit.frame.len() + room(transmit.cipher);
    let result = if transmit.frame.is_empty() || length > CAPACITY {
        Err(DropReason::Malformed)
    } else {
        pool.fill(length, |bytes| {
            let header = seal((vm, &mut *vmac), keys, transmit, bytes, stamps)?;
            // A vMAC that may send is configured, and then waits for its channel.
            let channel = here.ok_or(DropReason::NotConfigured)?;
            sealed = Some((header, channel));
            Ok(())
        })
    };
    match (result, sealed) {
        (Ok(frame), Some((header, channel))) => Ok(ready(vmac, transmit, frame, &header, channel)),
        (result, _) => {
            let drop = result.err().unwrap_or(DropReason::Malformed);
            let rate = nominal_rate(&vmac.stations, vmac.lowest_rate(), transmit);
            let report = unsent(status(drop), rate, 0);
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
    (vm, vmac): (VmId, &mut Vmac),
    keys: &mut KeyTable,
    transmit: &Transmit,
    bytes: &mut [u8],
    stamps: &mut Stamps,
) -> Result<Header, DropReason> {
    copy(&transmit.frame, bytes)?;
    let mut header = Header::parse(bytes).map_err(|_| DropReason::Malformed)?;
    check_identity(vmac, &header)?;
    check_station(vmac, transmit, &header)?;
    check_shape(transmit.cipher, &header, bytes)?;
    if transmit.assign_sequence && header.sequence_control.is_some() {
        set_sequence_number(bytes, vmac.next_sequence());
        header = Header::parse(bytes).map_err(|_| DropReason::Malformed)?;
    }
    stamps.mark(Point::Encrypt);
    encrypt(vm, keys, transmit.cipher, &header, bytes)?;
    stamps.mark(Point::Encrypted);
    Ok(header)
}

fn ready(
    vmac: &Vmac,
    transmit: &Transmit,
    frame: Buffer,
    header: &Header,
    channel: Channel,
) -> Prepared {
    let station = vmac.stations.get(transmit.station);
    let rate = nominal_rate(&vmac.stations, vmac.lowest_rate(), transmit);
    let rates = match (transmit.rate, station) {
        (TxRate::Table, Some(station)) if !station.rates.is_empty() => copied(&station.rates),
        _ => RateTable::from_iter([rate]),
    };
    let to_own_bss = Some(header.receiver) == vmac.bssid();
    let aggregation = station.filter(|_| transmit.aggregate);
    let aggregation = aggregation.and_then(Station::aggregation);
    Prepared {
        sequence_control: header.sequence_control.unwrap_or(0),
        cost: estimate(frame.len(), rate, aggregation.is_some()),
        power_management: to_own_bss
            .then_some(header.control.contains(FrameControl::POWER_MANAGEMENT)),
        transmission: Transmission {
            token: 0,
            channel,
            category: transmit.category,
            edca: vmac.edca[transmit.category],
            retry_limit: transmit.retry_limit.min(MAX_RETRIES),
            acknowledge: transmit.acknowledge && !header.receiver.is_group(),
            protect: protection(vmac.config.as_ref(), transmit.protect, rate),
            short_slot: false,
            short_preamble: false,
            power: None,
            aggregation,
            frame,
            rates,
        },
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

/// Frames of the driver's own choice of rate need no station, unless they are data: management frames go out before
/// there is one.
fn check_station(vmac: &Vmac, transmit: &Transmit, header: &Header) -> Result<(), DropReason> {
    let needs_station = header.is_data() || matches!(transmit.rate, TxRate::Table);
    if needs_station && vmac.stations.get(transmit.station).is_none() {
        return Err(DropReason::UnknownStation);
    }
    Ok(())
}

/// The rate of the first attempt, which a report on a frame that was not sent names too. `lowest`: where its station
/// has no rate table.
pub(crate) fn nominal_rate(stations: &Stations, lowest: Rate, transmit: &Transmit) -> Rate {
    match transmit.rate {
        TxRate::Fixed(rate) => rate,
        TxRate::Table => {
            let station = stations.get(transmit.station);
            let first = station.and_then(|station| station.rates.first());
            first.copied().unwrap_or(lowest)
        }
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
        .encrypt(header, bytes)
        .map_err(|_| DropReason::Malformed)
}

/// CTS-to-self is for OFDM frames among 802.11b stations (IEEE 802.11-2020 10.27), so in 2.4 GHz only.
fn protection(config: Option<&VifConfig>, rts: bool, rate: Rate) -> Protection {
    let erp = config.is_some_and(|config| {
        config.protect && config.channel.band() == Band::Ghz2 && !matches!(rate, Rate::Dsss { .. })
    });
    match (rts, erp) {
        (true, _) => Protection::RtsCts,
        (false, true) => Protection::CtsToSelf,
        (false, false) => Protection::None,
    }
}
