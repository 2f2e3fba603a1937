//! What sharing costs real guests, for `airlane bench`: a scenario, untuned and as tuned by default, in turns; in QEMU, and in
//! User Mode Linux where that is set up.

use std::path::{Path, PathBuf};

use airlane_bench::Bench;
use airlane_bench::finding::{Bar, Figure, Panel};
use airlane_daemon::Tuning;
use anyhow::Context;

use airlane_guests::setup::Setup;
use airlane_harness::report::Report;
use airlane_harness::{Hold, Options, Stream};
use airlane_scenario::{Scenario, Vmm};

/// Each takes the better part of a minute.
const ROUNDS: usize = 2;

/// The real guests of a figure.
pub struct Guests {
    scenario: Scenario,
    setup: Setup,
    folder: tempfile::TempDir,
}

/// What has its turn.
#[derive(Clone, Copy)]
struct Contender {
    name: &'static str,
    vmm: Vmm,
    tuning: Tuning,
}

/// What one run has found, over all VMs.
type Value = fn(&Report) -> f64;

impl Guests {
    /// Those of this scenario; none when the set-up is not there.
    pub fn new(scenario: &Path) -> anyhow::Result<Option<Self>> {
        let Ok(setup) = Setup::load() else {
            return Ok(None);
        };
        if !scenario.exists() {
            return Ok(None);
        }
        Ok(Some(Self {
            scenario: Scenario::load(scenario)?,
            setup,
            folder: tempfile::tempdir()?,
        }))
    }

    /// The scenario of the repository, seen from its root.
    pub fn usual() -> PathBuf {
        PathBuf::from("scenarios/two-networks.toml")
    }

    /// Measures the figure.
    pub fn measure(&mut self, bench: &mut Bench) -> anyhow::Result<Figure> {
        let contenders = self.contenders();
        let mut reports: Vec<Vec<Report>> = contenders.iter().map(|_| Vec::new()).collect();
        for round in 0..ROUNDS {
            for (&contender, reports) in contenders.iter().zip(&mut reports) {
                let name = contender.name;
                bench.say_plain("guests", &format!("{name}, run {} of {ROUNDS}", round + 1));
                let report = self.run(contender);
                reports.push(report.with_context(|| format!("guests, {name}"))?);
            }
        }
        let values: [(&str, &'static str, Value); 5] = [
            ("TCP from the VMs, together", "Mb/s", |r| tcp(r, true)),
            ("TCP to the VMs, together", "Mb/s", |r| tcp(r, false)),
            ("interrupts", "per frame", |r| {
                per_frame(r, "vfio_interrupts")
            }),
            ("socket messages", "per frame", |r| {
                per_frame(r, "vfio_messages")
            }),
            ("of these reads", "per frame", |r| {
                per_frame(r, "vfio_reads")
            }),
        ];
        let panel = |(title, unit, value): (&str, _, Value)| Panel {
            title: title.to_owned(),
            unit,
            bars: contenders
                .iter()
                .zip(&reports)
                .map(|(one, reports)| Bar::new(one.name, reports.iter().map(value).collect()))
                .collect(),
        };
        Ok(Figure {
            name: "guests",
            title: "Real guests",
            meaning: "What the tuning changes for unmodified guests: what they carry, and how often they are interrupted.",
            paper: "section 5: one real guest",
            panels: values.map(panel).into(),
            notes: vec![format!(
                "{}: two VMs, their own kernel and driver, WPA2; {ROUNDS} runs each, in turns. Starting and joining \
                 are in the counts.",
                self.scenario.name
            )],
        })
    }

    fn contenders(&self) -> Vec<Contender> {
        let two = |vmm, names: [&'static str; 2]| {
            let tunings = [Tuning::UNTUNED, Tuning::default()];
            let both = names.into_iter().zip(tunings);
            both.map(move |(name, tuning)| Contender { name, vmm, tuning })
        };
        let qemu = two(Vmm::Qemu, ["QEMU, virtual", "QEMU, default"]);
        let uml = two(Vmm::Uml, ["UML, virtual", "UML, default"]);
        let has_uml = self.setup.uml(None).is_ok();
        qemu.chain(uml.filter(|_| has_uml)).collect()
    }

    fn run(&mut self, contender: Contender) -> anyhow::Result<Report> {
        for card in &mut self.scenario.cards {
            card.translation = contender.tuning.translation;
            card.interrupts = contender.tuning.interrupts;
            card.polling = contender.tuning.polling;
            card.data_path = contender.tuning.data_path;
            card.threads = contender.tuning.threads;
        }
        self.scenario.run.vmm = contender.vmm;
        let options = Options {
            out: self.folder.path().join("run"),
            kernel: None,
            stream: Stream::Error,
            hold: Hold::No,
            run_dir: None,
            trace: None,
        };
        let ended = airlane_harness::run(&self.scenario, &self.setup, &options)?;
        match ended.stop {
            Some(stop) => anyhow::bail!("the run did not come to its end: {stop}"),
            None => Ok(ended.report),
        }
    }
}

fn tcp(report: &Report, from: bool) -> f64 {
    let both = report.vms.iter().filter_map(|vm| vm.tcp_mbps.as_ref());
    both.map(|both| if from { both.tx } else { both.rx }).sum()
}

/// A counter of all cards over frames sent and received.
fn per_frame(report: &Report, name: &str) -> f64 {
    let sum = |which: &str| -> u64 {
        let cards = report.counters.cards.values();
        cards.filter_map(|counts| counts.get(which)).sum()
    };
    let vmacs = |which: &str| -> u64 {
        let vmacs = report.counters.vmacs.values();
        vmacs.filter_map(|counts| counts.get(which)).sum()
    };
    let frames = vmacs("sent") + vmacs("received");
    sum(name) as f64 / (frames as f64).max(1.0)
}
