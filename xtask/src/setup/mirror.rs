//! Which Debian mirror this machine uses: asked from its own apt, never a constant.

use std::process::Command;

use anyhow::{Result, bail};

use super::tool;

/// Debian suites without their `-updates`, `-security` or `-backports` ending.
const DEBIAN: [&str; 12] = [
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
    "sid",
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
    "experimental",
];

/// Base addresses of the archives that the machine's apt is set to.
#[derive(Debug, PartialEq)]
pub struct Mirror {
    /// The main archive: releases, updates, backports.
    pub archive: String,
    /// The security archive, if the machine uses one.
    pub security: Option<String>,
}

impl Mirror {
    /// Asks the machine's apt.
    pub fn of_this_machine() -> Result<Self> {
        let format = "$(CREATED_BY) $(RELEASE) $(REPO_URI)";
        let targets =
            tool::text(Command::new("apt-get").args(["indextargets", "--format", format]))?;
        match Self::parse(&targets) {
            Some(mirror) => Ok(mirror),
            None => bail!(
                "the apt sources of this machine name no Debian mirror. Setup needs a Debian machine (12 or 13) \
                 with `deb` lines for its own release in /etc/apt/sources.list(.d)."
            ),
        }
    }

    fn parse(targets: &str) -> Option<Self> {
        let mut archive = None;
        let mut security = None;
        for line in targets.lines() {
            let mut words = line.split(' ');
            let (Some("Packages"), Some(suite), Some(uri)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let (base, kind) = split_suite(suite);
            if !DEBIAN.contains(&base) {
                continue;
            }
            let slot = if kind == "security" {
                &mut security
            } else {
                &mut archive
            };
            slot.get_or_insert_with(|| uri.trim_end_matches('/').to_owned());
        }
        Some(Self {
            archive: archive?,
            security,
        })
    }
}

/// `bookworm-security` or `stable/updates` → (`bookworm`, `security`).
fn split_suite(suite: &str) -> (&str, &str) {
    match suite.split_once(['-', '/']) {
        Some((base, "security")) => (base, "security"),
        Some((base, kind)) => (base, kind),
        None => (suite, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_party_sources_are_not_taken_for_the_mirror() {
        let targets = "Packages cloud-sdk-bookworm https://a.example/apt/\n\
                       DEP-11 bookworm http://b.example/debian/\n\
                       Packages bookworm http://c.example/debian/\n\
                       Packages bookworm-security http://c.example/security/\n";
        let mirror = Mirror {
            archive: "http://c.example/debian".to_owned(),
            security: Some("http://c.example/security".to_owned()),
        };
        assert_eq!(Mirror::parse(targets), Some(mirror));
    }

    #[test]
    fn a_machine_without_debian_sources_has_no_mirror() {
        assert_eq!(
            Mirror::parse("Packages noble http://a.example/ubuntu/\n"),
            None
        );
    }
}
