//! Somebody else on the medium, of whom the daemon knows nothing: the other end of a load. Not an access
//! point that VMs could find: see [`super::built_in`] for those.

use airlane_air::{Air, AirEvent};
use airlane_lane::Instant;

/// A station of our air with a behaviour of its own. No I/O, no clock.
pub trait Neighbour: Send {
    /// Puts its radio on the air.
    fn join(&mut self, now: Instant, air: &mut Air);
    /// What the air says; false when it was not to this one.
    fn air_event(&mut self, now: Instant, event: &AirEvent) -> bool;
    /// Does what is due, and says when to come back.
    fn step(&mut self, now: Instant, air: &mut Air) -> Option<Instant>;
}

/// Lets all do what is due, and says when to come back.
pub fn step_neighbours(
    neighbours: &mut [Box<dyn Neighbour>],
    now: Instant,
    air: &mut Air,
) -> Option<Instant> {
    let due = neighbours
        .iter_mut()
        .map(|neighbour| neighbour.step(now, air));
    due.fold(None, Instant::earlier)
}

/// Tells the one whom it concerns; false when there is none.
pub fn hand_to_neighbours(
    neighbours: &mut [Box<dyn Neighbour>],
    now: Instant,
    event: &AirEvent,
) -> bool {
    let mut all = neighbours.iter_mut();
    all.any(|neighbour| neighbour.air_event(now, event))
}
