//! Tests: a lane and the radio in one thread, the driver's half before them, and every frame traced.

use std::sync::Arc;

use airlane_air::{AirConfig, AirMode, Position, RadioConfig, RadioId, Transmission};
use airlane_dma::{Backing, Memory, Translation};
use airlane_dot11::ccmp::Ccmp;
use airlane_dot11::frame::{CCMP_MIC, Header};
use airlane_dot11::{Band, Buffer, Channel, Dbm, MacAddr, OfdmRate, Rate};
use airlane_iwl::{Identity, Model};
use airlane_iwl_driver::{Card, Driver, MEMORY, Station, TxOptions};
use airlane_lane::ring::{NoWake, Receiver, Sender};
use airlane_lane::{Engine, Instant, LaneId, LaneMessage, Micros, Polling};
use airlane_transport::{LaneEnd, PciDevice};
use airlane_waist::{Event, Request};
use serde_json::Value;

use super::card_port::{CardPort, LaneReport};
use super::clock::Clock;
use super::reactor::BusyPoller;
use airlane_engine::AccessPoints;
use airlane_engine::Wifi;
use airlane_trace::{Breakdown, Chrome, Collector, FrameTrace, Scale, Stage, TraceBuilder, Way};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const AP: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
const KEY: [u8; 16] = [7; 16];
/// Best effort.
const QUEUE: u8 = 2;
const SCALE: Scale = Scale {
    ticks_per_us: 2_500.0,
};

fn channel() -> Channel {
    Channel::new(Band::Ghz5, 36).unwrap()
}

fn radio(name: &str) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: Position::default(),
        tx_power: Dbm(20.0),
    }
}

/// One VM's card, both ends of its rings, and what is behind them.
struct WholePath {
    lane: LaneId,
    port: CardPort,
    requests: Receiver<LaneMessage<Request>>,
    events: Sender<Event>,
    radio: Wifi,
    access_point: RadioId,
    now: Instant,
}

impl Card for WholePath {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) {
        self.port.messages_read();
        self.port.bar_read(0, offset, bytes);
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.port.messages_read();
        self.port.bar_write(0, offset, bytes);
    }

    fn memory(&mut self) -> &mut Memory {
        self.port.memory()
    }

    fn take_interrupt(&mut self) -> bool {
        self.port.take_interrupt().is_some()
    }

    /// One turn of each thread.
    fn work(&mut self) -> bool {
        let mut moved = false;
        self.port.poll();
        while let Some(LaneMessage::Request(request)) = self.requests.pop() {
            self.radio.request(self.now, self.lane, request);
            moved = true;
        }
        self.radio.step(self.now);
        while let Some(event) = self.radio.next_event(self.lane) {
            assert!(self.events.push(event).is_ok(), "the ring has room");
            moved = true;
        }
        self.now += Micros(500);
        self.port.poll();
        moved
    }
}

/// An associated station with a key, on the last of so many cards, and the trace of its threads. Each card has one lane.
fn joined(translation: Translation, cards: usize) -> (Driver<WholePath>, Collector) {
    let (collector, mut recorders) = Collector::new(cards, cards);
    let air = AirConfig {
        mode: AirMode::Infinite,
        ..AirConfig::default()
    };
    let mut behind = Wifi::new(air, AccessPoints::new(Vec::new()));
    for (card, stamps) in recorders.radios.into_iter().enumerate() {
        behind.add_card(radio("card"));
        *behind.stamps(card).unwrap() = stamps;
    }
    let lanes: Vec<LaneId> = (0..cards)
        .map(|card| behind.add_lane(card).unwrap())
        .collect();
    let lane = lanes[cards - 1];
    assert_eq!(behind.attach(lane).unwrap().index(), 0);
    let access_point = behind.air_mut().add_radio(radio("access point"));
    let air = behind.air_mut();
    air.tune(Instant(0), access_point, Some(channel()));
    air.set_addresses(access_point, &[AP]);
    let rings = airlane_lane::Lane::new(1_024, Arc::new(NoWake), Arc::new(NoWake));
    let model = Model::Wifi5300;
    let identity = Identity {
        model,
        address: OWN,
    };
    let stamps = recorders.lanes.remove(cards - 1);
    let memory = Memory::translated(translation, 0, "it");
    let mut port = CardPort::new(
        identity,
        memory,
        rings.device,
        LaneReport::default(),
        stamps,
        BusyPoller::new(Clock::start(), Polling::default()),
    );
    port.memory()
        .map(0, MEMORY, Backing::Anonymous, true)
        .unwrap();
    let mut driver = Driver::of(
        WholePath {
            lane,
            port,
            requests: rings.engine.requests,
            events: rings.engine.events,
            radio: behind,
            access_point,
            now: Instant(0),
        },
        model,
    );
    associate(&mut driver);
    (driver, collector)
}

fn associate(driver: &mut Driver<WholePath>) {
    driver.power_on();
    let mut station = Station {
        address: OWN,
        bssid: AP,
        channel: channel(),
        association_id: None,
    };
    driver.configure(&station);
    driver.add_station(0, AP);
    driver.link_quality(0, &[0x4003; 16]);
    station.association_id = Some(1);
    driver.configure(&station);
    assert_eq!(driver.set_key(0, 0, None, KEY), 1, "the key is installed");
}

/// QoS data; with a CCMP header where the card is to encrypt it.
fn data(control: u8, addresses: [MacAddr; 3]) -> Vec<u8> {
    let mut frame = vec![0x88, control, 0, 0];
    frame.extend(addresses.iter().flat_map(|address| address.0));
    frame.extend([0; 4]);
    if control & 0x40 != 0 {
        frame.extend([1, 0, 0, 0x20, 0, 0, 0, 0]);
    }
    frame.extend([0xaa; 200]);
    frame
}

fn send(driver: &mut Driver<WholePath>, frames: usize) {
    let options = TxOptions {
        ccmp: Some(KEY),
        ..TxOptions::DATA
    };
    for _ in 0..frames {
        driver.transmit_quietly(&data(0x41, [AP, OWN, AP]), &options);
    }
    driver.ring(QUEUE);
    driver.run();
    assert_eq!(driver.tx_responses().len(), frames);
}

/// A frame from the access point; a protected one is encrypted with the VM's key.
fn hear(driver: &mut Driver<WholePath>, protected: bool) {
    let mut bytes = data(if protected { 0x42 } else { 0x02 }, [OWN, AP, AP]);
    if protected {
        bytes.extend([0; CCMP_MIC]);
        let header = Header::parse(&bytes).unwrap();
        Ccmp::new(&KEY).encrypt(&header, &mut bytes).unwrap();
    }
    let frame = Buffer::from_slice(&bytes).unwrap();
    let rate = Rate::Ofdm(OfdmRate::M54);
    let sent = Transmission::new(u64::MAX, frame, channel(), rate);
    let path = driver.card();
    let (now, from) = (path.now, path.access_point);
    path.radio.air_mut().transmit(now, from, sent);
    for _ in 0..3 {
        driver.card().work();
    }
    driver.run();
    assert_eq!(driver.received().len(), 1);
}

/// 30 frames out, one by one and several at a time, and 20 in, of which every second is protected.
fn traced_by(translation: Translation, cards: usize) -> Vec<FrameTrace> {
    let (mut driver, mut collector) = joined(translation, cards);
    collector.switch_on();
    for number in 0..20 {
        send(&mut driver, 1);
        hear(&mut driver, number % 2 == 0);
    }
    send(&mut driver, 10);
    let (mut records, mut builder) = (Vec::new(), TraceBuilder::default());
    collector.collect_all(&mut records);
    records.iter().for_each(|record| builder.take(record));
    assert_eq!((collector.lost(), builder.unfinished()), (0, 0));
    builder.done().collect()
}

fn traced() -> Vec<FrameTrace> {
    traced_by(Translation::default(), 1)
}

#[test]
fn every_frame_passes_every_stage_in_order() {
    let by = Translation::ALL.map(|translation| traced_by(translation, 1));
    by.iter().for_each(|traces| all_stages(traces));
}

/// The VM has the first VM-ID of its card, as another card's VM has.
#[test]
fn frames_of_a_vm_on_another_than_the_first_card_pass_every_stage_in_its_own_lane() {
    let traces = traced_by(Translation::default(), 3);
    all_stages(&traces);
    let lanes: Vec<LaneId> = traces.iter().map(|trace| trace.lane).collect();
    assert_eq!(lanes, [LaneId::new(2); 50]);
}

/// Whether each received frame has passed the cipher, in the order in which they came. A frame that is not protected
/// has nothing to be decrypted, and no such stage.
fn decrypted(traces: &[FrameTrace]) -> Vec<bool> {
    let stages = Stage::of(Way::Receive).iter();
    let decrypt = stages
        .clone()
        .find(|stage| stage.name == "decrypt")
        .unwrap();
    let received = traces.iter().filter(|one| one.way() == Way::Receive);
    let mut received: Vec<_> = received
        .map(|one| (one.span(), decrypt.ticks(one).is_some()))
        .collect();
    received.sort();
    received.into_iter().map(|(_, passed)| passed).collect()
}

fn all_stages(traces: &[FrameTrace]) {
    let count = |way| traces.iter().filter(|one| one.way() == way).count();
    assert_eq!((count(Way::Transmit), count(Way::Receive)), (30, 20));
    assert_eq!(decrypted(traces), [true, false].repeat(10));
    for trace in traces {
        let times: Vec<u64> = trace.points().map(|(_, at)| at).collect();
        assert!(times.is_sorted(), "{trace:?}");
        for stage in Stage::of(trace.way()) {
            let there = stage.ticks(trace).is_some();
            // Which frames have this one is said above.
            assert!(
                there || stage.name == "decrypt",
                "{} of {trace:?}",
                stage.name
            );
        }
    }
}

#[test]
fn the_stages_of_a_way_add_up_to_its_whole() {
    for trace in traced() {
        let stages = Stage::of(trace.way()).iter();
        let sum = |total: bool| -> u64 {
            let stages = stages
                .clone()
                .filter(|stage| (stage.name == "total") == total);
            stages.filter_map(|stage| stage.ticks(&trace)).sum()
        };
        assert_eq!(sum(false), sum(true), "{trace:?}");
    }
}

#[test]
fn nobody_traces_and_nothing_is_recorded() {
    let (mut driver, mut collector) = joined(Translation::default(), 1);
    send(&mut driver, 3);
    let mut records = Vec::new();
    collector.collect_all(&mut records);
    assert_eq!(records, []);
}

/// What the median frame of this way spends in stages that a card that is not shared does without, in ticks.
fn median_of_sharing(traces: &[FrameTrace], way: Way) -> u64 {
    let beyond = |trace: &FrameTrace| {
        let stages = Stage::of(way).iter().filter(|stage| stage.beyond);
        stages.filter_map(|stage| stage.ticks(trace)).sum()
    };
    let ways = traces.iter().filter(|trace| trace.way() == way);
    let mut ticks: Vec<u64> = ways.map(beyond).collect();
    ticks.sort_unstable();
    ticks[(ticks.len() - 1) / 2]
}

#[test]
fn a_breakdown_has_each_vm_and_all_and_its_shares_are_of_the_whole() {
    let mut breakdown = Breakdown::default();
    let traces = traced();
    traces.iter().for_each(|trace| breakdown.add(trace));
    assert_eq!(breakdown.frames(), 50);
    let summaries = breakdown.summaries(SCALE, |_| "it\x1b[2J".to_owned());
    let whose: Vec<_> = summaries
        .iter()
        .map(|summary| (summary.way, summary.vm.as_deref(), summary.frames))
        .collect();
    let vm = Some("it\x1b[2J");
    let (out, back) = ("transmit", "receive");
    assert_eq!(
        whose,
        [
            (out, vm, 30),
            (out, None, 30),
            (back, vm, 20),
            (back, None, 20)
        ]
    );
    let total = summaries[0].stages.last().unwrap();
    assert_eq!((total.stage, total.share), ("total", 1.0));
    let median = median_of_sharing(&traces, Way::Transmit);
    let found = summaries[0].beyond.ticks[1];
    assert!(
        found.abs_diff(median) <= median / 1_000,
        "{found}, {median}"
    );
    let text = airlane_trace::table(&summaries, false);
    assert!(!text.contains("all VMs"), "one VM is all there is: {text}");
    assert!(
        !text.contains('\x1b'),
        "names are escaped, no colour asked for"
    );
    assert!(
        text.contains("translate") && text.contains("30 frames"),
        "{text}"
    );
}

/// The trace of [`traced`] as Chrome reads it.
fn chrome() -> Value {
    let mut file = Vec::new();
    let vms = vec!["it \"\n".to_owned()];
    let traces = traced();
    let origin = traces.iter().filter_map(FrameTrace::span).min().unwrap().0;
    let mut chrome = Chrome::new(&mut file, "test", vms, SCALE, origin).unwrap();
    traces.iter().for_each(|one| chrome.add(one).unwrap());
    assert_eq!(chrome.finish(3).unwrap(), 50);
    serde_json::from_slice(&file).unwrap()
}

/// Events of one phase, as track or identifier, beginning and end in nanoseconds, and name.
fn events<'a>(trace: &'a Value, phase: &str, by: &str) -> Vec<(u64, u64, u64, &'a str)> {
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let chosen = events.filter(|event| event["ph"] == phase);
    chosen
        .map(|event| {
            let nanoseconds = |key: &str| event[key].as_f64().map(|us| (us * 1e3).round());
            let from = nanoseconds("ts").unwrap();
            let length = nanoseconds("dur").unwrap_or(0.0);
            assert!(from >= 0.0 && length >= 0.0, "{event}");
            let name = event["name"].as_str().unwrap();
            let whose = event[by].as_u64().unwrap();
            (whose, from as u64, (from + length) as u64, name)
        })
        .collect()
}

#[test]
fn slices_of_a_track_lie_side_by_side_or_one_in_the_other() {
    let trace = chrome();
    let mut slices = events(&trace, "X", "tid");
    assert!(slices.iter().any(|slice| slice.3 == "encrypt"));
    slices.sort_by_key(|&(track, from, to, _)| (track, from, std::cmp::Reverse(to)));
    let mut open: Vec<(u64, u64)> = Vec::new();
    for (track, from, to, name) in slices {
        open.retain(|&(other, end)| other == track && end > from);
        if let Some(&(_, end)) = open.last() {
            assert!(to <= end, "{name} at {from} sticks out");
        }
        open.push((track, to));
    }
}

#[test]
fn asynchronous_slices_begin_and_end_in_turn() {
    let trace = chrome();
    let mut open: std::collections::BTreeMap<u64, Vec<(&str, f64)>> = Default::default();
    let mut closed = 0;
    for event in trace["traceEvents"].as_array().unwrap() {
        let (name, ts) = (
            event["name"].as_str().unwrap(),
            event["ts"].as_f64().unwrap(),
        );
        let stack = event["id"].as_u64().map(|id| open.entry(id).or_default());
        match (event["ph"].as_str().unwrap(), stack) {
            ("b", Some(stack)) => stack.push((name, ts)),
            ("e", Some(stack)) => {
                let (begun, from) = stack.pop().unwrap();
                assert!(begun == name && from <= ts, "{event}");
                closed += 1;
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty));
    assert!(closed > 50 * 6);
}

#[test]
fn an_arrow_leads_each_frame_from_the_lane_to_the_radio_and_back() {
    let trace = chrome();
    let slices = events(&trace, "X", "tid");
    let (radio, lane) = (1, 2);
    let expected = [("s", 50), ("t", 30), ("f", 50)];
    for (phase, count) in expected {
        let arrows = events(&trace, phase, "tid");
        assert_eq!(arrows.len(), count, "{phase}");
        for (track, at, ..) in arrows {
            assert!(track == radio || track == lane);
            let within = |&&(other, from, to, _): &&(u64, u64, u64, &str)| {
                other == track && (from..=to).contains(&at)
            };
            assert!(slices.iter().any(|slice| within(&slice)), "{phase} at {at}");
        }
    }
    let ends = events(&trace, "f", "tid");
    assert!(ends.iter().all(|&(track, ..)| track == lane));
}

#[test]
fn names_in_a_trace_are_what_they_were_and_lost_records_are_told() {
    let trace = chrome();
    let named = trace["traceEvents"].as_array().unwrap().iter();
    let tracks: Vec<&str> = named
        .filter(|event| event["ph"] == "M")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(tracks, ["airlane test", "radio", "lane of it \"\n"]);
    assert_eq!(trace["otherData"]["lost_records"], 3);
}
