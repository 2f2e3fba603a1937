//! What a card is to the servers here ([`PciDevice`]), and what it is besides where a thread of its own serves it
//! ([`LaneEnd`]).

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use airlane_dma::Memory;

use crate::served::Counters;

/// A PCI function, as its server needs it. Offsets and lengths are within the sizes that the card
/// gives; lengths are not restricted to what a processor can load or store at once.
///
/// A card with one register of 32 bits, which raises an interrupt when it is written, in a loop of one's own:
///
/// ```
/// use airlane_dma::Memory;
/// use airlane_transport::{PciDevice, Ready, Turn, VfioUserError, VfioUserServer};
///
/// struct Card {
///     memory: Memory,
///     register: [u8; 4],
///     due: bool,
/// }
///
/// impl PciDevice for Card {
///     fn config_read(&mut self, _offset: u64, data: &mut [u8]) {
///         data.fill(0);
///     }
///     fn config_write(&mut self, _offset: u64, _data: &[u8]) {}
///     fn bar_size(&self, bar: u8) -> u64 {
///         if bar == 0 { 4 } else { 0 }
///     }
///     fn bar_read(&mut self, _bar: u8, offset: u64, data: &mut [u8]) {
///         for (at, byte) in (offset as usize..).zip(data) {
///             *byte = self.register.get(at).copied().unwrap_or(0);
///         }
///     }
///     fn bar_write(&mut self, _bar: u8, offset: u64, data: &[u8]) {
///         for (at, byte) in (offset as usize..).zip(data) {
///             if let Some(place) = self.register.get_mut(at) {
///                 *place = *byte;
///             }
///         }
///         self.due = true;
///     }
///     fn memory(&mut self) -> &mut Memory {
///         &mut self.memory
///     }
///     fn reset(&mut self) {
///         self.register = [0; 4];
///     }
///     fn take_interrupt(&mut self) -> Option<u16> {
///         std::mem::take(&mut self.due).then_some(0)
///     }
///     fn intx_level(&self) -> bool {
///         false
///     }
/// }
///
/// /// One round of a loop: 64 messages at most, then one signal for all that they have raised.
/// fn round(server: &mut VfioUserServer, card: &mut Card) -> Result<Turn, VfioUserError> {
///     let turn = server.turn(card, Ready::ALL, 64)?;
///     server.interrupt(card);
///     Ok(turn)
/// }
///
/// let path = std::env::temp_dir().join(format!("airlane-card-{}", std::process::id()));
/// let mut server = VfioUserServer::bind(&path)?;
/// let mut card = Card { memory: Memory::new(), register: [0; 4], due: false };
/// assert_eq!(round(&mut server, &mut card)?, Turn::Idle);
/// # Ok::<(), VfioUserError>(())
/// ```
pub trait PciDevice {
    /// Reads configuration space.
    fn config_read(&mut self, offset: u64, data: &mut [u8]);
    /// Writes configuration space.
    fn config_write(&mut self, offset: u64, data: &[u8]);
    /// Length of configuration space in bytes: 256, or 4096 with PCI Express's extended part.
    fn config_size(&self) -> u64 {
        256
    }
    /// Length of a BAR in bytes; 0: the card has none there.
    fn bar_size(&self, bar: u8) -> u64;
    /// Reads a BAR.
    fn bar_read(&mut self, bar: u8, offset: u64, data: &mut [u8]);
    /// Writes a BAR.
    fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]);
    /// The part of a BAR that the guest may map; none: every access is a message. QEMU waits for the reply of each write
    /// to a card that has such a part, so a card with doorbells of the ordinary kind should have none.
    fn mappable(&self, bar: u8) -> Option<MappableRegion<'_>> {
        let _ = bar;
        None
    }
    /// The VM's memory as the card sees it. The server maps and unmaps it while the VM runs.
    fn memory(&mut self) -> &mut Memory;
    /// The VM or its hypervisor resets the card.
    fn reset(&mut self);
    /// Vectors of MSI-X, always the same number; 0: the card has MSI with its one vector. The capability in
    /// configuration space, and the table in a BAR, are the card's own.
    fn msix_vectors(&self) -> u16 {
        0
    }
    /// The next message-signalled interrupt that is due, by its vector (0 for MSI). Asked for at most as often in a row as
    /// the card has vectors.
    fn take_interrupt(&mut self) -> Option<u16>;
    /// Whether the card drives its INTx line.
    fn intx_level(&self) -> bool;
    /// A batch of messages has been read and is about to be handled: for those who measure.
    fn messages_read(&mut self) {}
}

/// A part of a BAR that the guest may map. What it does there is not told: the card finds it in the file.
#[derive(Clone, Debug)]
pub struct MappableRegion<'a> {
    /// A memfd that is sealed against shrinking (`F_SEAL_SHRINK`); any other is not given away, since the guest's
    /// hypervisor could shrink it below the card's own mapping.
    pub file: BorrowedFd<'a>,
    /// Where in the file the first byte of the BAR lies, in bytes, a multiple of the page size.
    pub offset: u64,
    /// Which parts of the BAR may be mapped, in bytes from its beginning, whole pages. Accesses to the rest are messages.
    pub areas: &'a [Range<u64>],
}

/// A card at the end of a lane: its thread serves the VM's messages, and exchanges with the engine, which has a thread of
/// its own. A card that is served by a loop that runs its engine as well needs none of this.
pub trait LaneEnd: PciDevice {
    /// A VM's hypervisor has connected; its first message comes after this, and the card is polled once more before. That
    /// it has gone shows when its server's `serve` returns.
    fn attached(&mut self) {}
    /// Exchanges with the engine: called after each batch of messages and each wake-up.
    fn poll(&mut self);
    /// Asked before the thread may sleep. True: more has come from the engine, poll again instead.
    /// A card answers with `!receiver.announce_sleep()` of its ring from the radio.
    fn wants_poll_before_sleep(&mut self) -> bool;
    /// What has been counted so far, told before each sleep: for those who report.
    fn counted(&mut self, counters: &Counters) {
        let _ = counters;
    }
    /// How long the thread may sleep at most before the card is polled again; nothing: for as long as
    /// nobody wakes it. Asked when it is about to.
    fn sleep_limit(&mut self) -> Option<Duration> {
        None
    }
}
