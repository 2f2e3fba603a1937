//! ARCHITECTURE.md follows a frame from file to file: each that it names is there.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every source file below this folder, by its path.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
}

/// Whether the file has this name and lies in this place: `transport/vfio_user`, a crate and a folder in it.
fn is_it(path: &str, place: &str, name: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    let is_below = |folder: &str| folders.contains(&folder);
    path.ends_with(&format!("/{name}")) && place.split('/').all(is_below)
}

/// The files that the tables name, each with the place that stands before it in its cell: `iwl: `, files, `; dma: `, files.
fn named(text: &str) -> Vec<(String, String)> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let groups = cells.flat_map(|cell| cell.split(';'));
    let mut files = Vec::new();
    for group in groups {
        let Some((place, names)) = group.split_once(": ") else {
            continue;
        };
        let place = place.trim().trim_start_matches('(');
        let quoted = names.split('`').skip(1).step_by(2);
        let sources = quoted.filter(|name| name.ends_with(".rs"));
        files.extend(sources.map(|name| (place.to_owned(), name.to_owned())));
    }
    files
}

/// The paths that the text names outside of tables, from a crate's folder on.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with("| "));
    let quoted = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|name| name.ends_with(".rs") && name.contains('/'))
}

#[test]
fn every_path_in_the_text_is_there() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    let is_missing = |name: &&str| {
        let end = format!("/{name}");
        !found.iter().any(|path| path.ends_with(&end))
    };
    assert!(paths(&text).count() > 5, "hardly a path is found");
    let missing: Vec<_> = paths(&text).filter(is_missing).collect();
    assert!(missing.is_empty(), "named, but not there: {missing:?}");
}

#[test]
fn every_file_that_the_way_of_a_frame_names_is_there() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    let files = named(&text);
    assert!(files.len() > 40, "only {} files are named", files.len());
    let is_missing =
        |(place, name): &&(String, String)| !found.iter().any(|path| is_it(path, place, name));
    let missing: Vec<_> = files.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "named, but not there: {missing:?}");
}
