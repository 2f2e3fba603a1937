//! `cargo xtask test`: runs the stages one after the other, says how long each took, and closes with a table.

mod dependencies;
mod python;
mod require;
mod shard;
mod stage;
mod table;
mod tally;

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};

use require::Need;
use stage::{End, Outcome, STAGES, Settings, Stage};

/// What `cargo xtask test` is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Stages to run, in the order in which they always run; all of them when none is named.
    stages: Vec<String>,
    /// Run the other stages after one has failed, too.
    #[arg(long)]
    keep_going: bool,
}

/// Runs the stages; an error when one of them fails.
///
/// `AIRLANE_REQUIRE` (see [`require`]) and `AIRLANE_SHARD` (see [`shard`]) are checked before anything runs;
/// `AIRLANE_UML` sets User Mode Linux up and runs its test without requiring it.
pub fn run(options: &Options) -> Result<()> {
    let stages = chosen(&options.stages)?;
    let settings = settings()?;
    if let Some(line) = guests_line(&stages, &settings) {
        println!("{line}");
    }
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(stages.len());
    let total = stages.len();
    for (index, stage) in stages.into_iter().enumerate() {
        let broken = outcomes.iter().any(|one| one.end != End::Passed);
        if broken && !options.keep_going {
            outcomes.push(stage.left_out());
            continue;
        }
        println!("\n== [{}/{total}] {}", index + 1, stage.name);
        let outcome = stage.run(&settings);
        let (minutes, end) = (table::minutes(outcome.took), table::ended(&outcome.end));
        println!("== {}: {end}, {minutes} minutes", stage.name);
        outcomes.push(outcome);
    }
    print!("\n{}", table::closing(&outcomes));
    if outcomes.iter().any(|one| one.end != End::Passed) {
        bail!("not every stage passed");
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Stage>> {
    let known = || STAGES.map(|stage| stage.name).join(", ");
    if let Some(name) = names
        .iter()
        .find(|name| STAGES.iter().all(|one| one.name != *name))
    {
        bail!("there is no stage {name:?}; there are {}", known());
    }
    let wanted = |stage: &Stage| names.is_empty() || names.iter().any(|name| name == stage.name);
    Ok(STAGES.into_iter().filter(wanted).collect())
}

fn settings() -> Result<Settings> {
    let required = require::required().map_err(Error::msg)?;
    let asked = std::env::var_os("AIRLANE_UML").is_some_and(|value| !value.is_empty());
    Ok(Settings {
        root: root()?,
        shard: std::env::var("AIRLANE_SHARD").unwrap_or_default().parse()?,
        uml: asked || required.contains(&Need::Uml),
        required,
    })
}

/// The workspace's folder: cargo names the one of this crate.
fn root() -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask test`")?;
    let parent = Path::new(&own).parent();
    Ok(parent.context("xtask lies in no workspace")?.to_owned())
}

/// Which guest tests will run and what they require; nothing where the stage of the guests is not among those chosen.
fn guests_line(stages: &[Stage], settings: &Settings) -> Option<String> {
    if !stages.iter().any(|stage| stage.name == "guests") {
        return None;
    }
    let required: Vec<&str> = settings.required.iter().map(|need| need.word()).collect();
    let required = match required.as_slice() {
        [] => "nothing: what this machine cannot do is skipped".to_owned(),
        words => words.join(", "),
    };
    let shard = settings.shard;
    Some(format!("guest tests: {shard:?}; required: {required}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn guest_tests_are_announced_only_where_they_are_run() {
        let settings = Settings {
            root: PathBuf::new(),
            shard: shard::Shard::All,
            required: Vec::new(),
            uml: false,
        };
        let line = |words: &[&str]| guests_line(&chosen(&names(words)).unwrap(), &settings);
        assert_eq!(line(&["format", "lints", "units"]), None);
        let expected = "guest tests: All; required: nothing";
        for words in [&["guests"][..], &[]] {
            assert!(line(words).unwrap().starts_with(expected));
        }
    }

    #[test]
    fn stages_are_chosen_by_name_and_keep_their_order() {
        let stages = chosen(&names(&["units", "format"])).unwrap();
        let order: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        assert_eq!(order, ["format", "units"]);
        assert_eq!(chosen(&[]).unwrap().len(), STAGES.len());
        assert!(chosen(&names(&["unit"])).is_err());
    }
}
