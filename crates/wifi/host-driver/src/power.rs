//! One sleep schedule out of many (Virtual WiFi, section 3.3, "power save command").

use airlane_waist::PowerSave;

/// The schedule that suits every one of `schedules`, one per initialized VM; `None` for a VM that has not
/// asked to sleep. The longest time-outs and the shortest sleep win; one VM that does not sleep keeps the
/// radio awake.
pub(crate) fn consolidate(schedules: impl Iterator<Item = Option<PowerSave>>) -> PowerSave {
    let mut merged: Option<PowerSave> = None;
    for schedule in schedules {
        let Some(schedule) = schedule.filter(|schedule| schedule.enabled) else {
            return PowerSave::default();
        };
        merged = Some(merged.map_or(schedule, |merged| merge(merged, schedule)));
    }
    merged.unwrap_or_default()
}

fn merge(a: PowerSave, b: PowerSave) -> PowerSave {
    PowerSave {
        enabled: a.enabled && b.enabled,
        receive_timeout: a.receive_timeout.max(b.receive_timeout),
        transmit_timeout: a.transmit_timeout.max(b.transmit_timeout),
        sleep_interval: a.sleep_interval.min(b.sleep_interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_lane::Micros;

    fn sleep(interval: u32, timeout: u64) -> PowerSave {
        PowerSave {
            enabled: true,
            receive_timeout: Micros(timeout),
            transmit_timeout: Micros(1),
            sleep_interval: interval,
        }
    }

    #[test]
    fn the_shortest_sleep_and_the_longest_wake_win() {
        let merged = consolidate([Some(sleep(5, 10)), Some(sleep(2, 30))].into_iter());
        assert_eq!(merged, sleep(2, 30));
    }

    #[test]
    fn one_that_wants_it_awake_keeps_it_awake() {
        let merged = consolidate([Some(sleep(5, 10)), None].into_iter());
        assert!(!merged.enabled);
        let awake = PowerSave::default();
        assert!(!consolidate([Some(awake), Some(sleep(5, 10))].into_iter()).enabled);
    }
}
