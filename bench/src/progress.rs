//! One line that says what is being measured: rewritten on a terminal, elsewhere only what is new.

use std::io::{IsTerminal, Write};

/// To the first column, and the line erased (ECMA-48 8.3.41).
const AGAIN: &str = "\r\x1b[K";

/// The line, on standard error.
pub struct Line {
    live: bool,
    began: std::time::Instant,
    said: String,
}

impl Default for Line {
    fn default() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            live: std::io::stderr().is_terminal() && !dumb,
            began: std::time::Instant::now(),
            said: String::new(),
        }
    }
}

impl Line {
    /// Says something that stays.
    pub fn announce(&mut self, text: &str) {
        let again = if self.live { AGAIN } else { "" };
        let _ = writeln!(std::io::stderr().lock(), "{again}{text}");
    }

    /// Now `what` is done, of which this is the part `detail`.
    pub fn say(&mut self, what: &str, detail: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        let mut err = std::io::stderr().lock();
        // Nobody who reads it is no reason to stop.
        let _ = match self.live {
            true => write!(err, "{AGAIN}{seconds:6.1} s  {what}: {detail}"),
            false if self.said != what => writeln!(err, "{seconds:6.1} s  {what}"),
            false => Ok(()),
        };
        let _ = err.flush();
        what.clone_into(&mut self.said);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.live {
            let _ = write!(std::io::stderr().lock(), "{AGAIN}");
        }
    }
}
