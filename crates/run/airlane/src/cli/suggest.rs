//! What was meant by a command that there is not. clap compares words by what they have in common place by place, so it sees
//! nothing of `run` in `rnu`: letters in the wrong order are counted here.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser};
use std::ffi::OsString;

/// Edits (letters put in, left out, replaced, or two in a row exchanged) that are still a slip of the fingers.
const SLIPS: usize = 2;

/// The arguments understood; with an error, the program ends.
pub fn parse<C: Parser + CommandFactory>(arguments: Vec<OsString>) -> C {
    C::try_parse_from(arguments).unwrap_or_else(|error| with_suggestion::<C>(error).exit())
}

/// The error with a suggestion, where it is about a command and has none.
fn with_suggestion<C: CommandFactory>(mut error: Error) -> Error {
    let unknown = error.kind() == ErrorKind::InvalidSubcommand;
    if !unknown || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    if let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(meant) = meant(written, &C::command())
    {
        let suggestions = ContextValue::Strings(vec![meant]);
        error.insert(ContextKind::SuggestedSubcommand, suggestions);
    }
    error
}

/// The command whose name differs least from `written`, if it may be meant: some of the word must be left.
fn meant(written: &str, command: &clap::Command) -> Option<String> {
    let names = command.get_subcommands().map(clap::Command::get_name);
    let near = names.map(|name| (strsim::osa_distance(written, name), name));
    let (distance, name) = near.min()?;
    (distance <= SLIPS && distance + 1 < name.len()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;

    fn said(word: &str) -> String {
        let error = Cli::try_parse_from(["airlane", word]).err().unwrap();
        with_suggestion::<Cli>(error).to_string()
    }

    #[test]
    fn a_command_with_two_letters_exchanged_is_recognized() {
        for (written, meant) in [
            ("rnu", "run"),
            ("runn", "run"),
            ("chekc", "check"),
            ("shwo", "show"),
            ("docotr", "doctor"),
        ] {
            let said = said(written);
            assert!(said.contains(&format!("'{meant}'")), "{written}: {said}");
        }
    }

    #[test]
    fn a_word_that_is_near_none_has_no_suggestion() {
        for written in ["zzz", "qqqqqqqq", "123"] {
            let said = said(written);
            assert!(!said.contains("similar"), "{written}: {said}");
        }
    }
}
