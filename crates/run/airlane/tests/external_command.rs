//! `airlane bench` runs another program: the one beside it, else one in PATH, else it says how to get one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says its arguments, and ends with a code of its own.
const SCRIPT: &str = "#!/bin/sh\nprintf '%s,' NAME \"$@\"\nexit 7\n";

/// The program, alone in a folder.
fn airlane(folder: &Path) -> PathBuf {
    let own = folder.join("airlane");
    let built = env!("CARGO_BIN_EXE_airlane");
    if fs::hard_link(built, &own).is_err() {
        fs::copy(built, &own).expect("the program can be copied");
    }
    own
}

fn put_script(folder: &Path, name: &str) {
    let path = folder.join("airlane-bench");
    fs::write(&path, SCRIPT.replace("NAME", name)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn bench(airlane: &Path, path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(airlane);
    command.arg("bench").args(arguments).env("PATH", path);
    command.output().expect("airlane starts")
}

#[test]
fn the_program_beside_it_gets_all_arguments_and_its_exit_code_stands() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let airlane = airlane(own.path());
    put_script(own.path(), "beside");
    put_script(other.path(), "in-path");
    for arguments in [&["all", "--quick", "-x"][..], &["--help"], &[]] {
        let output = bench(&airlane, other.path(), arguments);
        let said = [&["beside"], arguments].concat().join(",") + ",";
        assert_eq!(String::from_utf8_lossy(&output.stdout), said);
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn one_in_path_is_found() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put_script(other.path(), "in-path");
    let output = bench(&airlane(own.path()), other.path(), &["latency"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "in-path,latency,");
}

#[test]
fn where_there_is_none_it_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = bench(&airlane(folder.path()), folder.path(), &["all"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("remedy: cargo build --release -p airlane-bench"),
        "{error}"
    );
}
