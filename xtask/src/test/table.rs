//! The closing lines of `cargo xtask test`: what was run, how long it took, what was left out.

use std::fmt::Write as _;
use std::time::Duration;

use super::stage::{End, Outcome};
use super::tally::Tally;

/// A run of all tests that takes longer is a fault to mend. Machines are noisy: it fails nothing by itself.
const BUDGET: Duration = Duration::from_secs(60 * 60);

/// Minutes with one decimal.
pub fn minutes(took: Duration) -> String {
    format!("{:.1}", took.as_secs_f64() / 60.0)
}

/// In one word, and in the error's words where it failed.
pub fn ended(end: &End) -> String {
    match end {
        End::Passed => "passed".to_owned(),
        End::Failed(error) => format!("FAILED: {error}"),
        End::NotRun => "not run".to_owned(),
    }
}

/// The table, what was skipped and not checked, and the counts, in this order.
pub fn closing(outcomes: &[Outcome]) -> String {
    let mut text = String::from("stage         minutes  passed  failed  skipped\n");
    let mut all = Tally::default();
    let mut took = Duration::ZERO;
    for outcome in outcomes {
        row(
            &mut text,
            outcome.name,
            outcome.took,
            &outcome.tally,
            &ended(&outcome.end),
        );
        all.add(&outcome.tally);
        took += outcome.took;
    }
    row(&mut text, "all", took, &all, "");
    for skip in &all.skipped {
        let _ = writeln!(text, "skipped: {skip}");
    }
    for check in &all.checks {
        let _ = writeln!(text, "failed: {check}");
    }
    for note in outcomes.iter().flat_map(|outcome| &outcome.notes) {
        let _ = writeln!(text, "note: {note}");
    }
    if took > BUDGET {
        let (took, budget) = (minutes(took), minutes(BUDGET));
        let _ = writeln!(
            text,
            "a fault to mend: this took {took} minutes, more than {budget}"
        );
    }
    let (passed, failed, skipped) = (all.passed, all.failed, all.skipped.len());
    let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
    text
}

fn row(text: &mut String, name: &str, took: Duration, tally: &Tally, end: &str) {
    let (minutes, skipped) = (minutes(took), tally.skipped.len());
    let line = format!(
        "{name:<12}  {minutes:>7}  {:>6}  {:>6}  {skipped:>7}  {end}",
        tally.passed, tally.failed
    );
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, minutes: u64, end: End, lines: &[&str]) -> Outcome {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.line(line));
        Outcome {
            name,
            took: Duration::from_secs(60 * minutes),
            end,
            tally,
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_closing_lines_name_every_skip_and_count_all() {
        let mut units = outcome(
            "units",
            3,
            End::Passed,
            &["test result: ok. 7 passed; 0 failed;"],
        );
        units.notes.push("advisories were not checked".to_owned());
        let guests = outcome(
            "guests",
            30,
            End::Failed("it broke".to_owned()),
            &[
                "skipped: a: no uml",
                "   9.1 s  FAIL  it: ping: none answered",
                "test result: FAILED. 3 passed; 1 failed;",
            ],
        );
        let text = closing(&[units, guests]);
        assert_eq!(
            text,
            "stage         minutes  passed  failed  skipped\n\
             units             3.0       7       0        0  passed\n\
             guests           30.0       2       1        1  FAILED: it broke\n\
             all              33.0       9       1        1\n\
             skipped: a: no uml\n\
             failed: it: ping: none answered\n\
             note: advisories were not checked\n\
             9 passed, 1 failed, 1 skipped\n"
        );
    }

    #[test]
    fn more_than_an_hour_is_told_as_a_fault() {
        assert!(!closing(&[outcome("guests", 60, End::Passed, &[])]).contains("a fault to mend"));
        assert!(closing(&[outcome("guests", 61, End::Passed, &[])]).contains("a fault to mend"));
    }
}
