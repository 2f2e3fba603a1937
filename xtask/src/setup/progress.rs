//! One line per step on standard error: `[2/6] guest kernel 6.1 … 6.1.0-56-amd64, 12 s`.

use std::fmt::Display;
use std::time::Instant;

use anyhow::{Context, Result};

/// Counts the steps of one run.
pub struct Progress {
    total: usize,
    started: usize,
}

impl Progress {
    /// A run of `total` steps.
    pub fn new(total: usize) -> Self {
        Self { total, started: 0 }
    }

    /// Does one step and says how long it took and what it gave.
    pub fn step<T: Display>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.started += 1;
        eprint!("[{}/{}] {name} … ", self.started, self.total);
        let begin = Instant::now();
        let result = work();
        match &result {
            Ok(made) => eprintln!("{made}, {:.1} s", begin.elapsed().as_secs_f64()),
            Err(_) => eprintln!("failed"),
        }
        result.with_context(|| format!("setting up {name} failed"))
    }
}
