//! Stamps: the moments that a frame passes on its way, told to whoever traces.
//!
//! The pure parts name the moment and the frame; the clock is the sink's, which belongs to the shell. Switched
//! off, a stamp is one load and one branch. Each thread has [`Stamps`] of its own: nothing is shared but the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::VmId;

/// A moment on the way of a frame. Those that name no frame belong to their thread: to the frame at hand, or to all
/// that have come so far.
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
    /// They are named. No frame.
    Translated,
    /// The request goes into the ring to the radio.
    Queued,
    /// The radio has taken it out.
    Taken,
    /// The host driver has decided by its policy table.
    Classified,
    /// The NIC looks for the vMAC whose turn it is. No frame.
    Pick,
    /// It has picked this frame.
    Dispatched,
    /// The cipher begins. No frame.
    Encrypt,
    /// The frame is encrypted. No frame.
    Encrypted,
    /// The medium has it.
    OnAir,
    /// The medium is done with it.
    Landed,
    /// The NIC reports on it: no older frame of its queue is under way.
    Reported,
    /// The radio has a frame from the medium. No frame: nobody's yet.
    Heard,
    /// The cipher begins. No frame.
    Decrypt,
    /// The received frame is decrypted. No frame.
    Decrypted,
    /// The receive filter has given it to this VM.
    Delivered,
    /// The event goes into the ring to the lane.
    Handed,
    /// The lane has taken it out.
    Returned,
    /// The card has the response, or the received frame, ready for the driver.
    Answered,
    /// All that is ready lies in the guest's receive ring. No frame.
    Written,
    /// The guest is interrupted. No frame.
    Interrupt,
}

impl Point {
    /// All, in the order of declaration.
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

    /// As it is written.
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

/// A frame under way, among those of its VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(u32);

impl FrameId {
    /// No frame in particular.
    pub const NONE: Self = Self(u32::MAX);
    /// Set in the numbers of received frames.
    const RECEIVED: u32 = 1 << 31;

    /// A frame that the VM sends, by the tag that its report will bear.
    pub const fn sent(tag: u16) -> Self {
        Self(tag as u32)
    }

    /// A received frame, by where its bytes lie: no other lies there until it is delivered.
    pub fn received(bytes: &[u8]) -> Self {
        // The address without its lowest four bits, cut off above: frames are told apart, not found by it.
        #[expect(clippy::cast_possible_truncation)]
        let place = (bytes.as_ptr().addr() >> 4) as u32;
        Self(Self::RECEIVED | place & !(Self::RECEIVED | 1))
    }

    /// The frame of this number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// True for a frame that the VM has received.
    pub fn is_received(self) -> bool {
        self.0 & Self::RECEIVED != 0 && self != Self::NONE
    }

    /// As a number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Where stamps go. Called on the data path: it must neither wait nor allocate.
pub trait Sink: Send {
    /// The frame has come to `point` now. `vm` is `None` where the sink knows whose it is, or nobody does yet.
    fn stamp(&mut self, point: Point, vm: Option<VmId>, frame: FrameId);
}

/// One thread's stamps.
#[derive(Default)]
pub struct Stamps(Option<Tracer>);

struct Tracer {
    on: Arc<AtomicBool>,
    sink: Box<dyn Sink>,
}

impl Stamps {
    /// Stamps for `sink`, which gets them while `on` is true.
    pub fn new(on: Arc<AtomicBool>, sink: Box<dyn Sink>) -> Self {
        Self(Some(Tracer { on, sink }))
    }

    /// True while somebody traces: worth finding out which frame it is.
    #[inline]
    pub fn on(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|tracer| tracer.on.load(Ordering::Relaxed))
    }

    /// The thread has come to `point`.
    #[inline]
    pub fn mark(&mut self, point: Point) {
        self.stamp(point, None, FrameId::NONE);
    }

    /// A frame of the lane's own VM has come to `point`.
    #[inline]
    pub fn own(&mut self, point: Point, frame: FrameId) {
        self.stamp(point, None, frame);
    }

    /// A frame of this VM has come to `point`.
    #[inline]
    pub fn of(&mut self, point: Point, vm: VmId, frame: FrameId) {
        self.stamp(point, Some(vm), frame);
    }

    #[inline]
    fn stamp(&mut self, point: Point, vm: Option<VmId>, frame: FrameId) {
        if let Some(Tracer { on, sink }) = &mut self.0
            && on.load(Ordering::Relaxed)
        {
            sink.stamp(point, vm, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    type Seen = Arc<Mutex<Vec<(Point, Option<VmId>, FrameId)>>>;

    struct List(Seen);

    impl Sink for List {
        fn stamp(&mut self, point: Point, vm: Option<VmId>, frame: FrameId) {
            self.0.lock().unwrap().push((point, vm, frame));
        }
    }

    #[test]
    fn nothing_is_stamped_while_it_is_off_or_goes_nowhere() {
        let (on, seen) = (Arc::new(AtomicBool::new(false)), Seen::default());
        let mut stamps = Stamps::new(Arc::clone(&on), Box::new(List(Arc::clone(&seen))));
        stamps.mark(Point::Read);
        on.store(true, Ordering::Relaxed);
        stamps.own(Point::Fetch, FrameId::sent(7));
        stamps.of(Point::Taken, VmId::new(3).unwrap(), FrameId::sent(7));
        let id = FrameId::sent(7);
        let expected = [
            (Point::Fetch, None, id),
            (Point::Taken, VmId::new(3).ok(), id),
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
        let mut nowhere = Stamps::default();
        nowhere.mark(Point::Read);
        assert!(!nowhere.on());
    }

    #[test]
    fn points_are_listed_by_their_numbers() {
        for (number, point) in Point::ALL.into_iter().enumerate() {
            assert_eq!(point as usize, number);
        }
    }

    #[test]
    fn sent_and_received_frames_are_told_apart() {
        assert!(!FrameId::sent(u16::MAX).is_received() && !FrameId::NONE.is_received());
        let frames = [[0_u8; 64], [0; 64]];
        let [one, other] = frames.each_ref().map(|frame| FrameId::received(frame));
        assert!(one.is_received() && one != other && one == FrameId::received(&frames[0]));
    }
}
