//! The runs that go on as capture interfaces in Wireshark's own list (`extcap`, Wireshark Developer's
//! Guide 8.2): Wireshark starts every program in its extcap folder with options of its own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use super::capture;
use crate::client::{Run, runs};

/// `LINKTYPE_IEEE802_11_RADIOTAP`.
const DLT: u32 = 127;

/// What Wireshark asks. Options of later versions are let pass.
#[derive(Parser)]
#[command(name = "airlane", ignore_errors = true)]
struct Extcap {
    #[arg(long)]
    extcap_interfaces: bool,
    #[arg(long)]
    extcap_dlts: bool,
    #[arg(long)]
    extcap_config: bool,
    #[arg(long)]
    capture: bool,
    #[arg(long)]
    extcap_interface: Option<String>,
    #[arg(long)]
    fifo: Option<PathBuf>,
}

/// Whether these arguments are Wireshark's.
pub fn asked(arguments: &[OsString]) -> bool {
    let first = arguments.get(1);
    arguments.len() > 1
        && first.is_some_and(|first| {
            let first = first.to_string_lossy();
            first.starts_with("--extcap") || first == "--capture"
        })
}

/// Answers Wireshark.
pub fn answer(arguments: &[OsString]) -> Result<()> {
    let asked = Extcap::try_parse_from(arguments)?;
    if asked.capture {
        return start(&asked);
    }
    let text = match asked {
        Extcap {
            extcap_interfaces: true,
            ..
        } => interfaces(&runs()),
        Extcap {
            extcap_dlts: true, ..
        } => {
            format!(
                "dlt {{number={DLT}}}{{name=IEEE802_11_RADIO}}{{display=802.11 with radiotap}}\n"
            )
        }
        // No options: --extcap-config is answered by nothing.
        _ => String::new(),
    };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// An interface for each run, and one for each of its VMs.
fn interfaces(runs: &[Run]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("extcap {{version={version}}}{{display=airlane}}\n");
    for run in runs {
        let name = &run.name;
        let _ = writeln!(
            text,
            "interface {{value=airlane:{name}}}{{display=airlane: the air of {name}}}"
        );
        for vm in &run.vms {
            let _ = writeln!(
                text,
                "interface {{value=airlane:{name}:{vm}}}{{display=airlane: VM {vm} of {name}}}"
            );
        }
    }
    text
}

fn start(asked: &Extcap) -> Result<()> {
    let interface = asked.extcap_interface.as_deref();
    let (run, vm) = interface
        .and_then(parts)
        .context("no such interface: name one of --extcap-interfaces")?;
    let fifo = asked.fifo.as_ref().context("no --fifo to write to")?;
    let mut out = OpenOptions::new()
        .write(true)
        .open(fifo)
        .with_context(|| format!("cannot open {}", fifo.display()))?;
    capture::copy(Some(run), vm, &mut out)
}

/// Run and VM of an interface's name. Neither has a colon in it.
fn parts(interface: &str) -> Option<(&str, Option<String>)> {
    let name = interface.strip_prefix("airlane:")?;
    Some(match name.rsplit_once(':') {
        Some((run, vm)) => (run, Some(vm.to_owned())),
        None => (name, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn wireshark_is_told_from_people() {
        assert!(asked(&arguments(
            "airlane --extcap-interfaces --extcap-version=4.4"
        )));
        assert!(asked(&arguments(
            "airlane --capture --extcap-interface airlane:x --fifo /f"
        )));
        assert!(!asked(&arguments("airlane capture --vm it")));
        assert!(!asked(&arguments("airlane")));
    }

    #[test]
    fn options_of_later_versions_are_let_pass() {
        let asked = Extcap::try_parse_from(arguments(
            "airlane --extcap-interfaces --extcap-version=4.4",
        ));
        assert!(asked.is_ok_and(|asked| asked.extcap_interfaces));
    }

    #[test]
    fn an_interface_names_its_run_and_vm() {
        assert_eq!(parts("airlane:two"), Some(("two", None)));
        assert_eq!(
            parts("airlane:two:it"),
            Some(("two", Some("it".to_owned())))
        );
        assert_eq!(parts("eth0"), None);
    }
}
