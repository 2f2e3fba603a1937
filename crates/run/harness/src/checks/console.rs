//! The check that every run makes: no console log holds a line of a kernel or driver fault.

use super::findings::Findings;
use crate::session::Session;
use airlane_guests::console::{Fault, faults, read};
use airlane_guests::known_faults::excused;
use std::path::{Path, PathBuf};

/// The check's name in the report.
const NAME: &str = "console";

/// Reads the logs of all guests of ours. `complete` says that the run came to its end: a guest that was stopped while it booted,
/// or was never started, may have said nothing yet, which is neither good nor bad.
pub fn check(session: &mut Session, findings: &mut Findings, complete: bool) {
    let ours = session
        .members
        .iter()
        .filter(|member| member.recipe.is_some());
    let logs: Vec<(String, Vec<_>)> = ours
        .map(|member| (member.name.clone(), member.consoles.clone()))
        .collect();
    for (vm, consoles) in logs {
        if !complete && consoles.iter().all(|path| is_silent(path)) {
            findings.add_not_made(NAME, &vm, "the VM had said nothing when the run ended");
            continue;
        }
        let bad: Vec<String> = consoles.iter().flat_map(|path| bad_lines(path)).collect();
        let detail = detail(&bad).unwrap_or_else(|| healthy(&consoles));
        findings.add(session, NAME, &vm, bad.is_empty(), detail);
    }
}

/// What is said of logs with these bad lines; nothing where there is none.
fn detail(bad: &[String]) -> Option<String> {
    match bad {
        [] => None,
        [only] => Some(format!("1 bad line: {only}")),
        [first, ..] => Some(format!("{} bad lines, the first: {first}", bad.len())),
    }
}

/// What is said of logs without a fault: a known fault of the kernel is named all the same.
fn healthy(consoles: &[PathBuf]) -> String {
    let mut known: Vec<&str> = consoles
        .iter()
        .flat_map(|path| excused(&read(path)))
        .map(|(_, fault)| fault.name)
        .collect();
    known.dedup();
    match known.as_slice() {
        [] => "no driver or kernel fault".to_owned(),
        names => format!(
            "no driver or kernel fault but a known one: {}",
            names.join("; ")
        ),
    }
}

/// True where a log has no line.
fn is_silent(path: &Path) -> bool {
    read(path).trim().is_empty()
}

/// The faults in one log. A log without a line shows no healthy guest either.
fn bad_lines(path: &Path) -> Vec<String> {
    let file = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if is_silent(path) {
        return vec![format!("{file} is empty")];
    }
    let log = read(path);
    let named = |fault: Fault| format!("{file}:{}: {}", fault.line, fault.text);
    faults(&log).into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_line_is_a_line() {
        let bad = ["it.log:2: BUG", "it.log:7: Oops"].map(str::to_owned);
        let said = |count: usize| detail(&bad[..count]);
        assert_eq!(said(0), None);
        assert_eq!(said(1).unwrap(), "1 bad line: it.log:2: BUG");
        assert_eq!(said(2).unwrap(), "2 bad lines, the first: it.log:2: BUG");
    }

    #[test]
    fn a_log_is_bad_when_it_holds_a_fault_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.log");
        assert_eq!(bad_lines(&path), ["it.log is empty"]);
        assert!(is_silent(&path));
        std::fs::write(&path, "fine\nBUG: not fine\n").unwrap();
        assert_eq!(bad_lines(&path), ["it.log:2: BUG: not fine"]);
        std::fs::write(&path, "fine\n").unwrap();
        assert_eq!(bad_lines(&path), [""; 0]);
        assert!(!is_silent(&path));
    }
}
