//! The user's side of a command in a guest: it is asked for at the control socket, and what it prints comes line by line.

use std::io::BufRead;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::client::Run;
use airlane_control::{ExecLine, Request};

/// A command for a guest.
#[derive(Clone, Debug, Default)]
pub struct Command<'a> {
    /// The VM in which it runs.
    pub vm: &'a str,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it reads from standard input.
    pub input: &'a [u8],
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
}

/// What a command prints.
#[derive(Clone, Copy, Debug)]
pub enum Printed<'a> {
    /// On standard output.
    Output(&'a [u8]),
    /// On standard error.
    Errors(&'a [u8]),
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exit(i32),
    /// Its time was over.
    TimedOut,
    /// Nobody knows, and why.
    Lost(String),
}

impl Run {
    /// Runs a command in a guest; `print` gets what it prints as it comes.
    pub fn exec(
        &self,
        command: &Command,
        mut print: impl FnMut(Printed) -> Result<()>,
    ) -> Result<End> {
        let request = Request::Exec {
            vm: command.vm.to_owned(),
            argv: command.argv.clone(),
            stdin: STANDARD.encode(command.input),
            timeout: command.timeout,
        };
        for line in self.ask(&request)?.lines() {
            let line = serde_json::from_str(&line?).context("the answer is not understood")?;
            match line {
                ExecLine::Stdout(text) => print(Printed::Output(&STANDARD.decode(text)?))?,
                ExecLine::Stderr(text) => print(Printed::Errors(&STANDARD.decode(text)?))?,
                ExecLine::Exit(code) => return Ok(End::Exit(code)),
                ExecLine::TimedOut(_) => return Ok(End::TimedOut),
                ExecLine::Lost(why) => return Ok(End::Lost(why)),
            }
        }
        Ok(End::Lost("the run has ended".to_owned()))
    }
}
