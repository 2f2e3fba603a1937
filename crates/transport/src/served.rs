//! What a server of cards tells about those it serves: what it has counted, and how a connection ended.

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The other end went away, or was sent away by the device.
    Disconnected,
    /// The `stop` eventfd fired.
    Stopped,
}

/// What one server has seen, over all its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clients accepted.
    pub connections: u64,
    /// Looks for something to do, each a system call, most of them with a sleep.
    pub waits: u64,
    /// Messages handled.
    pub messages: u64,
    /// Receives that brought something: messages per batch tell how well writes are drained.
    pub batches: u64,
    /// Writes of replies, many at a time.
    pub sends: u64,
    /// Region reads.
    pub reads: u64,
    /// Region writes, those within `REGION_WRITE_MULTI` one by one.
    pub writes: u64,
    /// Ranges mapped.
    pub maps: u64,
    /// Ranges mapped without a file: out of the card's reach.
    pub maps_without_file: u64,
    /// Unmap requests done.
    pub unmaps: u64,
    /// Resets of the device that a client has asked for.
    pub resets: u64,
    /// Interrupts delivered.
    pub interrupts: u64,
    /// Message-signalled interrupts that found no eventfd.
    pub interrupts_lost: u64,
    /// Requests answered with an error number, or posted ones that were skipped.
    pub refused: u64,
    /// Messages that ended their connection.
    pub malformed: u64,
}
