//! Looks at everything that a run needs, one line each: what is there, and what to do where it is not.

use airlane_guests::setup::{REMEDY, Setup, UML_REMEDY, cache_folder};
use airlane_harness::Private;
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What `vfio-user-pci` came with.
const OLDEST_QEMU: (u32, u32) = (10, 1);
/// MiB: three guests of 256 MiB, their QEMUs, and us.
const MEMORY: u64 = 1_500;
/// MiB: boot files of three guests.
const DISK: u64 = 500;
/// No program that is looked at may take longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, such as `user mode linux`.
    pub name: String,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What was seen.
    pub detail: String,
    /// What to do when it is not.
    pub remedy: Option<String>,
}

fn finding(name: &str, remedy: &str, result: Result<String>) -> Finding {
    let (ok, detail) = match result {
        Ok(detail) => (true, detail),
        Err(error) => (
            false,
            format!("{error:#}")
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        ),
    };
    Finding {
        name: name.to_owned(),
        ok,
        detail,
        remedy: (!ok).then(|| remedy.to_owned()),
    }
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    let mut findings = Vec::new();
    let setup = Setup::load();
    let place = || Ok(cache_folder()?.join("setup.json").display().to_string());
    findings.push(finding(
        "setup",
        REMEDY,
        setup.as_ref().map_err(clone).and_then(|_| place()),
    ));
    if let Ok(setup) = &setup {
        findings.extend(of_setup(setup));
        findings.push(finding("user mode linux", UML_REMEDY, uml(setup)));
    }
    findings.push(finding(
        "memory",
        "close other programs, or use a machine with more",
        memory(),
    ));
    let place = std::env::temp_dir();
    findings.push(finding(
        "TMPDIR",
        "set TMPDIR to a writable folder with a short path, such as /tmp, or unset it",
        temporary(&place, std::env::var_os("TMPDIR").is_some()),
    ));
    // A run whose TMPDIR is of no use goes to /tmp.
    let used = usual_or(&place, Path::new("/tmp"));
    findings.push(finding(
        "disk",
        "free some space, or set TMPDIR to a folder with more",
        disk(used),
    ));
    findings.push(finding(
        "cores",
        "use a machine with two or more cores: runs take their time on one",
        cores(),
    ));
    findings.push(finding(
        "memfd",
        "use a Linux kernel with memfd_create (3.17 or newer)",
        memfd(),
    ));
    findings.push(finding(
        "sockets",
        "set TMPDIR to a writable folder with a short path",
        sockets(used),
    ));
    findings
}

fn clone(error: &anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

/// What the manifest names.
fn of_setup(setup: &Setup) -> Vec<Finding> {
    let mut findings = vec![finding("qemu", REMEDY, qemu(setup))];
    for (device, purpose) in [
        ("vfio-user-pci", "cards"),
        ("vhost-user-test-device-pci", "access points"),
    ] {
        let result = qemu_says(setup, &["-device", &format!("{device},help")]);
        let result = result.map(|_| format!("{device} for {purpose}"));
        findings.push(finding(
            &format!("qemu device for {purpose}"),
            REMEDY,
            result,
        ));
    }
    let accelerator = qemu_says(setup, &["-accel", "help"]).and_then(|text| {
        ensure!(
            text.contains(&setup.accel),
            "QEMU has no accelerator `{}`",
            setup.accel
        );
        Ok(setup.accel.clone())
    });
    findings.push(finding("accelerator", REMEDY, accelerator));
    let kernels = if setup.kernels.is_empty() {
        Err(anyhow::anyhow!("none"))
    } else {
        Ok(setup.kernels.len().to_string())
    };
    findings.push(finding("kernels", REMEDY, kernels));
    for kernel in &setup.kernels {
        let files = readable(&kernel.image).and(readable(&kernel.modules));
        let result = files.map(|()| kernel.release.clone());
        findings.push(finding(
            &format!("kernel {}", kernel.version),
            REMEDY,
            result,
        ));
    }
    let image = readable(&setup.images.base).map(|()| setup.images.base.display().to_string());
    findings.push(finding("guest image", REMEDY, image));
    findings
}

/// The oldest User Mode Linux that was seen to run programs on a processor with AMX: 6.1 and 6.12 have no room for its registers.
const COPES_WITH_AMX: (u32, u32) = (7, 2);

/// Only there when it was asked for, so its absence is no fault. Its guests' memory lies in `/dev/shm`.
fn uml(setup: &Setup) -> Result<String> {
    let Some(uml) = &setup.uml else {
        return Ok(format!(
            "not set up; only vmm = \"uml\" needs it: {UML_REMEDY}"
        ));
    };
    readable(&uml.image).and(readable(&uml.modules))?;
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    ensure!(
        copes(&uml.release, &cpuinfo),
        "this processor has AMX: every guest of User Mode Linux {} dies at start (ptrace set fp regs failed)",
        uml.release
    );
    let free = free_mib(Path::new("/dev/shm"))?;
    ensure!(
        free >= MEMORY,
        "{free} MiB free in /dev/shm, {MEMORY} MiB needed for its guests' memory"
    );
    Ok(format!("{}, {free} MiB free in /dev/shm", uml.release))
}

/// Whether a User Mode Linux of this release runs programs on the processor that `/proc/cpuinfo` describes.
fn copes(release: &str, cpuinfo: &str) -> bool {
    let has_amx = cpuinfo.split_whitespace().any(|flag| flag == "amx_tile");
    !has_amx || numbers(release).is_some_and(|version| version >= COPES_WITH_AMX)
}

fn readable(path: &Path) -> Result<()> {
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    ensure!(file.metadata()?.len() > 0, "{} is empty", path.display());
    Ok(())
}

fn qemu(setup: &Setup) -> Result<String> {
    let text = qemu_says(setup, &["--version"])?;
    let line = text.lines().next().unwrap_or_default();
    let version =
        version(line).with_context(|| format!("QEMU says {line:?} instead of its version"))?;
    let (major, minor) = OLDEST_QEMU;
    ensure!(
        version >= OLDEST_QEMU,
        "{line} is older than {major}.{minor}"
    );
    Ok(line.to_owned())
}

/// `QEMU emulator version 11.1.3 (…)`
fn version(line: &str) -> Option<(u32, u32)> {
    numbers(line.split_once("version ")?.1)
}

/// The first two numbers of a version such as `7.2.12` or `11.1.3 (…)`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', ' ']).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// What the setup's QEMU prints; an error when it fails, is missing, or hangs.
fn qemu_says(setup: &Setup, arguments: &[&str]) -> Result<String> {
    let (program, before) = setup.qemu.argv.split_first().context("no QEMU is named")?;
    let mut child = Command::new(program)
        .args(before)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("{program} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{} fails ({})",
        arguments.join(" "),
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn memory() -> Result<String> {
    let text = std::fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let available = available_mib(&text).context("/proc/meminfo does not say what is available")?;
    ensure!(
        available >= MEMORY,
        "{available} MiB available, {MEMORY} MiB needed"
    );
    Ok(format!("{available} MiB available"))
}

/// `MemAvailable:   123456 kB`
fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// The folder that TMPDIR names, or that is taken without it, if a run can keep its sockets and boot files there.
fn temporary(place: &Path, named: bool) -> Result<String> {
    let shown = place.display();
    if !named {
        Private::create_in(place)?;
        return Ok(format!("not set: {shown}"));
    }
    let length = place.as_os_str().len();
    let usable = Private::create_in(place);
    usable.with_context(|| {
        format!("it names {shown} ({length} bytes), where a run cannot keep its sockets")
    })?;
    Ok(shown.to_string())
}

/// `place` if a run can use it, else `other`.
fn usual_or<'a>(place: &'a Path, other: &'a Path) -> &'a Path {
    match Private::create_in(place) {
        Ok(_) => place,
        Err(_) => other,
    }
}

fn disk(folder: &Path) -> Result<String> {
    let place = folder.display();
    let free = free_mib(folder)?;
    ensure!(
        free >= DISK,
        "{free} MiB free in {place}, {DISK} MiB needed"
    );
    Ok(format!("{free} MiB free in {place}"))
}

fn free_mib(folder: &Path) -> Result<u64> {
    let place = folder.display();
    let status = rustix::fs::statvfs(folder).with_context(|| format!("cannot look at {place}"))?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize) / (1024 * 1024))
}

fn cores() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    ensure!(cores.get() >= 2, "{cores} core");
    Ok(format!("{cores} cores"))
}

fn memfd() -> Result<String> {
    rustix::fs::memfd_create("airlane-doctor", rustix::fs::MemfdFlags::CLOEXEC)
        .context("cannot make shared memory")?;
    Ok("shared memory can be made".to_owned())
}

fn sockets(place: &Path) -> Result<String> {
    let folder = Private::create_in(place)?;
    let path = folder.file("doctor.sock");
    std::os::unix::net::UnixListener::bind(&path)
        .with_context(|| format!("cannot bind {}", path.display()))?;
    Ok(format!("in {}", place.display()))
}

/// One line each, and one more for the remedy of what is missing.
pub fn text(findings: &[Finding]) -> String {
    let colour = std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = findings
        .iter()
        .map(|finding| finding.name.len())
        .max()
        .unwrap_or(0);
    let lines = findings.iter().map(|finding| line(finding, width, colour));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(finding: &Finding, width: usize, colour: bool) -> String {
    let (word, code) = if finding.ok {
        ("ok     ", "32")
    } else {
        ("missing", "31")
    };
    let word = airlane_harness::paint(word, code, colour);
    let remedy = finding
        .remedy
        .as_ref()
        .map_or_else(String::new, |remedy| format!("\n         remedy: {remedy}"));
    format!(
        "{word}  {:<width$}  {}{remedy}",
        finding.name, finding.detail
    )
}

/// The findings for programs.
pub fn json(findings: &[Finding]) -> String {
    let ok = findings.iter().all(|finding| finding.ok);
    let value = serde_json::json!({"ok": ok, "findings": findings});
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_guests::setup::sample;

    #[test]
    fn what_is_missing_has_a_remedy_and_what_is_there_has_none() {
        let missing = finding("x", "do y", Err(anyhow::anyhow!("no x")));
        let there = finding("x", "do y", Ok("an x".to_owned()));
        assert_eq!(
            line(&missing, 1, false),
            "missing  x  no x\n         remedy: do y"
        );
        assert_eq!(line(&there, 1, false), "ok       x  an x");
    }

    #[test]
    fn a_setup_whose_files_are_gone_is_found_out() {
        let findings = of_setup(&sample());
        let bad = findings.iter().filter(|finding| !finding.ok).count();
        assert_eq!(
            findings.len() - bad,
            1,
            "only the number of kernels is as it must be: {findings:?}"
        );
    }

    #[test]
    fn user_mode_linux_may_be_missing_but_not_half_there() {
        let mut setup = sample();
        assert!(uml(&setup).is_ok_and(|text| text.contains("not set up")));
        setup.uml = Some(airlane_guests::setup::Uml {
            version: "6.1".to_owned(),
            release: "6.1.0".to_owned(),
            image: "/nonexistent/linux".into(),
            modules: "/nonexistent/modules.cpio".into(),
        });
        assert!(uml(&setup).is_err());
    }

    #[test]
    fn a_kernel_that_amx_kills_is_told() {
        let (amx, plain) = ("flags : fpu amx_tile amx_int8\n", "flags : fpu avx512f\n");
        assert!(!copes("6.1.192", amx) && !copes("6.12.1", amx) && !copes("unknown", amx));
        assert!(copes("7.2.12", amx) && copes("10.0.1", amx) && copes("6.1.192", plain));
    }

    #[test]
    fn a_folder_for_temporary_files_that_is_of_no_use_is_found_out_and_another_is_taken() {
        let good = tempfile::tempdir().unwrap();
        assert!(temporary(good.path(), true).is_ok());
        let other = Path::new("/tmp");
        assert_eq!(usual_or(good.path(), other), good.path());
        let deep = good.path().join("d".repeat(80));
        std::fs::create_dir(&deep).unwrap();
        for bad in [&deep, Path::new("/nonexistent/tmp")] {
            let error = format!("{:#}", temporary(bad, true).unwrap_err());
            let said = format!("it names {}", bad.display());
            assert!(error.starts_with(&said), "{error}");
            assert_eq!(usual_or(bad, other), other);
        }
    }

    #[test]
    fn versions_and_memory_are_read() {
        assert_eq!(
            version("QEMU emulator version 11.1.3 (Debian 1:11.1.3)"),
            Some((11, 1))
        );
        assert!(version("QEMU emulator version 7.2.0") < Some(OLDEST_QEMU));
        assert_eq!(version("nonsense"), None);
        assert_eq!(
            available_mib("MemTotal: 1 kB\nMemAvailable:   2097152 kB\n"),
            Some(2048)
        );
    }
}
