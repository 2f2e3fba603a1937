//! What a card has counted.

/// Counters of one card, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads of registers that are in no table; they returned 0.
    pub unlisted_reads: u64,
    /// Writes to registers that are in no table; they were ignored.
    pub unlisted_writes: u64,
    /// Register accesses of another width or alignment than the card has.
    pub odd_accesses: u64,
    /// Writes to HBUS_TARG_WRPTR: a transmit queue's write pointer has moved.
    pub doorbells: u64,
    /// Host commands taken from the command ring.
    pub commands: u64,
    /// Of these, with an id that is in no table.
    pub unknown_commands: u64,
    /// Of these, with a payload that cannot be used; acknowledged, nothing done.
    pub malformed_commands: u64,
    /// Frames handed to the radio.
    pub tx_frames: u64,
    /// Frames completed without the radio: malformed, or asking for a cipher that the NIC lacks.
    pub tx_refused: u64,
    /// Frames dropped by a flush before they were handed to the radio.
    pub tx_flushed: u64,
    /// Transmit descriptors that carried no usable command; nothing was answered.
    pub bad_descriptors: u64,
    /// Frames written into receive buffers.
    pub rx_frames: u64,
    /// Received frames dropped because the driver had no receive buffers free for too long.
    pub rx_dropped: u64,
    /// Notifications and responses dropped for the same reason.
    pub packets_dropped: u64,
    /// Receive buffers closed.
    pub receive_buffers: u64,
    /// Rises of the interrupt line.
    pub interrupts: u64,
    /// Accesses to memory that the guest has not mapped.
    pub dma_faults: u64,
    /// Software and function resets.
    pub resets: u64,
    /// Microcode sections loaded.
    pub microcode_sections: u64,
    /// Times that the microcode was started.
    pub microcode_starts: u64,
    /// Events of the radio that belong to nothing asked, or to the time before a reset.
    pub stale_events: u64,
}
