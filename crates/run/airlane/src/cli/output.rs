//! What goes to standard output, which may be a pipe that nobody reads any more.

use std::io::Write;

/// A line. A reader that has gone is no error of ours.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
