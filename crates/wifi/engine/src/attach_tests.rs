//! VMs that come and go: each has a VM-ID while it is attached, and what was counted of it stays its own. No two of them,
//! on whichever cards, bear the same address.

mod random;

use airlane_air::{AirConfig, RadioConfig};
use airlane_dma::{Backing, Frame, Memory};
use airlane_dot11::{AccessCategory, Band, Channel, MacAddr, PeerHt, Rate};
use airlane_lane::{Engine, Instant, LaneId, MAX_LANES, Micros};
use airlane_nic::AddressPolicy;
use airlane_waist::{
    Command, Event, MAX_VMS, Mode, ReceiveFilter, Refusal, Reply, Request, StationIndex, Tag,
    Transmit, TxCipher, TxRate, TxStatus, VifConfig,
};

use crate::access_points::AccessPoints;
use crate::status::RadioStatus;
use crate::{LaneError, Wifi};

const NOW: Instant = Instant(0);

fn address(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number as u8 + 1])
}

/// One card with so many lanes, each with an address of its own; no VM is attached.
fn lanes(count: usize) -> (Wifi, Vec<LaneId>) {
    let mut wifi = Wifi::new(AirConfig::default(), AccessPoints::new(Vec::new()));
    let card = add_card(&mut wifi);
    let lanes = (0..count).map(|_| add_lane(&mut wifi, card));
    let lanes = lanes.collect();
    (wifi, lanes)
}

fn add_card(wifi: &mut Wifi) -> usize {
    wifi.add_card(RadioConfig {
        name: "card".to_owned(),
        position: Default::default(),
        tx_power: airlane_dot11::Dbm(15.0),
    })
}

/// A lane whose VM is assigned the address of the lane's number, and may take one that nobody has.
fn add_lane(wifi: &mut Wifi, card: usize) -> LaneId {
    let lane = wifi.add_lane(card).unwrap();
    wifi.assign(lane, address(lane.index()), AddressPolicy::Free);
    lane
}

/// Two cards with a lane each, and at each a VM whose driver has started the card. The second card was added when the
/// first one's VM had its address.
fn two_cards() -> (Wifi, [LaneId; 2]) {
    let (mut wifi, lanes) = lanes(1);
    let card = add_card(&mut wifi);
    let both = [lanes[0], add_lane(&mut wifi, card)];
    for lane in both {
        wifi.attach(lane).unwrap();
        start(&mut wifi, lane);
    }
    (wifi, both)
}

/// What a lane is told, in Rust's words for it: events cannot be compared.
fn told(wifi: &mut Wifi, lane: LaneId) -> Vec<String> {
    wifi.step(NOW);
    let events = std::iter::from_fn(|| wifi.next_event(lane));
    events.map(words).collect()
}

fn words(event: Event) -> String {
    format!("{event:?}")
}

fn done(reply: Reply) -> [String; 1] {
    [words(Event::Done(Tag(7), reply))]
}

fn reset_done() -> [String; 1] {
    [words(Event::ResetDone)]
}

fn request(wifi: &mut Wifi, lane: LaneId, command: Command) {
    let tag = Tag(7);
    wifi.request(NOW, lane, Request { tag, command });
}

fn ask(wifi: &mut Wifi, lane: LaneId, command: Command) -> Vec<String> {
    request(wifi, lane, command);
    told(wifi, lane)
}

fn start(wifi: &mut Wifi, lane: LaneId) {
    assert_eq!(ask(wifi, lane, Command::Initialize), done(Reply::Ok));
}

/// An interface that is up under this address.
fn bear(wifi: &mut Wifi, lane: LaneId, address: MacAddr) -> Vec<String> {
    ask(wifi, lane, configure(address, MacAddr::ZERO))
}

fn configure(address: MacAddr, bssid: MacAddr) -> Command {
    Command::Configure(Box::new(VifConfig {
        address,
        bssid,
        mode: Mode::Station,
        channel: Channel::new(Band::Ghz5, 36).unwrap(),
        associated: false,
        association_id: 0,
        filter: ReceiveFilter::empty(),
        short_slot: false,
        short_preamble: false,
        protect: false,
        forget_stations: false,
    }))
}

fn taken(address: MacAddr) -> [String; 1] {
    done(Reply::Refused(Refusal::AddressTaken(address)))
}

fn go(wifi: &mut Wifi, lane: LaneId) {
    assert_eq!(ask(wifi, lane, Command::Reset), reset_done());
    wifi.detach(NOW, lane);
    assert_eq!(told(wifi, lane), [""; 0]);
}

fn addresses_refused(wifi: &Wifi, lane: LaneId) -> u64 {
    let status = RadioStatus::of(wifi, NOW, Micros(0), std::iter::empty());
    status.vmacs[&lane.index()].counters["addresses_refused"]
}

#[test]
fn twenty_vms_share_a_card_over_time_and_the_seventeenth_at_once_is_refused() {
    let (mut wifi, lanes) = lanes(20);
    let (first, later) = lanes.split_at(MAX_VMS);
    for (number, &lane) in first.iter().enumerate() {
        assert_eq!(wifi.attach(lane).unwrap().index(), number);
        start(&mut wifi, lane);
        assert_eq!(bear(&mut wifi, lane, address(number)).len(), 1);
    }
    for (&gone, &next) in first.iter().rev().zip(later) {
        let error = wifi.attach(next).unwrap_err();
        assert_eq!(error, LaneError::Full(0));
        assert!(error.to_string().contains("16 VMs at once"), "{error}");
        let (_, vm) = wifi.vm(gone).unwrap();
        go(&mut wifi, gone);
        assert_eq!((wifi.vm(gone), wifi.attach(next)), (None, Ok(vm)));
        start(&mut wifi, next);
        let own = address(next.index());
        assert_eq!(bear(&mut wifi, next, own), done(Reply::Ok));
        let vmacs = wifi.cards()[0].nic().vmacs();
        assert_eq!(vmacs.count(), MAX_VMS);
        assert_eq!(wifi.cards()[0].lane(vm), Some(next));
    }
}

#[test]
fn an_engine_gives_out_1024_lanes_and_refuses_one_more() {
    let (mut wifi, _) = lanes(0);
    for number in 0..MAX_LANES {
        assert_eq!(wifi.add_lane(0).map(LaneId::index), Ok(number));
    }
    let error = wifi.add_lane(0).unwrap_err();
    assert_eq!(error, LaneError::TooMany);
    assert!(error.to_string().contains("at most 1024 lanes"), "{error}");
}

#[test]
fn a_vm_keeps_its_address_while_it_is_away_and_its_counters_whatever_its_vm_id() {
    let (mut wifi, lanes) = lanes(2);
    let (it, user) = (lanes[0], lanes[1]);
    let vm = wifi.attach(it).unwrap();
    start(&mut wifi, it);
    let refused = taken(address(1));
    assert_eq!(bear(&mut wifi, it, address(1)), refused, "a VM's to come");
    assert_eq!(addresses_refused(&wifi, it), 1);
    go(&mut wifi, it);
    assert_eq!(wifi.attach(user), Ok(vm));
    start(&mut wifi, user);
    assert_eq!(addresses_refused(&wifi, user), 0);
    let refused = taken(address(0));
    for count in 1..=2 {
        assert_eq!(
            bear(&mut wifi, user, address(0)),
            refused,
            "a VM's that went"
        );
        assert_eq!(addresses_refused(&wifi, user), count);
    }
    assert_ne!(wifi.attach(it), Ok(vm), "the other still has it");
    start(&mut wifi, it);
    assert_eq!(addresses_refused(&wifi, it), 1);
}

#[test]
fn a_vm_that_vanishes_leaves_nothing_and_its_card_is_told_so() {
    let (mut wifi, lanes) = lanes(2);
    let vm = wifi.attach(lanes[0]).unwrap();
    start(&mut wifi, lanes[0]);
    assert_eq!(bear(&mut wifi, lanes[0], address(0)).len(), 1);
    // The reset is under way when the VM is told gone.
    request(&mut wifi, lanes[0], Command::Reset);
    wifi.detach(NOW, lanes[0]);
    assert_ne!(wifi.attach(lanes[1]), Ok(vm), "not free before it is reset");
    assert_eq!(told(&mut wifi, lanes[0]), reset_done());
    assert_eq!(wifi.cards()[0].nic().vmacs().count(), 0);
    assert_eq!(wifi.attach(lanes[0]), Ok(vm));
}

#[test]
fn a_lane_without_a_vm_can_ask_for_nothing_but_a_reset() {
    let (mut wifi, lanes) = lanes(1);
    assert_eq!(ask(&mut wifi, lanes[0], Command::Initialize), [""; 0]);
    assert_eq!(wifi.cards()[0].nic().vmacs().count(), 0);
    let told = ask(&mut wifi, lanes[0], Command::Reset);
    assert_eq!(told, reset_done());
}

#[test]
fn an_assigned_address_is_refused_to_the_vms_of_all_cards() {
    let (mut wifi, lanes) = two_cards();
    for (lane, other) in lanes.into_iter().zip([address(1), address(0)]) {
        let refused = taken(other);
        assert_eq!(bear(&mut wifi, lane, other), refused, "its VM is not up");
        assert_eq!(addresses_refused(&wifi, lane), 1);
    }
    for lane in lanes {
        let own = address(lane.index());
        assert_eq!(bear(&mut wifi, lane, own), done(Reply::Ok));
    }
}

#[test]
fn an_address_that_a_vm_has_chosen_is_refused_to_those_of_other_cards_while_it_bears_it() {
    let (mut wifi, [first, second]) = two_cards();
    let chosen = address(77);
    // Both ask before either is answered.
    for lane in [first, second] {
        request(&mut wifi, lane, configure(chosen, MacAddr::ZERO));
    }
    assert_eq!(told(&mut wifi, first), done(Reply::Ok));
    assert_eq!(told(&mut wifi, second), taken(chosen));
    assert_eq!(addresses_refused(&wifi, second), 1);
    assert_eq!(bear(&mut wifi, first, chosen), done(Reply::Ok), "it is its");
    go(&mut wifi, first);
    assert_eq!(bear(&mut wifi, second, chosen), done(Reply::Ok));
}

#[test]
fn a_weight_that_was_set_before_a_vm_attached_is_its_and_not_the_next_ones() {
    let (mut wifi, lanes) = lanes(2);
    wifi.set_weight(lanes[0], 3);
    for (&lane, weight) in lanes.iter().zip([3, 1]) {
        wifi.attach(lane).unwrap();
        start(&mut wifi, lane);
        let mut vmacs = wifi.cards()[0].nic().vmacs();
        assert_eq!(vmacs.next().map(|vmac| vmac.weight), Some(weight));
        drop(vmacs);
        go(&mut wifi, lane);
    }
}

#[test]
fn a_vm_does_not_hear_the_answers_to_the_one_that_had_its_lane_before() {
    let (mut wifi, lanes) = lanes(1);
    let vm = wifi.attach(lanes[0]).unwrap();
    start(&mut wifi, lanes[0]);
    request(&mut wifi, lanes[0], Command::Statistics { clear: false });
    wifi.detach(NOW, lanes[0]);
    assert_ne!(wifi.attach(lanes[0]), Ok(vm), "not free yet");
    assert_eq!(told(&mut wifi, lanes[0]), [""; 0]);
    start(&mut wifi, lanes[0]);
}

/// A data frame without content to the access point.
fn uplink(from: MacAddr, to: MacAddr) -> Transmit {
    let (mut memory, mut header) = (Memory::new(), [0; 24]);
    header[..2].copy_from_slice(&[0x08, 0x01]);
    for (at, address) in [(4, to), (10, from), (16, to)] {
        header[at..at + 6].copy_from_slice(&address.0);
    }
    memory.map(0, 4_096, Backing::Anonymous, true).unwrap();
    memory.write(0, &header).unwrap();
    Transmit {
        frame: Frame::new(&mut memory, [(0, header.len())]).unwrap(),
        queue: 2,
        category: AccessCategory::BestEffort,
        station: StationIndex(0),
        acknowledge: true,
        assign_sequence: true,
        protect: false,
        aggregate: false,
        rate: TxRate::Fixed(Rate::OFDM_6),
        cipher: TxCipher::None,
        retry_limit: 1,
    }
}

#[test]
fn what_a_vm_asks_for_before_a_frame_is_done_before_it() {
    let (mut wifi, lanes) = lanes(1);
    let (lane, access_point) = (lanes[0], address(100));
    wifi.attach(lane).unwrap();
    let before = [
        Command::Initialize,
        configure(address(0), access_point),
        Command::AddStation(StationIndex(0), access_point, PeerHt::default()),
        Command::Flush(u32::MAX),
        Command::Transmit(uplink(address(0), access_point)),
    ];
    for command in before {
        request(&mut wifi, lane, command);
    }
    let mut now = NOW;
    let status = loop {
        let wake = wifi.step(now);
        match wifi.next_event(lane) {
            Some(Event::Transmitted(_, report)) => break report.status,
            Some(_) => {}
            None => now = wake.expect("the frame is under way"),
        }
    };
    assert_eq!(status, TxStatus::NoAck, "there is no access point");
}
