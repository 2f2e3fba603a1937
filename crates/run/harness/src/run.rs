//! A run: everything is brought up, checked, taken down, and reported.

use crate::cards::{self, Cards};
use crate::checks::{self, Findings};
use crate::control::Server;
use crate::folder::{Output, Private};
use crate::jobs::Jobs;
use crate::member::{Boots, Member, Recipe};
use crate::message::SignalWatch;
use crate::progress::{Progress, Stream};
use crate::report::{self, Report};
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::certificates::Certificates;
use airlane_guests::qemu::{self, Device};
use airlane_guests::setup::Setup;
use airlane_guests::{config, joining, state::View};
use airlane_scenario::{ACCESS_POINT_VM, Scenario, Vmm};
use airlane_trace::Figures;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// MiB of the access-point VM.
const ACCESS_POINT_MEMORY: u64 = 256;

/// A medium that was this late has lost beacons and time-outs of guests: twice the usual beacon interval, 102.4 ms.
const TOO_LATE: Duration = Duration::from_millis(200);

/// What the command line says about a run.
pub struct Options {
    /// The output folder.
    pub out: PathBuf,
    /// The kernel, instead of the scenario's.
    pub kernel: Option<String>,
    /// Where progress goes.
    pub stream: Stream,
    /// Keep all up after the checks until Ctrl-C.
    pub hold: bool,
    /// Where the ways of all frames are written.
    pub trace: Option<PathBuf>,
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
    let kernel = options.kernel.as_deref().or(scenario.run.kernel.as_deref());
    let output = Output::create(&options.out)?;
    let mut session = session(scenario, setup, &output, options.stream)?;
    let _signals = SignalWatch::start(session.sender.clone())?;
    let mut findings = Findings::new(scenario.vms.len());
    let began = Instant::now();
    let checked = go(&mut session, &mut findings, kernel, options);
    let seconds = began.elapsed().as_secs_f64();
    let held = checked.and_then(|control| match options.hold {
        true => hold(&mut session, control),
        false => Ok(()),
    });
    let stop = held.err();
    checks::consoles(&mut session, &mut findings, stop.is_none());
    if stop.is_some() {
        findings.add_missing(scenario);
    }
    let (views, counters, trace) = take_down(session)?;
    let report = Report {
        scenario: scenario.name.clone(),
        passed: stop.is_none() && findings.passed(),
        error: stop.as_ref().map(ToString::to_string),
        seconds,
        vms: vms(scenario, &views, &findings),
        checks: findings.checks,
        counters,
    };
    write(&output, &report)?;
    Ok(Ended {
        report,
        stop,
        trace,
    })
}

/// An error when the scenario asks for what no run can do: what a VM's VMM cannot.
pub fn feasible(scenario: &Scenario) -> Result<()> {
    match scenario.beyond_vmm() {
        Some(beyond) => bail!(beyond),
        None => Ok(()),
    }
}

/// An error when a kernel that is asked for is not there.
pub fn kernels(scenario: &Scenario, setup: &Setup, chosen: Option<&str>) -> Result<()> {
    let kernel = chosen.or(scenario.run.kernel.as_deref());
    // One more than there are VMs: that of the access points.
    for index in 0..=scenario.vms.len() {
        let vm = scenario.vms.get(index);
        if vm.is_none_or(|vm| !vm.external) {
            boots(scenario, setup, kernel, index)?;
        }
    }
    Ok(())
}

/// What VM `index` boots; the one behind the last is that of the access points.
fn boots(scenario: &Scenario, setup: &Setup, kernel: Option<&str>, index: usize) -> Result<Boots> {
    let own = scenario.vms.get(index).and_then(|vm| vm.kernel.as_deref());
    let kernel = own.or(kernel);
    Ok(match scenario.vmm_of(index) {
        Vmm::Uml => Boots::Uml(setup.uml(kernel)?.clone()),
        Vmm::Qemu if scenario.suspends(index) => {
            Boots::Qemu(setup.kernel(kernel)?.clone().that_wakes())
        }
        Vmm::Qemu => Boots::Qemu(setup.kernel(kernel)?.clone()),
    })
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
        members: Vec::new(),
        vmacs: Vec::new(),
        built_ins: View::default(),
        rates: vec![None; scenario.vms.len()],
        progress: Progress::new(stream),
        setup,
        cards: None,
        card_positions: scenario.cards.iter().map(|card| card.position).collect(),
        private: Private::create()?,
        output,
        sender,
        messages,
        jobs: Jobs::default(),
        next_tick: Instant::now(),
        looked: Instant::now(),
    })
}

/// Brings all up and makes all checks; can be stopped half-way. The control socket answers until the server is dropped.
fn go(
    session: &mut Session,
    findings: &mut Findings,
    kernel: Option<&str>,
    options: &Options,
) -> Result<Server, Stop> {
    let capture = session.output.file("air.pcapng");
    let folder = session.private.path();
    let mut cards = Cards::start(session.scenario, session.setup, folder, capture)?;
    if let Some(file) = &options.trace {
        cards.trace(session.scenario, file)?;
    }
    let control = cards.control(session.scenario, session.private.path())?;
    session.members = members(session, &cards, kernel)?;
    announce_external(session, &cards)?;
    session.cards = Some(cards);
    for number in (0..session.members.len()).rev() {
        session.start(number)?;
    }
    session.draw();
    crate::up::wait(session)?;
    // The first look at the cards after all are up, for the checks that compare.
    session.next_tick = Instant::now();
    session.step(Instant::now())?;
    checks::all(session, findings)?;
    Ok(control)
}

/// Keeps all up, the control socket too, until Ctrl-C, which is the ordinary end here.
fn hold(session: &mut Session, _control: Server) -> Result<(), Stop> {
    session
        .progress
        .say("all checks made; holding until Ctrl-C");
    loop {
        match session.step(Instant::now() + Duration::from_secs(1)) {
            Err(Stop::Interrupted(_)) => return Ok(()),
            other => other?,
        }
    }
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
            boots: boots(scenario, setup, kernel, index)?,
            files,
            device: Device::Card(cards.card(index)?.to_owned()),
        };
        members.push(Member::new(&vm.name, (!vm.external).then_some(recipe)));
    }
    if scenario.hostapds().next().is_none() {
        return Ok(members);
    }
    let recipe = Recipe {
        memory: ACCESS_POINT_MEMORY,
        boots: boots(scenario, setup, kernel, scenario.vms.len())?,
        files: config::access_points(scenario, certificates.as_ref())?,
        device: Device::Hwsim(cards.radios()?.to_owned()),
    };
    members.push(Member::new(ACCESS_POINT_VM, Some(recipe)));
    Ok(members)
}

/// Tells how to attach the VMs that the user starts.
fn announce_external(session: &mut Session, cards: &Cards) -> Result<()> {
    for (index, vm) in session
        .scenario
        .vms
        .iter()
        .enumerate()
        .filter(|(_, vm)| vm.external)
    {
        let arguments = qemu::shell_line(&qemu::external(vm.memory, cards.card(index)?));
        session.progress.say(&format!(
            "waiting for your VM `{}`; start QEMU 10.1 or newer with:",
            vm.name
        ));
        session.progress.say_plain(&arguments);
        for line in joining::how_to_join(session.output.path(), session.scenario, vm) {
            session.progress.say(&line);
        }
    }
    Ok(())
}

/// Stops everything; what was known of the guests, and the counters.
fn take_down(mut session: Session) -> Result<(Vec<View>, report::Counters, Option<Figures>)> {
    let scenario = session.scenario;
    let views = session
        .members
        .iter()
        .map(|member| member.view.clone())
        .collect();
    session.progress.end();
    let cards = session.cards.take();
    // What is counted of a vMAC, and of its beacons, goes with its VM: it is read before.
    let before = cards
        .as_ref()
        .map(|cards| cards.counters(scenario))
        .transpose();
    drop(session);
    let Some(cards) = cards else {
        return Ok((views, report::Counters::default(), None));
    };
    let (mut counters, trace) = cards.stop(scenario)?;
    counters.keep(before?.unwrap_or_default());
    Ok((views, counters, trace))
}

fn vms(scenario: &Scenario, views: &[View], findings: &Findings) -> Vec<report::Vm> {
    let numbered = scenario.vms.iter().enumerate();
    let entry = |(index, vm): (usize, &airlane_scenario::Vm)| {
        let view = views.get(index).cloned().unwrap_or_default();
        let measured = findings.measured.get(index).cloned().unwrap_or_default();
        report::Vm {
            name: vm.name.clone(),
            card_name: scenario.card_name(vm).map(str::to_owned),
            driver: view.driver,
            kernel: view.kernel,
            mac: view.mac,
            ssid: view.ssid,
            bssid: view.bssid,
            key_mgmt: view.key_mgmt,
            pmf: measured.pmf,
            eap: measured.eap,
            signal_dbm: measured.signal,
            ping: measured.ping,
            tcp_mbps: measured.tcp,
            udp_mbps: measured.udp,
        }
    };
    numbered.map(entry).collect()
}

fn write(output: &Output, report: &Report) -> Result<()> {
    let path = output.file("report.json");
    let text = serde_json::to_string_pretty(report)?;
    std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
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
