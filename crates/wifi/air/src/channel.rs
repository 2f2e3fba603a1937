//! One 20 MHz channel: the radios tuned to it, those that contend for it, the frames on it.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use airlane_dot11::{Channel, MacAddr, Rate};
use airlane_lane::{Instant, Micros};

use crate::RadioId;
use crate::ppdu::{Ppdu, Source};
use crate::transmission::{ChannelId, PpduId};

/// A frame that is over, for radios that begin to contend after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub source: Source,
    pub channel: Channel,
    pub receiver: MacAddr,
    pub rate: Rate,
    /// Bytes of its first MPDU.
    pub octets: usize,
    pub overlapped: bool,
    /// This was its secondary channel: half its power was here.
    pub in_secondary: bool,
    pub end: Instant,
    pub nav_until: Instant,
}

impl Past {
    /// What is remembered of a frame that is over.
    pub fn of(ppdu: &Ppdu, in_secondary: bool, now: Instant) -> Self {
        Self {
            source: ppdu.source,
            channel: ppdu.channel,
            receiver: ppdu.receiver,
            rate: ppdu.rate,
            octets: ppdu.mpdu_octets(),
            overlapped: ppdu.is_overlapped(),
            in_secondary,
            end: now,
            nav_until: now + ppdu.nav,
        }
    }
}

/// The longest wait after a frame there is: EIFS in 2.4 GHz, with 15 slots of 20 µs.
const LONGEST_WAIT: Micros = Micros(314 + 310);

/// The state of one 20 MHz channel.
pub(crate) struct ChannelState {
    pub primary: Channel,
    pub tuned: Vec<RadioId>,
    pub monitors: Vec<RadioId>,
    /// Radios that have something to send, or a post-back-off still running.
    pub contenders: Vec<RadioId>,
    /// Frames on the air whose primary channel this is.
    pub active: Vec<PpduId>,
    /// Frames on the air whose secondary channel this is.
    pub secondaries: Vec<PpduId>,
    pub past: VecDeque<Past>,
    /// The planned access, and its number: older ones are void.
    pub access_at: Option<Instant>,
    pub access_serial: u32,
    pub busy_since: Instant,
}

impl ChannelState {
    fn new(primary: Channel) -> Self {
        Self {
            primary,
            tuned: Vec::new(),
            monitors: Vec::new(),
            contenders: Vec::new(),
            active: Vec::new(),
            secondaries: Vec::new(),
            past: VecDeque::new(),
            access_at: None,
            access_serial: 0,
            busy_since: Instant(0),
        }
    }

    /// All frames that can be heard here.
    pub fn on_air(&self) -> impl Iterator<Item = PpduId> + '_ {
        self.active.iter().chain(&self.secondaries).copied()
    }

    /// A frame whose primary channel this is begins.
    pub fn begin(&mut self, ppdu: PpduId, now: Instant) {
        if self.active.is_empty() {
            self.busy_since = now;
        }
        self.active.push(ppdu);
    }

    /// A frame is over. The time that the channel was busy, if none is left that has its primary
    /// channel here.
    pub fn end(&mut self, id: PpduId, past: Past, now: Instant) -> Option<Micros> {
        self.active.retain(|other| *other != id);
        self.secondaries.retain(|other| *other != id);
        let idle = !past.in_secondary && self.active.is_empty();
        self.remember(past, now);
        idle.then(|| now.since(self.busy_since))
    }

    /// Remembers a frame for as long as it can hold anyone back.
    fn remember(&mut self, past: Past, now: Instant) {
        while let Some(oldest) = self.past.front()
            && oldest.nav_until.max(oldest.end + LONGEST_WAIT) < now
        {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }

    pub fn leave(&mut self, radio: RadioId) {
        for list in [&mut self.tuned, &mut self.monitors, &mut self.contenders] {
            list.retain(|other| *other != radio);
        }
    }
}

/// All channels that somebody has tuned to. The map is total: a [`ChannelId`] is given out here
/// alone, and no channel is taken away.
#[derive(Default)]
pub(crate) struct Channels(Vec<ChannelState>);

impl Channels {
    /// The channel of this primary 20 MHz, if a radio has tuned to it before.
    pub fn find(&self, primary: Channel) -> Option<ChannelId> {
        self.0
            .iter()
            .position(|channel| channel.primary == primary)
            .map(ChannelId)
    }

    /// A channel that nobody has tuned to before.
    pub fn add(&mut self, primary: Channel) -> ChannelId {
        self.0.push(ChannelState::new(primary));
        ChannelId(self.0.len() - 1)
    }
}

impl Index<ChannelId> for Channels {
    type Output = ChannelState;

    #[track_caller]
    fn index(&self, id: ChannelId) -> &ChannelState {
        self.0.get(id.0).expect("a channel of this medium")
    }
}

impl IndexMut<ChannelId> for Channels {
    #[track_caller]
    fn index_mut(&mut self, id: ChannelId) -> &mut ChannelState {
        self.0.get_mut(id.0).expect("a channel of this medium")
    }
}
