//! The three ways from a guest's address to its page.

use std::fmt;
use std::str::FromStr;

/// How a device finds the page behind a guest's address. All three reach the same bytes and fault alike; they
/// differ in who looks where, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Translation {
    /// Each user (a ring, a frame) remembers the range of its last access: a hit is a comparison of bounds.
    #[default]
    Flat,
    /// Page tables, merged into one space by the VM's number (Virtual WiFi, section 4.4): frames go to the NIC
    /// under merged addresses, unlooked at; the NIC walks once, when it copies.
    Merged,
    /// A look-up in the list of ranges for every descriptor and every piece (Virtual WiFi, section 4.4).
    Software,
}

/// A word that names no way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no translation `{0}`")]
pub struct UnknownTranslation(String);

impl Translation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Flat, Self::Merged, Self::Software];
    /// What may be written, for messages.
    pub const FORMS: &str = r#""flat", "merged", "software""#;

    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Merged => "merged",
            Self::Software => "software",
        }
    }
}

impl fmt::Display for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Translation {
    type Err = UnknownTranslation;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|way| way.name() == word);
        known.ok_or_else(|| UnknownTranslation(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_no_other_does() {
        for way in Translation::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        assert!("vt-d".parse::<Translation>().is_err());
    }
}
