//! A microcode file of our own in the driver's format (`fw/file.h`, legacy header): the smallest that
//! the driver accepts. The card runs no code, so the sections hold none.
//!
//! The file declares what this card is: one context, the older scan command (no NEWSCAN), no
//! management-frame protection. A file of the vendor works as well.

use crate::Model;

const MAJOR: u32 = 8;
const MINOR: u32 = 83;
const SERIAL: u32 = 1;
/// Anything but empty: the driver rejects a section of no bytes.
const SECTION: [u8; 4] = *b"lane";

/// The name under which the driver looks for its microcode.
pub fn file_name(model: Model) -> &'static str {
    model.facts().microcode_file
}

/// The file's content.
pub fn image(model: Model) -> Vec<u8> {
    let api = u32::from(model.facts().microcode_api);
    let version = MAJOR << 24 | MINOR << 16 | api << 8 | SERIAL;
    let build = 0;
    let section = SECTION.len() as u32;
    let boot = 0;
    let header = [version, build, section, section, section, section, boot];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for _ in 0..4 {
        file.extend(SECTION);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_as_long_as_its_header_says() {
        let file = image(Model::Wifi5300);
        let word = |index: usize| {
            let bytes = file[4 * index..4 * index + 4].try_into().unwrap();
            u32::from_le_bytes(bytes)
        };
        let sections: u32 = (2..6).map(word).sum();
        assert_eq!(file.len() as u32, 28 + sections);
        assert!((2..6).all(|index| word(index) > 0));
        assert_eq!((word(0) >> 8) & 0xff, 5, "the API that the driver wants");
        assert_eq!(file_name(Model::Wifi5300), "iwlwifi-5000-5.ucode");
    }
}
