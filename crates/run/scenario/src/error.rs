//! What is wrong with a scenario: always one file, one line, one remedy.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a scenario was refused. Nothing has been started when this is seen.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{}: {reason}\n  remedy: name an existing scenario file, for example scenarios/two-networks.toml", file.display())]
    Unreadable {
        /// As named on the command line.
        file: PathBuf,
        /// The operating system's reason.
        reason: std::io::Error,
    },
    /// One of its lines is wrong.
    #[error("{}:{line}: {message}\n  remedy: {remedy}", file.display())]
    Invalid {
        /// As named on the command line.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
        /// What to write instead.
        remedy: String,
    },
}

/// A scenario's text and its name, from which errors take file and line.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// As named on the command line.
    pub path: &'a Path,
    /// The whole file.
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at the line where `span` (byte offsets into the text) begins.
    pub fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError::Invalid {
            file: self.path.to_owned(),
            line: self.line_of(span.start),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The line, counted from 1, in which the byte `offset` lies.
    pub fn line_of(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|&&byte| byte == b'\n').count()
    }

    /// Turns what the TOML reader says into file, line and remedy.
    pub fn syntax_error(&self, error: &toml::de::Error) -> ScenarioError {
        let span = error.span().unwrap_or(0..0);
        let (message, remedy) = match error.message() {
            "duplicate key" => self.written_twice(&span),
            message => explained(message),
        };
        self.error(&span, message, remedy)
    }

    /// Message and remedy for the key at `key`, which stands in the same table before.
    fn written_twice(&self, key: &Range<usize>) -> (String, String) {
        let before = self.text.get(..key.start).unwrap_or_default();
        let heads_a_table = before.trim_end().ends_with('[');
        let key = self.text.get(key.clone()).unwrap_or_default();
        let remedy = match heads_a_table && SEVERAL.contains(&key) {
            true => format!("write [[{key}]] for each of several"),
            false => "keep one of the two".to_owned(),
        };
        (format!("the key `{key}` is written twice"), remedy)
    }
}

/// Tables of which a scenario may have several: to keep one of two would lose what the other describes.
const SEVERAL: [&str; 5] = ["access_point", "card", "check", "step", "vm"];

/// A message of the TOML reader in our words, and the remedy for it.
fn explained(message: &str) -> (String, String) {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, known) = rest.split_once(", ").unwrap_or((rest, ""));
        let near =
            closest(message).map_or_else(String::new, |key| format!("did you mean `{key}`? "));
        return (
            format!("unknown key {key}"),
            format!("{near}{known}; see docs/scenario.md"),
        );
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return (
            format!("missing key {key}"),
            "add the key; docs/scenario.md says what it means".to_owned(),
        );
    }
    let remedy =
        "see docs/scenario.md for the type of each key, and https://toml.io for the syntax";
    (message.to_owned(), remedy.to_owned())
}

/// Among the keys that an "unknown field `a`, expected one of `b`, `c`" offers, the one nearest
/// to the one written, if any is near.
fn closest(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let written = quoted.next()?;
    nearest(written, quoted)
}

/// The one of `words` that differs least from `written`, if any is near.
pub fn nearest<'a>(written: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, word) = words.map(|word| (distance(written, word), word)).min()?;
    (distance <= 3).then_some(word)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, &above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != y))
                .min(above + 1)
                .min(left + 1);
            diagonal = above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        assert_eq!(distance("chanel", "channel"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("mac", "mac"), 0);
    }

    #[test]
    fn the_nearest_key_is_offered_only_when_near() {
        let near = "unknown field `chanel`, expected one of `ssid`, `channel`";
        assert_eq!(closest(near), Some("channel"));
        assert_eq!(closest("unknown field `zzzzzzzz`, expected `ssid`"), None);
    }
}
