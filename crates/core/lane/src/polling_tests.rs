use super::*;

/// A thread that yields for `step` between looks, and its partner's work, this far apart.
fn looks(poller: &mut PollGovernor, work: &[u64], step: u64) -> u64 {
    let (mut now, mut looks) = (0, 0);
    for &at in work {
        poller.found(Instant(now));
        loop {
            looks += 1;
            now = match poller.again(Instant(now), true) {
                true => now + step,
                false => at.max(now),
            };
            if now >= at {
                break;
            }
        }
    }
    looks
}

fn every(gap: u64, count: u64) -> Vec<u64> {
    (1..=count).map(|number| number * gap).collect()
}

fn adaptive() -> PollGovernor {
    PollGovernor::new(Polling::ADAPTIVE)
}

#[test]
fn off_sleeps_at_the_first_empty_look() {
    let mut poller = PollGovernor::new(Polling::Off);
    assert!(!poller.again(Instant(0), true));
}

#[test]
fn always_never_sleeps() {
    let mut poller = PollGovernor::new(Polling::Always);
    assert!((0..1_000).all(|at| poller.again(Instant(at * 100), false)));
}

#[test]
fn work_that_comes_soon_is_waited_for_without_sleep() {
    let mut poller = adaptive();
    looks(&mut poller, &every(20, 1_000), 1);
    let counters = poller.counters();
    assert!(counters.sleeps < 10, "{counters:?}");
    assert!(counters.polls_paid > 900, "{counters:?}");
}

#[test]
fn work_that_comes_late_is_not_looked_for() {
    let mut poller = adaptive();
    looks(&mut poller, &every(500, 1_000), 1);
    let counters = poller.counters();
    assert_eq!(counters.polls_empty, 0, "{counters:?}");
}

#[test]
fn without_work_in_flight_it_sleeps() {
    let mut poller = adaptive();
    looks(&mut poller, &every(20, 100), 1);
    assert!(!poller.again(Instant(2_001), false));
}

#[test]
fn who_gets_the_processor_back_late_stops_looking() {
    let mut poller = adaptive();
    looks(&mut poller, &every(20, 100), 1);
    let before = poller.counters();
    looks(&mut poller, &every(3_000, 100), 1_000);
    let after = poller.counters();
    assert!(after.polls_empty - before.polls_empty <= 2, "{after:?}");
}

#[test]
fn a_setting_is_read_as_it_is_written() {
    for text in ["off", "always", "adaptive", "adaptive:20us"] {
        let setting: Polling = text.parse().unwrap();
        assert_eq!(setting.to_string(), text);
    }
    for text in [
        "",
        "on",
        "adaptive:",
        "adaptive:0us",
        "adaptive:10001us",
        "adaptive:5",
    ] {
        assert_eq!(text.parse::<Polling>(), Err(PollingError(text.to_owned())));
    }
}
