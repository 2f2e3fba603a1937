//! What a client of the control socket wants done in the run. A command in a guest: the request is checked, and what the
//! command prints goes on to the client as it comes. Or something that happens: its outcome is one line.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use airlane_guests::qemu::shell_line;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::ask::{Answer, Ask, Asks, Told, Wanted, way};
use super::request::{DoneLine, ExecLine, Head, LONGEST_COMMAND, LONGEST_INPUT};
use super::stream::{gone, line};

/// How long the run may take to begin: it may be busy with a guest that does not listen. A client waits a little longer.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often it is looked whether the client is still there.
const GLANCE: Duration = Duration::from_millis(100);
/// The longest time-out, seconds.
const LONGEST_TIMEOUT: f64 = 86_400.0;

/// What is wanted of the run, from what a client may have written.
pub fn wanted(vm: String, argv: &[String], stdin: &str, timeout: Option<f64>) -> Result<Wanted> {
    ensure!(
        argv.first().is_some_and(|program| !program.is_empty()),
        "no command is named\n  remedy: write it behind --, as in airlane exec VM -- ip address"
    );
    let command = shell_line(argv);
    ensure!(
        !command.contains('\0'),
        "a command cannot hold a byte of zero"
    );
    ensure!(
        command.len() <= LONGEST_COMMAND,
        "the command is longer than {LONGEST_COMMAND} bytes\n  remedy: copy a script into the VM (airlane cp) and run that"
    );
    let input = STANDARD.decode(stdin).context("stdin is not base64")?;
    ensure!(
        input.len() <= LONGEST_INPUT,
        "stdin is longer than {LONGEST_INPUT} bytes\n  remedy: copy a file into the VM (airlane cp) and read that"
    );
    let sane = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_TIMEOUT;
    ensure!(
        timeout.is_none_or(sane),
        "a time-out is more than 0 s, and at most {LONGEST_TIMEOUT} s"
    );
    Ok(Wanted::Exec {
        vm,
        command,
        input,
        timeout: timeout.map(Duration::from_secs_f64),
    })
}

/// Puts it before the run; the client is answered until the command ends, or it goes itself.
pub fn serve(stream: &UnixStream, head: &Head, asks: &Asks, wanted: Wanted) -> Result<()> {
    let (reply, answer) = way();
    if !asks(Ask { wanted, reply }) {
        let over = "the run is ending, or has no guests".to_owned();
        return line(stream, &Head::Error(over));
    }
    match answer.next(PATIENCE) {
        Ok(Told::Began) => line(stream, head)?,
        Ok(Told::Refused(why)) => return line(stream, &Head::Error(why)),
        Ok(_) | Err(_) => {
            let busy = "the run is busy, or ending\n  remedy: try again".to_owned();
            return line(stream, &Head::Error(busy));
        }
    }
    pass_on(stream, &answer)
}

fn pass_on(stream: &UnixStream, answer: &Answer) -> Result<()> {
    // Whoever looks at what is printed page by page may take as long as they like.
    stream.set_write_timeout(None)?;
    loop {
        let told = match answer.next(GLANCE) {
            Ok(told) => told,
            Err(RecvTimeoutError::Timeout) if gone(stream) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => Told::Lost("the run has ended".to_owned()),
        };
        let (text, last) = match told {
            Told::Began => continue,
            Told::Done { passed, detail } => {
                let done = DoneLine {
                    done: passed,
                    detail,
                };
                return line(stream, &done);
            }
            Told::Output(bytes) => (ExecLine::Stdout(STANDARD.encode(bytes)), false),
            Told::Errors(bytes) => (ExecLine::Stderr(STANDARD.encode(bytes)), false),
            Told::Exit(code) => (ExecLine::Exit(code), true),
            Told::TimedOut => (ExecLine::TimedOut(true), true),
            Told::Lost(why) | Told::Refused(why) => (ExecLine::Lost(why), true),
        };
        line(stream, &text)?;
        if last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(argv: &[&str]) -> Vec<String> {
        argv.iter().map(|&word| word.to_owned()).collect()
    }

    fn refused(argv: &[&str], stdin: &str, timeout: Option<f64>) -> String {
        let refused = wanted("it".to_owned(), &words(argv), stdin, timeout);
        refused.unwrap_err().to_string()
    }

    #[test]
    fn words_reach_the_guest_as_they_are() {
        let argv = words(&["echo", "it's $HOME", "two\nlines"]);
        let Ok(Wanted::Exec {
            command,
            input,
            timeout,
            ..
        }) = wanted("it".to_owned(), &argv, "AGlu", Some(0.5))
        else {
            panic!("a command");
        };
        assert_eq!(command, "echo 'it'\\''s $HOME' 'two\nlines'");
        assert_eq!(input, b"\0in");
        assert_eq!(timeout, Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_no_guest_can_be_given_is_refused() {
        assert!(refused(&[], "", None).contains("no command"));
        assert!(refused(&[""], "", None).contains("no command"));
        assert!(refused(&["a\0b"], "", None).contains("zero"));
        let long = "x".repeat(LONGEST_COMMAND);
        assert!(refused(&["echo", &long], "", None).contains("longer"));
        assert!(refused(&["cat"], "*", None).contains("base64"));
        let input = STANDARD.encode(vec![0; LONGEST_INPUT + 1]);
        assert!(refused(&["cat"], &input, None).contains("longer"));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(&["cat"], "", Some(seconds)).contains("time-out"));
        }
    }
}
