//! What a VMM is told of a VM of the user's.

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
