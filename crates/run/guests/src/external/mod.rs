//! VMs that the user starts: what attaches their cards, for a shell and for libvirt, and the folder where their VMMs find
//! the cards' sockets. Who says it, and when, is the harness's business.

mod command;
mod emulator;
mod folder;
mod libvirt;

pub use command::{command, missing_arguments};
pub use folder::RunFolder;
pub use libvirt::{domain, for_other_users};

use std::path::Path;

/// A VM of the user's, as its VMM must be told of it.
#[derive(Clone, Copy, Debug)]
pub struct ExternalVm<'a> {
    /// Its name in the scenario.
    pub name: &'a str,
    /// Its memory, in MiB.
    pub memory: u64,
    /// Where its card is served.
    pub card: &'a Path,
}
