//! How the card is shared: the choices whose cost is measured. `[card]` of a scenario sets them.

use airlane_lane::Coalescing;

/// The choices. The default is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// When a VM is interrupted.
    pub interrupts: Coalescing,
}

impl Tuning {
    /// Everything off: what the choices are compared with.
    pub const UNTUNED: Self = Self {
        interrupts: Coalescing::Off,
    };
}
