//! What 50 front ends in turn leave behind in this process: nothing. In a program of its own, since it counts descriptors.

mod front_end;

use std::sync::Arc;
use std::time::Duration;

use airlane_lane::ring::{NoWake, ring};
use airlane_transport::{EventFd, EventWake, serve_hwsim};
use front_end::{Guest, Queue, connect};

const ROUNDS: u64 = 50;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits up to two seconds for something that another thread does.
fn eventually(what: impl Fn() -> bool) -> bool {
    for _ in 0..400 {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_front_end_that_has_gone_leaves_no_descriptor_behind() {
    let path = std::env::temp_dir().join(format!("airlane-reconnect-{}", std::process::id()));
    let wake = EventFd::new(libc::EFD_NONBLOCK).unwrap();
    let (to_radio, _from) = ring(64, Arc::new(NoWake));
    let (_to, from_radio) = ring(64, Arc::new(EventWake(wake.try_clone().unwrap())));
    let server = serve_hwsim(&path, to_radio, from_radio, wake).unwrap();
    let before = descriptors();
    for round in 1..=ROUNDS {
        let guest = Guest::new();
        let (tx, rx) = (Queue::new(0x1_0000), Queue::new(0x8_0000));
        let front = connect(&path, &guest, [&tx, &rx]);
        assert!(eventually(|| server.counters().connections == round));
        drop(front);
    }
    assert!(
        eventually(|| descriptors() <= before),
        "{before} descriptors before, {} after {ROUNDS} front ends",
        descriptors()
    );
}
