//! The user's side of the control socket: finding the runs that go on, and asking them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use airlane_control::{Head, Request, SOCKET};
use airlane_harness::PRIVATE_PREFIX;

/// How long a run may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The scenario's name; with a number, as in `lab#2`, where another run of that scenario went on at its start.
    pub name: String,
    /// Its VMs.
    pub vms: Vec<String>,
    socket: PathBuf,
}

impl Run {
    /// The scenario's name: the run's without the number that a second run of one scenario has.
    fn scenario(&self) -> &str {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let parts = self.name.rsplit_once('#').filter(|(_, end)| number(end));
        parts.map_or(&self.name, |(scenario, _)| scenario)
    }

    /// Asks; what follows the answer's first line can be read from what is returned.
    pub fn ask(&self, request: &Request) -> Result<BufReader<UnixStream>> {
        let (head, rest) = ask(&self.socket, request)
            .with_context(|| format!("the run {} does not answer", self.name))?;
        match head {
            Head::Ok { .. } => Ok(rest),
            Head::Error(error) => bail!("{error}"),
        }
    }
}

/// Every run of this user that answers.
pub fn runs() -> Vec<Run> {
    let mut folders = vec![std::env::temp_dir(), PathBuf::from("/tmp")];
    folders.dedup();
    let mut runs: Vec<Run> = folders.iter().flat_map(|folder| runs_in(folder)).collect();
    runs.sort_by(|a, b| (&a.name, &a.socket).cmp(&(&b.name, &b.socket)));
    runs
}

fn runs_in(folder: &Path) -> Vec<Run> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(PRIVATE_PREFIX)
    });
    ours.filter_map(|entry| hello(entry.path().join(SOCKET)))
        .collect()
}

fn hello(socket: PathBuf) -> Option<Run> {
    match ask(&socket, &Request::Hello).ok()?.0 {
        Head::Ok { run, vms } => Some(Run {
            name: run,
            vms,
            socket,
        }),
        Head::Error(_) => None,
    }
}

/// The run of this name, else the only one of the scenario of this name; without a name, the only one.
pub fn choose(name: Option<&str>) -> Result<Run> {
    choose_among(runs(), name)
}

fn choose_among(mut runs: Vec<Run>, name: Option<&str>) -> Result<Run> {
    if runs.is_empty() {
        bail!("no run goes on\n  remedy: start one: airlane run SCENARIO --hold");
    }
    let all = names(&runs);
    if let Some(name) = name {
        let exact = runs.iter().any(|run| run.name == name);
        runs.retain(|run| match exact {
            true => run.name == name,
            false => run.scenario() == name || format!("{}#1", run.name) == name,
        });
    }
    let found = names(&runs);
    match (runs.pop(), runs.is_empty(), name) {
        (Some(run), true, _) => Ok(run),
        (None, _, Some(name)) => bail!("no run named {name:?} goes on, only {all}"),
        (_, _, None) => bail!("several runs go on: {all}\n  remedy: name one with --run"),
        (_, _, Some(name)) => {
            bail!("several runs of {name:?} go on: {found}\n  remedy: name one with --run")
        }
    }
}

fn names(runs: &[Run]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    names.join(", ")
}

fn ask(socket: &Path, request: &Request) -> Result<(Head, BufReader<UnixStream>)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    // Whoever is refused at once may not be able to write any more; the answer says why.
    let _ = stream.write_all(&text);
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    reader.read_line(&mut head)?;
    let head = serde_json::from_str(&head).context("the answer is not understood")?;
    reader.get_ref().set_read_timeout(None)?;
    Ok((head, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> Run {
        Run {
            name: name.to_owned(),
            vms: Vec::new(),
            socket: PathBuf::from(name),
        }
    }

    fn error(runs: &[&str], name: Option<&str>) -> String {
        let runs = runs.iter().map(|name| run(name)).collect();
        choose_among(runs, name).unwrap_err().to_string()
    }

    #[test]
    fn the_only_run_need_not_be_named() {
        assert_eq!(choose_among(vec![run("a")], None).unwrap(), run("a"));
    }

    #[test]
    fn a_named_run_is_found_among_several() {
        let runs = vec![run("a"), run("b")];
        assert_eq!(choose_among(runs, Some("b")).unwrap(), run("b"));
    }

    #[test]
    fn a_run_of_a_scenario_is_found_by_its_number_and_without_one_where_it_is_alone() {
        let chosen = |runs: &[&str], name| {
            let runs = runs.iter().map(|name| run(name)).collect();
            choose_among(runs, Some(name)).unwrap().name
        };
        assert_eq!(chosen(&["lab", "lab#2"], "lab"), "lab");
        assert_eq!(chosen(&["lab", "lab#2"], "lab#1"), "lab");
        assert_eq!(chosen(&["lab", "lab#2"], "lab#2"), "lab#2");
        assert_eq!(chosen(&["lab#2", "other"], "lab"), "lab#2");
        let several = error(&["lab#2", "lab#3", "other"], Some("lab"));
        assert!(several.contains("go on: lab#2, lab#3\n"), "{several}");
        assert!(error(&["lab", "lab#2"], Some("lab#3")).contains("only lab, lab#2"));
    }

    #[test]
    fn whoever_cannot_be_served_is_told_what_there_is() {
        assert!(error(&[], None).contains("no run goes on"));
        assert!(error(&["a", "b"], None).contains("--run"));
        assert!(error(&["a", "b"], Some("c")).contains("only a, b"));
        assert!(error(&["a", "a"], Some("a")).contains("several runs of"));
    }
}
