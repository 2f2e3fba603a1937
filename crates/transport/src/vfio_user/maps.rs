//! The client's DMA map: ranges in guest memory, checked before the device sees them.
//!
//! QEMU also maps what no file stands behind (its firmware and option ROMs, video memory). Such a
//! range is remembered, so that its unmap is understood, but the device cannot reach it: DMA by
//! message is not offered, and an access there is a fault that [`Memory`] counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;

use airlane_dma::{Backing, MapError, Memory};

use super::protocol::{DmaMap, DmaUnmap};
use crate::seals::cannot_shrink;
use vfio_bindings::bindings::vfio::*;

/// Most ranges that one client may hold, announced as `max_dma_maps`.
pub const MAX_MAPS: usize = 1024;

struct Range {
    size: u64,
    backed: bool,
}

/// Ranges that the client has mapped, by guest address.
#[derive(Default)]
pub struct Maps(BTreeMap<u64, Range>);

/// What a mapping became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// The device can reach it.
    Backed,
    /// No file came along: the device cannot reach it.
    Unbacked,
}

impl Maps {
    /// Maps a range; an error number when it cannot be done.
    pub fn map(
        &mut self,
        memory: &mut Memory,
        map: &DmaMap,
        file: Option<OwnedFd>,
    ) -> Result<Mapped, i32> {
        let end = map.address.checked_add(map.size).ok_or(libc::EINVAL)?;
        if map.size == 0 || map.flags & VFIO_DMA_MAP_FLAG_READ == 0 {
            return Err(libc::EINVAL);
        }
        if self.overlaps(map.address, end) {
            return Err(libc::EEXIST);
        }
        if self.0.len() >= MAX_MAPS {
            return Err(libc::ENOSPC);
        }
        let backed = file.is_some();
        if let Some(file) = file {
            if !cannot_shrink(&file) {
                return Err(libc::EPERM);
            }
            let backing = Backing::File(File::from(file), map.offset);
            let writable = map.flags & VFIO_DMA_MAP_FLAG_WRITE != 0;
            memory
                .map(map.address, map.size, backing, writable)
                .map_err(|error| errno(&error))?;
        }
        let size = map.size;
        self.0.insert(map.address, Range { size, backed });
        Ok(if backed {
            Mapped::Backed
        } else {
            Mapped::Unbacked
        })
    }

    /// Unmaps every range that lies within the one given; an error number when there is none, or
    /// when one is cut.
    pub fn unmap(&mut self, memory: &mut Memory, unmap: &DmaUnmap) -> Result<(), i32> {
        if unmap.flags & VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP != 0 {
            return Err(libc::ENOTSUP);
        }
        if unmap.flags & VFIO_DMA_UNMAP_FLAG_ALL != 0 {
            self.clear(memory);
            return Ok(());
        }
        let end = unmap.address.checked_add(unmap.size).ok_or(libc::EINVAL)?;
        if !self.holds_whole_ranges(unmap.address, end) {
            return Err(libc::EINVAL);
        }
        while let Some((&address, _)) = self.0.range(unmap.address..end).next() {
            self.remove(memory, address);
        }
        Ok(())
    }

    /// Unmaps everything.
    pub fn clear(&mut self, memory: &mut Memory) {
        self.0.clear();
        memory.unmap_all();
    }

    fn remove(&mut self, memory: &mut Memory, address: u64) {
        if let Some(range) = self.0.remove(&address)
            && range.backed
            && let Err(error) = memory.unmap(address, range.size)
        {
            tracing::warn!(%error, "a range vanished from the device's memory");
        }
    }

    fn overlaps(&self, address: u64, end: u64) -> bool {
        let before = self.0.range(..end).next_back();
        before.is_some_and(|(&start, range)| start.saturating_add(range.size) > address)
    }

    /// True when at least one range begins in `address..end`, none begins before it and reaches in, and
    /// none begins in it and reaches out.
    fn holds_whole_ranges(&self, address: u64, end: u64) -> bool {
        let ends_after =
            |start: u64, range: &Range, limit| start.saturating_add(range.size) > limit;
        let mut below = self.0.range(..address);
        let cut_in = below
            .next_back()
            .is_some_and(|(&start, range)| ends_after(start, range, address));
        if end <= address || cut_in {
            return false;
        }
        let last = self.0.range(address..end).next_back();
        last.is_some_and(|(&start, range)| !ends_after(start, range, end))
    }
}

fn errno(error: &MapError) -> i32 {
    tracing::warn!(%error, "cannot map guest memory");
    match error {
        MapError::Overlap { .. } => libc::EEXIST,
        MapError::Range { .. } | MapError::Unknown { .. } => libc::EINVAL,
        MapError::Refused { .. } => libc::ENOMEM,
    }
}

#[cfg(test)]
#[path = "maps_tests.rs"]
mod tests;
