//! Sizes of a card.

use airlane_lane::Micros;

/// Sizes of a card.
#[derive(Clone, Copy, Debug)]
pub struct NicConfig {
    /// Frames that one vMAC's queues hold.
    pub queue_limit: usize,
    /// Frames per access category that the air holds at a time. Few: what is with the air can be
    /// neither shared out anew nor flushed.
    pub air_depth: usize,
    /// The same where frames share PPDUs, as time: enough for the longest PPDU.
    pub air_ahead: Micros,
    /// Buffers for frames on their way out.
    pub tx_buffers: usize,
    /// Buffers for decrypted frames on their way in.
    pub rx_buffers: usize,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            queue_limit: 4_096,
            air_depth: 2,
            air_ahead: Micros::from_millis(6),
            tx_buffers: 512,
            rx_buffers: 512,
        }
    }
}
