//! What RXON and RXON_ASSOC say: address, BSS, channel, filter (`struct iwl_rxon_cmd`).
//!
//! Not here: what else such a command changes (the decoders, in [`super::radio`]).

use airlane_dot11::{Band, Channel, MacAddr, Width};
use airlane_waist::{Mode, ReceiveFilter, VifConfig};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Unaligned};

use crate::wire::read;

/// `struct iwl_rxon_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct RxonCommand {
    address: [u8; 6],
    reserved_1: U16,
    bssid: [u8; 6],
    reserved_2: U16,
    wlap_bssid: [u8; 6],
    reserved_3: U16,
    /// As in [`mode`].
    device_type: u8,
    air_propagation: u8,
    rx_chain: U16,
    basic_rates: [u8; 2],
    association_id: U16,
    flags: U32,
    filter: U32,
    channel: U16,
    /// Basic rates of 802.11n, acquisition.
    unread: [u8; 8],
}

/// `struct iwl5000_rxon_assoc_cmd`.
#[derive(FromBytes, Unaligned)]
#[repr(C)]
pub struct RxonAssocCommand {
    flags: U32,
    filter: U32,
    /// Basic rates, receive chains.
    unread: [u8; 16],
}

bitflags::bitflags! {
    /// `RXON_FLG_*`.
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

    /// `RXON_FILTER_*`.
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
    /// The whole of an RXON; `None` when the payload is too short.
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let command: RxonCommand = read(payload)?;
        Some(Self {
            address: MacAddr(command.address),
            bssid: MacAddr(command.bssid),
            mode: mode(command.device_type),
            association_id: command.association_id.get(),
            flags: Flags::from_bits_retain(command.flags.get()),
            filter: Filter::from_bits_retain(command.filter.get()),
            channel: command.channel.get(),
        })
    }

    /// True for a monitor, whose frames carry their check sequence.
    pub fn is_monitor(&self) -> bool {
        self.mode == Mode::Monitor
    }

    /// True while ASSOC is among the filter's flags.
    pub(super) fn is_associated(&self) -> bool {
        self.filter.contains(Filter::ASSOCIATED)
    }

    /// Takes over what an RXON_ASSOC says; `None` when the payload is too short, and nothing has changed.
    pub(super) fn change(&mut self, payload: &[u8]) -> Option<()> {
        let command: RxonAssocCommand = read(payload)?;
        self.flags = Flags::from_bits_retain(command.flags.get());
        self.filter = Filter::from_bits_retain(command.filter.get());
        Some(())
    }

    /// The same for the radio; `None` on a channel that the band does not have.
    pub(super) fn configuration(&self, forget_stations: bool) -> Option<VifConfig> {
        Some(VifConfig {
            address: self.address,
            bssid: self.bssid,
            mode: self.mode,
            channel: channel(self.flags, self.channel)?,
            associated: self.is_associated(),
            association_id: self.association_id & 0x3fff,
            filter: receive_filter(self.filter),
            short_slot: self.flags.contains(Flags::SHORT_SLOT),
            short_preamble: self.flags.contains(Flags::SHORT_PREAMBLE),
            protect: self.flags.contains(Flags::PROTECT),
            forget_stations,
        })
    }
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
