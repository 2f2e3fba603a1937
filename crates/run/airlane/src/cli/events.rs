//! `airlane events`: what happens to the VMs of a run.

use std::io::{BufRead, Write};

use anyhow::Result;

use crate::client::choose;
use airlane_control::{Event, Request};

/// Arguments of `airlane events`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on: its scenario's name, or lab#2 for the second run of lab
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Only what happens to this VM
    #[arg(long, value_name = "NAME")]
    vm: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// Only what has happened so far
    #[arg(long)]
    no_follow: bool,
}

/// The command.
pub fn events(arguments: &Arguments) -> Result<()> {
    let run = choose(arguments.run.as_deref())?;
    let follow = !arguments.no_follow;
    for line in run.ask(&Request::Events { follow })?.lines() {
        let line = line?;
        let event: Event = serde_json::from_str(&line)?;
        if arguments.vm.as_ref().is_some_and(|vm| *vm != event.vm) {
            continue;
        }
        let text = if arguments.json { line } else { words(&event) };
        writeln!(std::io::stdout().lock(), "{text}")?;
    }
    Ok(())
}

/// The line for people.
fn words(event: &Event) -> String {
    let Event {
        seconds,
        vm,
        event: what,
        ..
    } = event;
    let mut line = format!("{seconds:>11.6}  {vm:<12}  {}", what.replace('-', " "));
    let mut add = |word: &str, value: Option<String>| {
        if let Some(value) = value {
            line.push_str(&format!(" {word}{value}"));
        }
    };
    add("", event.ssid.as_ref().map(|ssid| format!("{ssid:?}")));
    add("", event.bssid.clone());
    add("", event.address.clone());
    add("from ", event.from.clone());
    add("channel ", event.channel.clone());
    add(
        "",
        event
            .count
            .map(|count| format!("{count} {}", unit(what, count))),
    );
    add(
        "",
        event.reason.as_ref().map(|reason| format!("({reason})")),
    );
    line
}

fn unit(event: &str, count: u64) -> &'static str {
    match (event, count) {
        ("scan-ended", 1) => "channel",
        ("scan-ended", _) => "channels",
        ("beacons-missed", _) => "in a row",
        ("refused" | "address-refused", 1) => "time",
        ("refused" | "address-refused", _) => "times",
        (_, 1) => "frame",
        _ => "frames",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_sentence() {
        let roamed = Event {
            seconds: 12.5,
            vm: "it".to_owned(),
            event: "roamed".to_owned(),
            ssid: Some("corp".to_owned()),
            bssid: Some("02:00:00:00:01:02".to_owned()),
            from: Some("02:00:00:00:01:01".to_owned()),
            channel: Some("36".to_owned()),
            ..Event::default()
        };
        assert_eq!(
            words(&roamed),
            "  12.500000  it            roamed \"corp\" 02:00:00:00:01:02 from 02:00:00:00:01:01 channel 36"
        );
    }

    #[test]
    fn numbers_have_units() {
        let scan = Event {
            event: "scan-ended".to_owned(),
            count: Some(24),
            reason: Some("aborted".to_owned()),
            ..Event::default()
        };
        assert!(words(&scan).ends_with("scan ended 24 channels (aborted)"));
    }
}
