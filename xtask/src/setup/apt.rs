//! Packages of a Debian release, fetched by apt with folders of its own: nothing is installed, no root needed.
//!
//! Its dpkg status file is empty, so a package's whole dependency closure, the C library included, is resolved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail};

use super::cache::Cache;
use super::mirror::Mirror;
use super::tool;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Package lists older than this are fetched again before packages are.
const LISTS_AGE: Duration = Duration::from_secs(24 * 3600);

/// A Debian release and, on top of it, a suite whose packages are preferred.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// Its code name.
    pub name: &'static str,
    /// Such as `-backports`: taken first where it has the package.
    pub preferred: Option<&'static str>,
}

impl Release {
    /// The whole name of the preferred suite.
    pub fn preferred_suite(&self) -> Option<String> {
        let ending = self.preferred?;
        Some(format!("{}{ending}", self.name))
    }
}

/// apt, set to one release.
pub struct Apt {
    folder: PathBuf,
    preferred: Option<String>,
}

/// One package to unpack.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its Debian version.
    pub version: String,
}

impl Apt {
    /// Gets the package lists of the release, unless fresh ones are there.
    pub fn open(cache: &Cache, release: Release) -> Result<Self> {
        let preferred = release.preferred_suite();
        let folder = cache
            .root()
            .join("apt")
            .join(preferred.as_deref().unwrap_or(release.name));
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let apt = Self { folder, preferred };
        let sources = sources(&Mirror::of_this_machine()?, release, "main");
        let changed = apt.write("sources.list", &sources)?;
        apt.write("status", "")?;
        apt.write("apt.conf", &apt.configuration())?;
        if changed || apt.lists_are_old() {
            apt.update()?;
        }
        Ok(apt)
    }

    /// The newest version of a package that this release has.
    pub fn candidate(&self, package: &str) -> Result<Option<String>> {
        let closure = self.closure(package);
        let found = closure
            .ok()
            .and_then(|all| all.into_iter().find(|one| one.name == package));
        Ok(found.map(|one| one.version))
    }

    /// A package and everything it depends on.
    pub fn closure(&self, packages: &str) -> Result<Vec<Package>> {
        let names = packages.split(' ');
        let plan = tool::text(self.command("apt-get").args(["-s", "install"]).args(names))?;
        Ok(plan.lines().filter_map(planned).collect())
    }

    /// The package that a meta package such as `linux-image-amd64` stands for.
    pub fn behind(&self, meta: &str, prefix: &str) -> Result<Package> {
        let closure = self.closure(meta)?;
        let found = closure
            .into_iter()
            .find(|one| one.name.starts_with(prefix) && one.name != meta);
        found.ok_or_else(|| anyhow!("{meta} does not depend on any {prefix}… package"))
    }

    /// Downloads packages, checked by apt, and unpacks them into one folder.
    pub fn unpack(&self, packages: &[Package], folder: &Path) -> Result<()> {
        let downloads = folder.join(".downloads");
        fs::create_dir(&downloads)
            .with_context(|| format!("cannot make {}", downloads.display()))?;
        let wanted = packages
            .iter()
            .map(|one| format!("{}={}", one.name, one.version));
        tool::run(
            self.command("apt-get")
                .arg("download")
                .args(wanted)
                .current_dir(&downloads),
        )?;
        for entry in fs::read_dir(&downloads)? {
            tool::run(
                Command::new("dpkg-deb")
                    .arg("-x")
                    .arg(entry?.path())
                    .arg(folder),
            )?;
        }
        super::cache::remove(&downloads)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .arg("-q")
            .arg("-c")
            .arg(self.folder.join("apt.conf"))
            .env("LC_ALL", "C");
        if let Some(preferred) = &self.preferred {
            command.arg("-t").arg(preferred);
        }
        command
    }

    fn configuration(&self) -> String {
        let folder = self.folder.display();
        format!(
            "Dir::State \"{folder}/state\";\n\
             Dir::State::status \"{folder}/status\";\n\
             Dir::Cache \"{folder}/cache\";\n\
             Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::Etc::preferences \"/dev/null\";\n\
             Dir::Etc::preferencesparts \"/dev/null\";\n\
             APT::Install-Recommends \"false\";\n\
             APT::Sandbox::User \"root\";\n\
             APT::Get::List-Cleanup \"false\";\n\
             Debug::NoLocking \"true\";\n\
             #clear APT::Update::Pre-Invoke;\n\
             #clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n"
        )
    }

    /// Writes a file of this folder; true if its content is new.
    fn write(&self, name: &str, content: &str) -> Result<bool> {
        let path = self.folder.join(name);
        if fs::read(&path).is_ok_and(|old| old == content.as_bytes()) {
            return Ok(false);
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(true)
    }

    fn lists_are_old(&self) -> bool {
        let modified = fs::metadata(self.folder.join("updated")).and_then(|data| data.modified());
        let age = modified
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok());
        age.is_none_or(|age| age > LISTS_AGE)
    }

    fn update(&self) -> Result<()> {
        let mut command = Command::new("apt-get");
        command
            .arg("-q")
            .arg("-c")
            .arg(self.folder.join("apt.conf"))
            .arg("update");
        let updated = self.folder.join("updated");
        let _ = fs::remove_file(&updated);
        tool::run(&mut command).context("cannot fetch package lists: is the mirror reachable?")?;
        if !has_lists(&self.folder.join("state/lists"))? {
            bail!("apt fetched no package lists; `apt-get update` on this machine may say why");
        }
        fs::write(&updated, "").with_context(|| format!("cannot write {}", updated.display()))
    }
}

fn has_lists(folder: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(folder)?;
    Ok(entries
        .any(|entry| entry.is_ok_and(|one| one.file_name().to_string_lossy().contains("Packages"))))
}

/// Lines of `sources.list` for these parts of the release, such as `main`.
pub fn sources(mirror: &Mirror, release: Release, components: &str) -> String {
    let keyring = Path::new(KEYRING)
        .exists()
        .then(|| format!(" signed-by={KEYRING}"));
    let options = format!("[target=Packages{}]", keyring.unwrap_or_default());
    let line =
        |archive: &str, suite: &str| format!("deb {options} {archive} {suite} {components}\n");
    let mut lines = line(&mirror.archive, release.name);
    if let Some(suite) = release.preferred_suite() {
        lines += &line(&mirror.archive, &suite);
    }
    let has_security = !matches!(release.name, "sid" | "forky");
    if let Some(security) = mirror.security.as_deref().filter(|_| has_security) {
        lines += &line(security, &format!("{}-security", release.name));
    }
    lines
}

/// `Inst libc6 (2.41-12 Debian:13/stable [amd64])` → its name and version.
fn planned(line: &str) -> Option<Package> {
    let mut words = line.strip_prefix("Inst ")?.split(' ');
    let name = words.next()?.to_owned();
    let version = words.find_map(|word| word.strip_prefix('('))?.to_owned();
    Some(Package { name, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_installation_is_read() {
        let line = "Inst libc6 (2.41-12+deb13u4 Debian:13.7/stable [amd64]) []";
        let package = Package {
            name: "libc6".into(),
            version: "2.41-12+deb13u4".into(),
        };
        assert_eq!(planned(line), Some(package));
        assert_eq!(
            planned("Conf libc6 (2.41-12 Debian:13.7/stable [amd64])"),
            None
        );
    }

    #[test]
    fn testing_and_unstable_have_no_security_suite() {
        let mirror = Mirror {
            archive: "http://a.example/debian".into(),
            security: Some("http://s.example".into()),
        };
        let text = sources(
            &mirror,
            Release {
                name: "sid",
                preferred: None,
            },
            "main",
        );
        assert!(!text.contains("s.example"));
    }
}
