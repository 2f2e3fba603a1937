//! Does what `docs/tutorial.md` says, with the guests that it boots: its blocks are written to files or run by a shell, one after
//! the other, as a reader would.

mod common;

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a fenced block is for, by what stands behind its opening fence.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    /// `toml NAME`, `sh NAME`: a file.
    File { name: String, text: String },
    /// `sh background`: run while the blocks behind it are.
    Background(String),
    /// `sh`: run to its end, which must be a good one.
    Command(String),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn tutorial() -> String {
    std::fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial can be read")
}

/// The fenced blocks of `text`, in order.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let body = lines.by_ref().take_while(|line| *line != "```");
        let body = body.map(|line| format!("{line}\n")).collect::<String>();
        blocks.push(match info.split_once(' ') {
            Some(("sh", "background")) => Block::Background(body),
            Some(("sh" | "toml", name)) => Block::File {
                name: name.to_owned(),
                text: body,
            },
            None if info == "sh" => Block::Command(body),
            _ => panic!("a block that nothing runs: {line}"),
        });
    }
    blocks
}

/// One script of all blocks. What runs in the background is ended by Ctrl-C, as its reader would.
fn script(blocks: &[Block]) -> String {
    let mut script = "set -eux\nbeside=\ntrap '[ -z \"$beside\" ] || { kill -INT $beside; wait $beside || true; }' EXIT\n".to_owned();
    for block in blocks {
        match block {
            Block::File { .. } => {}
            Block::Command(text) => script.push_str(text),
            // A shell without job control starts what runs in the background deaf to Ctrl-C.
            Block::Background(text) => {
                let text = text.trim_end();
                writeln!(
                    script,
                    "set -m\n{text} > background.log 2>&1 &\nbeside=$!\nset +m"
                )
                .expect("a string takes it");
            }
        }
    }
    script
}

/// The private tshark under the name by which the tutorial calls it.
fn put_tshark(folder: &Path, argv: &[String]) {
    let words = argv
        .iter()
        .map(|word| format!("'{word}' "))
        .collect::<String>();
    let path = folder.join("tshark");
    std::fs::write(&path, format!("#!/bin/sh\nexec {words}\"$@\"\n")).expect("it can be written");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, executable).expect("it can be made executable");
}

#[test]
#[ignore = "boots guests"]
fn what_the_tutorial_says_works() {
    let test = "what_the_tutorial_says_works";
    let Some(tshark) = common::tshark(test) else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let _ = std::fs::remove_dir_all(&folder);
    let programs = folder.join("bin");
    std::fs::create_dir_all(&programs).expect("a folder can be made");
    put_tshark(&programs, &tshark);
    let blocks = blocks(&tutorial());
    for block in &blocks {
        if let Block::File { name, text } = block {
            std::fs::write(folder.join(name), text).expect("a file can be written");
        }
    }
    let airlane = Path::new(env!("CARGO_BIN_EXE_airlane"))
        .parent()
        .expect("it lies in a folder");
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{}:{path}", programs.display(), airlane.display());
    let output = Command::new("bash")
        .args(["-c", &script(&blocks)])
        .current_dir(&folder)
        .env("PATH", path)
        .output()
        .expect("a shell starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    let all = |words: &[&str]| words.iter().all(|word| said.contains(word));
    assert!(
        all(&[
            "on the right network",
            "Echo (ping) reply",
            "lab: passed",
            "outage: passed"
        ]),
        "{said}"
    );
    let report = std::fs::read_to_string(folder.join("junit.xml")).expect("a JUnit report");
    assert!(
        report.contains("testsuite") && !report.contains("<failure"),
        "{report}"
    );
    let ping = std::fs::read_to_string(folder.join("ping.txt")).expect("a copied file");
    assert!(ping.contains("0% packet loss"), "{ping}");
}

/// Commands in the text itself are named by the reader's own installation or by another test; a block that is only indented is run by
/// nobody, so there is one only.
#[test]
fn all_blocks_of_the_tutorial_are_run_but_that_of_the_installation() {
    let text = tutorial();
    let indented = text
        .lines()
        .filter(|line| line.starts_with("    ") && line.contains("airlane"));
    assert_eq!(indented.count(), 1);
    let blocks = blocks(&text);
    assert!(blocks.len() > 8, "{blocks:?}");
}

#[test]
fn a_script_is_made_of_the_blocks_in_order() {
    let text = "a\n```toml lab.toml\nx = 1\n```\n```sh background\nairlane run\n```\n```sh\nairlane show\n```\n";
    let blocks = blocks(text);
    let file = Block::File {
        name: "lab.toml".to_owned(),
        text: "x = 1\n".to_owned(),
    };
    assert_eq!(blocks.first(), Some(&file));
    let script = script(&blocks);
    let begun = script
        .find("airlane run > background.log")
        .expect("in the background");
    assert!(begun < script.find("airlane show\n").expect("run"));
}
