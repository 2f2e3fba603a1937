//! The live map of one VM's memory.

use std::fs::File;
use std::sync::Arc;

use vm_memory::GuestMemoryBackend;
use vm_memory::mmap::MmapRegionBuilder;
use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap,
};

/// Where the pages of a mapping come from.
pub enum Backing {
    /// A shared file (the VMM's memfd) at this offset.
    File(File, u64),
    /// Fresh zeroed pages of our own: fake guests in tests and benchmarks.
    Anonymous,
}

/// An access to an address range that the VM does not own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guest address {address:#x} + {length} bytes is not mapped for this device")]
pub struct Fault {
    /// First byte of the access.
    pub address: u64,
    /// Its length in bytes.
    pub length: usize,
}

/// A mapping that cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// Zero or too large a size, or an address range that wraps.
    #[error(
        "cannot map {size:#x} bytes at guest address {address:#x}: the range is empty or wraps"
    )]
    Range {
        /// First byte.
        address: u64,
        /// Length in bytes.
        size: u64,
    },
    /// The kernel refused the mapping.
    #[error("cannot map {size:#x} bytes at guest address {address:#x}: {cause}")]
    Refused {
        /// First byte.
        address: u64,
        /// Length in bytes.
        size: u64,
        /// What the kernel, or the memory map, said.
        cause: String,
    },
    /// The range overlaps one that is mapped already.
    #[error("guest address {address:#x} + {size:#x} overlaps a range that is mapped already")]
    Overlap {
        /// First byte.
        address: u64,
        /// Length in bytes.
        size: u64,
    },
    /// No mapping has exactly this range.
    #[error("guest address {address:#x} + {size:#x} was never mapped as one range")]
    Unknown {
        /// First byte.
        address: u64,
        /// Length in bytes.
        size: u64,
    },
}

pub(crate) type View = GuestMemoryMmap<()>;

/// One VM's memory. Cheap to clone; a clone is a frozen view that keeps its pages alive.
#[derive(Clone, Default)]
pub struct Memory {
    view: Arc<View>,
    faults: u64,
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

    /// Maps `size` bytes at guest address `address`. A range that is not `writable` (option ROMs) can be read only.
    pub fn map(
        &mut self,
        address: u64,
        size: u64,
        backing: Backing,
        writable: bool,
    ) -> Result<(), MapError> {
        let refused = |cause: String| MapError::Refused {
            address,
            size,
            cause,
        };
        let length = usize::try_from(size).map_err(|_| MapError::Range { address, size })?;
        if length == 0 || address.checked_add(size).is_none() {
            return Err(MapError::Range { address, size });
        }
        let protection = if writable {
            libc_protection::READ_WRITE
        } else {
            libc_protection::READ
        };
        let builder = MmapRegionBuilder::new(length).with_mmap_prot(protection);
        let region = match backing {
            Backing::File(file, offset) if !reaches(&file, offset, size) => {
                return Err(refused("the file ends before the range does".into()));
            }
            Backing::File(file, offset) => builder
                .with_file_offset(FileOffset::new(file, offset))
                .with_mmap_flags(libc_protection::SHARED),
            Backing::Anonymous => builder.with_mmap_flags(libc_protection::PRIVATE_ANONYMOUS),
        }
        .build()
        .map_err(|error| refused(error.to_string()))?;
        let region = GuestRegionMmap::new(region, GuestAddress(address))
            .ok_or(MapError::Range { address, size })?;
        let view = self
            .view
            .insert_region(Arc::new(region))
            .map_err(|_| MapError::Overlap { address, size })?;
        self.view = Arc::new(view);
        Ok(())
    }

    /// Removes the mapping of exactly this range.
    pub fn unmap(&mut self, address: u64, size: u64) -> Result<(), MapError> {
        let (view, _) = self
            .view
            .remove_region(GuestAddress(address), size)
            .map_err(|_| MapError::Unknown { address, size })?;
        self.view = Arc::new(view);
        Ok(())
    }

    /// Removes every mapping.
    pub fn unmap_all(&mut self) {
        self.view = Arc::default();
    }

    /// How many ranges are mapped.
    pub fn ranges(&self) -> usize {
        self.view.num_regions()
    }

    /// How many bytes are mapped.
    pub fn size(&self) -> u64 {
        self.view.iter().map(|region| region.len()).sum()
    }

    /// How many accesses have faulted.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Fills `bytes` from guest address `address`.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let length = bytes.len();
        self.view
            .read_slice(bytes, GuestAddress(address))
            .map_err(|_| self.fault(address, length))
    }

    /// Writes `bytes` at guest address `address`: all of them, or none when any is not writable.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let length = bytes.len();
        if !self.is_writable(address, length) {
            return Err(self.fault(address, length));
        }
        self.view
            .write_slice(bytes, GuestAddress(address))
            .map_err(|_| self.fault(address, length))
    }

    /// A little-endian 32-bit word at `address`.
    pub fn read_u32(&mut self, address: u64) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes a little-endian 32-bit word at `address`.
    pub fn write_u32(&mut self, address: u64, value: u32) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    /// True when the whole range is mapped.
    pub fn contains(&self, address: u64, length: usize) -> bool {
        self.view.check_range(GuestAddress(address), length)
    }

    /// True when the whole range is mapped and writable. The memory library does not look at a range's
    /// protection: a store into option ROM, say, would be a signal that ends the process.
    pub fn is_writable(&self, address: u64, length: usize) -> bool {
        let Some(end) = address.checked_add(length as u64) else {
            return false;
        };
        let mut at = address;
        while at < end {
            match self.view.find_region(GuestAddress(at)) {
                Some(region) if region.prot() & libc::PROT_WRITE != 0 => {
                    at = region.last_addr().0.saturating_add(1);
                }
                _ => return false,
            }
        }
        true
    }

    pub(crate) fn view(&self) -> &Arc<View> {
        &self.view
    }

    pub(crate) fn fault(&mut self, address: u64, length: usize) -> Fault {
        self.faults = self.faults.saturating_add(1);
        Fault { address, length }
    }
}

/// True when `file` holds `size` bytes from `offset` on: an access to mapped pages beyond a file's end is
/// a signal that ends the process.
fn reaches(file: &File, offset: u64, size: u64) -> bool {
    let length = file.metadata().map_or(0, |data| data.len());
    offset.checked_add(size).is_some_and(|end| end <= length)
}

/// The three `mmap` constants that a mapping needs.
mod libc_protection {
    pub const READ: i32 = libc::PROT_READ;
    pub const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
    pub const SHARED: i32 = libc::MAP_SHARED | libc::MAP_NORESERVE;
    pub const PRIVATE_ANONYMOUS: i32 =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmapped_address_is_a_counted_fault() {
        let mut memory = Memory::anonymous(0x1000).unwrap();
        assert_eq!(memory.write_u32(0xffc, 7), Ok(()));
        assert_eq!(memory.read_u32(0xffc), Ok(7));
        assert_eq!(
            memory.read_u32(0xffd),
            Err(Fault {
                address: 0xffd,
                length: 4
            })
        );
        assert_eq!(memory.faults(), 1);
    }

    #[test]
    fn maps_and_unmaps_follow_live_and_an_old_view_keeps_its_pages() {
        let mut memory = Memory::anonymous(0x1000).unwrap();
        memory.write_u32(0, 1).unwrap();
        let mut old = memory.clone();
        memory.unmap(0, 0x1000).unwrap();
        assert!(memory.read_u32(0).is_err());
        assert_eq!(old.read_u32(0), Ok(1));
        assert!(matches!(
            memory.unmap(0, 0x1000),
            Err(MapError::Unknown { .. })
        ));
    }

    #[test]
    fn a_write_to_a_range_that_is_read_only_is_a_fault_and_writes_nothing() {
        let mut memory = Memory::anonymous(0x1000).unwrap();
        memory
            .map(0x1000, 0x1000, Backing::Anonymous, false)
            .unwrap();
        assert_eq!(memory.read_u32(0x1000), Ok(0));
        assert!(memory.write_u32(0x1000, 7).is_err());
        assert!(memory.write_u32(0xffe, 7).is_err());
        assert_eq!(memory.read_u32(0xffc), Ok(0));
        assert!(memory.write_u32(u64::MAX - 1, 7).is_err());
        assert_eq!(memory.faults(), 3);
        assert_eq!(memory.write(0x5000, &[]), Ok(()));
    }

    #[test]
    fn a_range_beyond_its_file_is_refused() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let length = file.metadata().unwrap().len();
        let mut memory = Memory::new();
        let mut map = |offset, size| {
            let backing = Backing::File(file.try_clone().unwrap(), offset);
            memory.map(0, size, backing, false)
        };
        assert!(map(0, length + 1).is_err());
        assert!(map(u64::MAX - 4096, 8192).is_err());
        assert!(map(0, length).is_ok());
    }

    #[test]
    fn an_overlap_is_refused() {
        let mut memory = Memory::anonymous(0x2000).unwrap();
        assert!(matches!(
            memory.map(0x1000, 0x2000, Backing::Anonymous, true),
            Err(MapError::Overlap { .. })
        ));
    }

    #[test]
    fn an_empty_or_wrapping_range_is_refused() {
        let mut memory = Memory::new();
        assert!(memory.map(0, 0, Backing::Anonymous, true).is_err());
        assert!(
            memory
                .map(u64::MAX - 1, 0x1000, Backing::Anonymous, true)
                .is_err()
        );
    }
}
