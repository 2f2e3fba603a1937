//! The MSI capability in a card's configuration space (PCI Local Bus 3.0 6.8.1), as the guest has set it.

use crate::pci::PciDevice;

/// The first capability, and the identifier of MSI.
const CAPABILITIES: u64 = 0x34;
const MSI: u8 = 5;
/// Capabilities of 256 bytes of configuration space at most, headers and 4-byte alignment counted.
const MOST: usize = 48;
const ENABLE: u16 = 1 << 0;
const WIDE: u16 = 1 << 7;

/// The write that is an interrupt: address and data; none while the guest has not enabled MSI.
pub fn vector(card: &mut dyn PciDevice) -> Option<(u64, u16)> {
    let at = find(card)?;
    let control = u16::from_le_bytes(read(card, at + 2));
    if control & ENABLE == 0 {
        return None;
    }
    let low = u32::from_le_bytes(read(card, at + 4));
    let (high, data) = match control & WIDE {
        0 => (0, at + 8),
        _ => (u32::from_le_bytes(read(card, at + 8)), at + 12),
    };
    let address = u64::from(high) << 32 | u64::from(low);
    Some((address, u16::from_le_bytes(read(card, data))))
}

/// Where the capability is.
fn find(card: &mut dyn PciDevice) -> Option<u64> {
    let [mut at] = read(card, CAPABILITIES);
    for _ in 0..MOST {
        let [id, next] = read(card, u64::from(at));
        match (at, id) {
            (0, _) => return None,
            (_, MSI) => return Some(u64::from(at)),
            _ => at = next,
        }
    }
    None
}

fn read<const N: usize>(card: &mut dyn PciDevice, at: u64) -> [u8; N] {
    let mut bytes = [0; N];
    card.config_read(at, &mut bytes);
    bytes
}
