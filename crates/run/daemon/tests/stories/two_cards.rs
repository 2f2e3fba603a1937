//! Two cards on one air: each has a radio of its own, its own VM-IDs, and stays on the channel of its own network.

use airlane_dot11::MacAddr;

use crate::cell::{Cell, gateway};
use crate::drive::Drive;
use crate::story::channel;

const CHANNELS: [u16; 2] = [36, 44];

/// A VM on each card, each in a network of its own.
fn two_cards() -> Cell {
    let mut cell = Cell::with_cards(91, 2, &[Some("the first one"), None], |built_in| {
        let second = built_in.name == "ap1";
        built_in.bss.channel = channel(CHANNELS[usize::from(second)]);
    });
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
