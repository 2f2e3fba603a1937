//! A run of a scenario: daemon and guests are brought up, the checks are made, all is taken down, and the report is written.
//! While it goes on it answers at its control socket ([`airlane_control`]). What people type, and how they see a run from
//! outside, is the program's.

// What guests print and what clients of the control socket ask may be anything.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]
#![cfg_attr(not(test), warn(clippy::panic, clippy::indexing_slicing))]
#![allow(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]

mod acts;
mod announce;
mod asked;
mod cards;
mod checks;
mod external;
mod folder;
mod jobs;
mod member;
mod memory_watch;
mod message;
mod name;
mod progress;
mod record;
pub mod report;
mod rows;
mod run;
mod session;
mod stop;
mod table;
mod up;
mod work;

pub use external::Hold;
pub use folder::{PRIVATE_PREFIX, Private};
pub use progress::Stream;
pub use run::{Ended, Options, default_output, run};
pub use stop::Stop;
pub use table::paint;
