//! What people see while a run goes on: a live table on a terminal, plain lines elsewhere.

use super::table::{self, Row};
use crossterm::terminal;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error, when standard output carries the report.
    Error,
}

/// The screen, or what stands for it.
pub struct Progress {
    stream: Stream,
    live: bool,
    colour: bool,
    began: Instant,
    rows: Vec<Row>,
    drawn: usize,
}

impl Progress {
    /// Progress on `stream`, live if that is a terminal that can move its cursor.
    pub fn new(stream: Stream) -> Self {
        let terminal = match stream {
            Stream::Out => std::io::stdout().is_terminal(),
            Stream::Error => std::io::stderr().is_terminal(),
        };
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            stream,
            live: terminal && !dumb,
            colour: terminal && !dumb && !no_colour,
            began: Instant::now(),
            rows: Vec::new(),
            drawn: 0,
        }
    }

    /// Says something that stays.
    pub fn say(&mut self, text: &str) {
        let mut out = self.erased();
        let seconds = self.began.elapsed().as_secs_f64();
        out += &format!(
            "{}  {text}\n",
            table::paint(&format!("{seconds:6.1} s"), "2", self.colour)
        );
        self.put(out);
    }

    /// Says something to copy, without anything before it.
    pub fn say_plain(&mut self, text: &str) {
        let out = self.erased() + text + "\n";
        self.put(out);
    }

    /// The outcome of a check.
    pub fn check(&mut self, passed: bool, text: &str) {
        let (word, code) = if passed {
            ("pass", "32")
        } else {
            ("FAIL", "31")
        };
        let word = table::paint(word, code, self.colour);
        self.say(&format!("{word}  {text}"));
    }

    /// How the VMs stand now: redraws the table, or names the rows whose state is new.
    pub fn rows(&mut self, rows: Vec<Row>) {
        if self.live {
            self.rows = rows;
            let out = self.erased();
            return self.put(out);
        }
        let before = std::mem::replace(&mut self.rows, rows);
        for line in changes(&before, &self.rows) {
            self.say(&line);
        }
    }

    /// Leaves the last table on the screen.
    pub fn end(&mut self) {
        self.drawn = 0;
        self.live = false;
    }

    /// Codes that erase the table (ECMA-48 8.3.35 CPL, 8.3.39 ED).
    fn erased(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}F\x1b[J"),
        }
    }

    /// Writes `out` and the table below it in one piece.
    fn put(&mut self, mut out: String) {
        if self.live && !self.rows.is_empty() {
            let (width, height) = terminal::size().unwrap_or((80, 24));
            let mut lines = table::lines(
                &self.rows,
                usize::from(width).saturating_sub(1),
                self.colour,
            );
            lines.truncate(usize::from(height).saturating_sub(2));
            self.drawn = lines.len();
            out.extend(lines.iter().map(|line| format!("{line}\n")));
        }
        // A reader that has gone is no reason to stop the run.
        let _ = match self.stream {
            Stream::Out => write(&mut std::io::stdout().lock(), &out),
            Stream::Error => write(&mut std::io::stderr().lock(), &out),
        };
    }
}

fn write(to: &mut impl Write, text: &str) -> std::io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// A line for each VM whose state is another one than before.
fn changes(before: &[Row], after: &[Row]) -> Vec<String> {
    let old = |name: &str| {
        before
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.state)
    };
    let new = after.iter().filter(|row| old(&row.name) != Some(row.state));
    new.map(described).collect()
}

fn described(row: &Row) -> String {
    let facts = [row.network.as_str(), &row.bssid, &row.address];
    let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    format!("{}: {}  {}", row.name, row.state, facts.join(" "))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_guests::state::State;

    #[test]
    fn plain_progress_names_each_new_state_once() {
        let row = |state| Row {
            name: "it".to_owned(),
            state,
            network: "corp".to_owned(),
            ..Row::default()
        };
        let (booting, up) = (vec![row(State::Booting)], vec![row(State::Associated)]);
        assert_eq!(changes(&[], &booting), ["it: booting  corp"]);
        assert_eq!(changes(&booting, &booting), [""; 0]);
        assert_eq!(changes(&booting, &up), ["it: associated  corp"]);
    }
}
