//! A VM of the user's in the life of a run: it comes, goes and comes again at the same socket, and the run does not pull its
//! card out. The VMM is played by a card behind its socket; nothing is booted.
#![expect(
    clippy::disallowed_methods,
    reason = "time-outs of real processes need the real clock"
)]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use airlane_socket_card::SocketCard;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(60);

const SCENARIO: &str = "[[access_point]]\nname='home'\nchannel=36\naddress='10.0.0.1/24'\nkind='built-in'\n\
                        [[vm]]\nname='yours'\nexternal=true\n[[check]]\nkind='associated'\n";

/// Nothing of it is there: an external VM needs none of it.
const SETUP: &str = r#"{
    "qemu": {"argv": ["/opt/ld.so", "/opt/qemu"], "version": "11.1.0"}, "accel": "tcg", "cmdline": "quiet",
    "kernels": [{"version": "6.1", "release": "6.1.0", "image": "/opt/61", "bzimage": "/opt/61z", "modules": "/opt/m"}],
    "images": {"base": "/opt/base.cpio"}
}"#;

/// A run that waits for its VM.
struct Run {
    folder: TempDir,
    child: Child,
}

impl Run {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/airlane");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join("setup.json"), SETUP).unwrap();
        std::fs::write(folder.path().join("own.toml"), SCENARIO).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_airlane"))
            .args(["run", "own.toml", "--out", "out", "--run-dir", "cards"])
            .args(options)
            .current_dir(folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("airlane starts");
        let run = Self { folder, child };
        run.says("waiting for your VM `yours`", 1);
        run
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("cards/yours.sock")
    }

    fn attach(&self) -> SocketCard {
        SocketCard::attach(&self.socket()).expect("a card is served")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Waits until it has said `text` so many times.
    fn says(&self, text: &str, times: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.log().matches(text).count() < times {
            assert!(
                Instant::now() < deadline,
                "not said: {text}\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn interrupt(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("it runs");
    }

    fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.folder.path().join("out/report.json"));
        serde_json::from_str(&text.expect("a report is there")).unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_vmm_that_restarts_attaches_again_at_the_same_socket() {
    let run = Run::start(&[]);
    let first = run.attach();
    run.says("yours: attached", 1);
    drop(first);
    run.says("yours: waiting for it", 2);
    let _second = run.attach();
    run.says("yours: attached", 2);
}

#[test]
fn after_ctrl_c_the_run_waits_until_the_vm_has_gone() {
    let run = Run::start(&[]);
    let card = run.attach();
    run.says("yours: attached", 1);
    let report = run.report();
    assert_eq!(
        (&report["running"], &report["passed"]),
        (&true.into(), &false.into())
    );
    run.interrupt();
    run.says("shut down `yours` first", 1);
    assert!(!run.log().contains("own: FAILED"), "it goes on");
    drop(card);
    run.says("own: FAILED", 1);
    assert_eq!(run.report().get("running"), None);
    assert_eq!(run.exit_code(), Some(130));
}

#[test]
fn a_second_ctrl_c_ends_the_run_while_the_vm_is_there() {
    let run = Run::start(&[]);
    let _card = run.attach();
    run.says("yours: attached", 1);
    run.interrupt();
    run.says("shut down `yours` first", 1);
    run.interrupt();
    assert_eq!(run.exit_code(), Some(130));
}

#[test]
fn without_holding_ctrl_c_waits_for_nobody() {
    let run = Run::start(&["--no-hold"]);
    let _card = run.attach();
    run.says("yours: attached", 1);
    run.interrupt();
    run.says("own: FAILED", 1);
    assert!(!run.log().contains("shut down"), "{}", run.log());
}

#[test]
fn a_vmm_without_shared_memory_is_told_what_its_command_lacks() {
    let run = Run::start(&[]);
    let _card = SocketCard::attach_without_shared_memory(&run.socket()).unwrap();
    run.says("`yours` has attached without shared memory", 1);
    run.says("-object memory-backend-memfd,id=mem,size=256M,share=on", 2);
}
