//! The merged table (Virtual WiFi, section 4.4): one address space for the device, cut into a chunk for
//! each VM by the chunk's number in its highest bits, with page tables behind.
//!
//! A [`Chunk`] is one VM's part: the entries of the top level that are its own, and the tables below.
//! It is immutable once published; the lane that owns the VM's memory makes a new one (tables that did
//! not change are shared) and frames carry the one that they were made under. So no two VMs, and no two
//! threads, share anything that changes.

use std::sync::Arc;

/// Sizes of a merged table, each as a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of a page.
    pub page_bits: u32,
    /// Entries of a table.
    pub level_bits: u32,
    /// Levels of tables; not a power of two.
    pub levels: u32,
    /// Chunks, one for each VM that shares the space.
    pub chunk_bits: u32,
}

impl Sizes {
    /// The paper's: 39 bits, three levels of 512 entries over 4 KiB pages, 16 chunks of 32 GB with the VM's
    /// number in bits 35 to 38, so 32 top-level entries of 1 GB for each VM.
    pub const VIRTUAL_WIFI: Self = Self {
        page_bits: 12,
        level_bits: 9,
        levels: 3,
        chunk_bits: 4,
    };

    /// Bits of a merged address.
    const fn space_bits(self) -> u32 {
        self.page_bits + self.level_bits * self.levels
    }

    /// How many VMs share the space.
    pub const fn chunks(self) -> usize {
        1 << self.chunk_bits
    }

    /// Bits of a guest's address within its chunk.
    const fn offset_bits(self) -> u32 {
        self.space_bits() - self.chunk_bits
    }

    /// Bits of an address below the index into the top level.
    const fn top_shift(self) -> u32 {
        self.space_bits() - self.level_bits
    }

    /// Top-level entries of one VM.
    const fn top_entries(self) -> usize {
        1 << (self.level_bits - self.chunk_bits)
    }

    const fn table_entries(self) -> usize {
        1 << self.level_bits
    }

    /// Where in its table the entry stands that is number `entry` of its whole level.
    #[inline]
    fn index(self, entry: u64) -> Option<usize> {
        let mask = (1 << self.level_bits) - 1;
        usize::try_from(entry & mask).ok()
    }

    pub(crate) const fn page_size(self) -> u64 {
        1 << self.page_bits
    }
}

/// Nothing is mapped there.
pub(crate) const NONE: u16 = u16::MAX;
/// Several ranges share the page: the list of ranges tells them apart.
pub(crate) const SHARED: u16 = u16::MAX - 1;

/// A table below the top level.
#[derive(Clone)]
enum Table {
    Inner(Box<[Option<Arc<Table>>]>),
    /// Of pages: the number of the range that holds it, [`NONE`] or [`SHARED`].
    Leaf(Box<[u16]>),
}

impl Table {
    /// An empty one, with `below` levels of tables under it.
    fn new(sizes: Sizes, below: u32) -> Self {
        let entries = sizes.table_entries();
        match below {
            0 => Self::Leaf(vec![NONE; entries].into()),
            _ => Self::Inner(vec![None; entries].into()),
        }
    }
}

/// One VM's part of the merged table.
#[derive(Clone)]
pub(crate) struct Chunk {
    sizes: Sizes,
    /// Its first entry among all entries of the top level.
    first: u64,
    top: Vec<Option<Arc<Table>>>,
}

impl Chunk {
    /// Nothing mapped. `None` when the space has no chunk of this number.
    pub(crate) fn new(sizes: Sizes, number: usize) -> Option<Self> {
        (number < sizes.chunks()).then(|| Self {
            sizes,
            first: (number * sizes.top_entries()) as u64,
            top: vec![None; sizes.top_entries()],
        })
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Nothing is mapped any more.
    pub(crate) fn clear(&mut self) {
        self.top.fill(None);
    }

    /// The VM's address as the device is told it: with the chunk's number in front. `None` beyond the chunk, where
    /// the number itself would be overwritten.
    pub(crate) fn merge(&self, address: u64) -> Option<u64> {
        let own = address >> self.sizes.offset_bits() == 0;
        own.then(|| self.first << self.sizes.top_shift() | address)
    }

    /// The guest's address in a merged one.
    pub(crate) fn guest_address(&self, merged: u64) -> u64 {
        merged & ((1 << self.sizes.offset_bits()) - 1)
    }

    /// The entry of the page at `merged`; `None` where nothing is mapped, and in every other VM's chunk.
    pub(crate) fn walk(&self, merged: u64) -> Option<u16> {
        let mut shift = self.sizes.top_shift();
        let own = (merged >> shift).checked_sub(self.first)?;
        let mut table = self.top.get(usize::try_from(own).ok()?)?.as_ref()?;
        loop {
            shift = shift.checked_sub(self.sizes.level_bits)?;
            let index = self.sizes.index(merged >> shift)?;
            match &**table {
                Table::Inner(tables) => table = tables.get(index)?.as_ref()?,
                Table::Leaf(pages) => return pages.get(index).copied().filter(|&at| at != NONE),
            }
        }
    }

    /// Sets the pages that hold guest addresses `first..=last` to `entry`; those beyond the chunk are left out.
    pub(crate) fn set(&mut self, first: u64, last: u64, entry: u16) {
        let Sizes { page_bits, .. } = self.sizes;
        let (mut page, last) = (first >> page_bits, last >> page_bits);
        let mask = self.sizes.table_entries() as u64 - 1;
        while page <= last {
            let past = (page | mask).min(last) + 1;
            let Some(pages) = self.pages(page, past - 1) else {
                return;
            };
            pages.fill(entry);
            page = past;
        }
    }

    /// The entries of these pages of one table, which is made if need be; `None` beyond the chunk.
    fn pages(&mut self, first: u64, last: u64) -> Option<&mut [u16]> {
        let span = self.sizes.index(first)?..=self.sizes.index(last)?;
        self.leaf(first)?.get_mut(span)
    }

    /// The table of pages with this one, made if need be.
    fn leaf(&mut self, page: u64) -> Option<&mut [u16]> {
        let sizes = self.sizes;
        let mut below = sizes.levels - 1;
        let index = page >> (sizes.level_bits * below);
        let mut slot = self.top.get_mut(usize::try_from(index).ok()?)?;
        loop {
            below = below.checked_sub(1)?;
            let table = slot.get_or_insert_with(|| Arc::new(Table::new(sizes, below)));
            match Arc::make_mut(table) {
                Table::Leaf(pages) => return Some(pages),
                Table::Inner(tables) => {
                    let index = sizes.index(page >> (sizes.level_bits * below))?;
                    slot = tables.get_mut(index)?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: usize) -> Chunk {
        Chunk::new(Sizes::VIRTUAL_WIFI, number).unwrap()
    }

    #[test]
    fn the_number_of_the_chunk_stands_in_bits_35_to_38() {
        assert_eq!(chunk(0).merge(0x1234), Some(0x1234));
        assert_eq!(chunk(15).merge(0x1234), Some(15 << 35 | 0x1234));
        assert_eq!(chunk(1).merge((1 << 35) - 1), Some((2 << 35) - 1));
        assert_eq!(chunk(1).merge(1 << 35), None);
        assert_eq!(chunk(9).guest_address(9 << 35 | 0x1234), 0x1234);
    }

    #[test]
    fn sixteen_chunks_have_32_of_512_top_level_entries_each() {
        let sizes = Sizes::VIRTUAL_WIFI;
        assert_eq!((sizes.space_bits(), sizes.offset_bits()), (39, 35));
        assert_eq!((sizes.top_shift(), sizes.top_entries()), (30, 32));
        assert_eq!(chunk(15).first, 480);
    }

    #[test]
    fn a_walk_finds_what_was_set_across_tables_and_nothing_beside() {
        let mut chunk = chunk(3);
        let (first, last) = ((1 << 30) - 0x3000, (1 << 30) + 0x20_1fff);
        chunk.set(first, last, 7);
        let mut entry = |address: u64| chunk.walk(chunk.merge(address).unwrap());
        assert_eq!([entry(first - 1), entry(last + 1)], [None, None]);
        assert!([first, 1 << 30, (1 << 30) + 0x1f_ffff, last].map(&mut entry) == [Some(7); 4]);
    }

    #[test]
    fn an_older_copy_does_not_change_with_a_newer_one() {
        let mut new = chunk(0);
        new.set(0, 0xfff, 1);
        let old = new.clone();
        new.set(0, 0xfff, NONE);
        assert_eq!((old.walk(0), new.walk(0)), (Some(1), None));
    }

    #[test]
    fn pages_beyond_the_chunk_are_left_out() {
        let mut chunk = chunk(0);
        chunk.set((1 << 35) - 0x1000, (1 << 35) + 0xfff, 1);
        chunk.set(1 << 60, (1 << 60) + 0xfff, 1);
        assert_eq!(chunk.walk((1 << 35) - 1), Some(1));
        assert_eq!(chunk.walk(1 << 35), None);
    }

    #[test]
    fn other_sizes_work_too() {
        let sizes = Sizes {
            page_bits: 14,
            level_bits: 5,
            levels: 4,
            chunk_bits: 2,
        };
        assert!(Chunk::new(sizes, 4).is_none());
        let mut chunk = Chunk::new(sizes, 2).unwrap();
        chunk.set(0x2345_6789, 0x2345_6789, 4);
        let merged = chunk.merge(0x2345_6789).unwrap();
        assert_eq!(merged, 2 << 32 | 0x2345_6789);
        assert_eq!(chunk.walk(merged ^ 0x3fff), Some(4), "a page of 16 KiB");
        assert_eq!(chunk.walk(merged ^ 0x4000), None);
    }
}
