//! Standard output.

use std::io::Write;

/// A line. A reader that has gone is no error of ours.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
