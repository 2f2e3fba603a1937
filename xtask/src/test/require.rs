//! What tests need of a machine beyond cargo, and `AIRLANE_REQUIRE`, which turns their skips into failures.
//!
//! The tests of `airlane` include this file: what the variable means stands once.

/// Something that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// User and network namespaces made by `unshare`, and `/dev/net/tun` in them.
    Namespaces,
    /// The private tshark of the set-up.
    Tshark,
    /// User Mode Linux, built by the set-up, able to run here.
    Uml,
    /// Root, mount namespaces with a layered file system in them, and the disk and the machine with libvirt of the set-up.
    OwnVm,
    /// Python 3 with virtual environments, and a package index that pip reaches.
    Python,
}

impl Need {
    /// All of them, as the variable's help lists them.
    pub const ALL: [Self; 5] = [
        Self::Namespaces,
        Self::Tshark,
        Self::Uml,
        Self::OwnVm,
        Self::Python,
    ];

    /// As `AIRLANE_REQUIRE` spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Tshark => "tshark",
            Self::Uml => "uml",
            Self::OwnVm => "own-vm",
            Self::Python => "python",
        }
    }
}

/// The needs that `AIRLANE_REQUIRE` names; none when it is not set.
///
/// # Errors
/// A word that names no need, told with those that do.
pub fn required() -> Result<Vec<Need>, String> {
    parse(&std::env::var("AIRLANE_REQUIRE").unwrap_or_default())
}

/// Words between commas; blanks around them and empty ones do not count.
fn parse(text: &str) -> Result<Vec<Need>, String> {
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(need).collect()
}

fn need(word: &str) -> Result<Need, String> {
    let found = Need::ALL.into_iter().find(|need| need.word() == word);
    found.ok_or_else(|| {
        let known = Need::ALL.map(Need::word).join(", ");
        format!("AIRLANE_REQUIRE: there is no {word:?}; it takes a list of {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_listed_with_commas() {
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse(" uml,tshark,"), Ok(vec![Need::Uml, Need::Tshark]));
    }

    #[test]
    fn an_unknown_word_is_refused() {
        let error = parse("namespaces,umlaut").unwrap_err();
        assert!(
            error.contains("umlaut") && error.contains("namespaces, tshark, uml, own-vm, python")
        );
    }
}
