//! What the output of tests tells: how many passed and failed, and which were skipped for what reason.

/// By which a test says that it was skipped (`tests/common/skip.rs` of `airlane`).
const SKIPPED: &str = "skipped: ";
/// By which `airlane run` says that a check failed, behind the seconds since its start.
const FAIL: &str = " s  FAIL  ";
/// By which libtest closes the run of one program.
const RESULT: &str = "test result: ";

/// Tests counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that passed. libtest counts a test that skips itself, or a part of itself, here too; [`Self::line`] takes it out.
    pub passed: usize,
    /// Those that failed.
    pub failed: usize,
    /// `name: reason` of what was not run.
    pub skipped: Vec<String>,
    /// `VM: check: why` of what failed in scenarios.
    pub checks: Vec<String>,
    /// Skips of the program that runs, which its result will count as passed.
    pending: usize,
}

impl Tally {
    /// Takes in one line of output.
    pub fn line(&mut self, line: &str) {
        if let Some(skip) = line.strip_prefix(SKIPPED) {
            self.skipped.push(skip.trim().to_owned());
            self.pending += 1;
        } else if let Some((_, check)) = line.split_once(FAIL) {
            self.checks.push(check.trim().to_owned());
        } else if let Some(counts) = line.strip_prefix(RESULT) {
            let passed = count(counts, "passed");
            self.passed += passed.saturating_sub(std::mem::take(&mut self.pending));
            self.failed += count(counts, "failed");
        }
    }

    /// Adds what another stage has counted.
    pub fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend_from_slice(&other.skipped);
        self.checks.extend_from_slice(&other.checks);
    }
}

/// The number before `word` in `ok. 3 passed; 1 failed; 0 ignored; …`.
fn count(counts: &str, word: &str) -> usize {
    let fields = counts.split([';', '.']).map(str::trim);
    let mut numbers = fields.filter_map(|field| field.strip_suffix(word)?.trim().parse().ok());
    numbers.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_skips_are_counted() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "skipped: b: no tshark",
            "  51.2 s  FAIL  one: ping: 9 of 10 echo requests answered",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
        ] {
            tally.line(line);
        }
        let expected = Tally {
            passed: 12,
            failed: 2,
            skipped: vec!["b: no tshark".to_owned()],
            checks: vec!["one: ping: 9 of 10 echo requests answered".to_owned()],
            pending: 0,
        };
        assert_eq!(tally, expected);
    }
}
