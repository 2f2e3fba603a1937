//! Where a ring or a frame looked last.

/// One user of guest memory, and the range that its last access hit.
///
/// A hint, never a promise: every access compares the range that now stands in that place with the
/// address. So a window needs no notice when the VMM maps or unmaps, and cannot reach what is gone.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub(crate) slot: u16,
    /// Names it in the log of faults.
    pub(crate) what: &'static str,
}

impl Window {
    /// The user that is called `what` when it goes wrong.
    pub const fn new(what: &'static str) -> Self {
        Self { slot: 0, what }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new("memory")
    }
}
