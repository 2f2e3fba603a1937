//! The other end of a load: a radio on the medium at the address of an access point. It counts, sends back,
//! floods and acknowledges as the frames ask ([`Word`]). It sends no beacons and asks for no association, so
//! that all of the air is the load's.
//!
//! It lives by the medium's clock, not by that of the thread that runs it: what it sends is in its queue at the
//! time of what made it send, plus a constant for an answer. So the paths that are compared have one and the
//! same far end. One that answered as soon as its thread had come to it would sometimes answer before the ACK
//! of what it had heard and back off (67.5 µs on average), and sometimes, on a slower path, after it without
//! backing off: the slower path would look faster by that much.

use std::collections::VecDeque;

use airlane_air::{Air, AirEvent, Ended, Heard, RadioConfig, RadioId, Transmission};
use airlane_dot11::{Buffer, Channel, EdcaParameters, MacAddr, OfdmRate, Rate, frame::Header};
use airlane_lane::{Instant, Micros};

use super::words::{self, Word};
use airlane_daemon::ExternalStation;

/// Payload of an acknowledgement: behind LLC, IPv4 and 8 bytes, the rest of TCP's header with time stamps.
pub const ACKNOWLEDGEMENT: usize = 32 - 8;
/// Segments per acknowledgement (RFC 9293 3.8.6.3).
pub const SEGMENTS_PER_ACKNOWLEDGEMENT: u32 = 2;
/// Best effort under EDCA as an access point has it (IEEE 802.11-2020 table 9-155).
const EDCA: EdcaParameters = EdcaParameters {
    cw_min: 15,
    cw_max: 63,
    aifsn: 3,
    txop: Micros(0),
};

/// From the end of the frame that is answered to the answer in the queue: behind the ACK of a frame at any rate
/// and its AIFS, so that the medium is idle and no back-off is drawn.
pub const ANSWER_AFTER: Micros = Micros(300);

/// A radio that obeys the frames that it hears.
pub struct FarEnd {
    address: MacAddr,
    channel: Channel,
    config: RadioConfig,
    radio: Option<RadioId>,
    flows: Vec<Flow>,
    /// In order of time.
    to_send: VecDeque<Planned>,
}

/// A frame that goes into the radio's queue at a time.
struct Planned {
    at: Instant,
    flow: u64,
    frame: Buffer,
}

/// What one station has asked for.
struct Flow {
    station: MacAddr,
    /// What it gets, over and over, and how many at a time.
    supply: Option<Supply>,
    /// Segments that have not been acknowledged.
    segments: u32,
    acknowledgement: Option<Buffer>,
}

struct Supply {
    frame: Buffer,
    depth: u32,
    under_way: u32,
    /// Under way until the station acknowledges, not until the air has delivered.
    acknowledged: bool,
}

/// Of frames that nobody waits for.
const NO_FLOW: u64 = u64::MAX;

impl FarEnd {
    /// Not on the air yet.
    pub fn new(address: MacAddr, channel: Channel, config: RadioConfig) -> Self {
        Self {
            address,
            channel,
            config,
            radio: None,
            flows: Vec::new(),
            to_send: VecDeque::new(),
        }
    }

    fn hear(&mut self, at: Instant, frame: &[u8]) {
        let Ok(header) = Header::parse(frame) else {
            return;
        };
        let (Some(station), Some(body)) = (header.transmitter, frame.get(header.length..)) else {
            return;
        };
        if let Some(word) = Word::parse(body) {
            self.obey(at, station, word, body);
        }
    }

    fn obey(&mut self, at: Instant, station: MacAddr, word: Word, body: &[u8]) {
        match word {
            Word::Sink => {}
            Word::Echo { .. } => {
                let echo = self.frame(station, body);
                self.answer(at, echo);
            }
            Word::Flood { payload, depth } => self.supply(at, station, payload, depth, false),
            Word::Stream { payload, depth } => self.supply(at, station, payload, depth, true),
            Word::Stop => self.flow(station).1.supply = None,
            Word::Acknowledge { frames } => self.settle(at, station, frames),
            Word::Segment => self.segment(at, station),
        }
    }

    /// Sends an answer to what was heard at `heard`.
    fn answer(&mut self, heard: Instant, frame: Option<Buffer>) {
        if let Some(frame) = frame {
            self.plan(heard + ANSWER_AFTER, NO_FLOW, frame);
        }
    }

    /// Behind what is planned for the same time.
    fn plan(&mut self, at: Instant, flow: u64, frame: Buffer) {
        let behind = self.to_send.partition_point(|planned| planned.at <= at);
        self.to_send.insert(behind, Planned { at, flow, frame });
    }

    fn frame(&self, station: MacAddr, body: &[u8]) -> Option<Buffer> {
        let header = words::header(2, [station, self.address, self.address], 0);
        Buffer::from_slice(&[&header[..], body].concat())
    }

    /// What this station has asked for, and its number.
    fn flow(&mut self, station: MacAddr) -> (u64, &mut Flow) {
        let known = self.flows.iter().position(|flow| flow.station == station);
        let at = known.unwrap_or(self.flows.len());
        if known.is_none() {
            self.flows.push(Flow {
                station,
                supply: None,
                segments: 0,
                acknowledgement: None,
            });
        }
        (at as u64, &mut self.flows[at])
    }

    fn supply(
        &mut self,
        at: Instant,
        station: MacAddr,
        payload: u16,
        depth: u32,
        acknowledged: bool,
    ) {
        let body = Word::Sink.body(payload.into());
        let Some(frame) = self.frame(station, &body) else {
            return;
        };
        let (number, flow) = self.flow(station);
        flow.supply = Some(Supply {
            frame,
            depth,
            under_way: 0,
            acknowledged,
        });
        self.refill(at, number);
    }

    fn settle(&mut self, at: Instant, station: MacAddr, frames: u32) {
        let (number, flow) = self.flow(station);
        if let Some(supply) = &mut flow.supply
            && supply.acknowledged
        {
            supply.under_way = supply.under_way.saturating_sub(frames);
        }
        self.refill(at, number);
    }

    fn refill(&mut self, at: Instant, number: u64) {
        let flow = usize::try_from(number).ok();
        let flow = flow.and_then(|at| self.flows.get_mut(at));
        let Some(supply) = flow.and_then(|flow| flow.supply.as_mut()) else {
            return;
        };
        let missing = supply.depth.saturating_sub(supply.under_way);
        supply.under_way += missing;
        let frame = supply.frame.clone();
        for _ in 0..missing {
            self.plan(at, number, frame.clone());
        }
    }

    fn segment(&mut self, at: Instant, station: MacAddr) {
        let frames = SEGMENTS_PER_ACKNOWLEDGEMENT;
        let flow = self.flow(station).1;
        flow.segments += 1;
        if flow.segments < frames {
            return;
        }
        flow.segments = 0;
        let made = flow.acknowledgement.clone();
        let body = Word::Acknowledge { frames }.body(ACKNOWLEDGEMENT);
        let acknowledgement = made.or_else(|| self.frame(station, &body));
        self.flow(station)
            .1
            .acknowledgement
            .clone_from(&acknowledgement);
        self.answer(at, acknowledgement);
    }

    fn delivered(&mut self, at: Instant, number: u64) {
        let flow = usize::try_from(number).ok();
        let flow = flow.and_then(|at| self.flows.get_mut(at));
        if let Some(supply) = flow.and_then(|flow| flow.supply.as_mut())
            && !supply.acknowledged
        {
            supply.under_way = supply.under_way.saturating_sub(1);
            self.refill(at, number);
        }
    }
}

impl ExternalStation for FarEnd {
    fn join(&mut self, now: Instant, air: &mut Air) {
        let radio = air.add_radio(self.config.clone());
        air.set_addresses(radio, &[self.address]);
        air.tune(now, radio, Some(self.channel));
        self.radio = Some(radio);
    }

    fn air_event(&mut self, _now: Instant, event: &AirEvent) -> bool {
        if self.radio != Some(event.radio()) {
            return false;
        }
        match event {
            AirEvent::Received(Heard { frame, at, .. }) => self.hear(*at, frame),
            AirEvent::Sent(Ended { token, at, .. }) => self.delivered(*at, *token),
            AirEvent::Aggregated { .. } => {}
        }
        true
    }

    fn step(&mut self, now: Instant, air: &mut Air) -> Option<Instant> {
        let radio = self.radio?;
        while self.to_send.front().is_some_and(|first| first.at <= now)
            && let Some(planned) = self.to_send.pop_front()
        {
            let rate = Rate::Ofdm(OfdmRate::M54);
            let sent = Transmission {
                edca: EDCA,
                ..Transmission::new(planned.flow, planned.frame, self.channel, rate)
            };
            // At its own time: that the thread comes late changes nothing on the medium.
            air.transmit(planned.at, radio, sent);
        }
        self.to_send.front().map(|next| next.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_air::{AirConfig, AirMode, Position};
    use airlane_dot11::{Band, Dbm};

    const FAR_END: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    /// A station and the far end, in virtual time.
    struct World {
        air: Air,
        far_end: FarEnd,
        station: RadioId,
        now: Instant,
        /// How much later than asked for whoever runs them comes.
        late: Micros,
    }

    fn radio() -> RadioConfig {
        RadioConfig {
            name: String::new(),
            position: Position::default(),
            tx_power: Dbm(15.0),
        }
    }

    fn channel() -> Channel {
        Channel::new(Band::Ghz5, 36).unwrap()
    }

    impl World {
        /// Without airtime.
        fn new() -> Self {
            Self::on(AirConfig {
                mode: AirMode::Infinite,
                ..AirConfig::default()
            })
        }

        fn on(config: AirConfig) -> Self {
            let mut air = Air::new(config);
            let station = air.add_radio(radio());
            air.set_addresses(station, &[OWN]);
            air.tune(Instant(0), station, Some(channel()));
            let mut far_end = FarEnd::new(FAR_END, channel(), radio());
            far_end.join(Instant(0), &mut air);
            Self {
                air,
                far_end,
                station,
                now: Instant(0),
                late: Micros(0),
            }
        }

        /// Says something to the far end; what the station hears until all is quiet.
        fn say(&mut self, word: Word) -> Vec<Word> {
            let heard = self.say_and_listen(word).into_iter();
            heard.map(|(_, word)| word).collect()
        }

        /// The same with the end of each frame.
        fn say_and_listen(&mut self, word: Word) -> Vec<(Instant, Word)> {
            let header = words::header(1, [FAR_END, OWN, FAR_END], 0);
            let frame = [&header[..], &word.body(100)].concat();
            let frame = Buffer::from_slice(&frame).unwrap();
            let sent = Transmission::new(0, frame, channel(), Rate::OFDM_6);
            self.air.transmit(self.now, self.station, sent);
            let mut heard = Vec::new();
            loop {
                let due = self.far_end.step(self.now, &mut self.air);
                let due = Instant::earlier(due, self.air.step(self.now));
                let mut moved = false;
                while let Some(event) = self.air.next_event() {
                    moved = true;
                    let own = !self.far_end.air_event(self.now, &event);
                    if let (AirEvent::Received(Heard { frame, at, .. }), true) = (&event, own) {
                        let word = Word::parse(&frame[words::MAC_HEADER..]);
                        heard.extend(word.map(|word| (*at, word)));
                    }
                }
                match due {
                    _ if moved => {}
                    Some(due) => self.now = self.now.max(due + self.late),
                    None => return heard,
                }
            }
        }
    }

    #[test]
    fn an_echo_comes_back_and_a_datagram_does_not() {
        let mut world = World::new();
        let echo = Word::Echo { number: 7 };
        assert_eq!(world.say(echo), [echo]);
        assert_eq!(world.say(Word::Sink), []);
    }

    #[test]
    fn an_echo_is_sent_a_constant_after_what_it_answers() {
        let mut world = World::new();
        let echo = Word::Echo { number: 1 };
        assert_eq!(
            world.say_and_listen(echo),
            [(Instant(0) + ANSWER_AFTER, echo)]
        );
    }

    /// 50 µs are the kernel's usual timer slack: enough to come after the ACK of what was heard.
    #[test]
    fn an_echo_is_on_the_air_at_the_same_time_however_late_the_far_ends_thread_is() {
        let echo = Word::Echo { number: 1 };
        let heard = |seed, late| {
            let mut world = World::on(AirConfig {
                seed,
                ..AirConfig::default()
            });
            world.late = Micros(late);
            world.say_and_listen(echo)
        };
        let in_time = heard(0, 0);
        assert_eq!(in_time.len(), 1);
        for seed in 0..8 {
            for late in [0, 1, 20, 50, 60, 200] {
                let heard = heard(seed, late);
                assert_eq!(heard, in_time, "{late} µs late, seed {seed}");
            }
        }
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut world = World::new();
        let two = Word::Acknowledge { frames: 2 };
        assert_eq!(world.say(Word::Segment), []);
        assert_eq!(world.say(Word::Segment), [two]);
        assert_eq!(world.say(Word::Segment), []);
        assert_eq!(world.say(Word::Segment), [two]);
    }

    #[test]
    fn a_stream_waits_for_acknowledgements() {
        let mut world = World::new();
        let stream = Word::Stream {
            payload: 100,
            depth: 4,
        };
        assert_eq!(world.say(stream), [Word::Sink; 4]);
        assert_eq!(world.say(Word::Sink), []);
        let two = Word::Acknowledge { frames: 2 };
        assert_eq!(world.say(two), [Word::Sink; 2]);
        assert_eq!(world.say(Word::Stop), []);
        assert_eq!(world.say(two), [], "nothing more once it is stopped");
    }
}
