//! One guest of a run: its process, the line to its agent, and what is known of it.

use super::folder::{Output, Private};
use super::message::{Message, Sender};
use super::stop::Stop;
use airlane_guests::agent::Agent;
use airlane_guests::boots::Boots;
use airlane_guests::console;
use airlane_guests::monitor::Monitor;
use airlane_guests::overlay::{File, OwnFile, write_initramfs};
use airlane_guests::process::Process;
use airlane_guests::qemu::{self, Device, Machine};
use airlane_guests::setup::Setup;
use airlane_guests::state::View;
use airlane_guests::uml;
use airlane_scenario::Own;
use anyhow::{Context, Result};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// How many of a console's last lines are shown.
const TAIL: usize = 15;

/// What is needed to start a guest, again and again.
pub struct Recipe {
    /// Its memory, in MiB.
    pub memory: u64,
    /// What it boots, in what.
    pub boots: Boots,
    /// Files that its root file system has beyond those of the images.
    pub files: Vec<File>,
    /// What it is attached to.
    pub device: Device,
    /// What its user brings.
    pub own: Own,
}

impl Recipe {
    fn kernel(&self) -> &Path {
        let own = self.own.kernel.as_deref();
        own.unwrap_or_else(|| self.boots.image())
    }

    /// What is unpacked before its own files. The modules that are set up are of no use to another kernel.
    fn archives<'a>(&'a self, setup: &'a Setup) -> Vec<&'a Path> {
        let modules = self.own.kernel.is_none().then(|| self.boots.modules());
        let base = std::iter::once(setup.images.base.as_path());
        let own = self.own.initrd.as_deref();
        base.chain(modules).chain(own).collect()
    }

    fn own_files(&self) -> Result<Vec<OwnFile>> {
        let read = |file: &airlane_scenario::OwnFile| {
            let content = std::fs::read(&file.from);
            let content =
                content.with_context(|| format!("cannot read {}", file.from.display()))?;
            Ok(((file.to.clone(), content), file.executable))
        };
        self.own.files.iter().map(read).collect()
    }
}

/// A guest in its place in the run; a killed one is followed by the next generation.
pub struct Member {
    /// How it is started; none for an external VM.
    pub recipe: Option<Recipe>,
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub view: View,
    /// How many guests stood in this place before.
    pub generation: u32,
    /// When it was started.
    pub started: Instant,
    /// When its agent first spoke.
    pub booted: Option<Instant>,
    /// When an external VM was first seen to have chosen an access point.
    pub tried: Option<Instant>,
    /// All console logs, the latest last.
    pub consoles: Vec<PathBuf>,
    running: Option<(Process, Agent)>,
    /// Where the present QEMU listens for orders.
    orders: PathBuf,
    monitor: Option<Monitor>,
}

impl Member {
    /// A guest that is not started yet.
    pub fn new(name: &str, recipe: Option<Recipe>) -> Self {
        Self {
            recipe,
            name: name.to_owned(),
            view: View::default(),
            generation: 0,
            started: Instant::now(),
            booted: None,
            tried: None,
            consoles: Vec::new(),
            running: None,
            orders: PathBuf::new(),
            monitor: None,
        }
    }

    /// Starts it; what its agent says comes out of `sender` under its number.
    pub fn start(
        &mut self,
        number: usize,
        setup: &Setup,
        private: &Private,
        output: &Output,
        sender: &Sender,
    ) -> Result<()> {
        let Some(recipe) = &self.recipe else {
            return Ok(());
        };
        let (generation, sender) = (self.generation, sender.clone());
        let unique = |ending: &str| private.file(&format!("vm{number}-{generation}.{ending}"));
        let (initramfs, socket, orders) = (unique("cpio"), unique("agent"), unique("qmp"));
        write_initramfs(
            &initramfs,
            &recipe.archives(setup),
            &recipe.files,
            &recipe.own_files()?,
        )?;
        let console = output.console(&self.name, generation);
        let _ = std::fs::remove_file(&console);
        let machine = Machine {
            name: &self.name,
            memory: recipe.memory,
            kernel: recipe.kernel(),
            initramfs: &initramfs,
            append: recipe.own.append.as_deref().unwrap_or_default(),
            console: &console,
            agent: &socket,
            monitor: &orders,
            device: &recipe.device,
        };
        let agent = Agent::listen(&socket, move |heard| {
            // Nobody listens any more once the run has ended.
            let _ = sender.send(Message::Heard {
                guest: number,
                generation,
                heard,
            });
        })?;
        let process = match recipe.boots {
            Boots::Qemu(_) => Process::spawn(&qemu::command(setup, &machine), unique("qemu"))?,
            Boots::Uml(_) => {
                let line = Stdio::from(OwnedFd::from(UnixStream::connect(&socket)?));
                let words = uml::command(&machine, private.path());
                Process::spawn_reading(&words, line, console.clone())?
            }
        };
        if matches!(recipe.device, Device::Card(_)) {
            // The access points go first: one that answers a probe request late, as it waits for a processor, is not heard.
            process.lower_priority();
        }
        self.running = Some((process, agent));
        self.orders = orders;
        self.consoles.push(console);
        self.restarts();
        Ok(())
    }

    /// True while it runs.
    pub fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// The line to its agent.
    pub fn agent(&mut self) -> Option<&mut Agent> {
        self.running.as_mut().map(|(_, agent)| agent)
    }

    /// The monitor of its QEMU, connected at the first need.
    pub fn monitor(&mut self) -> Result<&mut Monitor> {
        let connected = match self.monitor.take() {
            Some(monitor) => monitor,
            None => Monitor::connect(&self.orders)?,
        };
        Ok(self.monitor.insert(connected))
    }

    /// Its machine starts anew: what is known of the old one holds no more.
    pub fn restarts(&mut self) {
        self.view = View::booting();
        self.started = Instant::now();
        self.booted = None;
    }

    /// Ends it as a crash would; the next one in its place is another generation.
    pub fn kill(&mut self) {
        if let Some((mut process, _)) = self.running.take() {
            process.kill();
        }
        self.monitor = None;
        self.view.stopped();
        self.generation += 1;
    }

    /// Asks it to end, without waiting.
    pub fn ask_to_end(&mut self) {
        if let Some((process, _)) = &mut self.running {
            process.ask_to_end();
        }
    }

    /// Waits for its end.
    pub fn finish(&mut self) {
        if let Some((mut process, _)) = self.running.take() {
            process.finish();
        }
    }

    /// An error when its process has ended though nobody asked it to.
    pub fn still_runs(&mut self) -> Result<(), Stop> {
        let Some((process, _)) = &mut self.running else {
            return Ok(());
        };
        let Some(status) = process.ended() else {
            return Ok(());
        };
        let said = console::read(process.messages());
        let said = console::tail(&said, 5).join("\n  it said: ");
        let said = if said.is_empty() {
            said
        } else {
            format!("\n  it said: {said}")
        };
        Err(self.trouble(&format!("has stopped ({status}){said}")))
    }

    /// This guest says that it cannot go on.
    pub fn gave_up(&self) -> Stop {
        let reason = self.view.reason.as_deref().unwrap_or("no reason given");
        // What a guest gives as its reason may be the last of many lines, which follows from another one.
        let why = self.telling().unwrap_or_else(|| reason.to_owned());
        self.trouble(&format!("cannot go on: {why}"))
    }

    /// This guest's trouble: the line of its console that tells why, then the last ones.
    pub fn trouble(&self, what: &str) -> Stop {
        let log = self.consoles.last().map(|path| console::read(path));
        let tail = |log: String| {
            let lines = console::tail(&log, TAIL).into_iter();
            lines.map(printable).collect()
        };
        let telling = self.telling().filter(|line| !what.contains(line));
        let telling =
            telling.map_or_else(String::new, |line| format!("\n  its console says: {line}"));
        Stop::Guest {
            message: format!("the VM `{}` {what}{telling}", self.name),
            console: log.map(tail),
        }
    }

    /// The line of its console that tells most about its trouble, if one does.
    fn telling(&self) -> Option<String> {
        let log = console::read(self.consoles.last()?);
        console::telling(&log).map(printable)
    }
}

/// A guest's text must not move the cursor of the user's terminal.
fn printable(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a VM whose console has these lines, and which gave this reason.
    fn told(log: &str, reason: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.log");
        std::fs::write(&path, log).unwrap();
        let mut member = Member::new("it", None);
        member.consoles.push(path);
        member.view.reason = Some(reason.to_owned());
        member.gave_up().to_string()
    }

    #[test]
    fn the_line_that_matters_comes_first_and_the_last_ones_after_it() {
        let log = "fine\n\
                   hostapd0: Channel 52 (primary) not allowed for AP mode, flags: 0x79 RADAR\n\
                   hostapd0: Could not select hw_mode and channel. (-3)\n\
                   hostapd0: wlan0: AP-DISABLED\n";
        let told = told(log, "ap-failed: wlan0: AP-DISABLED");
        let (first, rest) = told.split_once('\n').unwrap();
        assert_eq!(
            first,
            "the VM `it` cannot go on: hostapd0: Channel 52 (primary) not allowed for AP mode, flags: 0x79 RADAR"
        );
        assert!(
            rest.starts_with("  the last lines of its console:\n  | fine\n"),
            "{rest}"
        );
    }

    #[test]
    fn a_console_that_tells_nothing_leaves_the_guest_s_own_reason() {
        let told = told("fine\n", "no-card");
        assert!(
            told.starts_with("the VM `it` cannot go on: no-card\n  the last lines"),
            "{told}"
        );
    }
}
