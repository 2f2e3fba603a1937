//! The unit in which beacons count time.

use airlane_lane::Micros;

/// A span of `count` time units of 1,024 µs (IEEE 802.11-2020 3.1, "time unit").
pub const fn time_units(count: u64) -> Micros {
    Micros(count.saturating_mul(1_024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_time_units_are_the_usual_beacon_interval_of_102_4_ms() {
        assert_eq!(time_units(100), Micros(102_400));
    }
}
