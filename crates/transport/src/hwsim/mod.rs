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

pub use airlane_waist::hwsim::{FromHwsim, HwsimFrame, MAX_RATES, ToHwsim, TxInfo, TxRate};
pub use error::CodecError;
pub use server::{HwsimError, HwsimServer, serve_hwsim};

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
