//! One test per command: what a VM sets is its own, and a neighbour on the same access point keeps
//! all that it has set.

use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;

use super::world::*;
use crate::nic::Nic;

const PEER: StationIndex = StationIndex(0);

/// Everything that the card keeps of a VM, in words: the whole vMAC, its keys, its counters, its account of airtime.
fn state(nic: &Nic, number: usize) -> String {
    let vm = vm(number);
    let vmac = nic.card.vmacs.get(vm).expect("it is there");
    let keys = nic.card.keys.picture(vm);
    let counters = nic.vm_counters(vm);
    let account = nic.tx.airtime.account(vm);
    format!("{vmac:#?}\n{keys}\n{counters:#?}\n{account:?}")
}

fn timing(listen_interval: u16) -> Timing {
    Timing {
        beacon_interval: 100,
        listen_interval,
        dtim_period: 2,
    }
}

/// Two VMs on one access point, each with stations, keys, rates and settings.
fn neighbours() -> World {
    let mut world = World::new(&[36]);
    for number in [0, 1] {
        world.join(number, 0);
        world.set_key(number, 0, false, KEY);
        world.set_key(number, 1, true, KEY);
        world.ask(number, VifCommand::Timing(timing(5)));
        world.ask(number, VifCommand::TxPower(20));
        world.ask(number, block_ack(Some(7)));
    }
    world.run(Micros::from_millis(10));
    for _ in 0..3 {
        world.send(1, &uplink(1, 0, b"waits"), |_| {});
    }
    world
}

fn block_ack(start: Option<u16>) -> VifCommand {
    VifCommand::BlockAck(BlockAck {
        station: PEER,
        tid: 3,
        start,
    })
}

/// VM 0 asks for this: its own state is now another, and its neighbour's is what it was.
fn changes_its_own_only(command: VifCommand) {
    let mut world = neighbours();
    let before = [0, 1].map(|number| state(&world.nic, number));
    world.ask(0, command);
    assert_ne!(state(&world.nic, 0), before[0], "it has an effect");
    assert_eq!(state(&world.nic, 1), before[1]);
}

#[test]
fn configure_changes_the_own_vmac_only() {
    let mut world = neighbours();
    let before = state(&world.nic, 1);
    world.configure(0, |c| c.channel = channel(149), None);
    assert_eq!(
        world.nic.card.vmacs.get(vm(0)).unwrap().channel(),
        Some(channel(149))
    );
    assert_eq!(state(&world.nic, 1), before);
}

#[test]
fn initialize_starts_the_own_vmac_only() {
    changes_its_own_only(VifCommand::Initialize);
}

#[test]
fn timing_is_per_vmac() {
    changes_its_own_only(VifCommand::Timing(timing(9)));
}

#[test]
fn channel_access_parameters_are_per_vmac() {
    let eager = EdcaParameters {
        cw_min: 1,
        ..EdcaParameters::DCF
    };
    changes_its_own_only(VifCommand::Edca([eager; 4]));
}

#[test]
fn a_station_enters_the_own_table_only() {
    changes_its_own_only(VifCommand::AddStation(PEER, bssid(5), PeerHt::default()));
}

#[test]
fn a_station_leaves_the_own_table_only() {
    changes_its_own_only(VifCommand::RemoveStation(bssid(0)));
}

#[test]
fn flags_of_a_station_are_per_vmac() {
    let able = PeerHt {
        ampdu_exponent: 3,
        ampdu_spacing: 5,
        ht40: true,
    };
    changes_its_own_only(VifCommand::ModifyStation(PEER, able));
}

#[test]
fn a_key_is_the_own_vmacs_only() {
    changes_its_own_only(VifCommand::SetKey(Box::new(Key {
        station: PEER,
        slot: 0,
        index: 0,
        group: false,
        cipher: Cipher::Ccmp,
        bytes: [0x77; 16],
    })));
}

#[test]
fn a_key_goes_from_the_own_vmac_only() {
    changes_its_own_only(VifCommand::RemoveKey(PEER, 0));
}

#[test]
fn a_block_ack_agreement_is_per_vmac() {
    changes_its_own_only(block_ack(None));
}

#[test]
fn a_rate_ladder_is_per_vmac() {
    let slow = RateTable::from_iter([Rate::OFDM_6]);
    let limits = AggregationLimits::default();
    changes_its_own_only(VifCommand::RateTable(PEER, Box::new(slow), limits));
}

#[test]
fn transmit_power_is_per_vmac() {
    changes_its_own_only(VifCommand::TxPower(2));
}

#[test]
fn statistics_are_told_and_cleared_per_vmac() {
    let mut world = neighbours();
    world.run(Micros::from_millis(300));
    world.send(0, &uplink(0, 0, b"one"), |_| {});
    world.run(Micros::from_millis(10));
    let before = state(&world.nic, 1);
    let Reply::Statistics(told) = world.answer(0, VifCommand::Statistics { clear: true }) else {
        panic!("statistics are the answer");
    };
    assert_eq!(told.transmitted, 1, "the neighbour's three are not in it");
    let Reply::Statistics(now) = world.answer(0, VifCommand::Statistics { clear: false }) else {
        panic!("statistics are the answer");
    };
    assert_eq!((now.transmitted, now.beacons), (0, 0));
    assert_eq!(state(&world.nic, 1), before);
}

#[test]
fn a_channel_switch_is_per_vmac() {
    let switch = ChannelSwitch {
        channel: channel(48),
        after: Micros::from_millis(10),
    };
    changes_its_own_only(VifCommand::SwitchChannel(switch));
}

#[test]
fn a_flush_drops_the_own_frames_only() {
    let mut world = neighbours();
    for _ in 0..3 {
        world.send(0, &uplink(0, 0, b"goes"), |_| {});
    }
    let before = state(&world.nic, 1);
    world.ask(0, VifCommand::Flush(u32::MAX));
    assert_eq!(world.nic.card.vmacs.get(vm(0)).unwrap().tx.outstanding(), 0);
    assert_eq!(state(&world.nic, 1), before);
}

#[test]
fn a_reset_takes_the_own_vmac_only() {
    let mut world = neighbours();
    let before = state(&world.nic, 1);
    world.ask(0, VifCommand::Reset);
    assert!(world.nic.card.vmacs.get(vm(0)).is_none());
    assert_eq!(state(&world.nic, 1), before);
}
