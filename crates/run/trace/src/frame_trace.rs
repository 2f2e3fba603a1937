//! The trace of one frame: when it passed which point between guest and air.

use airlane_lane::LaneId;
use airlane_waist::stamp::{FrameId, Point};

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the guest to the air, and its report back.
    Transmit,
    /// From the air to the guest.
    Receive,
}

impl Way {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
        }
    }
}

/// When one frame passed each moment of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTrace {
    /// The lane of the VM that sent it, or that it is for.
    pub lane: LaneId,
    /// Tells it from the other frames of that VM that are under way.
    pub frame: FrameId,
    /// In ticks, by [`Point`]; zero: not passed.
    times: [u64; Point::ALL.len()],
    /// The lane did nothing else between taking it back and writing it into the receive ring.
    pub at_one_go: bool,
}

impl FrameTrace {
    /// The trace of a frame that has passed no point yet.
    pub fn new(lane: LaneId, frame: FrameId) -> Self {
        Self {
            lane,
            frame,
            times: [0; Point::ALL.len()],
            at_one_go: false,
        }
    }

    /// Which way it goes.
    pub fn way(&self) -> Way {
        if self.frame.is_received() {
            Way::Receive
        } else {
            Way::Transmit
        }
    }

    /// When it passed `point`, in ticks.
    pub fn at(&self, point: Point) -> Option<u64> {
        let time = self.times.get(point as usize).copied();
        time.filter(|&time| time > 0)
    }

    /// Notes when it passed `point`; `None`: it has not.
    pub fn set(&mut self, point: Point, at: Option<u64>) {
        if let Some(time) = self.times.get_mut(point as usize) {
            *time = at.unwrap_or(0);
        }
    }

    /// All moments passed, in the order of their declaration.
    pub fn points(&self) -> impl Iterator<Item = (Point, u64)> {
        let points = Point::ALL.into_iter();
        points.filter_map(|point| Some((point, self.at(point)?)))
    }

    /// When it began, and when it ended.
    pub fn span(&self) -> Option<(u64, u64)> {
        let times = || self.points().map(|(_, at)| at);
        Some((times().min()?, times().max()?))
    }
}
