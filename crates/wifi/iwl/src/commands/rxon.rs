//! RXON and RXON_ASSOC: address, BSS, channel, filter (`struct iwl_rxon_cmd`).

use airlane_dot11::{Band, Channel, MacAddr, Width};
use airlane_waist::{Command, Mode, ReceiveFilter, VifConfig};

use super::{Asked, Known};
use crate::wire::{array_at, u8_at, u16_at, u32_at};

bitflags::bitflags! {
    /// RXON flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// 2.4 GHz.
        const BAND_2GHZ = 1;
        /// Protect OFDM from stations without it.
        const PROTECT = 1 << 3;
        const SHORT_SLOT = 1 << 4;
        const SHORT_PREAMBLE = 1 << 5;
        /// The primary channel is the upper half.
        const PRIMARY_UPPER = 1 << 22;
        /// 40 MHz, pure.
        const PURE_40 = 1 << 25;
        /// 40 MHz, mixed.
        const MIXED = 1 << 26;
    }

    /// RXON filter flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Filter: u32 {
        const PROMISCUOUS = 1;
        const CONTROL = 1 << 1;
        const GROUP = 1 << 2;
        const NO_DECRYPTION = 1 << 3;
        const NO_GROUP_DECRYPTION = 1 << 4;
        const ASSOCIATED = 1 << 5;
        const BEACONS = 1 << 6;
    }
}

/// The station's state as the driver last described it.
#[derive(Clone, Debug)]
pub(crate) struct Rxon {
    address: MacAddr,
    bssid: MacAddr,
    mode: Mode,
    association_id: u16,
    channel: u16,
    flags: Flags,
    filter: Filter,
}

impl Rxon {
    fn parse(payload: &[u8]) -> Option<Self> {
        Some(Self {
            address: MacAddr(array_at(payload, 0x00)?),
            bssid: MacAddr(array_at(payload, 0x08)?),
            mode: mode(u8_at(payload, 0x18)?),
            association_id: u16_at(payload, 0x1e)?,
            flags: Flags::from_bits_retain(u32_at(payload, 0x20)?),
            filter: Filter::from_bits_retain(u32_at(payload, 0x24)?),
            channel: u16_at(payload, 0x28)?,
        })
    }

    /// True for a monitor, whose frames carry their check sequence.
    pub fn is_monitor(&self) -> bool {
        self.mode == Mode::Monitor
    }

    fn configuration(&self, forget_stations: bool) -> Option<VifConfig> {
        let associated = self.filter.contains(Filter::ASSOCIATED);
        Some(VifConfig {
            address: self.address,
            bssid: self.bssid,
            mode: self.mode,
            channel: channel(self.flags, self.channel)?,
            associated,
            association_id: self.association_id & 0x3fff,
            filter: receive_filter(self.filter),
            short_slot: self.flags.contains(Flags::SHORT_SLOT),
            short_preamble: self.flags.contains(Flags::SHORT_PREAMBLE),
            protect: self.flags.contains(Flags::PROTECT),
            forget_stations,
        })
    }
}

/// RXON: without ASSOC, stations and keys are forgotten.
pub fn decode(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let rxon = Rxon::parse(payload)?;
    let forget = !rxon.filter.contains(Filter::ASSOCIATED);
    let configuration = rxon.configuration(forget)?;
    if forget {
        known.first_rates = Default::default();
        known.station_flags = Default::default();
    }
    known.rxon = Some(rxon);
    Some(Asked::Radio(Command::Configure(Box::new(configuration))))
}

/// RXON_ASSOC: new flags for the last RXON. Before the first RXON there is nothing to change.
pub fn decode_assoc(known: &mut Known, payload: &[u8]) -> Option<Asked> {
    let rxon = known.rxon.as_mut()?;
    rxon.flags = Flags::from_bits_retain(u32_at(payload, 0)?);
    rxon.filter = Filter::from_bits_retain(u32_at(payload, 4)?);
    let configuration = rxon.configuration(false)?;
    Some(Asked::Radio(Command::Configure(Box::new(configuration))))
}

const fn mode(dev_type: u8) -> Mode {
    match dev_type {
        3 => Mode::Station,
        4 => Mode::Adhoc,
        6 => Mode::Monitor,
        _ => Mode::Other,
    }
}

fn channel(flags: Flags, number: u16) -> Option<Channel> {
    let band = if flags.contains(Flags::BAND_2GHZ) {
        Band::Ghz2
    } else {
        Band::Ghz5
    };
    let channel = Channel::new(band, number).ok()?;
    Some(channel.with_width(width(flags)))
}

/// The width that RXON flags describe.
pub fn width(flags: Flags) -> Width {
    if !flags.intersects(Flags::PURE_40 | Flags::MIXED) {
        Width::Mhz20
    } else if flags.contains(Flags::PRIMARY_UPPER) {
        Width::Mhz40Below
    } else {
        Width::Mhz40Above
    }
}

/// The waist's filter for RXON's, and SCAN's, filter flags.
pub fn receive_filter(filter: Filter) -> ReceiveFilter {
    const PAIRS: [(Filter, ReceiveFilter); 6] = [
        (Filter::PROMISCUOUS, ReceiveFilter::PROMISCUOUS),
        (Filter::CONTROL, ReceiveFilter::CONTROL),
        (Filter::GROUP, ReceiveFilter::GROUP),
        (Filter::BEACONS, ReceiveFilter::FOREIGN_BEACONS),
        (Filter::NO_DECRYPTION, ReceiveFilter::NO_DECRYPTION),
        (
            Filter::NO_GROUP_DECRYPTION,
            ReceiveFilter::NO_GROUP_DECRYPTION,
        ),
    ];
    let set = PAIRS.iter().filter(|(flag, _)| filter.contains(*flag));
    set.map(|&(_, wanted)| wanted).collect()
}
