//! A private passt, through which VMs of a built-in access point reach what the host reaches.

use anyhow::Result;

use super::apt::{Apt, Release};
use super::cache::{Artefact, Cache, Recipe};
use super::tool;
use super::tree::Tree;

const RELEASE: Release = Release {
    name: "bookworm",
    preferred: None,
};
const PACKAGE: &str = "passt";

/// passt and its libraries, unpacked.
pub fn ensure(cache: &Cache) -> Result<Artefact> {
    cache.ensure(&recipe(), |folder| {
        let apt = Apt::open(cache, RELEASE)?;
        apt.unpack(&apt.closure(PACKAGE)?, folder)?;
        let tree = Tree::new(folder);
        tree.trim()?;
        let banner = tool::text(tree.command(PACKAGE)?.arg("--version"))?;
        let version = banner.split_whitespace().nth(1);
        Ok(version.unwrap_or("unknown").to_owned())
    })
}

/// passt if an earlier run set it up.
pub fn present(cache: &Cache) -> Result<Option<Artefact>> {
    cache.find(&recipe())
}

fn recipe() -> Recipe {
    Recipe::new("passt").with(format!("{RELEASE:?}")).with("1")
}
