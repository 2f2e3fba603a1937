//! How fast an emulated guest's time-stamp counter runs. QEMU's emulation shows the host's; a guest that finds
//! out by itself measures wrongly when it is not running all the while, and then counts time many times too fast.

use std::time::{Duration, Instant};

use airlane_transport::time_stamp_counter;

/// How long is measured.
const SPAN: Duration = Duration::from_millis(30);
/// Clock and counter are read this close together, or again.
const CLOSE: Duration = Duration::from_micros(20);
/// How often that is tried.
const TRIES: usize = 1_000;

/// Kernel argument that says the rate, in kHz (`Documentation/admin-guide/kernel-parameters.txt`); none where
/// the host has no such counter.
pub fn kernel_argument() -> Option<String> {
    Some(format!("tsc_early_khz={}", kilohertz()?))
}

fn kilohertz() -> Option<u64> {
    let (began, first) = read()?;
    std::thread::sleep(SPAN);
    let (ended, last) = read()?;
    let microseconds = u64::try_from(ended.duration_since(began).as_micros()).ok()?;
    last.checked_sub(first)?
        .checked_mul(1_000)?
        .checked_div(microseconds)
}

/// Clock and counter at the same time.
fn read() -> Option<(Instant, u64)> {
    (0..TRIES).find_map(|_| {
        let before = Instant::now();
        let count = time_stamp_counter()?;
        (before.elapsed() < CLOSE).then_some((before, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_runs_at_some_rate() {
        let rate = kilohertz();
        assert!(rate.is_none_or(|rate| rate > 0), "{rate:?}");
        assert_eq!(rate.is_some(), time_stamp_counter().is_some());
    }
}
