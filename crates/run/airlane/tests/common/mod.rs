//! What a test needs of the machine, and how it is skipped where that is missing: in one line of output, which
//! `cargo xtask test` repeats at its end, or, where `AIRLANE_REQUIRE` names the need, by failing.
#![allow(dead_code, reason = "each test program needs a part of it")]

#[path = "../../../../../xtask/src/test/require.rs"]
mod require;

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

pub use require::Need;

/// Tells that the test of this name, or a part of it, is not run, and why.
///
/// # Panics
/// When `AIRLANE_REQUIRE` names `need`, or a word that it does not know.
pub fn skip(test: &str, need: Need, why: &str) {
    let required = require::required().unwrap_or_else(|error| panic!("{error}"));
    let word = need.word();
    assert!(
        !required.contains(&need),
        "{test} may not be skipped, AIRLANE_REQUIRE names {word}: {why}"
    );
    // Written to the stream itself, for libtest keeps what a passing test prints; on a line of its own, for
    // libtest may have begun one.
    let why = why.replace('\n', " ");
    let line = format!("\nskipped: {test}: {why}\n");
    let written = std::io::stdout().lock().write_all(line.as_bytes());
    written.expect("standard output can be written");
}

/// True when `unshare` may make these namespaces and has `tools` at hand in them. Else skips the test: containers and
/// chroots often allow no namespaces.
pub fn has_namespaces(test: &str, namespaces: &[&str], tools: &[&str]) -> bool {
    has_namespaces_for(test, Need::Namespaces, namespaces, tools)
}

/// The same for a test whose need has another word.
pub fn has_namespaces_for(test: &str, need: Need, namespaces: &[&str], tools: &[&str]) -> bool {
    let script = std::iter::once("true").chain(tools.iter().copied());
    let script = script.collect::<Vec<_>>().join(" && ");
    let output = Command::new("unshare")
        .args(namespaces)
        .args(["--", "sh", "-c", &script])
        .stdin(Stdio::null())
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let why = format!("this machine makes no namespace with what it needs: `{script}`: {why}");
    skip(test, need, &why);
    false
}

/// How the private tshark is started. Without one the test is skipped.
pub fn tshark(test: &str) -> Option<Vec<String>> {
    let cache = airlane_guests::setup::cache_folder().expect("a home directory");
    let setup = std::fs::read_to_string(cache.join("setup.json")).unwrap_or_default();
    let setup: Value = serde_json::from_str(&setup).unwrap_or(Value::Null);
    let argv = serde_json::from_value(setup["tshark"]["argv"].clone()).ok();
    if argv.is_none() {
        let why = "tshark is not set up: `cargo xtask setup --with-tshark`";
        skip(test, Need::Tshark, why);
    }
    argv
}

/// True when User Mode Linux is set up and `airlane doctor` finds no fault with it. Else skips the test.
pub fn has_user_mode_linux(test: &str) -> bool {
    let output = Command::new(env!("CARGO_BIN_EXE_airlane"))
        .args(["doctor", "--json"])
        .output()
        .expect("airlane starts");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let findings = found["findings"].as_array();
    let finding = findings.and_then(|all| all.iter().find(|one| one["name"] == "user mode linux"));
    let why = match finding {
        None => "nothing is set up: `cargo xtask setup --uml`".to_owned(),
        Some(finding) => {
            let detail = finding["detail"].as_str().unwrap_or_default();
            if finding["ok"] == true && !detail.starts_with("not set up") {
                return true;
            }
            detail.to_owned()
        }
    };
    skip(test, Need::Uml, &why);
    false
}
