//! Whether this machine lets a test make namespaces of its own; containers and chroots often do not.

use std::process::{Command, Stdio};

/// True when `unshare` may make these namespaces and has `tools` at hand in them. Else says what is missing: the
/// test that asks is skipped.
pub fn available(test: &str, namespaces: &[&str], tools: &[&str]) -> bool {
    let mut script = String::from("true");
    for tool in tools {
        script += &format!(" && {tool}");
    }
    let output = Command::new("unshare")
        .args(namespaces)
        .args(["--", "sh", "-c", &script])
        .stdin(Stdio::null())
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    println!("skipped: {test}: not on this machine: {}", why.trim());
    false
}
