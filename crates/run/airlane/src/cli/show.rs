//! `airlane show`: how the VMs of a run stand.

use std::io::{BufRead, IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::client::{Run, choose};
use airlane_control::{Radio, Request, Show, Vm};

/// How often `--watch` looks.
const EVERY: Duration = Duration::from_secs(1);
/// Cursor to the top left, and what follows erased (ECMA-48 8.3.21, 8.3.39).
const HOME: &str = "\x1b[H\x1b[J";

/// Arguments of `airlane show`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on: its scenario's name, or lab#2 for the second run of lab
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// One JSON object with all counters
    #[arg(long)]
    json: bool,
    /// Again every second, until the run ends or Ctrl-C
    #[arg(long)]
    watch: bool,
}

/// The command.
pub fn show(arguments: &Arguments) -> Result<()> {
    let run = choose(arguments.run.as_deref())?;
    let terminal = std::io::stdout().is_terminal();
    loop {
        let line = ask(&run)?;
        let mut out = std::io::stdout().lock();
        if arguments.json {
            out.write_all(line.as_bytes())?;
        } else {
            let home = if arguments.watch && terminal {
                HOME
            } else {
                ""
            };
            write!(out, "{home}{}", text(&serde_json::from_str(&line)?))?;
        }
        out.flush()?;
        if !arguments.watch {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

fn ask(run: &Run) -> Result<String> {
    let mut line = String::new();
    run.ask(&Request::Show)?
        .read_line(&mut line)
        .context("the run has ended")?;
    Ok(line)
}

const HEADINGS: [&str; 12] = [
    "VM",
    "CARD",
    "MAC",
    "STATE",
    "NETWORK",
    "BSSID",
    "CH",
    "SIGNAL",
    "TX Mb/s",
    "RX Mb/s",
    "SENT/RETRIES/LOST",
    "RECEIVED",
];

/// The table for people.
fn text(show: &Show) -> String {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(show.vms.iter().map(cells));
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).filter_map(width).collect();
    let mut text = format!("{}: {:.0} s", show.run, show.seconds);
    text.push_str(&match show.radios.is_empty() {
        true => format!(", {}", radio(&show.radio, show.seconds)),
        false => "\n".to_owned(),
    });
    for card in &show.radios {
        let radio = radio(&card.radio, show.seconds);
        text.push_str(&format!("{}: {radio}", card.card_name));
    }
    for row in &rows {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Where a radio is tuned to, how much it is awake, and how it divides its time, in a run that is `seconds` old.
fn radio(radio: &Radio, seconds: f64) -> String {
    let channel = radio.channel.as_deref().unwrap_or("none");
    let (awake, channels) = (awake(radio), channels(radio, seconds));
    format!("radio on channel {channel}{awake}\n{channels}")
}

/// How much of its time the radio is awake, once it has slept.
fn awake(radio: &Radio) -> String {
    let count = |name: &str| radio.counters.get(name).copied().unwrap_or(0);
    let (awake, asleep) = (count("nic_awake_us"), count("nic_asleep_us"));
    if asleep == 0 {
        return String::new();
    }
    let thousandths = awake.saturating_mul(1_000) / awake.saturating_add(asleep);
    format!(", awake {}.{} %", thousandths / 10, thousandths % 10)
}

/// How the radio has divided the `seconds` of the run, when it has to.
fn channels(radio: &Radio, seconds: f64) -> String {
    let channels = &radio.channels;
    if channels.len() < 2 {
        return String::new();
    }
    let line = |(channel, facts): (&String, &std::collections::BTreeMap<String, u64>)| {
        let fact = |name: &str| facts.get(name).copied().unwrap_or(0);
        let spent = fact("time_us") as f64 / 1e6;
        let percent = 100.0 * spent / seconds.max(spent).max(1.0);
        let entitled = entitled(fact("share_thousandths"));
        let (heard, missed) = (fact("beacons_heard"), fact("beacons_missed"));
        format!(
            "channel {channel}: {percent:.0} % of the run ({spent:.0} s), {heard} beacons heard, {missed} missed; {entitled}\n"
        )
    };
    channels.iter().map(line).collect()
}

/// What a channel may have of the radio's time now. Each channel for which nothing competes may have all of it, so
/// these parts do not add up to one.
fn entitled(thousandths: u64) -> String {
    match thousandths {
        0 => "no VM needs it now".to_owned(),
        1_000.. => "no other channel competes now".to_owned(),
        part => format!(
            "entitled to {} % while those that compete now do",
            part / 10
        ),
    }
}

fn cells(vm: &Vm) -> [String; 12] {
    let count = |name: &str| vm.counters.get(name).copied().unwrap_or(0);
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let rate = |mbps: Option<f64>| mbps.map_or_else(String::new, |mbps| format!("{mbps:.1}"));
    let signal = vm
        .signal_dbm
        .map_or_else(String::new, |dbm| format!("{dbm:.0} dBm"));
    let lost = count("failed") + dropped(vm);
    let sent = format!("{}/{}/{lost}", count("sent"), count("retries"));
    [
        vm.name.clone(),
        card(vm),
        vm.mac.clone(),
        vm.state.clone(),
        known(&vm.ssid),
        known(&vm.bssid),
        known(&vm.channel),
        signal,
        rate(vm.tx_mbps),
        rate(vm.rx_mbps),
        sent,
        count("received").to_string(),
    ]
}

/// The model, and the card's name where there are several cards.
fn card(vm: &Vm) -> String {
    let name = vm.card_name.iter();
    name.chain([&vm.card])
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Frames that the VM may not send, or that fell to a flush or reset.
fn dropped(vm: &Vm) -> u64 {
    let drops = vm
        .counters
        .iter()
        .filter(|(name, _)| name.starts_with("dropped_"));
    drops.map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_control::CardRadio;

    #[test]
    fn a_radio_that_has_slept_says_how_much_it_was_awake() {
        let mut show = Show::default();
        assert!(!text(&show).contains("awake"));
        let spent = [("nic_awake_us", 41_000), ("nic_asleep_us", 959_000)];
        let spent = spent.map(|(name, time)| (name.to_owned(), time));
        show.radio.counters.extend(spent);
        assert!(text(&show).contains("channel none, awake 4.1 %\n"));
    }

    #[test]
    fn a_channel_has_its_part_of_the_run_and_its_entitlement_in_words() {
        type Facts = std::collections::BTreeMap<String, u64>;
        let channel = |name: &str, share: u64, seconds: u64| -> (String, Facts) {
            let facts = [
                ("share_thousandths", share),
                ("time_us", seconds * 1_000_000),
                ("beacons_heard", 9),
            ];
            let facts = facts.map(|(name, count)| (name.to_owned(), count));
            (name.to_owned(), facts.into())
        };
        let mut radio = Radio {
            channels: [channel("36", 1_000, 78), channel("40", 1_000, 82)].into(),
            ..Radio::default()
        };
        let idle = "channel 36: 39 % of the run (78 s), 9 beacons heard, 0 missed; no other channel competes now\n\
                    channel 40: 41 % of the run (82 s), 9 beacons heard, 0 missed; no other channel competes now\n";
        assert_eq!(channels(&radio, 200.0), idle);
        radio.channels = [channel("36", 750, 0), channel("40", 0, 2)].into();
        let text = channels(&radio, 0.0);
        assert!(text.contains("channel 36: 0 % of the run (0 s)"), "{text}");
        assert!(text.contains("; entitled to 75 % while"), "{text}");
        assert!(
            text.contains("channel 40: 100 %"),
            "no more than all: {text}"
        );
        assert!(text.contains("; no VM needs it now"), "{text}");
    }

    #[test]
    fn each_of_several_radios_has_a_line_with_its_card_s_name() {
        let on = |card_name: &str, channel: &str| CardRadio {
            card_name: card_name.to_owned(),
            radio: Radio {
                channel: Some(channel.to_owned()),
                ..Radio::default()
            },
        };
        let show = Show {
            run: "two".to_owned(),
            radios: vec![on("attic", "36"), on("cellar", "44")],
            ..Show::default()
        };
        let text = text(&show);
        let expected = "two: 0 s\nattic: radio on channel 36\ncellar: radio on channel 44\nVM  ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn one_of_several_cards_is_named_before_its_model() {
        let one = Vm {
            card: "5300".to_owned(),
            ..Vm::default()
        };
        assert_eq!(card(&one), "5300");
        let attic = Some("attic".to_owned());
        let several = Vm {
            card_name: attic,
            ..one
        };
        assert_eq!(card(&several), "attic 5300");
    }

    #[test]
    fn a_vm_is_one_row_under_a_heading() {
        let vm = Vm {
            name: "it".to_owned(),
            card: "5300".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            state: "associated".to_owned(),
            ssid: Some("corp".to_owned()),
            signal_dbm: Some(-51.6),
            tx_mbps: Some(54.0),
            counters: [("sent", 9), ("failed", 1), ("dropped_identity", 2)]
                .map(|(name, count)| (name.to_owned(), count))
                .into(),
            ..Vm::default()
        };
        let show = Show {
            run: "two".to_owned(),
            vms: vec![vm],
            ..Show::default()
        };
        let text = text(&show);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[2].starts_with("it  5300  02:00:00:00:00:01  associated  corp"),
            "{text}"
        );
        assert!(
            lines[2].contains("-52 dBm  54.0") && lines[2].contains("9/0/3"),
            "{text}"
        );
        assert!(lines.iter().all(|line| *line == line.trim_end()));
    }
}
