//! The steps of a scenario: each begins at its time or in its turn, and its outcome is reported like a check's. That it
//! goes on is looked after elsewhere.

use super::findings::Findings;
use crate::acts;
use crate::report;
use crate::session::Session;
use crate::stop::Stop;
use crate::work::{Outcome, StepState, Whose};
use airlane_scenario::{Step, When};
use std::time::{Duration, Instant};

/// Bytes of what a command has printed that the report keeps of each stream.
const MOST_REPORTED: usize = 64 * 1024;
/// No step lasts longer: each has its own limit, which is less.
const LONGEST: Duration = Duration::from_secs(7_300);

/// The numbers of the steps that wait for a check or a step of one of these names.
pub fn waiting_for(session: &Session, names: &[&str]) -> Vec<usize> {
    waiting(
        session,
        |when| matches!(when, When::After(name) if names.contains(&name.as_str())),
    )
}

/// The numbers of the steps whose turn comes at the end.
pub fn in_turn(session: &Session) -> Vec<usize> {
    waiting(session, |when| *when == When::InTurn)
}

fn waiting(session: &Session, wanted: impl Fn(&When) -> bool) -> Vec<usize> {
    let steps = session.scenario.steps.iter().enumerate();
    let waits = |number| session.work.steps.get(number) == Some(&StepState::Waiting);
    steps
        .filter(|(number, step)| wanted(&step.when) && waits(*number))
        .map(|(number, _)| number)
        .collect()
}

/// Does a step, and waits for its end.
pub fn make(session: &mut Session, findings: &mut Findings, number: usize) -> Result<(), Stop> {
    begin(session, number);
    let over = |session: &Session| {
        let state = session.work.steps.get(number);
        !matches!(state, Some(StepState::Doing(_)))
    };
    session.wait_until(Instant::now() + LONGEST, over)?;
    tell(session, findings, number);
    Ok(())
}

/// Begins the steps whose time has come; when the next one's comes.
pub fn due(session: &mut Session) -> Option<Instant> {
    let up = session.work.up?;
    let timed = waiting(session, |when| matches!(when, When::At(_)));
    let mut next = None;
    for number in timed {
        let step = session.scenario.steps.get(number);
        let Some(When::At(after)) = step.map(|step| &step.when) else {
            continue;
        };
        let at = up + *after;
        if at <= Instant::now() {
            begin(session, number);
        } else {
            next = Some(next.map_or(at, |next: Instant| next.min(at)));
        }
    }
    next
}

/// Reports the timed steps that are over; their numbers.
pub fn over(session: &mut Session, findings: &mut Findings) -> Vec<usize> {
    let states = session.work.steps.iter().enumerate();
    let done = states.filter(|(_, state)| matches!(state, StepState::Done(..)));
    let done: Vec<usize> = done.map(|(number, _)| number).collect();
    for number in &done {
        tell(session, findings, *number);
    }
    done
}

/// True while a timed step has not begun, or is not over.
pub fn remain(session: &Session) -> bool {
    let steps = session.scenario.steps.iter().zip(&session.work.steps);
    let mut timed = steps.filter(|(step, _)| matches!(step.when, When::At(_)));
    timed.any(|(_, state)| matches!(state, StepState::Waiting | StepState::Doing(_)))
}

fn begin(session: &mut Session, number: usize) {
    let Some(step) = session.scenario.steps.get(number) else {
        return;
    };
    let at = session.work.up.map(|up| up.elapsed()).unwrap_or_default();
    session.progress.say(&format!("step {}", step.name));
    let state = match acts::begin(session, &step.act) {
        Ok(undertaking) => {
            acts::keep(session, undertaking, Whose::Step(number));
            StepState::Doing(at)
        }
        Err(why) => StepState::Done(at, Outcome::refused(why)),
    };
    if let Some(entry) = session.work.steps.get_mut(number) {
        *entry = state;
    }
}

fn tell(session: &mut Session, findings: &mut Findings, number: usize) {
    let (Some(step), Some(state)) = (
        session.scenario.steps.get(number),
        session.work.steps.get_mut(number),
    ) else {
        return;
    };
    if let StepState::Done(at, outcome) = std::mem::replace(state, StepState::Told) {
        let about = session.scenario.about(&step.act).to_owned();
        let (passed, detail) = (outcome.passed, outcome.detail.clone());
        findings.add(session, &step.name, &about, passed, detail);
        findings.steps.push(entry(step, &about, at, outcome));
    }
}

fn entry(step: &Step, about: &str, at: Duration, outcome: Outcome) -> report::Step {
    let command = outcome.command;
    let kept = |text: &str| -> String {
        let mut length = text.len().min(MOST_REPORTED);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        text.get(..length).unwrap_or_default().to_owned()
    };
    report::Step {
        name: step.name.clone(),
        act: step.act.word().to_owned(),
        about: about.to_owned(),
        at: at.as_secs_f64(),
        seconds: outcome.took.as_secs_f64(),
        passed: outcome.passed,
        detail: outcome.detail,
        exit_code: command.as_ref().map(|command| command.code),
        stdout: command.as_ref().map(|command| kept(&command.output)),
        stderr: command.as_ref().map(|command| kept(&command.errors)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Finished;

    #[test]
    fn a_report_keeps_so_much_of_what_a_command_has_printed() {
        let step = Step {
            name: "x".to_owned(),
            when: When::InTurn,
            act: airlane_scenario::Act::Kill { vm: 0 },
        };
        let command = Finished {
            code: 3,
            output: "ü".repeat(MOST_REPORTED),
            errors: "oh".to_owned(),
        };
        let outcome = Outcome {
            command: Some(command),
            ..Outcome::default()
        };
        let entry = entry(&step, "it", Duration::from_millis(1_500), outcome);
        assert_eq!((entry.exit_code, entry.at), (Some(3), 1.5));
        assert_eq!(entry.stderr.as_deref(), Some("oh"));
        assert_eq!(entry.stdout.map(|text| text.len()), Some(MOST_REPORTED));
    }
}
