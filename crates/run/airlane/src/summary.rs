//! The last line of a run, and the counts in it.

use airlane_harness::report::{Check, Report};
use std::path::Path;

/// Checks by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub all: usize,
    /// Made, and passed.
    pub passed: usize,
    /// Made, and failed.
    pub failed: usize,
    /// The run ended before them.
    pub not_made: usize,
}

/// Those of a report.
pub fn counts(report: &Report) -> Counts {
    let of =
        |wanted: fn(&Check) -> bool| report.checks.iter().filter(|check| wanted(check)).count();
    Counts {
        all: report.checks.len(),
        passed: of(|check| check.passed),
        failed: of(|check| check.made && !check.passed),
        not_made: of(|check| !check.made),
    }
}

/// `lab: FAILED, 3 of 11 checks passed, 1 failed, 7 not made, in 45 s; see out/lab`
pub fn line(report: &Report, out: &Path) -> String {
    let counts = counts(report);
    let word = match (report.passed, report.error.is_some()) {
        (true, _) => "passed",
        (false, true) => "FAILED before its end",
        (false, false) => "FAILED",
    };
    format!(
        "{}: {word}, {} in {:.0} s; see {}",
        report.scenario,
        in_words(counts, report.passed),
        report.seconds,
        out.display()
    )
}

fn in_words(counts: Counts, run_passed: bool) -> String {
    let Counts {
        all,
        passed,
        failed,
        not_made,
    } = counts;
    let checks = counted(all, "check");
    if all == 0 {
        return "no checks".to_owned();
    }
    if run_passed {
        return format!("{passed} of {checks}");
    }
    let mut words = format!("{passed} of {checks} passed");
    for (count, what) in [(failed, "failed"), (not_made, "not made")] {
        if count > 0 {
            words += &format!(", {count} {what}");
        }
    }
    words + ","
}

/// `1 VM`, `2 VMs`
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A report with so many checks that passed, failed, and were not made.
    pub fn report(passed: usize, failed: usize, not_made: usize) -> Report {
        let kinds = [
            (passed, true, true),
            (failed, false, true),
            (not_made, false, false),
        ];
        let check = |passed, made| Check {
            name: "ping".to_owned(),
            vm: "it".to_owned(),
            passed,
            made,
            detail: "as seen".to_owned(),
        };
        let checks = kinds
            .into_iter()
            .flat_map(|(count, passed, made)| vec![check(passed, made); count]);
        Report {
            scenario: "lab".to_owned(),
            passed: failed + not_made == 0,
            error: (not_made > 0).then(|| "the VM `it` has stopped\n  | its console".to_owned()),
            seconds: 45.4,
            checks: checks.collect(),
            ..Report::default()
        }
    }

    fn said(report: &Report) -> String {
        line(report, Path::new("out/lab"))
    }

    #[test]
    fn the_last_line_tells_what_passed_failed_and_was_not_made() {
        assert_eq!(
            said(&report(11, 0, 0)),
            "lab: passed, 11 of 11 checks in 45 s; see out/lab"
        );
        assert_eq!(
            said(&report(20, 1, 0)),
            "lab: FAILED, 20 of 21 checks passed, 1 failed, in 45 s; see out/lab"
        );
        assert_eq!(
            said(&report(3, 1, 7)),
            "lab: FAILED before its end, 3 of 11 checks passed, 1 failed, 7 not made, in 45 s; see out/lab"
        );
        assert_eq!(
            said(&report(0, 0, 1)),
            "lab: FAILED before its end, 0 of 1 check passed, 1 not made, in 45 s; see out/lab"
        );
    }

    #[test]
    fn a_run_that_ended_early_never_looks_as_if_all_had_passed() {
        let early = Report {
            passed: false,
            error: Some("stopped".to_owned()),
            ..report(2, 0, 0)
        };
        assert_eq!(
            said(&early),
            "lab: FAILED before its end, 2 of 2 checks passed, in 45 s; see out/lab"
        );
        let none = Report {
            passed: false,
            error: Some("stopped".to_owned()),
            ..report(0, 0, 0)
        };
        assert_eq!(
            said(&none),
            "lab: FAILED before its end, no checks in 45 s; see out/lab"
        );
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "VM"), "1 VM");
        assert_eq!(counted(0, "VM"), "0 VMs");
        assert_eq!(counted(2, "VM"), "2 VMs");
    }
}
