//! Transmit frame descriptors: 128 bytes that name up to 20 buffers (`iwl-fh.h`, `struct iwl_tfd`).

use airlane_dma::{Fault, Memory, Window};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, Unaligned};

/// Bytes of a descriptor.
const SIZE: usize = size_of::<Tfd>();
/// Buffers that a descriptor can name.
pub const MAX_BUFFERS: usize = 20;

/// A descriptor that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTfd {
    /// The ring is not mapped.
    Unmapped(Fault),
    /// It names no buffer, or more than it has room for.
    Buffers(u8),
}

/// A descriptor, as it stood in the ring when it was fetched. Its count has been checked.
#[derive(Clone, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes, Unaligned)]
#[repr(C)]
pub struct Tfd {
    reserved: [u8; 3],
    /// Buffers in bits 4:0.
    count: u8,
    buffers: [Buffer; MAX_BUFFERS],
    padding: U32,
}

/// `struct iwl_tfd_tb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, Immutable, IntoBytes, Unaligned)]
#[repr(C)]
struct Buffer {
    /// Address, bits 31:0.
    low: U32,
    /// Address, bits 35:32, in 3:0; bytes in 15:4.
    high: U16,
}

impl Buffer {
    /// Address and length.
    fn place(self) -> (u64, usize) {
        let high = self.high.get();
        let address = u64::from(high & 0xf) << 32 | u64::from(self.low.get());
        (address, usize::from(high >> 4))
    }
}

impl Tfd {
    /// Entry `index` of the ring at `base`.
    pub fn fetch(
        memory: &mut Memory,
        window: &mut Window,
        base: u64,
        index: u8,
    ) -> Result<Self, BadTfd> {
        let mut tfd = Self::new_zeroed();
        let address = base.saturating_add(u64::from(index) * SIZE as u64);
        memory
            .read_via(window, address, tfd.as_mut_bytes())
            .map_err(BadTfd::Unmapped)?;
        tfd.checked()
    }

    fn checked(self) -> Result<Self, BadTfd> {
        match self.count() {
            count if count == 0 || usize::from(count) > MAX_BUFFERS => Err(BadTfd::Buffers(count)),
            _ => Ok(self),
        }
    }

    fn count(&self) -> u8 {
        self.count & 0x1f
    }

    /// Its buffers: address and length, in order.
    fn buffers(&self) -> impl Iterator<Item = (u64, usize)> {
        let named = self.buffers.iter().take(usize::from(self.count()));
        named.map(|buffer| buffer.place())
    }

    /// Bytes in all buffers.
    pub fn len(&self) -> usize {
        self.buffers().map(|(_, length)| length).sum()
    }

    /// Fills `out` from the beginning, as far as both go; says how many bytes.
    pub fn read(
        &self,
        memory: &mut Memory,
        window: &mut Window,
        out: &mut [u8],
    ) -> Result<usize, Fault> {
        let mut done = 0;
        for (address, length) in self.buffers() {
            let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let take = length.min(rest.len());
            memory.read_via(window, address, rest.get_mut(..take).unwrap_or_default())?;
            done += take;
        }
        Ok(done)
    }

    /// The pieces that hold bytes `start..end` of the buffers laid end to end.
    pub fn pieces(&self, start: usize, end: usize) -> impl Iterator<Item = (u64, usize)> {
        let mut at = 0;
        self.buffers().filter_map(move |(address, length)| {
            let (first, past) = (start.max(at), end.min(at + length));
            let skipped = first.saturating_sub(at) as u64;
            at += length;
            (first < past).then(|| (address.saturating_add(skipped), past - first))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(buffers: &[(u64, u16)]) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[3] = buffers.len() as u8;
        for (index, &(address, length)) in buffers.iter().enumerate() {
            let at = 4 + 6 * index;
            bytes[at..at + 4].copy_from_slice(&(address as u32).to_le_bytes());
            let high = (address >> 32) as u16 | length << 4;
            bytes[at + 4..at + 6].copy_from_slice(&high.to_le_bytes());
        }
        bytes
    }

    fn parse(bytes: [u8; SIZE]) -> Result<Tfd, BadTfd> {
        Tfd::read_from_bytes(&bytes).unwrap().checked()
    }

    #[test]
    fn a_descriptor_has_128_bytes() {
        assert_eq!(SIZE, 128);
    }

    #[test]
    fn thirty_six_bit_addresses_and_lengths() {
        let tfd = parse(descriptor(&[(0xf_1234_5678, 4095), (0x10, 0), (0x20, 8)])).unwrap();
        assert_eq!(tfd.buffers().next(), Some((0xf_1234_5678, 4095)));
        assert_eq!(tfd.len(), 4103);
    }

    #[test]
    fn a_count_of_none_or_too_many_is_refused() {
        for count in [0, 21, 31] {
            let mut bytes = [0; SIZE];
            bytes[3] = count;
            assert_eq!(parse(bytes), Err(BadTfd::Buffers(count)));
        }
    }

    #[test]
    fn pieces_cut_across_buffers() {
        let tfd = parse(descriptor(&[(0x100, 20), (0x200, 40), (0x300, 10)])).unwrap();
        let pieces: Vec<_> = tfd.pieces(15, 62).collect();
        assert_eq!(pieces, [(0x10f, 5), (0x200, 40), (0x300, 2)]);
        assert_eq!(tfd.pieces(70, 90).count(), 0);
    }
}
