//! Running other programs, with errors that show what was run and what it said.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Runs the command to its end and returns its standard output.
pub fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = output(command)?;
    if !output.status.success() {
        bail!(
            "{} ended with {}:\n{}",
            shown(command),
            output.status,
            last_lines(&output.stderr)
        );
    }
    Ok(output.stdout)
}

/// Like [`run`], for a command whose standard output goes elsewhere.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Like [`run`], for programs that print text.
pub fn text(command: &mut Command) -> Result<String> {
    let bytes = run(command)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn output(command: &mut Command) -> Result<Output> {
    command
        .output()
        .with_context(|| format!("cannot start {}", shown(command)))
}

/// The start of a command line, enough to recognise it.
fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args().take(12) {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
