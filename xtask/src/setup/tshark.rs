//! A private tshark, with which tests check captures.

use anyhow::Result;

use super::apt::{Apt, Release};
use super::cache::{Artefact, Cache, Recipe};
use super::tool;
use super::tree::Tree;

const RELEASE: Release = Release {
    name: "bookworm",
    preferred: None,
};
const PACKAGE: &str = "tshark";

/// tshark and its libraries, unpacked.
pub fn ensure(cache: &Cache) -> Result<Artefact> {
    cache.ensure(&recipe(), |folder| {
        let apt = Apt::open(cache, RELEASE)?;
        apt.unpack(&apt.closure(PACKAGE)?, folder)?;
        let tree = Tree::new(folder);
        tree.trim()?;
        let banner = tool::text(tree.command(PACKAGE)?.arg("--version"))?;
        let words = banner.split_whitespace();
        let version = words
            .map(|word| word.trim_end_matches('.'))
            .find(|word| is_version(word));
        Ok(version.unwrap_or("unknown").to_owned())
    })
}

/// tshark if an earlier run set it up.
pub fn present(cache: &Cache) -> Result<Option<Artefact>> {
    cache.find(&recipe())
}

fn recipe() -> Recipe {
    Recipe::new("tshark").with(format!("{RELEASE:?}")).with("1")
}

fn is_version(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
}
