//! A run: everything is brought up, checked, taken down, and reported.

use crate::announce;
use crate::cards::{self, Cards};
use crate::checks::{self, Findings};
use crate::external::{self, Hold};
use crate::folder::{Output, Private};
use crate::jobs::Jobs;
use crate::member::{Member, Recipe};
use crate::memory_watch::MemoryWatch;
use crate::message::SignalWatch;
use crate::name::RunName;
use crate::progress::{Progress, Stream};
use crate::record;
use crate::report::{self, Report};
use crate::session::Session;
use crate::stop::Stop;
use crate::work::{StepState, Work};
use crate::{acts, asked};
use airlane_control::Server;
use airlane_guests::boots::Boots;
use airlane_guests::certificates::Certificates;
use airlane_guests::external::RunFolder;
use airlane_guests::qemu::Device;
use airlane_guests::setup::Setup;
use airlane_guests::{config, joining, state::View};
use airlane_scenario::{ACCESS_POINT_VM, Own, Scenario};
use airlane_trace::Figures;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// MiB of the access-point VM.
const ACCESS_POINT_MEMORY: u64 = 256;

/// A medium that was this late has lost beacons and time-outs of guests: twice the usual beacon interval, 102.4 ms.
const TOO_LATE: Duration = Duration::from_millis(200);

/// How often a report is written while a run is held.
const WRITE_AGAIN: Duration = Duration::from_secs(10);

/// What the command line says about a run.
pub struct Options {
    /// The output folder.
    pub out: PathBuf,
    /// The kernel, instead of the scenario's.
    pub kernel: Option<String>,
    /// Where progress goes.
    pub stream: Stream,
    /// What is done when the checks are made.
    pub hold: Hold,
    /// Where the ways of all frames are written.
    pub trace: Option<PathBuf>,
    /// The folder where external VMs find their cards, and the group that is let in.
    pub run_dir: Option<(PathBuf, Option<String>)>,
}

/// How a run has ended.
pub struct Ended {
    /// The report, as written to the output folder.
    pub report: Report,
    /// Why it ended before its last check.
    pub stop: Option<Stop>,
    /// What the stages of the frames' ways took, where that was recorded.
    pub trace: Option<Figures>,
}

impl Ended {
    /// Where checks failed while the medium was late: that this machine may be what they failed for, in a sentence. A
    /// guest that gets no processor, or hears its beacons too late, looks like a fault of airlane.
    pub fn too_busy(&self) -> Option<String> {
        let interrupted = matches!(self.stop, Some(Stop::Interrupted(_)));
        let lag = self.report.counters.radio.get("radio_lag_max_us");
        let lag = Duration::from_micros(lag.copied().unwrap_or(0));
        let told = !self.report.passed && !interrupted && lag > TOO_LATE;
        told.then(|| {
            let late = lag.as_millis();
            format!("this machine was too busy: the medium ran up to {late} ms late")
        })
    }
}

/// Runs `scenario`. An error here is one before anything was started.
pub fn run(scenario: &Scenario, setup: &Setup, options: &Options) -> Result<Ended> {
    let output = Output::create(&options.out)?;
    let shared = options.run_dir.as_ref();
    let shared = shared.map(|(path, group)| RunFolder::create(path, group.as_deref()));
    let mut session = session(scenario, setup, &output, options.stream)?;
    session.shared = shared.transpose()?;
    let _signals = SignalWatch::start(session.sender.clone())?;
    let mut findings = Findings::new(scenario.vms.len());
    let (began, mut control) = (Instant::now(), None);
    let checked = go(&mut session, &mut findings, options, began, &mut control);
    let seconds = began.elapsed().as_secs_f64();
    // What comes while all is held changes nothing of what was found, and VMs that go take their vMACs with them.
    let known = record::so_far(&session, &findings, began);
    note(&output, &known);
    let stop = until_over(&mut session, &findings, checked, options.hold, began).err();
    drop(control);
    checks::consoles(&mut session, &mut findings, stop.is_none());
    if stop.is_some() {
        findings.add_missing(scenario);
    }
    let (mut counters, trace) = take_down(session)?;
    for (vm, counts) in known.counters.vmacs {
        counters.vmacs.entry(vm).or_insert(counts);
    }
    let report = Report {
        scenario: scenario.name.clone(),
        passed: stop.is_none() && findings.passed(),
        running: false,
        error: stop.as_ref().map(ToString::to_string),
        seconds,
        vms: known.vms,
        checks: findings.checks,
        steps: findings.steps,
        counters,
    };
    record::write(&output, &report)?;
    Ok(Ended {
        report,
        stop,
        trace,
    })
}

/// Holds what is to be held, after the checks or after an interruption. A report is written now and then meanwhile.
fn until_over(
    session: &mut Session,
    findings: &Findings,
    checked: Result<(), Stop>,
    hold: Hold,
    began: Instant,
) -> Result<(), Stop> {
    let mut written = Instant::now();
    let mut meanwhile = |session: &Session| {
        if written.elapsed() >= WRITE_AGAIN {
            written = Instant::now();
            note(session.output, &record::so_far(session, findings, began));
        }
    };
    match checked {
        Ok(()) => external::hold(session, hold, &mut meanwhile),
        Err(Stop::Interrupted(signal)) if hold != Hold::No => {
            external::farewell(session, signal)?;
            Err(Stop::Interrupted(signal))
        }
        Err(stop) => {
            if hold != Hold::No {
                external::after_failure(session, &stop)?;
            }
            Err(stop)
        }
    }
}

/// Writes what is known so far. A disk that is full for a moment ends no run: the last report is written all the same.
fn note(output: &Output, report: &Report) {
    if let Err(error) = record::write(output, report) {
        tracing::warn!(%error, "the report so far was not written");
    }
}

/// A session in which nothing runs yet.
fn session<'a>(
    scenario: &'a Scenario,
    setup: &'a Setup,
    output: &'a Output,
    stream: Stream,
) -> Result<Session<'a>> {
    let (sender, messages) = channel();
    Ok(Session {
        scenario,
        name: RunName::claim(&scenario.name),
        members: Vec::new(),
        vmacs: Vec::new(),
        built_ins: View::default(),
        rates: vec![None; scenario.vms.len()],
        progress: Progress::new(stream),
        setup,
        cards: None,
        card_positions: scenario.cards.iter().map(|card| card.position).collect(),
        private: Private::create()?,
        shared: None,
        output,
        sender,
        messages,
        jobs: Jobs::default(),
        next_tick: Instant::now(),
        looked: Instant::now(),
        memory: vec![MemoryWatch::default(); scenario.vms.len()],
        work: Work {
            steps: vec![StepState::default(); scenario.steps.len()],
            ..Work::default()
        },
        at_each_turn: beside,
    })
}

/// Brings all up and makes all checks; can be stopped half-way. The control socket answers until the server is dropped.
fn go(
    session: &mut Session,
    findings: &mut Findings,
    options: &Options,
    began: Instant,
    control: &mut Option<Server>,
) -> Result<(), Stop> {
    let kernel = options.kernel.as_deref();
    let mut noted = |session: &Session, findings: &Findings| {
        note(session.output, &record::so_far(session, findings, began));
    };
    let capture = session.output.file("air.pcapng");
    let (folder, shared) = (session.private.path(), session.shared.as_ref());
    let mut cards = Cards::start(session.scenario, session.setup, folder, shared, capture)?;
    if let Some(file) = &options.trace {
        cards.trace(session.name.text(), session.scenario, file)?;
    }
    let (name, sender) = (session.name.text(), session.sender.clone());
    *control = Some(cards.control(name, session.scenario, folder, sender)?);
    if let Some(text) = session.name.announcement() {
        session.progress.say(&text);
    }
    session.members = members(session, &cards, kernel)?;
    announce::external_vms(session, &cards)?;
    session.cards = Some(cards);
    noted(session, findings);
    for number in (0..session.members.len()).rev() {
        let vm = session.scenario.vms.get(number);
        if !vm.is_some_and(|vm| vm.later) {
            session.start(number)?;
        }
    }
    session.draw();
    crate::up::wait(session)?;
    session.work.up = Some(Instant::now());
    // The first look at the cards after all are up, for the checks that compare.
    session.next_tick = Instant::now();
    session.step(Instant::now())?;
    checks::all(session, findings, &mut noted)
}

/// What goes on beside whatever the run waits for; when there is more to do.
fn beside(session: &mut Session) -> Option<Instant> {
    asked::take_all(session);
    acts::look_after(session);
    checks::steps::due(session)
}

/// All VMs of the scenario, then the one with the access points, if there are any but built-in ones.
fn members(session: &Session, cards: &Cards, kernel: Option<&str>) -> Result<Vec<Member>> {
    let (scenario, setup) = (session.scenario, session.setup);
    let certificates = Certificates::for_run(scenario)?;
    let mut members = Vec::new();
    for (index, vm) in scenario.vms.iter().enumerate() {
        if vm.external {
            let output = session.output.path();
            joining::write_credentials(output, scenario, vm, certificates.as_ref())?;
        }
        let mut files = config::station(scenario, vm, certificates.as_ref())?;
        files.push(cards::firmware(vm.model));
        let recipe = Recipe {
            memory: vm.memory,
            boots: Boots::of(scenario, setup, kernel, index)?,
            files,
            device: Device::Card(cards.card(index)?.to_owned()),
            own: vm.own.clone(),
        };
        members.push(Member::new(&vm.name, (!vm.external).then_some(recipe)));
    }
    if scenario.hostapds().next().is_none() {
        return Ok(members);
    }
    let recipe = Recipe {
        memory: ACCESS_POINT_MEMORY,
        boots: Boots::of(scenario, setup, kernel, scenario.vms.len())?,
        files: config::access_points(scenario, certificates.as_ref())?,
        device: Device::Hwsim(cards.radios()?.to_owned()),
        own: Own::default(),
    };
    members.push(Member::new(ACCESS_POINT_VM, Some(recipe)));
    Ok(members)
}

/// Stops everything; the counters.
fn take_down(mut session: Session) -> Result<(report::Counters, Option<Figures>)> {
    let scenario = session.scenario;
    session.progress.end();
    let cards = session.cards.take();
    // What is counted of a vMAC, and of its beacons, goes with its VM: it is read before.
    let before = cards
        .as_ref()
        .map(|cards| cards.counters(scenario))
        .transpose();
    drop(session);
    let Some(cards) = cards else {
        return Ok((report::Counters::default(), None));
    };
    let (mut counters, trace) = cards.stop(scenario)?;
    counters.keep(before?.unwrap_or_default());
    Ok((counters, trace))
}

/// The output folder when none is named.
pub fn default_output(scenario: &Scenario) -> PathBuf {
    Path::new("out").join(&scenario.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(passed: bool, lag_us: u64, stop: Option<Stop>) -> Ended {
        let mut report = Report {
            passed,
            ..Report::default()
        };
        let lag = ("radio_lag_max_us".to_owned(), lag_us);
        report.counters.radio.extend([lag]);
        Ended {
            report,
            stop,
            trace: None,
        }
    }

    #[test]
    fn a_late_medium_is_told_where_checks_failed() {
        let told = ended(false, 812_900, None).too_busy().unwrap();
        assert!(told.ends_with("ran up to 812 ms late"), "{told}");
        let silent = [
            ended(true, 812_900, None),
            ended(false, 5_200, None),
            ended(false, 812_900, Some(Stop::Interrupted(2))),
        ];
        assert!(silent.iter().all(|ended| ended.too_busy().is_none()));
    }
}
