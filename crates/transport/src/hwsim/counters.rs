//! What a server of hwsim radios has counted.

/// What one hwsim connection has seen, over all its guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HwsimCounters {
    /// Front ends accepted.
    pub connections: u64,
    /// Frames handed to the medium.
    pub transmitted: u64,
    /// Frames handed to the guest.
    pub received: u64,
    /// Statuses handed to the guest.
    pub statuses: u64,
    /// Guest messages that could not be read, or that no medium serves.
    pub malformed: u64,
    /// Guest frames that the medium's full ring refused: answered as not acknowledged.
    pub refused: u64,
    /// Address changes that were lost because the medium took nothing for too long.
    pub addresses_lost: u64,
    /// Received frames dropped because the guest posts no buffers.
    pub receive_overflow: u64,
    /// Statuses dropped because the guest posts no buffers and nothing else waits.
    pub status_overflow: u64,
    /// Messages to the guest that cannot be written: frame too short or too long for hwsim.
    pub unsendable: u64,
    /// Guest buffers that were outside its memory or too small.
    pub bad_buffers: u64,
    /// Messages of the medium that came while no guest was there.
    pub without_guest: u64,
    /// Memory tables refused, since the guest's memory could vanish.
    pub memory_refused: u64,
}
