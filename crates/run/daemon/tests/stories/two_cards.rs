//! Two cards on one air: each has a radio of its own, its own VM-IDs, and stays on the channel of its own network.

use airlane_daemon::{DataPath, Wifi};
use airlane_dot11::MacAddr;

use crate::cell::{Cell, gateway};
use crate::drive::Drive;
use crate::story::channel;

const CHANNELS: [u16; 2] = [36, 44];

/// A VM on each card, each in a network of its own.
fn two_cards() -> Cell {
    two_cards_with(|_| {})
}

/// The same, with something set before any VM asks for anything.
fn two_cards_with(change: impl Fn(&mut Wifi)) -> Cell {
    let mut cell = Cell::with_cards(91, 2, &[Some("the first one"), None], |built_in| {
        let second = built_in.name == "ap1";
        built_in.bss.channel = channel(CHANNELS[usize::from(second)]);
    });
    change(&mut cell.world().radio);
    for ap in 0..2 {
        cell.guest(ap);
    }
    cell.join(&[0, 1]);
    cell
}

#[test]
fn each_card_joins_its_own_network_and_no_radio_leaves_its_channel() {
    let mut cell = two_cards();
    for number in 0..2 {
        let replies = cell.ping(number, gateway(number), 20, 100);
        assert_eq!(replies.len(), 20, "VM {number}");
    }
    let address = |number: usize| cell.guests[number].address;
    let expected: Vec<Vec<MacAddr>> = (0..2).map(|number| vec![address(number)]).collect();
    assert_eq!([cell.joined(0), cell.joined(1)], expected[..]);
    let world = cell.world();
    for (card, number) in world.radio.cards().iter().zip(CHANNELS) {
        let contexts: Vec<_> = card
            .nic()
            .contexts(world.now)
            .map(|context| context.channel)
            .collect();
        assert_eq!(contexts, [channel(number)], "{}", card.name());
        let vmacs: Vec<_> = card.nic().vmacs().map(|vmac| vmac.vm.index()).collect();
        assert_eq!(vmacs, [0], "the first VM-ID of {}", card.name());
    }
}

#[test]
fn a_card_that_is_moved_out_of_range_takes_its_own_vm_along_and_no_other() {
    let mut cell = two_cards();
    let far = airlane_air::Position {
        x: 5_000.0,
        ..Default::default()
    };
    cell.world()
        .radio
        .place(airlane_daemon::Placed::Card(1), far);
    assert!(cell.ping(1, gateway(1), 10, 100).is_empty());
    assert_eq!(cell.ping(0, gateway(0), 10, 100).len(), 10);
}

#[test]
fn frames_of_one_card_go_through_its_host_driver_while_those_of_the_other_pass_by() {
    let mut cell = two_cards_with(|radio| {
        let second = radio.card_mut(1).expect("the second card");
        second.set_data_path(DataPath::Emulated);
    });
    let passed_on = |cell: &Cell| {
        let world = cell.world();
        [0, 1].map(|card| world.radio.cards()[card].host().counters().passed_on)
    };
    let before = passed_on(&cell);
    for number in 0..2 {
        assert_eq!(cell.ping(number, gateway(number), 20, 100).len(), 20);
    }
    let after = passed_on(&cell);
    let [first, second] = [0, 1].map(|card| after[card] - before[card]);
    assert!(first < 20, "{first} requests of the first card");
    assert!(second >= 20, "{second} requests of the second card");
}
