//! The live map of one VM's memory.

use std::sync::Arc;

use vm_memory::{GuestMemoryRegion, VolatileSlice};

use crate::fault::{Attempt, Fault, Faults};
use crate::mapping::{Backing, MapError, build};
use crate::merged::Sizes;
use crate::translation::Translation;
use crate::view::{View, Window};

/// One VM's memory. Cheap to clone; a clone is a frozen view that keeps its pages alive.
#[derive(Clone, Default)]
pub struct Memory {
    view: Arc<View>,
}

impl Memory {
    /// Nothing mapped yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A fake guest's memory: `size` zeroed bytes at address 0.
    pub fn anonymous(size: u64) -> Result<Self, MapError> {
        let mut memory = Self::new();
        memory.map(0, size, Backing::Anonymous, true)?;
        Ok(memory)
    }

    /// Nothing mapped yet, for the VM of this name, translated this way. `chunk` is the VM's number in the paper's
    /// merged table, 0 to 15; with another, every access by way of that table is a fault.
    pub fn translated(translation: Translation, chunk: usize, name: &str) -> Self {
        Self::with_sizes(translation, Sizes::VIRTUAL_WIFI, chunk, name)
    }

    /// The same with a merged table of other sizes, and so of [`Sizes::chunks`] chunks.
    pub fn with_sizes(translation: Translation, sizes: Sizes, chunk: usize, name: &str) -> Self {
        let view = View::new(translation, sizes, chunk, Faults::of(name));
        let view = Arc::new(view);
        Self { view }
    }

    /// How addresses are translated.
    pub fn translation(&self) -> Translation {
        self.view.translation()
    }

    /// Maps `size` bytes at guest address `address`. A range that is not `writable` (option ROMs) can be read only.
    pub fn map(
        &mut self,
        address: u64,
        size: u64,
        backing: Backing,
        writable: bool,
    ) -> Result<(), MapError> {
        let region = build(address, size, backing, writable)?;
        self.change(|view| view.insert(region))
    }

    /// Removes the mapping of exactly this range.
    pub fn unmap(&mut self, address: u64, size: u64) -> Result<(), MapError> {
        self.change(|view| view.remove(address, size))
    }

    /// Removes every mapping.
    pub fn unmap_all(&mut self) {
        self.view = Arc::new(self.view.emptied());
    }

    /// How many ranges are mapped.
    pub fn ranges(&self) -> usize {
        self.view.ranges().count()
    }

    /// How many bytes are mapped.
    pub fn size(&self) -> u64 {
        self.view.ranges().map(|region| region.len()).sum()
    }

    /// How many accesses have faulted, those of frames included.
    pub fn faults(&self) -> u64 {
        self.view.faults.count()
    }

    /// Fills `bytes` from guest address `address`.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.read_via(&mut Window::default(), address, bytes)
    }

    /// The same for a user that comes again.
    pub fn read_via(
        &mut self,
        window: &mut Window,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), Fault> {
        let length = bytes.len();
        let mut rest = bytes;
        let done = self.each(window, address, length, false, |piece| {
            let (now, later) = cut(std::mem::take(&mut rest), piece.len());
            piece.copy_to(now);
            rest = later;
        });
        done.ok_or_else(|| self.fault(Attempt::Read, window, address, length))
    }

    /// Writes `bytes` at guest address `address`: all of them, or none when any is not writable.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.write_via(&mut Window::default(), address, bytes)
    }

    /// The same for a user that comes again.
    pub fn write_via(
        &mut self,
        window: &mut Window,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let length = bytes.len();
        let mut rest = bytes;
        let done = self.each(window, address, length, true, |piece| {
            let (now, later) = rest.split_at_checked(piece.len()).unwrap_or_default();
            piece.copy_from(now);
            rest = later;
        });
        done.ok_or_else(|| self.fault(Attempt::Write, window, address, length))
    }

    /// A little-endian 32-bit word at `address`.
    pub fn read_u32(&mut self, address: u64) -> Result<u32, Fault> {
        self.read_u32_via(&mut Window::default(), address)
    }

    /// The same for a user that comes again.
    pub fn read_u32_via(&mut self, window: &mut Window, address: u64) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read_via(window, address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes a little-endian 32-bit word at `address`.
    pub fn write_u32(&mut self, address: u64, value: u32) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    /// True when the whole range is mapped.
    pub fn contains(&self, address: u64, length: usize) -> bool {
        self.contains_via(&mut Window::default(), address, length)
    }

    /// The same for a user that comes again: a translation and nothing else.
    #[inline]
    pub fn contains_via(&self, window: &mut Window, address: u64, length: usize) -> bool {
        self.all(window, address, length, false)
    }

    /// True when the whole range is mapped and writable.
    pub fn is_writable(&self, address: u64, length: usize) -> bool {
        self.all(&mut Window::default(), address, length, true)
    }

    pub(crate) fn view(&self) -> &Arc<View> {
        &self.view
    }

    pub(crate) fn fault(
        &self,
        attempt: Attempt,
        window: &Window,
        address: u64,
        length: usize,
    ) -> Fault {
        let faults = &self.view.faults;
        faults.note(attempt, window.what, address, length)
    }

    /// Publishes what `change` makes of the present view.
    fn change(
        &mut self,
        change: impl FnOnce(&mut View) -> Result<(), MapError>,
    ) -> Result<(), MapError> {
        let mut view = View::clone(&self.view);
        change(&mut view)?;
        self.view = Arc::new(view);
        Ok(())
    }

    /// Hands over the pieces of a range, in order; none, and `None`, when any is not the VM's, or not writable.
    #[inline]
    fn each(
        &self,
        window: &mut Window,
        address: u64,
        length: usize,
        write: bool,
        mut access: impl FnMut(VolatileSlice<'_>),
    ) -> Option<()> {
        if length == 0 {
            return Some(());
        }
        let first = self.view.find(window, address, length)?;
        if first.length < length && !self.all(window, address, length, write) {
            return None;
        }
        let mut at = address;
        let mut span = first;
        let mut left = length;
        loop {
            if write && !span.writable {
                return None;
            }
            access(span.bytes()?);
            left -= span.length;
            if left == 0 {
                return Some(());
            }
            at = at.checked_add(span.length as u64)?;
            span = self.view.find(window, at, left)?;
        }
    }

    #[inline]
    fn all(&self, window: &mut Window, address: u64, length: usize, write: bool) -> bool {
        let (mut at, mut left) = (address, length);
        while left > 0 {
            match self.view.find(window, at, left) {
                Some(span) if span.writable || !write => {
                    left -= span.length;
                    at = at.saturating_add(span.length as u64);
                }
                _ => return false,
            }
        }
        true
    }
}

fn cut(bytes: &mut [u8], at: usize) -> (&mut [u8], &mut [u8]) {
    bytes.split_at_mut_checked(at).unwrap_or_default()
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
