//! Runs as a user calls them whose one VM is external and never comes: exit codes, the report's formats, and several runs at a time.
//! No guest is needed, and nothing is set up but what the manifest says.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A set-up whose files nobody looks at.
const SETUP: &str = r#"{
    "qemu": {"argv": ["/nonexistent/qemu"], "version": "11.1.0"}, "accel": "kvm", "cmdline": "quiet",
    "kernels": [{"version": "6.1", "release": "6.1.0", "image": "/x", "bzimage": "/x", "modules": "/x"}],
    "images": {"base": "/x"}
}"#;

/// A folder with a set-up and a scenario, for which runs of other tests are not taken.
struct Place {
    folder: tempfile::TempDir,
    name: String,
}

impl Place {
    fn new(name: &str, external_timeout: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/airlane");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join("setup.json"), SETUP).unwrap();
        let name = format!("{name}-{}", std::process::id());
        let text = format!(
            "[run]\nexternal_timeout = {external_timeout}\n[[access_point]]\nname = 'a'\nkind = 'built-in'\nchannel = 52\n\
             address = '10.0.0.1/24'\n[[vm]]\nname = 'it'\nexternal = true\n[[check]]\nkind = 'associated'\n"
        );
        std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        Self { folder, name }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn scenario(&self) -> String {
        format!("{}.toml", self.name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airlane"));
        command.args(words).current_dir(self.folder.path());
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command.env("TMPDIR", self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    fn airlane(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("airlane starts")
    }

    /// A run that goes on, and answers under `name`.
    fn started(&self, out: &str, name: &str) -> Run {
        let scenario = self.scenario();
        let mut command = self.command(&["run", &scenario, "--out", out]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = Run(Some(child.spawn().expect("airlane starts")));
        while !self.airlane(&["show", "--run", name]).status.success() {
            let child = run.0.as_mut().unwrap();
            assert_eq!(child.try_wait().unwrap(), None, "the run has ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        run
    }
}

/// A run; none is left behind.
struct Run(Option<Child>);

impl Run {
    fn interrupted(mut self) -> Output {
        let child = self.0.take().unwrap();
        let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_whose_vm_does_not_come_ends_with_1_and_every_format_says_so() {
    let place = Place::new("absent", 1);
    let scenario = place.scenario();
    let words = [
        "run",
        &scenario,
        "--out",
        "out",
        "--junit",
        "ci/junit.xml",
        "--tap",
        "ci/lab.tap",
    ];
    let output = place.airlane(&words);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let last = said.lines().last().unwrap();
    let name = &place.name;
    let expected = format!("{name}: FAILED before its end, 0 of 1 check passed, 1 not made, in ");
    assert!(last.starts_with(&expected), "{said}");
    let report: Value = serde_json::from_str(&read(&place.path("out/report.json"))).unwrap();
    let check = &report["checks"][0];
    assert_eq!(check["made"], false, "{report:#}");
    assert_eq!(check["passed"], false, "{report:#}");
    let junit = read(&place.path("ci/junit.xml"));
    assert!(
        junit.contains("tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\""),
        "{junit}"
    );
    let tap = read(&place.path("ci/lab.tap"));
    assert!(
        tap.contains(&format!("\nnot ok 2 - {name}: run\n")),
        "{tap}"
    );
}

#[test]
fn a_run_that_is_refused_ends_with_2_and_starts_nothing() {
    let place = Place::new("refused", 1);
    let file = place.path(&place.scenario());
    std::fs::write(
        &file,
        read(&file)
            .replace("[run]", "[run]\nkernel = '5.10'")
            .replace("external = true", ""),
    )
    .unwrap();
    for command in ["check", "run"] {
        let output = place.airlane(&[command, &place.scenario()]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {error}");
        let expected = format!(
            "airlane: {}:2: there is no guest kernel 5.10\n",
            place.scenario()
        );
        assert!(error.starts_with(&expected), "{command}: {error}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_its_report_is_written() {
    let place = Place::new("stopped", 600);
    let run = place.started("out", &place.name);
    let output = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&read(&place.path("out/report.json"))).unwrap();
    assert_eq!(report["passed"], false);
    assert_eq!(report["error"], "stopped by signal 2");
}

#[test]
fn a_second_run_has_a_number_and_may_not_write_where_the_first_one_does() {
    let place = Place::new("twice", 600);
    let first = place.started("out", &place.name);
    let refused = place.airlane(&["run", &place.scenario(), "--out", "out"]);
    assert_eq!(refused.status.code(), Some(1));
    let error = text(&refused.stderr);
    assert!(
        error.starts_with("airlane: another run writes into "),
        "{error}"
    );
    assert!(error.contains("--out"), "{error}");
    assert!(
        place.path("out/air.pcapng").exists(),
        "the first run's capture stays"
    );
    let number = format!("{}#2", place.name);
    let second = place.started("other", &number);
    let shown = |name: &str| -> Value {
        let output = place.airlane(&["show", "--json", "--run", name]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(shown(&number)["run"], number);
    assert_eq!(shown(&place.name)["run"], place.name);
    let said = text(&second.interrupted().stdout);
    assert!(said.contains(&format!("this one is {number} ")), "{said}");
    first.interrupted();
}
