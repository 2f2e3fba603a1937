//! The stages of a frame's way: from which moment to which, and whether a card that is not shared has them as well.

use airlane_waist::stamp::Point;

use super::frame_trace::{FrameTrace, Way};

/// A part of a frame's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// What happens in it.
    pub meaning: &'static str,
    /// From here,
    pub from: Point,
    /// to there,
    pub to: Point,
    /// without what lies between these, which is a stage of its own.
    pub without: Option<(Point, Point)>,
    /// Not of every frame.
    pub optional: bool,
    /// A card that is not shared, served over the same socket, does without.
    pub beyond: bool,
    /// On the way to the air: *Virtual WiFi*, figure 6, ends where the card has the packet in its queue.
    pub outward: bool,
}

impl Stage {
    const fn new(name: &'static str, from: Point, to: Point, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            from,
            to,
            without: None,
            optional: false,
            beyond: false,
            outward: false,
        }
    }

    const fn without(self, from: Point, to: Point) -> Self {
        let without = Some((from, to));
        Self { without, ..self }
    }

    const fn optional(self) -> Self {
        let optional = true;
        Self { optional, ..self }
    }

    const fn beyond(self) -> Self {
        let beyond = true;
        Self { beyond, ..self }
    }

    const fn outward(self) -> Self {
        let outward = true;
        Self { outward, ..self }
    }

    /// What the stage took of this way, in ticks; `None` when it has no such stage. Nothing is ever negative.
    pub fn ticks(&self, trace: &FrameTrace) -> Option<u64> {
        let between = |from, to| Some(trace.at(to)?.saturating_sub(trace.at(from)?));
        let inner = self.without.and_then(|(from, to)| between(from, to));
        Some(between(self.from, self.to)?.saturating_sub(inner.unwrap_or(0)))
    }

    /// The stages of a way.
    pub fn of(way: Way) -> &'static [Self] {
        match way {
            Way::Transmit => &TRANSMIT,
            Way::Receive => &RECEIVE,
        }
    }
}

use Point::*;

/// From the guest to the air, and the report back.
pub const TRANSMIT: [Stage; 17] = [
    Stage::new(
        "doorbell",
        Read,
        Doorbell,
        "the lane has read its socket; the card's write pointer moves",
    )
    .outward(),
    Stage::new(
        "fetch",
        Doorbell,
        Fetch,
        "until the card turns to the descriptor",
    )
    .outward(),
    Stage::new(
        "decode",
        Fetch,
        Queued,
        "descriptor and transmit command become a request",
    )
    .without(Translate, Translated)
    .outward(),
    Stage::new(
        "translate",
        Translate,
        Translated,
        "the frame's pieces are looked up in guest memory",
    )
    .beyond()
    .outward(),
    Stage::new(
        "ring",
        Queued,
        Taken,
        "from the lane's thread to the radio's, wake-up included",
    )
    .beyond()
    .outward(),
    Stage::new(
        "classify",
        Taken,
        Classified,
        "the host driver decides by its policy table",
    )
    .beyond()
    .outward(),
    Stage::new(
        "queue",
        Classified,
        Pick,
        "waits in its vMAC's queue for its turn and for the medium",
    ),
    Stage::new(
        "dispatch",
        Pick,
        Dispatched,
        "deficit round robin picks the vMAC",
    )
    .beyond()
    .outward(),
    Stage::new(
        "prepare",
        Dispatched,
        OnAir,
        "copy, checks, sequence number",
    )
    .without(Encrypt, Encrypted)
    .outward(),
    Stage::new("encrypt", Encrypt, Encrypted, "the cipher")
        .optional()
        .outward(),
    Stage::new(
        "air",
        OnAir,
        Landed,
        "channel access, airtime, acknowledgement, retries",
    ),
    Stage::new(
        "report",
        Landed,
        Reported,
        "waits for older frames of its queue",
    ),
    Stage::new(
        "route",
        Reported,
        Handed,
        "the host driver hands the report to its VM's lane",
    )
    .beyond(),
    Stage::new(
        "ring back",
        Handed,
        Returned,
        "from the radio's thread to the lane's, wake-up included",
    )
    .beyond(),
    Stage::new(
        "complete",
        Returned,
        Written,
        "the response goes into the guest's receive ring",
    ),
    Stage::new(
        "interrupt",
        Written,
        Interrupt,
        "until the guest is interrupted",
    ),
    Stage::new("total", Read, Interrupt, ""),
];

/// From the air to the guest.
pub const RECEIVE: [Stage; 7] = [
    Stage::new(
        "filter",
        Heard,
        Delivered,
        "the receive filter finds the vMAC",
    )
    .without(Decrypt, Decrypted),
    Stage::new("decrypt", Decrypt, Decrypted, "the cipher").optional(),
    Stage::new(
        "route",
        Delivered,
        Handed,
        "the host driver hands the frame to its VM's lane",
    )
    .beyond(),
    Stage::new(
        "ring",
        Handed,
        Returned,
        "from the radio's thread to the lane's, wake-up included",
    )
    .beyond(),
    Stage::new(
        "complete",
        Returned,
        Written,
        "the frame goes into the guest's receive ring",
    ),
    Stage::new(
        "interrupt",
        Written,
        Interrupt,
        "until the guest is interrupted",
    ),
    Stage::new("total", Heard, Interrupt, ""),
];
