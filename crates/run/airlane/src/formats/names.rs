//! What both formats call a thing.

/// The name of the test that stands for the run itself, where it ended before its last check: else what was skipped would look like
/// all that went wrong.
pub const RUN: &str = "run";
