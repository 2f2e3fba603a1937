//! The program as a user calls it, where no guest is needed: exit codes, and that bad input starts
//! nothing.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with an empty cache, so that nothing is set up.
fn airlane(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_airlane"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .expect("airlane starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const VALID: &str =
    "[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.1/24'\n[[vm]]\nname='it'\n";

#[test]
fn a_bad_scenario_is_one_error_with_file_line_and_remedy_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), VALID.replace("36", "37")).unwrap();
    for command in ["run", "check"] {
        let output = airlane(folder.path(), &[command, "bad.toml"]);
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(&output);
        assert!(
            error.starts_with("airlane: bad.toml:3: 37 is not a 20 MHz channel\n"),
            "{error}"
        );
        assert_eq!(error.matches("remedy").count(), 1, "{error}");
        assert!(output.stdout.is_empty());
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the scenario itself lies there");
}

#[test]
fn a_good_scenario_without_setup_says_what_to_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), VALID).unwrap();
    assert_eq!(
        airlane(folder.path(), &["check", "good.toml"])
            .status
            .code(),
        Some(0)
    );
    let output = airlane(folder.path(), &["run", "good.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("make setup"),
        "{}",
        stderr(&output)
    );
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_folder_for_external_vms_is_refused_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), VALID).unwrap();
    let output = airlane(folder.path(), &["run", "good.toml", "--run-dir", "cards"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("external = true"),
        "{}",
        stderr(&output)
    );
    let output = airlane(folder.path(), &["run", "good.toml", "--run-group", "kvm"]);
    assert_eq!(output.status.code(), Some(2), "a group without a folder");
    assert!(!folder.path().join("cards").exists());
}

#[test]
fn doctor_tells_what_is_missing_and_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = airlane(folder.path(), &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let setup = &report["findings"][0];
    assert_eq!(
        (&setup["name"], &setup["ok"]),
        (&"setup".into(), &false.into())
    );
    assert!(setup["remedy"].as_str().unwrap().contains("make setup"));
    let text = airlane(folder.path(), &["doctor"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.starts_with("missing  setup") && !text.contains('\x1b'),
        "{text}"
    );
}

#[test]
fn unknown_arguments_are_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(airlane(folder.path(), &["fly"]).status.code(), Some(2));
    let slip = airlane(folder.path(), &["rnu"]);
    assert_eq!(slip.status.code(), Some(2));
    assert!(stderr(&slip).contains("'run'"), "{}", stderr(&slip));
    let help = airlane(folder.path(), &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:"));
}

#[test]
fn firmware_writes_the_file_that_the_driver_asks_for_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "firmware",
        "--model",
        "6205",
        "--out",
        "new/folder",
        "--json",
    ];
    let output = airlane(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["name"], "iwlwifi-6000g2a-6.ucode");
    assert_eq!(told["path"], "new/folder/iwlwifi-6000g2a-6.ucode");
    let written = folder.path().join("new/folder/iwlwifi-6000g2a-6.ucode");
    let image = airlane_iwl::microcode::image(airlane_iwl::Model::Wifi6205);
    assert_eq!(std::fs::read(&written).unwrap(), image);
    // The vendor's stays.
    std::fs::write(&written, "vendor").unwrap();
    let output = airlane(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("is another file"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read(&written).unwrap(), b"vendor");
    let output = airlane(folder.path(), &["firmware", "--model", "4965"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("5100, 5300"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_scenarios_that_are_shipped_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let output = airlane(&folder, &["check", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}
