//! What one VM's memory looks like at one moment, and the ways to find a page in it.
//!
//! Immutable once published: who holds one (a frame on its way to an engine) keeps its pages mapped.

use std::sync::Arc;

use vm_memory::{
    GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion, MemoryRegionAddress,
    VolatileSlice,
};

use crate::fault::Faults;
use crate::mapping::{MapError, Region, is_writable};
use crate::merged::{Chunk, NONE, SHARED, Sizes};
use crate::translation::Translation;

/// Ranges that can be mapped at a time: more have no number.
const MAX_RANGES: usize = SHARED as usize;

/// A mapped range under its number, which it keeps until it is unmapped.
#[derive(Clone)]
struct Slot {
    first: u64,
    last: u64,
    writable: bool,
    region: Arc<Region>,
}

impl Slot {
    fn new(region: Arc<Region>) -> Self {
        Self {
            first: region.start_addr().0,
            last: region.last_addr().0,
            writable: is_writable(&region),
            region,
        }
    }

    /// The part of `address + length` that this range holds, if it holds the beginning.
    #[inline]
    fn span(&self, address: u64, length: usize) -> Option<Span<'_>> {
        if address > self.last {
            return None;
        }
        let offset = address.checked_sub(self.first)?;
        let left = (self.last - address).saturating_add(1);
        Some(Span {
            region: &self.region,
            writable: self.writable,
            offset,
            length: usize::try_from(left).map_or(length, |left| left.min(length)),
        })
    }
}

/// One user of guest memory, and the range that its last access hit.
///
/// A hint, never a promise: every access compares the range that now stands in that place with the
/// address. So a window needs no notice when the VMM maps or unmaps, and cannot reach what is gone.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub(crate) slot: u16,
    /// Names it in the log of faults.
    pub(crate) what: &'static str,
}

impl Window {
    /// The user that is called `what` when it goes wrong.
    pub const fn new(what: &'static str) -> Self {
        Self { slot: 0, what }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new("memory")
    }
}

/// Bytes that lie together in one range.
pub(crate) struct Span<'a> {
    region: &'a Region,
    pub(crate) writable: bool,
    /// From the range's beginning.
    pub(crate) offset: u64,
    /// At least 1 where at least 1 was asked for.
    pub(crate) length: usize,
}

impl<'a> Span<'a> {
    #[inline]
    pub(crate) fn bytes(&self) -> Option<VolatileSlice<'a>> {
        let offset = MemoryRegionAddress(self.offset);
        self.region.get_slice(offset, self.length).ok()
    }
}

/// One VM's memory.
#[derive(Clone, Default)]
pub(crate) struct View {
    translation: Translation,
    /// Whose faults these are.
    pub(crate) faults: Arc<Faults>,
    ranges: GuestMemoryMmap<()>,
    /// The same ranges, each in a place that it keeps.
    slots: Vec<Option<Slot>>,
    /// For merged addresses.
    chunk: Option<Chunk>,
}

impl View {
    /// Nothing mapped.
    pub(crate) fn new(
        translation: Translation,
        sizes: Sizes,
        chunk: usize,
        faults: Faults,
    ) -> Self {
        let merged = translation == Translation::Merged;
        Self {
            translation,
            faults: Arc::new(faults),
            chunk: merged.then(|| Chunk::new(sizes, chunk)).flatten(),
            ..Self::default()
        }
    }

    /// The same way, for the same VM, with nothing mapped.
    pub(crate) fn emptied(&self) -> Self {
        let mut empty = self.clone();
        empty.ranges = GuestMemoryMmap::default();
        empty.slots.clear();
        if let Some(chunk) = &mut empty.chunk {
            chunk.clear();
        }
        empty
    }

    pub(crate) fn translation(&self) -> Translation {
        self.translation
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Region> {
        self.ranges.iter()
    }

    pub(crate) fn insert(&mut self, region: Region) -> Result<(), MapError> {
        let (address, size) = (region.start_addr().0, region.len());
        let region = Arc::new(region);
        let ranges = self.ranges.insert_region(Arc::clone(&region));
        let ranges = ranges.map_err(|_| MapError::Overlap { address, size })?;
        let free = self.slots.iter().position(Option::is_none);
        let at = free.unwrap_or(self.slots.len());
        let number = u16::try_from(at).ok().filter(|_| at < MAX_RANGES);
        let number = number.ok_or_else(|| MapError::Refused {
            address,
            size,
            cause: "too many ranges are mapped".to_owned(),
        })?;
        self.ranges = ranges;
        let slot = Some(Slot::new(region));
        match self.slots.get_mut(at) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        self.enter(address, size, number);
        Ok(())
    }

    pub(crate) fn remove(&mut self, address: u64, size: u64) -> Result<(), MapError> {
        let removed = self.ranges.remove_region(GuestAddress(address), size);
        let (ranges, _) = removed.map_err(|_| MapError::Unknown { address, size })?;
        self.ranges = ranges;
        for slot in &mut self.slots {
            slot.take_if(|slot| slot.first == address);
        }
        self.enter(address, size, NONE);
        Ok(())
    }

    /// Follows a change in the tables: whole pages are the range's; the first and last may be others' too.
    fn enter(&mut self, address: u64, size: u64, entry: u16) {
        let last = address.saturating_add(size - 1);
        let Some(chunk) = &mut self.chunk else { return };
        chunk.set(address, last, entry);
        let page = chunk.sizes().page_size();
        for at in [address, last] {
            let first = at & !(page - 1);
            let entry = owner(&self.slots, first, first.saturating_add(page - 1));
            chunk.set(at, at, entry);
        }
    }

    /// The longest part of `address + length` that lies together; `None` when its beginning is not the VM's.
    #[inline]
    pub(crate) fn find(
        &self,
        window: &mut Window,
        address: u64,
        length: usize,
    ) -> Option<Span<'_>> {
        match self.translation {
            Translation::Flat => self.look_where_it_was(window, address, length),
            Translation::Merged => self.walk(self.merge(address)?, length),
            Translation::Software => self.look_up(address, length),
        }
    }

    /// A hit is a comparison; a miss moves the window.
    #[inline]
    fn look_where_it_was(
        &self,
        window: &mut Window,
        address: u64,
        length: usize,
    ) -> Option<Span<'_>> {
        let hit = self.in_slot(window.slot, address, length);
        hit.or_else(|| self.look_elsewhere(window, address, length))
    }

    #[cold]
    fn look_elsewhere(&self, window: &mut Window, address: u64, length: usize) -> Option<Span<'_>> {
        let holds = |slot: &Option<Slot>| {
            let slot = slot.as_ref();
            slot.is_some_and(|slot| (slot.first..=slot.last).contains(&address))
        };
        window.slot = u16::try_from(self.slots.iter().position(holds)?).ok()?;
        self.in_slot(window.slot, address, length)
    }

    #[inline]
    fn in_slot(&self, slot: u16, address: u64, length: usize) -> Option<Span<'_>> {
        let slot = self.slots.get(usize::from(slot))?.as_ref()?;
        slot.span(address, length)
    }

    /// In the list of ranges.
    pub(crate) fn look_up(&self, address: u64, length: usize) -> Option<Span<'_>> {
        let region = self.ranges.find_region(GuestAddress(address))?;
        let left = (region.last_addr().0 - address).saturating_add(1);
        Some(Span {
            region,
            writable: is_writable(region),
            offset: address - region.start_addr().0,
            length: usize::try_from(left).map_or(length, |left| left.min(length)),
        })
    }

    /// The address that the device gets; `None` for one that would reach into another VM's chunk.
    pub(crate) fn merge(&self, address: u64) -> Option<u64> {
        self.chunk.as_ref()?.merge(address)
    }

    /// The guest's address that the device's stands for.
    pub(crate) fn guest_address(&self, merged: u64) -> u64 {
        let chunk = self.chunk.as_ref();
        chunk.map_or(merged, |chunk| chunk.guest_address(merged))
    }

    /// Through the tables, to the end of the page at most.
    pub(crate) fn walk(&self, merged: u64, length: usize) -> Option<Span<'_>> {
        let chunk = self.chunk.as_ref()?;
        let address = chunk.guest_address(merged);
        let mut span = match chunk.walk(merged)? {
            SHARED => self.look_up(address, length),
            slot => self.in_slot(slot, address, length),
        }?;
        let page = chunk.sizes().page_size();
        let left = page - (address & (page - 1));
        span.length = usize::try_from(left).map_or(span.length, |left| left.min(span.length));
        Some(span)
    }

    /// The place that holds all of `address + length` together, and where in it.
    pub(crate) fn place(
        &self,
        window: &mut Window,
        address: u64,
        length: usize,
    ) -> Option<(u16, u64)> {
        let span = self.look_where_it_was(window, address, length)?;
        (span.length == length).then_some((window.slot, span.offset))
    }

    /// `length` bytes at `offset` of a place.
    pub(crate) fn at(&self, slot: u16, offset: u64, length: usize) -> Option<VolatileSlice<'_>> {
        let slot = self.slots.get(usize::from(slot))?.as_ref()?;
        let offset = MemoryRegionAddress(offset);
        slot.region.get_slice(offset, length).ok()
    }
}

/// The entry of the page `first..=last`.
fn owner(slots: &[Option<Slot>], first: u64, last: u64) -> u16 {
    let mut entry = NONE;
    for (number, slot) in slots.iter().enumerate() {
        let holds = |slot: &Slot| slot.first <= last && slot.last >= first;
        if slot.as_ref().is_some_and(holds) {
            let alone = entry == NONE;
            entry = u16::try_from(number)
                .ok()
                .filter(|_| alone)
                .unwrap_or(SHARED);
        }
    }
    entry
}
