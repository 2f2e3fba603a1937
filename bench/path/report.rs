//! The table for people and the same as JSON.

use airlane_bench::stats::Spread;
use serde_json::{Value, json};

use crate::found::{Baseline, Direction, Outcome, Surroundings, Translated};
use crate::probe::{Stage, Ticks};

/// Everything that was found.
pub struct Findings {
    /// Of the cases.
    pub outcomes: Vec<Outcome>,
    /// Of the three translations.
    pub translations: Vec<Translated>,
    /// Of the cipher alone.
    pub baselines: Vec<Baseline>,
    /// Rounds behind each spread.
    pub rounds: usize,
    /// Frames of each case in each round.
    pub frames: u64,
}

impl Findings {
    /// As a table.
    pub fn print(&self, ticks: &Ticks) {
        println!(
            "Ticks per frame (TSC at {:.2} GHz), medians of {} interleaved rounds' medians of {} frames; the fake \
             driver is not counted,\nnor the {} ticks of each reading.\n",
            ticks.per_microsecond() / 1_000.0,
            self.rounds,
            self.frames,
            ticks.reading(),
        );
        println!("{}", head());
        let (bare, others) = self.by_surroundings();
        for outcome in bare {
            println!("{}", line(outcome));
        }
        println!("\n{:12} {}", "surroundings", head());
        for outcome in others {
            let name = outcome.case.surroundings.name();
            println!("{name:12} {}", line(outcome));
        }
        println!("\n{TRANSLATION}");
        self.translations
            .iter()
            .map(translated)
            .for_each(|line| println!("{line}"));
        println!("\nAES-CCM alone:");
        for Baseline { bytes, ticks } in &self.baselines {
            let Spread { low, median, high } = ticks;
            println!("{bytes:>7} bytes {median:>8.0} ({low:.0} to {high:.0})");
        }
    }

    /// Bare ones first: those are what all versions have measured.
    fn by_surroundings(&self) -> (Vec<&Outcome>, Vec<&Outcome>) {
        let bare = |outcome: &&Outcome| outcome.case.surroundings == Surroundings::Bare;
        self.outcomes.iter().partition(bare)
    }

    /// As JSON.
    pub fn print_json(&self, ticks: &Ticks) {
        let (bare, others) = self.by_surroundings();
        let cases: Vec<Value> = bare.into_iter().map(case).collect();
        let others: Vec<Value> = others.into_iter().map(case_in_surroundings).collect();
        let alone = |baseline: &Baseline| json!({ "bytes": baseline.bytes, "ticks": spread_json(baseline.ticks) });
        let alone: Vec<Value> = self.baselines.iter().map(alone).collect();
        let document = json!({
            "ticks_per_microsecond": ticks.per_microsecond(),
            "rounds": self.rounds,
            "frames_per_round": self.frames,
            "cases": cases,
            "cases_in_other_surroundings": others,
            "aes_ccm_alone": alone,
            "translations": self.translations.iter().map(translation_json).collect::<Vec<Value>>(),
        });
        println!("{document:#}");
    }
}

fn spread_json(spread: Spread) -> Value {
    json!({ "low_quartile": spread.low, "median": spread.median, "high_quartile": spread.high })
}

const TRANSLATION: &str = "translation  look-up  of a frame's way  transmit, 64 open  share of it";

fn translated(outcome: &Translated) -> String {
    format!(
        "{:11} {:>8.1} {:>15.1} {:>18.0} {:>10.2} %",
        outcome.way.name(),
        outcome.look_up.median,
        outcome.frame.median,
        outcome.whole.median,
        outcome.share(),
    )
}

fn translation_json(outcome: &Translated) -> Value {
    json!({
        "translation": outcome.way.name(),
        "ticks_per_look_up": spread_json(outcome.look_up),
        "ticks_of_look_ups_per_transmit": spread_json(outcome.frame),
        "ticks_per_transmit": spread_json(outcome.whole),
        "share_of_transmit_percent": outcome.share(),
    })
}

fn head() -> String {
    let mut head = format!(
        "{:8} {:>5} {:6} {:>3} {:>7} {:>15}",
        "way", "bytes", "cipher", "VMs", "total", "quartiles"
    );
    for stage in Stage::ALL {
        head += &format!(" {:>10}", stage.name());
    }
    head + "  allocations"
}

fn line(outcome: &Outcome) -> String {
    let Spread { low, median, high } = outcome.whole;
    let case = outcome.case;
    let mut line = format!(
        "{:8} {:>5} {:6} {:>3} {median:>7.0} {:>15}",
        way(case.direction),
        case.shape.payload,
        cipher(case.shape.ccmp),
        case.vms,
        format!("{low:.0}–{high:.0}"),
    );
    for stage in outcome.stages {
        line += &format!(" {:>10.0}", stage.median);
    }
    line + &format!("  {}", allocations(outcome))
}

/// The sum, and where they come from.
fn allocations(outcome: &Outcome) -> String {
    let sum: f64 = outcome.allocations.iter().sum();
    let mut text = format!("{sum:.3}");
    for (stage, count) in Stage::ALL.into_iter().zip(outcome.allocations) {
        if count > 0.0 {
            text += &format!(" {}: {count:.3}", stage.name());
        }
    }
    text
}

fn case(outcome: &Outcome) -> Value {
    let stages = Stage::ALL.into_iter().zip(outcome.stages);
    let stages = stages.map(|(stage, spread)| (stage.name().to_owned(), spread_json(spread)));
    let counts = Stage::ALL.into_iter().zip(outcome.allocations);
    let counts = counts.map(|(stage, count)| (stage.name().to_owned(), json!(count)));
    json!({
        "way": way(outcome.case.direction),
        "udp_payload_bytes": outcome.case.shape.payload,
        "cipher": cipher(outcome.case.shape.ccmp),
        "vms": outcome.case.vms,
        "ticks": spread_json(outcome.whole),
        "ticks_by_stage": stages.collect::<serde_json::Map<_, _>>(),
        "allocations_by_stage": counts.collect::<serde_json::Map<_, _>>(),
    })
}

fn case_in_surroundings(outcome: &Outcome) -> Value {
    let mut value = case(outcome);
    value["surroundings"] = json!(outcome.case.surroundings.name());
    value
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Transmit => "transmit",
        Direction::Receive => "receive",
    }
}

fn cipher(ccmp: bool) -> &'static str {
    if ccmp { "CCMP" } else { "open" }
}
