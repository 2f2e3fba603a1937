//! VMs that the user starts: what attaches their cards, for a shell and for libvirt, and the folder where their VMMs find
//! the cards' sockets. Who says it, and when, is the harness's business.

mod command;
mod emulator;
mod folder;
mod libvirt;
mod vm;

pub use command::{command, missing_arguments};
pub use folder::RunFolder;
pub use libvirt::{domain, for_other_users};
pub use vm::ExternalVm;
