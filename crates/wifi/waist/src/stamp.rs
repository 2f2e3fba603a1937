//! The moments of a frame's way that `airlane trace` tells of, and [`airlane_lane::stamp`] for them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_lane::LaneId;
pub use airlane_lane::stamp::{FrameId, Sink};

use crate::{PerVm, VmId};

/// One thread's stamps of frames on their way through a card and its radio. A frame's owner is told by its lane, which is
/// one of many cards' and stays the same; a card knows it by a VM-ID, which other lanes have at other times.
pub struct Stamps {
    stamps: airlane_lane::stamp::Stamps<Point, LaneId>,
    /// Which lane has which of the card's VM-IDs.
    lanes: PerVm<LaneId>,
}

impl Default for Stamps {
    /// Goes nowhere.
    fn default() -> Self {
        Self::to(airlane_lane::stamp::Stamps::default())
    }
}

impl Stamps {
    /// Stamps for `sink`, which gets them while `on` is true. Each VM-ID has the lane of the same number at first.
    pub fn new(on: Arc<AtomicBool>, sink: Box<dyn Sink<Point, LaneId>>) -> Self {
        Self::to(airlane_lane::stamp::Stamps::new(on, sink))
    }

    fn to(stamps: airlane_lane::stamp::Stamps<Point, LaneId>) -> Self {
        let mut numbers = 0..;
        let lanes = PerVm::from_fn(|_| LaneId::new(numbers.next().unwrap_or_default()));
        Self { stamps, lanes }
    }

    /// From now on, this VM-ID is that lane's.
    pub fn set_lane(&mut self, vm: VmId, lane: LaneId) {
        self.lanes[vm] = lane;
    }

    /// True while somebody traces: worth finding out which frame it is.
    #[inline]
    pub fn on(&self) -> bool {
        self.stamps.on()
    }

    /// The thread has come to `point`.
    #[inline]
    pub fn mark(&mut self, point: Point) {
        self.stamps.mark(point);
    }

    /// A frame of the lane that the sink knows has come to `point`.
    #[inline]
    pub fn own(&mut self, point: Point, frame: FrameId) {
        self.stamps.own(point, frame);
    }

    /// A frame of this VM has come to `point`.
    #[inline]
    pub fn of(&mut self, point: Point, vm: VmId, frame: FrameId) {
        if self.stamps.on() {
            self.stamps.of(point, self.lanes[vm], frame);
        }
    }
}

/// A moment on the way of a frame through a card and its radio. A point that names no frame belongs to its thread: to
/// the frame at hand, or to all that have come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Point {
    /// The lane has read messages from its socket. No frame.
    Read,
    /// The driver's write pointer has moved beyond the frame's descriptor.
    Doorbell,
    /// The card turns to the descriptor.
    Fetch,
    /// The pieces in guest memory are about to be looked up. No frame.
    Translate,
    /// All pieces are named. No frame.
    Translated,
    /// The request goes into the ring to the engine.
    Queued,
    /// The engine has taken the request out.
    Taken,
    /// The host driver has decided by its policy table.
    Classified,
    /// The NIC looks for the vMAC whose turn it is. No frame.
    Pick,
    /// The NIC has picked this frame.
    Dispatched,
    /// The cipher begins. No frame.
    Encrypt,
    /// The frame is encrypted. No frame.
    Encrypted,
    /// The medium has the frame.
    OnAir,
    /// The medium is done with the frame.
    Landed,
    /// The NIC reports on the frame: no older frame of its queue is under way.
    Reported,
    /// The radio has a frame from the medium. No frame: it belongs to no VM yet.
    Heard,
    /// The cipher begins. No frame.
    Decrypt,
    /// The received frame is decrypted. No frame.
    Decrypted,
    /// The receive filter has given it to this VM.
    Delivered,
    /// The event goes into the ring to the lane.
    Handed,
    /// The lane has taken the event out.
    Returned,
    /// The card has the response, or the received frame, ready for the driver.
    Answered,
    /// All that is ready lies in the guest's receive ring. No frame.
    Written,
    /// The guest is interrupted. No frame.
    Interrupt,
}

impl Point {
    /// All points, in the order of declaration.
    pub const ALL: [Self; 24] = [
        Self::Read,
        Self::Doorbell,
        Self::Fetch,
        Self::Translate,
        Self::Translated,
        Self::Queued,
        Self::Taken,
        Self::Classified,
        Self::Pick,
        Self::Dispatched,
        Self::Encrypt,
        Self::Encrypted,
        Self::OnAir,
        Self::Landed,
        Self::Reported,
        Self::Heard,
        Self::Decrypt,
        Self::Decrypted,
        Self::Delivered,
        Self::Handed,
        Self::Returned,
        Self::Answered,
        Self::Written,
        Self::Interrupt,
    ];

    /// As reports and traces write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Doorbell => "doorbell",
            Self::Fetch => "fetch",
            Self::Translate => "translate",
            Self::Translated => "translated",
            Self::Queued => "queued",
            Self::Taken => "taken",
            Self::Classified => "classified",
            Self::Pick => "pick",
            Self::Dispatched => "dispatched",
            Self::Encrypt => "encrypt",
            Self::Encrypted => "encrypted",
            Self::OnAir => "on-air",
            Self::Landed => "landed",
            Self::Reported => "reported",
            Self::Heard => "heard",
            Self::Decrypt => "decrypt",
            Self::Decrypted => "decrypted",
            Self::Delivered => "delivered",
            Self::Handed => "handed",
            Self::Returned => "returned",
            Self::Answered => "answered",
            Self::Written => "written",
            Self::Interrupt => "interrupt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_listed_by_their_numbers() {
        for (number, point) in Point::ALL.into_iter().enumerate() {
            assert_eq!(point as usize, number);
        }
    }
}
