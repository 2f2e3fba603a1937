//! A guest's QEMU process: started in a process group of its own (so that Ctrl-C reaches only us), and
//! never left behind: dropping the handle ends it.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, getpriority_process, kill_process_group, setpriority_process};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What lower priority adds to a nice value: such a process gets a third of what an ordinary one gets.
const LOWER: i32 = 5;
/// How long a process that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// A running process, or one that has ended and not been seen yet.
pub struct Process {
    child: Child,
    messages: PathBuf,
}

impl Process {
    /// Starts `words`; what it prints goes to the file `messages`. Call it from the thread that
    /// lives as long as the program: QEMU watches its parent *thread* (`man 2 prctl`, PR_SET_PDEATHSIG).
    pub fn spawn(words: &[String], messages: PathBuf) -> Result<Self> {
        Self::spawn_reading(words, Stdio::null(), messages)
    }

    /// Like [`Process::spawn`], with a standard input.
    pub fn spawn_reading(words: &[String], input: Stdio, messages: PathBuf) -> Result<Self> {
        let (program, arguments) = words.split_first().context("no program to start")?;
        let output = File::create(&messages)
            .with_context(|| format!("cannot create {}", messages.display()))?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(input)
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| {
                format!("cannot start {program}\n  remedy: {}", crate::setup::REMEDY)
            })?;
        Ok(Self { child, messages })
    }

    /// Lets others run first when there are too few processors. To be called at once: threads that it has already stay as they are.
    pub fn lower_priority(&self) {
        // A process that has ended has no priority.
        if let Ok(nice) = getpriority_process(self.pid()) {
            let _ = setpriority_process(self.pid(), nice + LOWER);
        }
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The file with what it has printed.
    pub fn messages(&self) -> &Path {
        &self.messages
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Asks it to end.
    pub fn ask_to_end(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Waits for the end that was asked for, then kills.
    pub fn finish(&mut self) {
        let deadline = Instant::now() + GRACE;
        while self.ended().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.kill();
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// A process that has been waited for has no number any more, and another one may have it.
    fn signal(&mut self, signal: Signal) {
        if self.ended().is_some() {
            return;
        }
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.ask_to_end();
            self.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (tempfile::TempDir, Process) {
        let folder = tempfile::tempdir().unwrap();
        let words = ["sh", "-c", script].map(str::to_owned);
        let process = Process::spawn(&words, folder.path().join("messages")).unwrap();
        (folder, process)
    }

    #[test]
    fn a_process_of_lower_priority_has_a_higher_nice_value() {
        let (_folder, process) = shell("sleep 10");
        process.lower_priority();
        let own = getpriority_process(None).unwrap();
        let nice = getpriority_process(process.pid()).unwrap();
        assert_eq!(nice, (own + LOWER).min(19));
    }

    fn exists(id: u32) -> bool {
        Path::new(&format!("/proc/{id}")).exists()
    }

    #[test]
    fn a_dropped_process_is_gone_even_when_it_ignores_the_request() {
        let (_folder, process) = shell("trap '' TERM; while :; do sleep 0.1; done");
        let id = process.id();
        assert!(exists(id));
        drop(process);
        assert!(!exists(id));
    }

    #[test]
    fn what_it_prints_is_kept() {
        let (_folder, mut process) = shell("echo out; echo err >&2");
        process.finish();
        let text = std::fs::read_to_string(process.messages()).unwrap();
        assert_eq!(text, "out\nerr\n");
        assert!(process.ended().is_some());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let words = ["/nonexistent/qemu".to_owned()];
        let error = Process::spawn(&words, folder.path().join("messages"))
            .err()
            .unwrap();
        assert!(error.to_string().contains("make setup"), "{error}");
    }
}
