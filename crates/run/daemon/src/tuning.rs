//! How the card is shared: the choices whose cost is measured. `[card]` of a scenario sets them.

use airlane_dma::Translation;
use airlane_engine::DataPath;
use airlane_lane::{Coalescing, Polling, Threads};

/// The choices. The default is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// How guest addresses become pages.
    pub translation: Translation,
    /// When a VM is interrupted.
    pub interrupts: Coalescing,
    /// When the threads of the lanes and the radio look again before they sleep.
    pub polling: Polling,
    /// Which way frames go.
    pub data_path: DataPath,
    /// Which thread serves a VM's card.
    pub threads: Threads,
}

impl Tuning {
    /// Everything off: what the choices are compared with.
    pub const UNTUNED: Self = Self {
        translation: Translation::Software,
        interrupts: Coalescing::Off,
        polling: Polling::Off,
        data_path: DataPath::Emulated,
        threads: Threads::PerVm,
    };
}
