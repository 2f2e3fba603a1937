//! The name of a run, by which commands find it: its scenario's, and a number where several runs of one scenario go on, as in
//! `lab` and `lab#2`.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// So many runs of one scenario have numbers.
const MOST: u32 = 99;
/// Bytes of a scenario's name that tell it from others here: with what stands around them they fit into a socket's name.
const TELLING: usize = 80;

/// A name that no other run of this user has while this lives.
#[derive(Debug)]
pub struct RunName {
    text: String,
    number: u32,
    /// A socket without a file: the kernel lets one process bind it, and frees it at that process's end, however that comes.
    _held: Option<UnixListener>,
}

impl RunName {
    /// The first name of the scenario's that is free.
    pub fn claim(scenario: &str) -> Self {
        let free = (1..=MOST).find_map(|number| {
            let held = hold(scenario, number);
            let taken = held
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
            (!taken).then(|| (number, held.ok()))
        });
        let (number, _held) = free.unwrap_or((1, None));
        let text = match number {
            1 => scenario.to_owned(),
            _ => format!("{scenario}#{number}"),
        };
        Self {
            text,
            number,
            _held,
        }
    }

    /// As `--run` takes it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to tell people at the start: of the first run of a scenario nothing.
    pub fn announcement(&self) -> Option<String> {
        let name = &self.text;
        let again = self.number > 1;
        again.then(|| format!("another run of this scenario goes on; this one is {name} (airlane show --run {name})"))
    }
}

fn hold(scenario: &str, number: u32) -> std::io::Result<UnixListener> {
    let user = rustix::process::getuid().as_raw();
    let cut = scenario.len().saturating_sub(TELLING);
    let end = scenario.as_bytes().get(cut..).unwrap_or_default();
    let mut name = format!("airlane/{user}/{number}/").into_bytes();
    name.extend_from_slice(end);
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests, and other runs of these, must not take the names.
    fn scenario(name: &str) -> String {
        format!("{name}-{}", std::process::id())
    }

    #[test]
    fn runs_of_one_scenario_have_numbers_and_a_free_one_is_taken_again() {
        let scenario = scenario("lab");
        let first = RunName::claim(&scenario);
        let second = RunName::claim(&scenario);
        let third = RunName::claim(&scenario);
        assert_eq!(first.text(), scenario);
        assert_eq!(second.text(), format!("{scenario}#2"));
        assert_eq!(third.text(), format!("{scenario}#3"));
        assert_eq!(first.announcement(), None);
        assert!(second.announcement().unwrap().contains(second.text()));
        drop(second);
        assert_eq!(RunName::claim(&scenario).text(), format!("{scenario}#2"));
    }

    #[test]
    fn a_name_as_long_as_a_file_s_is_held_too() {
        let scenario = scenario(&"x".repeat(240));
        let first = RunName::claim(&scenario);
        assert_eq!(first.text(), scenario);
        assert_eq!(RunName::claim(&scenario).text(), format!("{scenario}#2"));
    }
}
