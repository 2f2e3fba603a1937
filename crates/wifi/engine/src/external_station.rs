//! A station on the medium that somebody else plays, such as the other end of a benchmark's load. Access points
//! that VMs can find are [`super::built_in`]'s.

use airlane_air::{Air, AirEvent};
use airlane_lane::Instant;

/// A station of our air with a behaviour of its own. No I/O, no clock.
pub trait ExternalStation: Send {
    /// Puts its radio on the air.
    fn join(&mut self, now: Instant, air: &mut Air);
    /// Takes an event of the medium; false when it is another radio's.
    fn air_event(&mut self, now: Instant, event: &AirEvent) -> bool;
    /// Does what is due, and says when to come back.
    fn step(&mut self, now: Instant, air: &mut Air) -> Option<Instant>;
}

/// Lets all stations do what is due, and says when to come back.
pub fn step_external(
    stations: &mut [Box<dyn ExternalStation>],
    now: Instant,
    air: &mut Air,
) -> Option<Instant> {
    let due = stations.iter_mut().map(|station| station.step(now, air));
    due.fold(None, Instant::earlier)
}

/// Hands an event to the station whose radio it is; false when there is none.
pub fn hand_to_external(
    stations: &mut [Box<dyn ExternalStation>],
    now: Instant,
    event: &AirEvent,
) -> bool {
    let mut all = stations.iter_mut();
    all.any(|station| station.air_event(now, event))
}
