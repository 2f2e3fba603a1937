//! One range of guest memory in this process.

use std::fs::File;

use vm_memory::mmap::MmapRegionBuilder;
use vm_memory::{FileOffset, GuestAddress, GuestRegionMmap};

pub(crate) type Region = GuestRegionMmap<()>;

/// Where the pages of a mapping come from.
pub enum Backing {
    /// A shared file (the VMM's memfd) at this offset.
    File(File, u64),
    /// Fresh zeroed pages of our own: fake guests in tests and benchmarks.
    Anonymous,
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

/// Maps `size` bytes of `backing` for guest address `address`.
pub(crate) fn build(
    address: u64,
    size: u64,
    backing: Backing,
    writable: bool,
) -> Result<Region, MapError> {
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
    Region::new(region, GuestAddress(address)).ok_or(MapError::Range { address, size })
}

/// The memory library does not look at a range's protection: a store into option ROM, say, would be a
/// signal that ends the process.
pub(crate) fn is_writable(region: &Region) -> bool {
    region.prot() & libc::PROT_WRITE != 0
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
