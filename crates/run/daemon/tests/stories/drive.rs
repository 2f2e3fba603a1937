//! The clock of a story: from one moment at which something happens to the next.

use std::sync::MutexGuard;

use airlane_lane::{Instant, Micros};

use crate::world::World;

/// So many turns in one moment are too many.
const TURNS: usize = 100_000;

/// A world and those in it.
pub trait Drive {
    /// Radio and clock.
    fn world(&self) -> MutexGuard<'_, World>;

    /// Everyone does what there is to do now, once.
    fn turn(&mut self);

    /// When somebody beside the radio has something to do.
    fn due(&self) -> Option<Instant>;

    fn now(&self) -> Instant {
        self.world().now
    }

    /// Lets this much time pass.
    fn advance(&mut self, span: Micros) {
        let end = self.now() + span;
        while self.next(end) {}
    }

    /// Lets time pass until `condition` holds; fails the story after `limit`.
    fn run_until(&mut self, what: &str, limit: Micros, condition: impl Fn(&mut Self) -> bool)
    where
        Self: Sized,
    {
        let end = self.now() + limit;
        self.settle();
        while !condition(self) {
            assert!(self.next(end), "not within {limit}: {what}");
        }
    }

    /// To the next moment at which something happens, `end` at the latest; `false` once there.
    fn next(&mut self, end: Instant) -> bool {
        let due = self.settle();
        let mut world = self.world();
        assert!(due.is_none_or(|due| due > world.now), "wake-ups lie ahead");
        world.now = due.unwrap_or(end).min(end);
        let more = world.now < end;
        drop(world);
        if !more {
            self.settle();
        }
        more
    }

    /// Everything that happens now; when to come back.
    fn settle(&mut self) -> Option<Instant> {
        for _ in 0..TURNS {
            let before = self.world().activity;
            self.turn();
            let world = self.world();
            if world.activity == before {
                return Instant::earlier(world.wake, self.due());
            }
        }
        panic!("the clock stands still at {}", self.now());
    }
}
