//! Access points and other machines with `mac80211_hwsim` radios, joined to the medium over
//! vhost-user (virtio device 29).
//!
//! QEMU attaches it with `-chardev socket,id=c,path=… -device
//! vhost-user-test-device-pci,virtio-id=29,num_vqs=2,vq_size=256,chardev=c` (before 11.0 the
//! device is named `vhost-user-device-pci`), with guest memory in a shared memfd. There is no
//! configuration space: QEMU asks for `VHOST_USER_PROTOCOL_F_CONFIG` only when `config_size` is set.
//! Queue 0 carries what the guest transmits, queue 1 what it receives. The guest drops frames
//! silently when queue 0 is full, hence `vq_size`.
//!
//! Seen with QEMU 11.1 and Linux 6.12: QEMU keeps one connection while it lives; when the guest reboots
//! it stops both queues and starts them again, which is [`FromHwsim::Closed`] and
//! [`FromHwsim::Connected`] here. A back end that dies while QEMU stops the queues takes QEMU
//! with it (an assertion), so the server must outlive its guests.
//!
//! Not here: which radio hears which frame, and when; that is the medium's.

mod backend;
pub mod codec;
mod error;
mod netlink;
mod rates;
mod server;
mod waiting;

use airlane_dot11::{Buffer, Channel, Dbm, MacAddr, Rate};
use arrayvec::ArrayVec;

pub use error::CodecError;
pub use server::{HwsimError, HwsimServer, serve_hwsim};

/// How many rates one frame names (`IEEE80211_TX_MAX_RATES`).
pub const MAX_RATES: usize = 4;

/// FLAGS: the guest wants a status (`HWSIM_TX_CTL_REQ_TX_STATUS`). It is sent in any case.
const REQ_TX_STATUS: u32 = 1 << 0;
/// FLAGS: nobody is to acknowledge (`HWSIM_TX_CTL_NO_ACK`).
const NO_ACK: u32 = 1 << 1;

/// One entry of TX_INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRate {
    /// mac80211's rate index; -1 ends the list.
    pub index: i8,
    /// How often it is, or was, tried.
    pub tries: u8,
}

/// The rates of a frame in hwsim's own terms, to be echoed in its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxInfo(pub [TxRate; MAX_RATES]);

impl Default for TxInfo {
    fn default() -> Self {
        Self(
            [TxRate {
                index: -1,
                tries: 0,
            }; MAX_RATES],
        )
    }
}

impl TxInfo {
    /// The same rates with the tries that were made at each; rates beyond `tries` were not used.
    pub fn used(&self, tries: &[u8]) -> Self {
        let mut used = Self::default();
        for ((entry, from), &tries) in used.0.iter_mut().zip(self.0).zip(tries) {
            *entry = TxRate {
                index: from.index,
                tries,
            };
        }
        used
    }
}

/// A frame that a guest's radio sends.
#[derive(Clone, Debug)]
pub struct HwsimFrame {
    /// Hardware address of the radio, unique within its guest only.
    pub radio: MacAddr,
    /// 802.11 frame, encrypted if at all, without check sequence.
    pub frame: Buffer,
    /// Where, 20 MHz wide.
    pub channel: Channel,
    /// FLAGS as they came, for the status.
    pub flags: u32,
    /// Rates to try in order, and how often each; never empty, tries never 0.
    pub rates: ArrayVec<(Rate, u8), MAX_RATES>,
    /// The same in hwsim's terms, for the status.
    pub tx_info: TxInfo,
    /// Names the frame in its status.
    pub cookie: u64,
}

impl HwsimFrame {
    /// Nobody is to acknowledge this frame.
    pub fn no_ack(&self) -> bool {
        self.flags & NO_ACK != 0
    }

    /// The guest waits for the status. One is due in any case: it keeps each frame until then.
    pub fn wants_status(&self) -> bool {
        self.flags & REQ_TX_STATUS != 0
    }

    /// The status of this frame after `tries` at each of its rates.
    pub fn status(&self, acknowledged: bool, signal: Dbm, tries: &[u8]) -> ToHwsim {
        ToHwsim::Status {
            radio: self.radio,
            cookie: self.cookie,
            flags: self.flags,
            acknowledged,
            signal,
            used: self.tx_info.used(tries),
        }
    }
}

/// From a guest with hwsim radios to the medium.
#[derive(Clone, Debug)]
pub enum FromHwsim {
    /// A radio sends. Exactly one [`ToHwsim::Status`] is due.
    Frame(HwsimFrame),
    /// A radio receives, and acknowledges, for one address more. Count them: around each software
    /// scan the driver adds and removes the scan's address, which usually is the interface's own.
    AddAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
    /// One addition of the address is taken back.
    RemoveAddress {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// Address of an interface.
        address: MacAddr,
    },
    /// The guest's driver has started: radios announce themselves from here on.
    Connected,
    /// The guest's driver, or the guest, is gone, and its radios with it.
    Closed,
}

/// From the medium to a guest with hwsim radios.
#[derive(Clone, Debug)]
pub enum ToHwsim {
    /// What became of a frame that the guest sent.
    Status {
        /// The radio that sent it.
        radio: MacAddr,
        /// The frame's cookie.
        cookie: u64,
        /// The frame's FLAGS.
        flags: u32,
        /// Whether it was acknowledged.
        acknowledged: bool,
        /// Signal of the acknowledgement.
        signal: Dbm,
        /// Tries at each rate; see [`TxInfo::used`].
        used: TxInfo,
    },
    /// A radio hears a frame of 24 to 2,304 bytes.
    Receive {
        /// Hardware address of the radio.
        radio: MacAddr,
        /// 802.11 frame without check sequence.
        frame: Buffer,
        /// Rate; the guest sees the nearest legacy rate.
        rate: Rate,
        /// Signal.
        signal: Dbm,
        /// Where.
        channel: Channel,
    },
}

/// What one hwsim connection has seen, over all its guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HwsimCounters {
    /// Front ends accepted.
    pub connections: u64,
    /// Frames handed to the medium.
    pub transmitted: u64,
    /// Frames handed to the guest.
    pub received: u64,
    /// Statuses handed to the guest.
    pub statuses: u64,
    /// Guest messages that could not be read, or that no medium serves.
    pub malformed: u64,
    /// Guest frames that the medium's full ring refused: answered as not acknowledged.
    pub refused: u64,
    /// Address changes that were lost because the medium took nothing for too long.
    pub addresses_lost: u64,
    /// Received frames dropped because the guest posts no buffers.
    pub receive_overflow: u64,
    /// Statuses dropped because the guest posts no buffers and nothing else waits.
    pub status_overflow: u64,
    /// Messages to the guest that cannot be written: frame too short or too long for hwsim.
    pub unsendable: u64,
    /// Guest buffers that were outside its memory or too small.
    pub bad_buffers: u64,
    /// Messages of the medium that came while no guest was there.
    pub without_guest: u64,
    /// Memory tables refused, since the guest's memory could vanish.
    pub memory_refused: u64,
}
