//! Processor time of the daemon's threads, by name, as the kernel counts it: user and system together, in
//! nanoseconds (`Documentation/scheduler/sched-stats.rst`, `/proc/PID/schedstat`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The threads of one daemon.
#[derive(Clone, Debug, Default)]
pub struct Threads(Vec<u32>);

/// What a thread has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Processor time, user and system together.
    pub seconds: f64,
    /// How often it was put on a core.
    pub turns: f64,
}

/// Threads of this process.
pub fn of_process() -> BTreeSet<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return BTreeSet::new();
    };
    let names = tasks.flatten().map(|task| task.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

impl Threads {
    /// Those that have come since `before`.
    pub fn since(before: &BTreeSet<u32>) -> Self {
        Self(of_process().difference(before).copied().collect())
    }

    /// What each has used so far; threads of one kind together.
    pub fn used(&self) -> BTreeMap<String, Used> {
        let mut used = BTreeMap::new();
        // By name only now: a thread that has just started does not bear its own yet.
        for &id in &self.0 {
            let sum: &mut Used = used.entry(name(id)).or_default();
            let one = in_file(&format!("/proc/self/task/{id}/schedstat"));
            sum.seconds += one.seconds;
            sum.turns += one.turns;
        }
        used
    }
}

#[cfg(test)]
impl Threads {
    /// Nice value and timer slack (in nanoseconds) of the threads of this kind.
    pub fn scheduling(&self, kind: &str) -> Vec<(i32, u64)> {
        let chosen = self.0.iter().filter(|&&id| name(id) == kind);
        chosen.map(|&id| scheduling(id)).collect()
    }
}

/// proc_pid_stat(5): the nice value is field 19, the 17th behind the name in parentheses.
#[cfg(test)]
fn scheduling(id: u32) -> (i32, u64) {
    let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let nice = fields.split(' ').nth(16).unwrap().parse().unwrap();
    let slack = fs::read_to_string(format!("/proc/{id}/timerslack_ns")).unwrap();
    (nice, slack.trim().parse().unwrap())
}

/// Without its number: `lane-3` is a lane.
fn name(id: u32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    let kind = name.trim().split('-').next();
    kind.unwrap_or_default().to_owned()
}

/// What the thread that asks has used so far, in seconds.
pub fn of_this_thread() -> f64 {
    in_file("/proc/thread-self/schedstat").seconds
}

/// Nanoseconds on a core, nanoseconds of waiting for one, times put on one.
fn in_file(path: &str) -> Used {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut words = text
        .split_whitespace()
        .map(|word| word.parse().unwrap_or(0.0));
    let nanoseconds: f64 = words.next().unwrap_or(0.0);
    Used {
        seconds: nanoseconds / 1e9,
        turns: words.nth(1).unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_by_its_kind() {
        let before = of_process();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("lane-3".to_owned());
        let (runs, running) = std::sync::mpsc::channel();
        let run = move || {
            runs.send(()).unwrap();
            stopped.recv()
        };
        let thread = thread.spawn(run).unwrap();
        // A thread gives itself its name, before anything else.
        running.recv().unwrap();
        let threads = Threads::since(&before);
        assert!(threads.used().contains_key("lane"), "{threads:?}");
        drop(stop);
        let _ = thread.join();
    }
}
