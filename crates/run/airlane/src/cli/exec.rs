//! `airlane exec`: a command in a VM of a run, as if it ran here: its output, its errors, its exit code.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::output::print;
use crate::client::choose;
use crate::guest::{Command, End, Printed};

pub const EXAMPLES: &str = "\
Examples:
  airlane exec it -- ip address                  One program, its arguments as they are
  airlane exec it -- sh -c 'dmesg | grep wlan0'  What a shell is needed for
  airlane exec it --timeout 30 -- ./my-test      Ended after 30 s
  airlane exec access-points -- hostapd_cli -i wlan0 all_sta
  airlane exec it --json -- wpa_cli status       One JSON object

The exit code is the command's own. 124: its time was over; 125: it was not run, or its end is not known.
It reads nothing from standard input. Ctrl-C ends it in the VM, too.";

/// The command was not run, or its end is not known: as `timeout` and `docker exec` say it.
const NOT_RUN: u8 = 125;
/// Its time was over: as `timeout` says it.
const TIMED_OUT: u8 = 124;

/// Arguments of `airlane exec`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// End the command after so long
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Output, errors and exit code as one JSON object, when the command has ended
    #[arg(long)]
    json: bool,
    /// The VM, or access-points: the one in which hostapd runs
    vm: String,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs it in the guest; gives its exit code.
pub fn exec(arguments: &Arguments) -> ExitCode {
    match if arguments.json {
        as_json(arguments)
    } else {
        as_it_comes(arguments)
    } {
        Ok(code) => ExitCode::from(code),
        Err(error) => not_run(&error),
    }
}

/// A reader that has gone is no error of ours; the command is ended.
fn not_run(error: &anyhow::Error) -> ExitCode {
    let io = error.downcast_ref::<std::io::Error>();
    if io.is_none_or(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
        eprintln!("airlane: {error:#}");
    }
    ExitCode::from(NOT_RUN)
}

fn run(arguments: &Arguments, to: impl FnMut(Printed) -> Result<()>) -> Result<End> {
    let command = Command {
        vm: &arguments.vm,
        argv: arguments.command.clone(),
        timeout: arguments.timeout,
        ..Command::default()
    };
    choose(arguments.run.as_deref())?.exec(&command, to)
}

fn as_it_comes(arguments: &Arguments) -> Result<u8> {
    let end = run(arguments, |printed| {
        match printed {
            Printed::Output(bytes) => write(std::io::stdout().lock(), bytes)?,
            Printed::Errors(bytes) => write(std::io::stderr().lock(), bytes)?,
        }
        Ok(())
    })?;
    match &end {
        End::Exit(_) => {}
        End::TimedOut => {
            let seconds = arguments.timeout.unwrap_or_default();
            eprintln!("airlane: the command was ended after {seconds} s");
        }
        End::Lost(why) => eprintln!("airlane: the command has no end that is known: {why}"),
    }
    Ok(code(&end))
}

fn write(mut to: impl Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

fn as_json(arguments: &Arguments) -> Result<u8> {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let end = run(arguments, |printed| {
        match printed {
            Printed::Output(bytes) => output.extend_from_slice(bytes),
            Printed::Errors(bytes) => errors.extend_from_slice(bytes),
        }
        Ok(())
    })?;
    let exit = match &end {
        End::Exit(code) => Some(code),
        _ => None,
    };
    let lost = match &end {
        End::Lost(why) => Some(why),
        _ => None,
    };
    let told = json!({
        "vm": arguments.vm,
        "exit": exit,
        "timed_out": end == End::TimedOut,
        "error": lost,
        "stdout": String::from_utf8_lossy(&output),
        "stderr": String::from_utf8_lossy(&errors),
    });
    print(&told.to_string());
    Ok(code(&end))
}

fn code(end: &End) -> u8 {
    match end {
        // What a process says of its end is a byte (`man 3 exit`).
        End::Exit(code) => u8::try_from(code & 0xff).unwrap_or(NOT_RUN),
        End::TimedOut => TIMED_OUT,
        End::Lost(_) => NOT_RUN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_passed_on() {
        assert_eq!(code(&End::Exit(0)), 0);
        assert_eq!(code(&End::Exit(3)), 3);
        assert_eq!(code(&End::Exit(-1)), 255);
        assert_eq!(code(&End::TimedOut), 124);
        assert_eq!(code(&End::Lost(String::new())), 125);
    }
}
