//! What an access point sends to a VM under a block-ack agreement shares A-MPDUs.

use airlane_air::AirCounters;
use airlane_dot11::Rate;
use airlane_lane::Micros;

use crate::drive::Drive;
use crate::frames::Note;
use crate::joining::notes;
use crate::story::Story;

/// Bits of ADD_STA's modify mask.
const ADD_BLOCK_ACK: u8 = 0x08;
const REMOVE_BLOCK_ACK: u8 = 0x10;

/// A VM that has joined an access point with 802.11n rates: 144 Mb/s, then 65.
fn joined() -> Story {
    let mut story = Story::new(61, &[36], 1);
    story.join(&[(0, 0)]);
    let ht = |mcs, short_guard| Rate::Ht {
        mcs,
        ht40: false,
        short_guard,
        greenfield: false,
    };
    story.aps[0].rates = vec![(ht(15, true), 3), (ht(7, false), 4)];
    story
}

/// The driver makes or ends the agreement on TID 0.
fn agree(story: &mut Story, modify: u8) {
    let mut payload = [0; 92];
    (payload[0], payload[0x0d]) = (1, modify);
    assert_eq!(story.vms[0].driver.command(0x18, &payload)[0], 1);
}

/// The access point sends `count` frames at once; what the air counted by the time all had ended.
fn send(story: &mut Story, first: u32, count: u32) -> AirCounters {
    let to = story.vms[0].address;
    for number in first..first + count {
        let note = Note { vm: 0, number };
        story.aps[0].send_data(to, note, &note.encode(1_000));
    }
    let all = (first + count) as usize;
    story.run_until("all have come", Micros::from_millis(1_000), |story| {
        story.vms[0].echoes.len() == all && story.aps[0].unreported() == 0
    });
    story.world().radio.air().counters().clone()
}

#[test]
fn frames_under_an_agreement_share_ampdus_in_order_each_with_its_status() {
    let mut story = joined();
    agree(&mut story, ADD_BLOCK_ACK);
    let counters = send(&mut story, 0, 60);
    assert!((1..5).contains(&counters.aggregates), "{counters:?}");
    assert_eq!(counters.aggregates, counters.block_acks);
    assert_eq!(story.vms[0].echoes, notes(0, 60));
    assert_eq!(story.aps[0].seen.acknowledged, notes(0, 60));
    assert_eq!(story.aps[0].seen.attempts, 60);
}

#[test]
fn without_an_agreement_or_after_its_end_each_goes_alone() {
    let mut story = joined();
    assert_eq!(send(&mut story, 0, 20).aggregates, 0);
    agree(&mut story, ADD_BLOCK_ACK);
    let during = send(&mut story, 20, 20).aggregates;
    assert!(during > 0);
    agree(&mut story, REMOVE_BLOCK_ACK);
    assert_eq!(send(&mut story, 40, 20).aggregates, during);
}
