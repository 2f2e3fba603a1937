//! A run while it goes on: all guests, the cards, and one loop that takes in whatever happens until
//! something awaited has come. Everything is stopped when it is dropped.

use super::cards::{Cards, Vmac};
use super::folder::{Output, Private};
use super::jobs::{Finished, Job, Jobs, Stream};
use super::member::Member;
use super::memory_watch::{self, MemoryWatch};
use super::message::{Message, Receiver, Sender};
use super::name::RunName;
use super::progress::Progress;
use super::rows;
use super::stop::Stop;
use super::work::Work;
use airlane_ap::gateway::{Echoes, Probe};
use airlane_daemon::Delivered;
use airlane_daemon::journal::VmEvent;
use airlane_dot11::MacAddr;
use airlane_guests::agent::Heard;
use airlane_guests::external::RunFolder;
use airlane_guests::line::Line;
use airlane_guests::setup::Setup;
use airlane_guests::state::{State, View};
use airlane_scenario::{ApKind, Position, Scenario};
use anyhow::{Context, anyhow};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often processes and cards are looked at, and the table is drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// A run that goes on.
pub struct Session<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// By which others find it.
    pub name: RunName,
    /// One member for each VM of the scenario, then the access-point VM, if there is one.
    pub members: Vec<Member>,
    /// Each VM's vMAC, as last seen.
    pub vmacs: Vec<Vmac>,
    /// What the built-in access points see, as last seen.
    pub built_ins: View,
    /// Each VM's rates to and from the air, in Mb/s.
    pub rates: Vec<Option<(f64, f64)>>,
    /// What people see.
    pub progress: Progress,
    pub(super) setup: &'a Setup,
    pub(super) cards: Option<Cards>,
    /// Where each card stands now.
    pub card_positions: Vec<Position>,
    pub(super) private: Private,
    /// Where external VMs find their cards, if not in the private folder.
    pub(super) shared: Option<RunFolder>,
    pub(super) output: &'a Output,
    pub(super) sender: Sender,
    pub(super) messages: Receiver,
    pub(super) jobs: Jobs,
    pub(super) next_tick: Instant,
    pub(super) looked: Instant,
    /// By VM: whether its memory can be reached.
    pub(super) memory: Vec<MemoryWatch>,
    /// What goes on beside the checks.
    pub(super) work: Work,
    /// Does what is due of that; when there is more to do.
    pub(super) at_each_turn: fn(&mut Session<'_>) -> Option<Instant>,
}

impl Session<'_> {
    /// Starts the guest in place `number`.
    pub fn start(&mut self, number: usize) -> Result<(), Stop> {
        let member = self.members.get_mut(number).context("no such guest")?;
        Ok(member.start(number, self.setup, &self.private, self.output, &self.sender)?)
    }

    /// Kills the guest in place `number`; what it was asked to do has no end.
    pub fn kill(&mut self, number: usize) {
        if let Some(member) = self.members.get_mut(number) {
            member.kill();
        }
        self.jobs.forget(number);
    }

    /// Puts a card, and with it all VMs on it, elsewhere.
    pub fn place_card(&mut self, card: usize, at: Position) -> Result<(), Stop> {
        let place = self.card_positions.get_mut(card);
        *place.context("there is no such card")? = at;
        let cards = self.cards.as_ref().context("there is no card")?;
        Ok(cards.place_card(card, at)?)
    }

    /// Puts an access point elsewhere.
    pub fn place_access_point(&mut self, ap: usize, at: Position) -> Result<(), Stop> {
        let cards = self.cards.as_ref().context("there is no air")?;
        Ok(cards.place_access_point(self.scenario, ap, at)?)
    }

    /// True while the guest runs that airlane has started.
    pub fn runs(&self, number: usize) -> bool {
        self.members.get(number).is_some_and(Member::runs)
    }

    /// An error, as a sentence, when nobody in the guest would take a command.
    pub fn speaks(&self, number: usize) -> Result<(), String> {
        let member = self.members.get(number);
        let member = member.ok_or("all access points are built-in: there is no VM of theirs")?;
        let vm = &member.name;
        if member.recipe.is_none() {
            return Err(format!(
                "`{vm}` is a VM of your own: airlane has no agent in it\n  remedy: use what you run it with, as ssh or its console"
            ));
        }
        if !member.runs() {
            return Err(format!("the VM `{vm}` does not run"));
        }
        match member.booted {
            Some(_) => Ok(()),
            None => Err(format!(
                "the VM `{vm}` still boots\n  remedy: try again in a few seconds"
            )),
        }
    }

    /// A counter of the radio now; zero for one that there is not.
    pub fn counter(&self, name: &str) -> Result<u64, Stop> {
        let cards = self.cards.as_ref().context("there is no card")?;
        let counters = cards.counters(self.scenario)?.radio;
        Ok(counters.get(name).copied().unwrap_or(0))
    }

    /// What has happened to the VMs lately, as their cards see it, and then what happens.
    pub fn events(&self) -> Result<mpsc::Receiver<VmEvent>, Stop> {
        let cards = self.cards.as_ref().context("there is no card")?;
        Ok(cards.events()?)
    }

    /// The number, among built-in access points, of that of a VM's network; none where hostapd runs it.
    pub fn built_in_of(&self, vm: usize) -> Option<usize> {
        let network = self.scenario.network_of(self.scenario.vms.get(vm)?)?;
        let points = self.scenario.access_points.iter();
        let mut built_ins = points.filter(|ap| ap.kind != ApKind::Hostapd);
        built_ins.position(|ap| ap.bssid == network.bssid)
    }

    /// Has the gateway of a built-in access point send a series of frames.
    pub fn probe(&self, access_point: usize, probe: Probe) -> Result<(), Stop> {
        let cards = self.cards.as_ref().context("there is no card")?;
        Ok(cards.probe(access_point, probe)?)
    }

    /// What became of such echo requests to a station.
    pub fn echoes(&self, access_point: usize, station: MacAddr) -> Result<Echoes, Stop> {
        let cards = self.cards.as_ref().context("there is no card")?;
        Ok(cards.echoes(access_point, station)?)
    }

    /// What became of the access points' data frames to a station.
    pub fn delivered(&self, station: MacAddr) -> Result<Delivered, Stop> {
        let cards = self.cards.as_ref().context("there is no card")?;
        Ok(cards.delivered(station)?)
    }

    /// Gives an order to the monitor of the guest's QEMU.
    pub fn monitor(&mut self, number: usize, order: &str, arguments: Value) -> Result<Value, Stop> {
        let member = self.members.get_mut(number).context("no such guest")?;
        Ok(member.monitor()?.execute(order, arguments)?)
    }

    /// Whether the guest's QEMU has told of the event `name` since it was last asked for.
    pub fn happened(&mut self, number: usize, name: &str) -> Result<bool, Stop> {
        let member = self.members.get_mut(number).context("no such guest")?;
        Ok(member.monitor()?.happened(name)?)
    }

    /// Where the guest's card is attached.
    pub fn card(&self, number: usize) -> Result<PathBuf, Stop> {
        let cards = self.cards.as_ref().context("no card is served")?;
        Ok(cards.card(number)?.to_owned())
    }

    /// The guest's machine starts anew; what it was asked to do has no end.
    pub fn restarts(&mut self, number: usize) {
        if let Some(member) = self.members.get_mut(number) {
            member.restarts();
        }
        self.jobs.forget(number);
    }

    /// Takes in what happens until `done` holds (true) or `deadline` has come (false).
    pub fn wait_until(
        &mut self,
        deadline: Instant,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Stop> {
        loop {
            if done(self) {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.step(deadline)?;
        }
    }

    /// Takes in one message, or waits a little.
    pub fn step(&mut self, deadline: Instant) -> Result<(), Stop> {
        let due = (self.at_each_turn)(self).unwrap_or(deadline);
        let until = deadline.min(self.next_tick).min(due);
        let wait = until.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(wait) {
            Ok(message) => self.take(message)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow!("nobody can be heard any more").into());
            }
        }
        if Instant::now() >= self.next_tick {
            self.tick()?;
        }
        (self.at_each_turn)(self);
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<(), Stop> {
        match message {
            Message::Signal(signal) => Err(Stop::Interrupted(signal)),
            Message::Asked(ask) => {
                self.work.asks.push_back(ask);
                Ok(())
            }
            Message::Heard {
                guest,
                generation,
                heard,
            } => {
                let current = self
                    .members
                    .get(guest)
                    .is_some_and(|member| member.generation == generation);
                if current && let Heard::Line(line) = heard {
                    self.hear(guest, line.ok());
                }
                Ok(())
            }
        }
    }

    fn hear(&mut self, guest: usize, line: Option<Line>) {
        let Some(member) = self.members.get_mut(guest) else {
            return;
        };
        match line {
            Some(Line::Event(event)) => {
                member.booted.get_or_insert_with(Instant::now);
                if event.name == "unknown-order" {
                    self.jobs.not_understood(guest);
                }
                if member.view.apply(&event) {
                    self.draw();
                }
            }
            Some(Line::Output { id, bytes }) => self.print(guest, id, Stream::Output, bytes),
            Some(Line::Error { id, bytes }) => self.print(guest, id, Stream::Errors, bytes),
            Some(Line::Exit { id, code }) => self.jobs.exit(guest, id, code),
            None => *member.view.stray.entry("malformed".to_owned()).or_default() += 1,
        }
    }

    fn print(&mut self, guest: usize, id: u64, stream: Stream, bytes: Vec<u8>) {
        if self.jobs.output(guest, id, stream, bytes) {
            self.cancel(Job { guest, id });
        }
    }

    /// Ends a command whose result nobody waits for. A guest that does not take even this has other faults.
    fn cancel(&mut self, job: Job) {
        let agent = self.members.get_mut(job.guest).and_then(Member::agent);
        if let Some(agent) = agent {
            let _ = agent.cancel(job.id);
        }
    }

    fn tick(&mut self) -> Result<(), Stop> {
        self.next_tick = Instant::now() + TICK;
        for job in self.jobs.overdue(Instant::now()) {
            self.cancel(job);
        }
        for member in &mut self.members {
            member.still_runs()?;
        }
        self.look()?;
        self.draw();
        Ok(())
    }

    /// Looks at the cards: rates of all VMs, and the state of external ones.
    fn look(&mut self) -> Result<(), Stop> {
        let Some(cards) = &self.cards else {
            return Ok(());
        };
        let (vmacs, built_ins) = cards.look(self.scenario.vms.len())?;
        self.built_ins = built_ins;
        let seconds = self.looked.elapsed().as_secs_f64();
        self.looked = Instant::now();
        for (index, vmac) in vmacs.iter().enumerate() {
            let before = self.vmacs.get(index).and_then(|vmac| vmac.bytes);
            if let (Some(rate), Some(live)) = (
                self.rates.get_mut(index),
                rows::rate(before, vmac.bytes, seconds),
            ) {
                *rate = Some(live);
            }
            let external = self.scenario.vms.get(index).is_some_and(|vm| vm.external);
            if let (true, Some(member)) = (external, self.members.get_mut(index)) {
                rows::show_external(&mut member.view, vmac, self.scenario);
                if vmac.bssid.is_some() {
                    member.tried.get_or_insert_with(Instant::now);
                }
            }
        }
        for line in memory_watch::missing(self.scenario, &mut self.memory, &vmacs) {
            self.progress.say(&line);
        }
        self.vmacs = vmacs;
        Ok(())
    }

    /// Shows how all stand.
    pub fn draw(&mut self) {
        let rows = rows::rows(self.scenario, &self.members, &self.rates);
        self.progress.rows(rows);
    }

    /// Starts a command in a guest.
    pub fn exec(&mut self, guest: usize, command: &str) -> Result<Job, Stop> {
        let member = self.members.get_mut(guest).context("no such guest")?;
        let agent = member.agent().context("the guest does not run")?;
        let id = agent.exec(command)?;
        Ok(self.jobs.began(guest, id))
    }

    /// Starts a command of any text in a guest, whose errors are kept apart.
    pub fn run(&mut self, guest: usize, command: &str) -> Result<Job, Stop> {
        let member = self.members.get_mut(guest).context("no such guest")?;
        let agent = member.agent().context("the guest does not run")?;
        let id = agent.run(command, &[])?;
        Ok(self.jobs.began(guest, id))
    }

    /// Ends a command whose result nobody wants any more.
    pub fn abandon(&mut self, job: Job) {
        self.jobs.take(job);
        self.cancel(job);
    }

    /// Waits for the ends of commands; those that have not ended within `limit` are cancelled.
    pub fn finish(&mut self, jobs: &[Job], limit: Duration) -> Result<Vec<Option<Finished>>, Stop> {
        let deadline = Instant::now() + limit;
        self.wait_until(deadline, |session| {
            jobs.iter().all(|job| session.jobs.ended(*job))
        })?;
        let mut results = Vec::new();
        for job in jobs {
            let result = self.jobs.take(*job);
            let agent = self.members.get_mut(job.guest).and_then(Member::agent);
            if let (None, Some(agent)) = (&result, agent) {
                agent.cancel(job.id)?;
            }
            results.push(result);
        }
        Ok(results)
    }

    /// Runs one command in each of several guests at the same time.
    pub fn exec_all(
        &mut self,
        commands: &[(usize, String)],
        limit: Duration,
    ) -> Result<Vec<Option<Finished>>, Stop> {
        let jobs: Result<Vec<Job>, Stop> = commands
            .iter()
            .map(|(guest, line)| self.exec(*guest, line))
            .collect();
        self.finish(&jobs?, limit)
    }

    /// What all access points see: those of the access-point VM, and the built-in ones.
    pub fn seen_by_access_points(&self) -> impl Iterator<Item = &View> {
        let vm = self.members.get(self.access_points());
        let vm = vm.map(|member| &member.view);
        vm.into_iter().chain([&self.built_ins])
    }

    /// The access points that hold a key for the station `mac`, or need none.
    pub fn hosts_of<'a>(&'a self, mac: &'a str) -> impl Iterator<Item = &'a str> {
        let stations = self.seen_by_access_points().flat_map(|view| &view.stations);
        let own = stations.filter(move |(_, station)| station == mac);
        own.map(|(ap, _)| ap.as_str())
    }

    /// The number of the access-point VM, if there is one.
    pub fn access_points(&self) -> usize {
        self.scenario.vms.len()
    }

    /// The address under which a VM is on the air: an external one's is what its card says, for its user may change it.
    pub fn address(&self, vm: usize) -> Option<String> {
        let known = self.scenario.vms.get(vm)?;
        let own = self.vmacs.get(vm).filter(|_| known.external);
        let own = own.and_then(|vmac| vmac.address.clone());
        Some(own.unwrap_or_else(|| known.mac.to_string()))
    }

    /// The state of a guest.
    pub fn state(&self, guest: usize) -> State {
        self.members
            .get(guest)
            .map_or(State::Stopped, |member| member.view.state)
    }
}

impl Drop for Session<'_> {
    /// All are asked first, so that they end at the same time.
    fn drop(&mut self) {
        self.members.iter_mut().for_each(Member::ask_to_end);
        self.members.iter_mut().for_each(Member::finish);
    }
}
