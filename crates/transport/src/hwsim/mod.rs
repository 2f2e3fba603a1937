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
mod counters;
mod error;
mod netlink;
mod rates;
mod server;
mod waiting;

pub use airlane_waist::hwsim::{FromHwsim, HwsimFrame, MAX_RATES, ToHwsim, TxInfo, TxRate};
pub use counters::HwsimCounters;
pub use error::CodecError;
pub use server::{HwsimError, HwsimServer, serve_hwsim};
