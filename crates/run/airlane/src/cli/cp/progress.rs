//! How far a copy has come, on standard error, once it has taken longer than two seconds.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is said before.
const PATIENCE: Duration = Duration::from_secs(2);

/// A copy that goes on.
pub struct Progress {
    /// Bytes in all; 0 when nobody knows.
    length: u64,
    began: Instant,
    /// When the next line is due.
    next: Duration,
    live: bool,
    shown: bool,
}

impl Progress {
    /// It begins now.
    #[allow(clippy::disallowed_methods, reason = "people wait in real time")]
    pub fn new(length: u64) -> Self {
        Self {
            length,
            began: Instant::now(),
            next: PATIENCE,
            live: std::io::stderr().is_terminal(),
            shown: false,
        }
    }

    /// So many bytes have gone by.
    pub fn at(&mut self, done: u64) {
        let elapsed = self.began.elapsed();
        if elapsed < self.next {
            return;
        }
        let step = if self.live { 1 } else { 10 };
        self.next = elapsed + Duration::from_secs(step);
        let line = words(done, self.length, elapsed.as_secs_f64());
        let mut out = std::io::stderr().lock();
        // Whoever does not look misses nothing.
        let _ = match self.live {
            true => write!(out, "\r{line}\x1b[K"),
            false => writeln!(out, "{line}"),
        };
        let _ = out.flush();
        self.shown = true;
    }

    /// It is over: what stands on a terminal goes.
    pub fn end(&self) {
        if self.live && self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

fn words(done: u64, length: u64, seconds: f64) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let of = match length {
        0 => String::new(),
        length => format!(" of {:.1}", mib(length)),
    };
    let rate = done as f64 / 1e3 / seconds.max(0.001);
    format!("{:.1}{of} MiB, {rate:.0} kB/s", mib(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_of_how_much() {
        assert_eq!(words(1 << 20, 4 << 20, 10.0), "1.0 of 4.0 MiB, 105 kB/s");
        assert_eq!(words(1 << 19, 0, 0.0), "0.5 MiB, 524288 kB/s");
    }
}
