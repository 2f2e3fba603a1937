//! The figures, one file each.

mod interrupts;
mod latency;
mod messages;
mod processor;
mod scale;
mod stages;
mod throughput;

use clap::ValueEnum;

use super::finding::{Figure, KeyFigure};
use super::pairs::{Bench, Effort};

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Goodput of datagrams and of segments, both ways (figures 5a, 5b)
    Throughput,
    /// Round trips, native and shared (figure 5c)
    Latency,
    /// What each stage of a frame's way takes (figure 6, table 1)
    Stages,
    /// Processor time at equal goodput, by tuning (figures 7, 8)
    Processor,
    /// Interrupts per frame, by tuning
    Interrupts,
    /// Socket messages per frame, by tuning
    Messages,
    /// Cost per frame with 1 to 16 VMs
    Scale,
    /// Real guests, in QEMU and User Mode Linux: goodput, interrupts and messages, untuned and tuned
    Guests,
    /// All of them, and real guests where the set-up is there
    All,
}

type Measure = fn(&mut Bench) -> anyhow::Result<(Figure, Vec<KeyFigure>)>;

impl Which {
    /// Turns in each round of all its figures. What several of them are read from is measured once.
    pub fn turns(self) -> usize {
        let single = throughput::turns() + latency::turns() + stages::turns() + scale::turns();
        match self {
            Self::Throughput => throughput::turns(),
            Self::Latency => latency::turns(),
            Self::Stages => stages::turns(),
            Self::Processor | Self::Interrupts | Self::Messages => Bench::saturated_turns(),
            Self::Scale => scale::turns(),
            Self::Guests => 0,
            Self::All => single + Bench::saturated_turns(),
        }
    }

    /// What is behind it.
    pub fn figures(self) -> &'static [Measure] {
        match self {
            Self::Throughput => &[throughput::measure],
            Self::Latency => &[latency::measure],
            Self::Stages => &[stages::measure],
            Self::Processor => &[processor::measure],
            Self::Interrupts => &[interrupts::measure],
            Self::Messages => &[messages::measure],
            Self::Scale => &[scale::measure],
            Self::Guests => &[],
            Self::All => &[
                throughput::measure,
                latency::measure,
                stages::measure,
                processor::measure,
                interrupts::measure,
                messages::measure,
                scale::measure,
            ],
        }
    }
}

/// How long it takes, in words, with real guests where they are `with_guests`.
pub fn announcement(which: Which, effort: &Effort, with_guests: bool) -> String {
    let turns = which.turns() * effort.pairs;
    let parts = [
        (turns > 0).then(|| {
            let (span, about) = (effort.span.as_millis(), about(effort.takes(which.turns())));
            format!("{turns} turns of {span} ms, about {about}")
        }),
        with_guests.then(|| "runs of real guests, about a minute each".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("this takes {}", parts.join(", and "))
}

/// Seconds up to a minute and a half, else minutes.
fn about(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=90 => format!("{} seconds", seconds.max(1)),
        seconds => format!("{} minutes", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_says_how_long_it_takes() {
        assert_eq!(
            announcement(Which::Throughput, &Effort::FULL, false),
            "this takes 56 turns of 1000 ms, about 62 seconds"
        );
        assert_eq!(
            announcement(Which::All, &Effort::FULL, true),
            "this takes 343 turns of 1000 ms, about 6 minutes, and runs of real guests, about a minute each"
        );
        assert_eq!(
            announcement(Which::Guests, &Effort::FULL, true),
            "this takes runs of real guests, about a minute each"
        );
    }

    #[test]
    fn all_figures_have_the_turns_of_each_but_share_one_measurement() {
        let single = [
            Which::Throughput,
            Which::Latency,
            Which::Stages,
            Which::Scale,
        ];
        let sum: usize = single.into_iter().map(Which::turns).sum();
        assert_eq!(Which::All.turns(), sum + Which::Messages.turns());
    }
}
