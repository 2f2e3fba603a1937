//! The other end of a load: a radio on the medium at the address of an access point. It counts, sends back,
//! floods and acknowledges as the frames ask ([`Word`]). It sends no beacons and asks for no association, so
//! that all of the air is the load's.

use std::collections::VecDeque;

use airlane_air::{Air, AirEvent, RadioConfig, RadioId, Transmission};
use airlane_dot11::{Buffer, Channel, EdcaParameters, MacAddr, OfdmRate, Rate, frame::Header};
use airlane_lane::Micros;

use super::words::{self, Word};
use airlane_daemon::Neighbour;

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

/// A radio that obeys the frames that it hears.
pub struct FarEnd {
    address: MacAddr,
    channel: Channel,
    config: RadioConfig,
    radio: Option<RadioId>,
    flows: Vec<Flow>,
    to_send: VecDeque<(u64, Buffer)>,
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

    fn hear(&mut self, frame: &[u8]) {
        let Ok(header) = Header::parse(frame) else {
            return;
        };
        let (Some(station), Some(body)) = (header.transmitter, frame.get(header.length..)) else {
            return;
        };
        if let Some(word) = Word::parse(body) {
            self.obey(station, word, body);
        }
    }

    fn obey(&mut self, station: MacAddr, word: Word, body: &[u8]) {
        let frame = |body: &[u8]| self.frame(station, body);
        match word {
            Word::Sink => {}
            Word::Echo => {
                let echo = frame(body);
                self.to_send.extend(echo.map(|frame| (NO_FLOW, frame)));
            }
            Word::Flood { payload, depth } => self.supply(station, payload, depth, false),
            Word::Stream { payload, depth } => self.supply(station, payload, depth, true),
            Word::Stop => self.flow(station).1.supply = None,
            Word::Acknowledge { frames } => self.settle(station, frames),
            Word::Segment => self.segment(station),
        }
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

    fn supply(&mut self, station: MacAddr, payload: u16, depth: u32, acknowledged: bool) {
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
        self.refill(number);
    }

    fn settle(&mut self, station: MacAddr, frames: u32) {
        let (number, flow) = self.flow(station);
        if let Some(supply) = &mut flow.supply
            && supply.acknowledged
        {
            supply.under_way = supply.under_way.saturating_sub(frames);
        }
        self.refill(number);
    }

    fn refill(&mut self, number: u64) {
        let flow = usize::try_from(number).ok();
        let flow = flow.and_then(|at| self.flows.get_mut(at));
        let Some(supply) = flow.and_then(|flow| flow.supply.as_mut()) else {
            return;
        };
        while supply.under_way < supply.depth {
            supply.under_way += 1;
            self.to_send.push_back((number, supply.frame.clone()));
        }
    }

    fn segment(&mut self, station: MacAddr) {
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
        self.to_send
            .extend(acknowledgement.map(|frame| (NO_FLOW, frame)));
    }

    fn delivered(&mut self, number: u64) {
        let flow = usize::try_from(number).ok();
        let flow = flow.and_then(|at| self.flows.get_mut(at));
        if let Some(supply) = flow.and_then(|flow| flow.supply.as_mut())
            && !supply.acknowledged
        {
            supply.under_way = supply.under_way.saturating_sub(1);
            self.refill(number);
        }
    }
}

impl Neighbour for FarEnd {
    fn join(&mut self, now: Micros, air: &mut Air) {
        let radio = air.add_radio(self.config.clone());
        air.set_addresses(radio, &[self.address]);
        air.tune(now, radio, Some(self.channel));
        self.radio = Some(radio);
    }

    fn air_event(&mut self, _now: Micros, event: &AirEvent) -> bool {
        if self.radio != Some(event.radio()) {
            return false;
        }
        match event {
            AirEvent::Received { frame, .. } => self.hear(frame),
            AirEvent::Sent { token, .. } => self.delivered(*token),
            AirEvent::Aggregated { .. } => {}
        }
        true
    }

    fn step(&mut self, now: Micros, air: &mut Air) -> Option<Micros> {
        let radio = self.radio?;
        for (token, frame) in self.to_send.drain(..) {
            let rate = Rate::Ofdm(OfdmRate::M54);
            let sent = Transmission {
                edca: EDCA,
                ..Transmission::new(token, frame, self.channel, rate)
            };
            air.transmit(now, radio, sent);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_air::{AirConfig, AirMode, Position};
    use airlane_dot11::{Band, Dbm};

    const FAR_END: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    /// A station and the far end on a medium without airtime.
    struct World {
        air: Air,
        far_end: FarEnd,
        station: RadioId,
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
        fn new() -> Self {
            let mut air = Air::new(AirConfig {
                mode: AirMode::Infinite,
                ..AirConfig::default()
            });
            let station = air.add_radio(radio());
            air.set_addresses(station, &[OWN]);
            air.tune(Micros(0), station, Some(channel()));
            let mut far_end = FarEnd::new(FAR_END, channel(), radio());
            far_end.join(Micros(0), &mut air);
            Self {
                air,
                far_end,
                station,
            }
        }

        /// Says something to the far end; what the station hears until all is quiet.
        fn say(&mut self, word: Word) -> Vec<Word> {
            let header = words::header(1, [FAR_END, OWN, FAR_END], 0);
            let frame = [&header[..], &word.body(100)].concat();
            let frame = Buffer::from_slice(&frame).unwrap();
            let sent = Transmission::new(0, frame, channel(), Rate::OFDM_6);
            self.air.transmit(Micros(0), self.station, sent);
            let mut heard = Vec::new();
            loop {
                self.far_end.step(Micros(0), &mut self.air);
                self.air.step(Micros(0));
                let Some(event) = self.air.next_event() else {
                    return heard;
                };
                if let (AirEvent::Received { frame, .. }, false) =
                    (&event, self.far_end.air_event(Micros(0), &event))
                {
                    heard.extend(Word::parse(&frame[words::MAC_HEADER..]));
                }
            }
        }
    }

    #[test]
    fn an_echo_comes_back_and_a_datagram_does_not() {
        let mut world = World::new();
        assert_eq!(world.say(Word::Echo), [Word::Echo]);
        assert_eq!(world.say(Word::Sink), []);
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
