//! A microcode file of our own in the driver's format (`fw/file.h`, `struct iwl_tlv_ucode_header`): a header,
//! then records of type, length and value. The card runs no code, so the sections hold none.
//!
//! What the file declares is what the driver believes of the card: one context (no PAN), the older scan
//! command (no NEWSCAN), management frame protection.
//!
//! The card loads a file of the vendor as well, for it runs neither. But none of those (of the package
//! firmware-iwlwifi: `iwlwifi-5000-5` has no flags, `iwlwifi-6000-4` is of a format without them,
//! `iwlwifi-6000g2a-6` has others) declares management frame protection, so with them a guest joins no
//! network that requires it: WPA3-SAE, OWE.

use crate::Model;

/// What tells this format from the older one, whose first word is a version.
const NO_VERSION: u32 = 0;
const MAGIC: u32 = 0x0a4c_5749;
/// For people: the driver prints it nowhere.
const NAME: [u8; 64] = *b"airlane: an emulated card runs no code                          ";
const MAJOR: u32 = 8;
const MINOR: u32 = 83;
const SERIAL: u32 = 1;
const BUILD: u32 = 0;
/// Anything but empty: the driver rejects a section of no bytes.
const SECTION: u32 = u32::from_le_bytes(*b"lane");
/// Sections of both images, instructions and data (IWL_UCODE_TLV_INST to INIT_DATA).
const SECTIONS: [u32; 4] = [1, 2, 3, 4];
/// IWL_UCODE_TLV_FLAGS.
const FLAGS: u32 = 18;
/// IWL_UCODE_TLV_FLAGS_MFP: IEEE 802.11w; without it the driver joins no network that requires it.
const FRAME_PROTECTION: u32 = 1 << 2;

/// The name under which the driver looks for its microcode.
pub fn file_name(model: Model) -> &'static str {
    model.facts().microcode_file
}

/// The file's content, the same for each model of one file name.
pub fn image(model: Model) -> Vec<u8> {
    let mut file = header(model.facts().microcode_api);
    for kind in SECTIONS {
        record(&mut file, kind, SECTION);
    }
    record(&mut file, FLAGS, FRAME_PROTECTION);
    file
}

fn header(api: u8) -> Vec<u8> {
    let version = MAJOR << 24 | MINOR << 16 | u32::from(api) << 8 | SERIAL;
    let ignored = [0; 8];
    [
        &NO_VERSION.to_le_bytes()[..],
        &MAGIC.to_le_bytes(),
        &NAME,
        &version.to_le_bytes(),
        &BUILD.to_le_bytes(),
        &ignored,
    ]
    .concat()
}

/// A record: type, bytes of the value, value. Values are one word here, so none needs padding.
fn record(file: &mut Vec<u8>, kind: u32, value: u32) {
    for word in [kind, u32::BITS / 8, value] {
        file.extend(word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::u32_at;

    const HEADER: usize = 88;

    /// As the driver walks it: type and value of each record, to the last byte.
    fn records(file: &[u8]) -> Vec<(u32, &[u8])> {
        let mut rest = &file[HEADER..];
        let mut records = Vec::new();
        while !rest.is_empty() {
            let length = u32_at(rest, 4).unwrap() as usize;
            records.push((u32_at(rest, 0).unwrap(), &rest[8..8 + length]));
            rest = &rest[8 + length.next_multiple_of(4)..];
        }
        records
    }

    #[test]
    fn the_header_is_the_drivers() {
        let file = image(Model::Wifi5300);
        let words = [0, 4, 0x48].map(|at| u32_at(&file, at).unwrap());
        assert_eq!(words[..2], [0, 0x0a4c_5749]);
        assert_eq!((words[2] >> 8) & 0xff, 5, "the API that the driver wants");
        assert_eq!(file_name(Model::Wifi5300), "iwlwifi-5000-5.ucode");
    }

    #[test]
    fn every_section_is_there_and_none_is_empty() {
        let file = image(Model::Wifi5300);
        for kind in 1..=4 {
            let mut found = records(&file).into_iter().filter(|record| record.0 == kind);
            assert!(!found.next().unwrap().1.is_empty());
            assert_eq!(found.next(), None, "once");
        }
    }

    #[test]
    fn models_of_one_file_name_have_one_file() {
        for (one, other) in [
            (Model::Wifi5100, Model::Wifi5300),
            (Model::Wifi6200, Model::Wifi6300),
        ] {
            assert_eq!(file_name(one), file_name(other));
            assert_eq!(image(one), image(other));
        }
    }

    #[test]
    fn it_declares_management_frame_protection_and_nothing_else() {
        let file = image(Model::Wifi5300);
        let flags = records(&file).into_iter().find(|record| record.0 == 18);
        assert_eq!(flags.unwrap().1, [4, 0, 0, 0]);
    }
}
