//! `[[step]]`: what happens in a run, and when.

use super::acts;
use super::error::{ScenarioError, Source};
use super::{fields, raw};
use crate::model::{Act, Scenario, Step, When};
use std::time::Duration;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The latest time of a step, seconds.
const LATEST: f64 = 86_400.0;

/// One step; it may come after the checks, and after the steps written before it.
pub fn step(source: Source, scenario: &Scenario, entry: &Spanned<raw::Step>) -> Result<Step> {
    let raw = entry.get_ref();
    let act = acts::act(source, scenario, &raw.act())?;
    let name = name(source, scenario, raw, &act)?;
    let when = match (&raw.at, &raw.after) {
        (Some(at), None) => {
            let seconds = fields::within(source, "at", Some(at), 0.0..=LATEST, 0.0)?;
            When::At(Duration::from_secs_f64(seconds))
        }
        (None, Some(after)) => {
            known(source, scenario, after)?;
            When::After(after.get_ref().clone())
        }
        (None, None) => When::InTurn,
        (Some(_), Some(after)) => {
            let message = "the step says twice when it happens";
            let remedy = "keep one of `at` and `after`";
            return Err(source.error(&after.span(), message, remedy));
        }
    };
    Ok(Step { name, when, act })
}

/// What it is called in the report: `exec it`, unless the scenario says otherwise.
fn name(source: Source, scenario: &Scenario, raw: &raw::Step, act: &Act) -> Result<String> {
    if let Some(name) = &raw.name {
        let taken = scenario.steps.iter().map(|step| step.name.clone());
        let taken = taken.chain(scenario.checks.iter().map(|check| check.name.clone()));
        fields::unique(source, "step name", name.get_ref(), &name.span(), taken)?;
        return Ok(name.get_ref().clone());
    }
    let about = [&raw.vm, &raw.access_point, &raw.card];
    let about = about.into_iter().flatten().next();
    let about = about.map_or("", |name| name.get_ref().as_str());
    let plain = format!("{} {about}", act.word());
    let free = |name: &String| scenario.steps.iter().all(|step| step.name != *name);
    let further = (2..).map(|number| format!("{plain} ({number})"));
    let mut names = std::iter::once(plain.clone()).chain(further);
    Ok(names.find(free).unwrap_or(plain))
}

/// An error when there is nothing of that name to come after.
fn known(source: Source, scenario: &Scenario, after: &Spanned<String>) -> Result<()> {
    let checks = scenario.checks.iter().map(|check| check.name.as_str());
    let steps = scenario.steps.iter().map(|step| step.name.as_str());
    let mut names: Vec<&str> = checks.chain(steps).collect();
    names.dedup();
    if names.contains(&after.get_ref().as_str()) {
        return Ok(());
    }
    let message = format!(
        "no check, and no step before this one, is named `{}`",
        after.get_ref()
    );
    let remedy = match names.as_slice() {
        [] => "leave the key out: the scenario has no checks".to_owned(),
        names => format!("use one of: {}", names.join(", ")),
    };
    Err(source.error(&after.span(), message, remedy))
}

/// An error when a check waits for a step that there is not.
pub fn awaited(source: Source, scenario: &Scenario, after: &Spanned<String>) -> Result<()> {
    if scenario
        .steps
        .iter()
        .any(|step| step.name == *after.get_ref())
    {
        return Ok(());
    }
    let names: Vec<&str> = scenario
        .steps
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    let message = format!("no step is named `{}`", after.get_ref());
    let remedy = match names.as_slice() {
        [] => "leave the key out: the scenario has no [[step]]".to_owned(),
        names => format!("use one of: {}", names.join(", ")),
    };
    Err(source.error(&after.span(), message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ActWords;
    use crate::model::Position;
    use crate::tests::{parse, refused_at};

    const HEAD: &str = "[[access_point]]\nname = 'corp'\naddress = '10.0.1.1/24'\nwidth = 40\n\
        passphrase = 'a passphrase'\nchannel = 36\n\
        [[access_point]]\nname = 'cafe'\nkind = 'built-in'\naddress = '10.0.2.1/24'\nchannel = 6\n\
        [[vm]]\nname = 'it'\njoin = 'corp'\n[[vm]]\nname = 'own'\njoin = 'cafe'\nexternal = true\n\
        [[check]]\nkind = 'ping'\nvm = 'it'\n";

    fn steps(text: &str) -> Vec<Step> {
        parse(&format!("{HEAD}{text}")).unwrap().steps
    }

    /// The step's second line, counted behind `HEAD`, is the wrong one.
    fn refused(line: &str, message: &str, remedy: &str) {
        let text = format!("{HEAD}[[step]]\n{line}\n");
        refused_at(&text, HEAD.lines().count() + 2, message, remedy);
    }

    #[test]
    fn a_step_happens_at_a_time_or_after_something_or_in_turn() {
        let all = steps(
            "[[step]]\nat = 2.5\ndo = 'ap-off'\naccess_point = 'corp'\n\
             [[step]]\nafter = 'ping'\ndo = 'exec'\nvm = 'it'\ncommand = 'true'\n\
             [[step]]\nafter = 'exec it'\ndo = 'exec'\nvm = 'access-points'\ncommand = 'true'\ntimeout = 5\n\
             [[step]]\ndo = 'exec'\nvm = 'it'\ncommand = 'true'\n",
        );
        let names: Vec<&str> = all.iter().map(|step| step.name.as_str()).collect();
        let expected = [
            "ap-off corp",
            "exec it",
            "exec access-points",
            "exec it (2)",
        ];
        assert_eq!(names, expected);
        assert_eq!(all[0].when, When::At(Duration::from_millis(2_500)));
        assert_eq!(all[1].when, When::After("ping".to_owned()));
        assert_eq!(all[3].when, When::InTurn);
        let Act::Exec { vm, timeout, .. } = all[2].act else {
            panic!("a command");
        };
        assert_eq!((vm, timeout), (2, Duration::from_secs(5)));
    }

    #[test]
    fn a_channel_is_as_wide_as_the_access_point() {
        let all = steps("[[step]]\ndo = 'channel'\naccess_point = 'corp'\nchannel = 48\n");
        let Act::Channel { ap, channel } = all[0].act else {
            panic!("a channel");
        };
        let wide = (channel.number(), channel.width());
        assert_eq!((ap, wide), (0, (48, airlane_dot11::Width::Mhz40Below)));
    }

    #[test]
    fn words_of_a_client_mean_the_same() {
        let scenario = parse(HEAD).unwrap();
        let words = |text: &str| -> ActWords { toml::from_str(text).unwrap() };
        let act = scenario.act(&words("do = 'move'\naccess_point = 'cafe'\nto = [3, 4]"));
        let to = Position([3.0, 4.0, 0.0]);
        assert_eq!(act, Ok(Act::MoveAp { ap: 1, to }));
        let wrong = scenario.act(&words("do = 'kill'\nvm = 'nobody'"));
        let wrong = wrong.unwrap_err();
        assert_eq!(
            wrong,
            "there is no VM `nobody`\n  remedy: use one of: it, own"
        );
    }

    #[test]
    fn each_word_that_means_nothing_is_refused() {
        refused("do = 'dance'", "named `dance`", "exec, ap-off");
        refused("do = 'kill'", "to which VM", "vm = ");
        refused("vm = 'own'\ndo = 'kill'", "your own", "airlane starts");
        refused("channel = 1\ndo = 'kill'", "no key `channel`", "remove");
        refused("do = 'exec'\nvm = 'it'", "which command", "command = ");
        refused("command = ' '\ndo = 'exec'\nvm = 'it'", "empty", "a line");
        refused(
            "access_point = 'cafe'\ndo = 'ap-off'",
            "built-in",
            "hostapd",
        );
        refused("vm = 'own'\ndo = 'deauthenticate'", "built-in", "hostapd");
        let channel = "do = 'channel'\naccess_point = 'corp'";
        refused(
            &format!("channel = 6\n{channel}"),
            "another band",
            "clients",
        );
        refused(&format!("channel = 165\n{channel}"), "40 MHz", "165");
        refused("do = 'move'\ncard = 'card'", "where to", "to = ");
        refused(
            "card = 'attic'\ndo = 'move'\nto = [1, 1]",
            "no card",
            "card",
        );
        let exec = "do = 'exec'\nvm = 'it'\ncommand = 'x'";
        refused(&format!("at = -1\n{exec}"), "at cannot be", "from 0");
        refused(&format!("after = 'pong'\n{exec}"), "named `pong`", "ping");
        refused(
            &format!("after = 'ping'\nat = 1\n{exec}"),
            "twice",
            "keep one",
        );
        refused(&format!("name = 'ping'\n{exec}"), "used twice", "its own");
    }

    #[test]
    fn a_check_may_wait_for_a_step() {
        let step = "[[step]]\nname = 'bye'\ndo = 'kill'\nvm = 'it'\n";
        let check = "[[check]]\nkind = 'associated'\nvm = 'it'\nafter = ";
        let text = format!("{HEAD}{step}{check}'bye'\n");
        let checks = parse(&text).unwrap().checks;
        assert_eq!(checks[1].after.as_deref(), Some("bye"));
        let text = format!("{HEAD}{step}{check}'hello'\n");
        refused_at(
            &text,
            text.lines().count(),
            "no step is named `hello`",
            "bye",
        );
    }

    #[test]
    fn a_vm_may_start_later_and_is_checked_where_a_check_names_it() {
        let text = HEAD
            .replace("vm = 'it'", "")
            .replace("external = true", "later = true");
        let scenario = parse(&text).unwrap();
        assert!(scenario.vms[1].later);
        let vms: Vec<usize> = scenario.checks.iter().map(|check| check.vm).collect();
        assert_eq!(vms, [0]);
    }
}
