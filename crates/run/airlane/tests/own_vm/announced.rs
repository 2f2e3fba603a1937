//! A run of airlane, and what it announces about the VM that its user starts.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::host::succeed;

/// How long a line is waited for.
const PATIENCE: Duration = Duration::from_secs(300);
/// Where libvirt's VMs find the card, and who they are: from the announcement of a run without them.
const OTHER_USER: [&str; 4] = ["--run-dir", "/run/airlane", "--run-group", "libvirt-qemu"];

/// The run, going on.
pub struct Run {
    child: Child,
    lines: Receiver<String>,
    /// All lines so far.
    heard: Vec<String>,
    out: std::path::PathBuf,
}

impl Run {
    /// Starts it, and waits for its announcement.
    pub fn start(scenario: &Path, out: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_airlane"))
            .arg("run")
            .arg(scenario)
            .args(OTHER_USER)
            .arg("--out")
            .arg(out)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("airlane starts");
        let (send, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("a pipe")),
            Box::new(child.stderr.take().expect("a pipe")),
        ];
        for stream in streams {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    println!("          | {line}");
                    let _ = send.send(line);
                }
            });
        }
        let mut run = Self {
            child,
            lines,
            heard: Vec::new(),
            out: out.to_owned(),
        };
        run.says("inside it, join the network");
        run.says("AppArmor");
        run
    }

    /// Waits until a line holds this text, unless one has already.
    pub fn says(&mut self, text: &str) {
        let begin = Instant::now();
        while !self.heard.iter().any(|line| line.contains(text)) {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.heard.push(line),
                Err(error) => panic!("airlane never said {text:?}: {error}"),
            }
        }
    }

    /// The file with the libvirt domain.
    pub fn domain(&self) -> String {
        self.after("virsh -c qemu:///system define ")
    }

    /// Does what must be done once: the commands that are announced, but those for AppArmor, which confines nothing here.
    pub fn follow_commands(&self) {
        let commands = self.heard.iter().map(|line| line.trim());
        for command in commands.filter(|line| line.contains("sudo ") && !line.contains("apparmor"))
        {
            succeed(Command::new("sh").args(["-ec", command]));
        }
    }

    /// The microcode that the announcement names, by the command that it names.
    pub fn firmware(&self) -> Vec<u8> {
        let command = self.after("`airlane firmware ");
        let words = command.split('`').next().unwrap_or_default();
        let folder = self.out.join("firmware");
        succeed(
            Command::new(env!("CARGO_BIN_EXE_airlane"))
                .arg("firmware")
                .args(words.split(' '))
                .arg("--out")
                .arg(&folder),
        );
        std::fs::read(folder.join("iwlwifi-5000-5.ucode")).expect("the firmware is written")
    }

    /// Ctrl-C, after the VM has gone: the checks have passed, and the report says so.
    pub fn ends_well(mut self, patience: Duration) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("airlane runs");
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(begin.elapsed() < patience, "airlane does not end");
            std::thread::sleep(Duration::from_millis(100));
        };
        assert_eq!(status.code(), Some(0));
        let report = std::fs::read_to_string(self.out.join("report.json")).expect("a report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["passed"], true, "{report:#}");
    }

    fn after(&self, text: &str) -> String {
        let found = self.heard.iter().find_map(|line| line.split_once(text));
        let (_, rest) = found.unwrap_or_else(|| panic!("airlane never said {text:?}"));
        rest.trim().to_owned()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
