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
        let packages = apt.closure(PACKAGE)?;
        apt.unpack(&packages, folder)?;
        let tree = Tree::new(folder);
        tree.trim()?;
        tool::text(tree.command(PACKAGE)?.arg("--version"))?;
        // Its own banner names no version.
        let package = packages.into_iter().find(|one| one.name == PACKAGE);
        let version = package.map(|package| package.version);
        Ok(version.unwrap_or_else(|| "unknown".to_owned()))
    })
}

/// passt if an earlier run set it up.
pub fn present(cache: &Cache) -> Result<Option<Artefact>> {
    cache.find(&recipe())
}

fn recipe() -> Recipe {
    Recipe::new("passt").with(format!("{RELEASE:?}")).with("2")
}
