//! The Test Anything Protocol, version 13 (testanything.org): a line for each check, with what was seen as YAML below those that failed.

use super::names::RUN;
use airlane_harness::report::{Check, Report};
use std::fmt::Write as _;

/// The whole document.
pub fn document(report: &Report) -> String {
    let run = usize::from(report.error.is_some());
    let mut text = format!("TAP version 13\n1..{}\n", report.checks.len() + run);
    for (index, check) in report.checks.iter().enumerate() {
        point(&mut text, index + 1, report, check);
    }
    if let Some(error) = &report.error {
        let number = report.checks.len() + 1;
        let _ = writeln!(text, "not ok {number} - {}: {RUN}", report.scenario);
        block(&mut text, error);
    }
    text
}

fn point(text: &mut String, number: usize, report: &Report, check: &Check) {
    let ok = if check.passed { "ok" } else { "not ok" };
    let name = format!("{}: {}: {}", report.scenario, check.vm, check.name);
    if !check.made {
        // To a reader a skipped test is no failure; the run itself is one then.
        let _ = writeln!(
            text,
            "ok {number} - {} # SKIP {}",
            plain(&name),
            one_line(&check.detail)
        );
        return;
    }
    let _ = writeln!(text, "{ok} {number} - {}", plain(&name));
    if check.passed {
        let _ = writeln!(text, "# {}", one_line(&check.detail));
    } else {
        block(text, &check.detail);
    }
}

/// A description, in which `#` would begin a directive.
fn plain(text: &str) -> String {
    one_line(text).replace('#', "\\#")
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let text = lines.collect::<Vec<_>>().join("; ");
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A YAML block with the message as a literal, each line indented alike.
fn block(text: &mut String, message: &str) {
    text.push_str("  ---\n  message: |\n");
    for line in message.lines() {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("  ...\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::report;

    #[test]
    fn a_run_that_passed_is_a_line_for_each_check() {
        assert_eq!(
            document(&report(2, 0, 0)),
            "TAP version 13\n1..2\n\
             ok 1 - lab: it: ping\n# as seen\n\
             ok 2 - lab: it: ping\n# as seen\n"
        );
    }

    #[test]
    fn what_failed_says_why_and_what_was_not_made_is_skipped_and_the_run_has_failed() {
        assert_eq!(
            document(&report(0, 1, 1)),
            "TAP version 13\n1..3\n\
             not ok 1 - lab: it: ping\n  ---\n  message: |\n    as seen\n  ...\n\
             ok 2 - lab: it: ping # SKIP as seen\n\
             not ok 3 - lab: run\n  ---\n  message: |\n    the VM `it` has stopped\n      | its console\n  ...\n"
        );
    }

    #[test]
    fn a_guest_s_words_begin_no_line_and_no_directive() {
        let mut report = report(1, 0, 0);
        report.checks[0].name = "a # TODO b".to_owned();
        report.checks[0].detail = "fine\nnot ok 7\u{1b}[2J".to_owned();
        let text = document(&report);
        assert!(
            text.contains("ok 1 - lab: it: a \\# TODO b\n# fine; not ok 7[2J\n"),
            "{text}"
        );
    }
}
