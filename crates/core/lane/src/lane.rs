//! A [`Lane`]: what lies between one virtual machine's device and the engine that serves it.

use std::sync::Arc;

use crate::ring::{Receiver, Sender, Wake, ring};

/// Requests one way and events the other, each over a ring that wakes its reader only when that sleeps.
///
/// It is made whole and then divided between two threads.
///
/// ```
/// use airlane_lane::Lane;
/// use airlane_lane::ring::NoWake;
/// use std::sync::Arc;
///
/// let lane: Lane<u32, String> = Lane::new(64, Arc::new(NoWake), Arc::new(NoWake));
/// let (mut device, mut engine) = (lane.device, lane.engine);
/// device.requests.push(7).expect("there is room for 64");
/// while let Some(number) = engine.requests.pop() {
///     engine.events.push(format!("{number} it is")).expect("there is room");
/// }
/// assert_eq!(device.events.pop().as_deref(), Some("7 it is"));
/// assert!(engine.requests.announce_sleep(), "nothing waits: the engine may sleep");
/// ```
pub struct Lane<Q, E> {
    /// The end of the device, or of whatever else asks.
    pub device: DeviceEnd<Q, E>,
    /// The end of the engine.
    pub engine: EngineEnd<Q, E>,
}

/// The end of a lane that asks.
pub struct DeviceEnd<Q, E> {
    /// To the engine.
    pub requests: Sender<Q>,
    /// From the engine.
    pub events: Receiver<E>,
}

/// The end of a lane that serves.
pub struct EngineEnd<Q, E> {
    /// From the device.
    pub requests: Receiver<Q>,
    /// To the device.
    pub events: Sender<E>,
}

impl<Q, E> Lane<Q, E> {
    /// A lane for `capacity` items each way. `wake_engine` is called when a request comes while the engine sleeps,
    /// `wake_device` when an event does while the device sleeps; each from the other's thread.
    pub fn new(capacity: usize, wake_engine: Arc<dyn Wake>, wake_device: Arc<dyn Wake>) -> Self {
        let (to_engine, from_device) = ring(capacity, wake_engine);
        let (to_device, from_engine) = ring(capacity, wake_device);
        Self {
            device: DeviceEnd {
                requests: to_engine,
                events: from_engine,
            },
            engine: EngineEnd {
                requests: from_device,
                events: to_device,
            },
        }
    }
}
