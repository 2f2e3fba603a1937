//! What figures were measured on.

use std::fs;
use std::time::{Duration, Instant};

/// Facts by name.
pub fn facts() -> Vec<(String, String)> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let build = if cfg!(debug_assertions) {
        "not optimized: use a release build for figures"
    } else {
        "release"
    };
    let gigahertz = ticks_per_second() / 1e9;
    let facts = [
        ("airlane", env!("CARGO_PKG_VERSION").to_owned()),
        ("build", build.to_owned()),
        ("processor", processor()),
        ("cores", cores.to_string()),
        ("time-stamp counter", format!("{gigahertz:.2} GHz")),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("load at the start", line("/proc/loadavg")),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Of the time-stamp counter.
pub fn ticks_per_second() -> f64 {
    let clock = quanta::Clock::new();
    let (began, first) = (Instant::now(), clock.raw());
    std::thread::sleep(Duration::from_millis(50));
    let (span, last) = (began.elapsed(), clock.raw());
    last.saturating_sub(first) as f64 / span.as_secs_f64()
}

fn line(path: &str) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = name.and_then(|rest| rest.split_once(':'));
    name.map_or("unknown".to_owned(), |(_, name)| name.trim().to_owned())
}
