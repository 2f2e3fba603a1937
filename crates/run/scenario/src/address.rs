//! Addresses of VMs: written, derived from the name, drawn from the run's seed, or the card's own.

use super::error::{ScenarioError, Source};
use super::fields;
use airlane_dot11::MacAddr;
use toml::Spanned;

/// The address in a card's own EEPROM, unless `[card]` says another: universally administered, under one of
/// Intel's organizational identifiers (IEEE registration authority, 00-21-6A).
/// The first card's ends in 01, the second's in 02.
pub fn of_card(index: usize) -> MacAddr {
    let number = u8::try_from(index).map_or(u8::MAX, |index| index.saturating_add(1));
    MacAddr([0x00, 0x21, 0x6a, 0x00, 0x00, number])
}

/// What a VM's `mac` says: an address, or one of three words.
pub fn of_vm(
    source: Source,
    value: &Spanned<String>,
    name: &str,
    seed: u64,
    card: MacAddr,
) -> Result<MacAddr, ScenarioError> {
    match value.get_ref().as_str() {
        "from-name" => Ok(derived(name.as_bytes())),
        "random" => Ok(derived(&[&seed.to_le_bytes(), name.as_bytes()].concat())),
        "card" => Ok(card),
        _ => fields::mac(source, value),
    }
}

/// A locally administered address (IEEE 802-2014 8.2.2) that is the same for the same bytes in every version of
/// airlane: FNV-1a with 64 bits, since the hashes of the standard library may change.
fn derived(bytes: &[u8]) -> MacAddr {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [first, second, third, fourth, fifth, sixth, ..] = hash.to_le_bytes();
    MacAddr([first & 0xfc | 2, second, third, fourth, fifth, sixth])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_addresses_are_local_distinct_and_stay_the_same() {
        let one = derived(b"one");
        assert!(one.is_station() && one.0[0] & 2 != 0);
        assert_eq!(one.to_string(), "ae:5c:ca:21:19:aa");
        assert_ne!(one, derived(b"two"));
    }
}
