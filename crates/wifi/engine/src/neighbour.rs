//! Somebody else on the medium, of whom the daemon knows nothing: the other end of a load. Not an access
//! point that VMs could find: see [`super::built_in`] for those.

use airlane_air::{Air, AirEvent};
use airlane_lane::Micros;

/// A station of our air with a behaviour of its own. No I/O, no clock.
pub trait Neighbour: Send {
    /// Puts its radio on the air.
    fn join(&mut self, now: Micros, air: &mut Air);
    /// What the air says; false when it was not to this one.
    fn air_event(&mut self, now: Micros, event: &AirEvent) -> bool;
    /// Does what is due, and says when to come back.
    fn step(&mut self, now: Micros, air: &mut Air) -> Option<Micros>;
}

/// Lets all do what is due, and says when to come back.
pub fn step_neighbours(
    neighbours: &mut [Box<dyn Neighbour>],
    now: Micros,
    air: &mut Air,
) -> Option<Micros> {
    let due = neighbours
        .iter_mut()
        .map(|neighbour| neighbour.step(now, air));
    due.fold(None, Micros::earlier)
}

/// Tells the one whom it concerns; false when there is none.
pub fn hand_to_neighbours(
    neighbours: &mut [Box<dyn Neighbour>],
    now: Micros,
    event: &AirEvent,
) -> bool {
    let mut all = neighbours.iter_mut();
    all.any(|neighbour| neighbour.air_event(now, event))
}
