//! The language of a guest's agent, one line of text each (see `guest/README.md`). A guest may send
//! anything; what is not of the language is refused, never trusted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// What a guest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `event NAME KEY=VALUE …`
    Event(Event),
    /// `output ID BASE64`: a piece of what a command prints.
    Output {
        /// The command.
        id: u64,
        /// The piece, as the command has written it.
        bytes: Vec<u8>,
    },
    /// `error ID BASE64`: a piece of what a command prints as an error, where it was asked to keep that apart.
    Error {
        /// The command.
        id: u64,
        /// The piece, as the command has written it.
        bytes: Vec<u8>,
    },
    /// `exit ID CODE`: the end of a command.
    Exit {
        /// The command.
        id: u64,
        /// Its exit code.
        code: i32,
    },
}

/// Something that happened in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Such as `booted`.
    pub name: String,
    /// Values by key, decoded.
    pub values: BTreeMap<String, String>,
}

/// Why a line is not of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Neither `event`, `output`, `error` nor `exit`.
    #[error("unknown word")]
    Word,
    /// An event without a name, or a value without a key.
    #[error("malformed event")]
    Event,
    /// No number where a command's number must stand.
    #[error("malformed command number")]
    Id,
    /// Output that is not base64.
    #[error("malformed base64")]
    Base64,
    /// No number where an exit code must stand.
    #[error("malformed exit code")]
    Code,
}

impl Event {
    /// The value of `key`, empty when there is none.
    pub fn get(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }
}

impl Line {
    /// Reads one line, without its end.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let (word, rest) = text.trim_end().split_once(' ').ok_or(LineError::Word)?;
        match word {
            "event" => event(rest).map(Self::Event).ok_or(LineError::Event),
            "output" => printed(rest).map(|(id, bytes)| Self::Output { id, bytes }),
            "error" => printed(rest).map(|(id, bytes)| Self::Error { id, bytes }),
            "exit" => {
                let (id, code) = numbered(rest)?;
                let code = code.trim().parse().map_err(|_| LineError::Code)?;
                Ok(Self::Exit { id, code })
            }
            _ => Err(LineError::Word),
        }
    }
}

fn event(text: &str) -> Option<Event> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next()?.to_owned();
    let pair = |word: &str| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), percent_decoded(value)))
    };
    let values = words.map(pair).collect::<Option<_>>()?;
    Some(Event { name, values })
}

fn printed(text: &str) -> Result<(u64, Vec<u8>), LineError> {
    let (id, text) = numbered(text)?;
    let bytes = STANDARD.decode(text).map_err(|_| LineError::Base64)?;
    Ok((id, bytes))
}

fn numbered(text: &str) -> Result<(u64, &str), LineError> {
    let (id, rest) = text.split_once(' ').ok_or(LineError::Id)?;
    Ok((id.parse().map_err(|_| LineError::Id)?, rest))
}

/// `%20` becomes a blank; a percent sign without two digits stays as it is.
fn percent_decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or("").as_bytes().to_vec();
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (code, part.get(2..)) {
            (Some(code), Some(rest)) => {
                bytes.push(code);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_has_a_name_and_decoded_values() {
        let Ok(Line::Event(event)) = Line::parse("event associated ssid=my%20net%25 bssid=02:00\r")
        else {
            panic!("not an event");
        };
        assert_eq!(event.name, "associated");
        assert_eq!(event.get("ssid"), "my net%");
        assert_eq!(event.get("bssid"), "02:00");
        assert_eq!(event.get("other"), "");
    }

    #[test]
    fn output_and_exit_name_their_command() {
        let output = Line::Output {
            id: 7,
            bytes: b"hello\n".to_vec(),
        };
        assert_eq!(Line::parse("output 7 aGVsbG8K"), Ok(output));
        let error = Line::Error {
            id: 7,
            bytes: b"hello\n".to_vec(),
        };
        assert_eq!(Line::parse("error 7 aGVsbG8K"), Ok(error));
        assert_eq!(Line::parse("exit 7 1"), Ok(Line::Exit { id: 7, code: 1 }));
        assert_eq!(Line::parse("exit 7 -1"), Ok(Line::Exit { id: 7, code: -1 }));
    }

    #[test]
    fn each_malformed_line_is_refused_for_its_reason() {
        for (line, error) in [
            ("", LineError::Word),
            ("event", LineError::Word),
            ("hello world", LineError::Word),
            ("event  ", LineError::Word),
            ("event associated ssid", LineError::Event),
            ("output x aGVsbG8K", LineError::Id),
            ("output 7", LineError::Id),
            ("output 7 *", LineError::Base64),
            ("error 7 *", LineError::Base64),
            ("exit 7 seven", LineError::Code),
        ] {
            assert_eq!(Line::parse(line), Err(error), "{line:?}");
        }
    }

    #[test]
    fn a_percent_sign_without_digits_stays() {
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("a%zzb%41"), "a%zzbA");
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC*") {
            let _ = Line::parse(&text);
            let _ = Line::parse(&format!("event x y={text}"));
            let _ = percent_decoded(&text);
        }
    }
}
