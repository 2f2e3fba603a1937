//! Guests and radio waves that mean no good.

use std::sync::Arc;

use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use airlane_waist::*;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::world::*;

fn joined() -> World {
    let mut world = World::new(&[36]);
    world.join(0, 0);
    world.join(1, 0);
    world.set_key(0, 0, false, KEY);
    world.set_key(1, 1, true, KEY);
    world.configure(1, |c| c.filter = ReceiveFilter::all(), Some(0));
    world.run(Micros::from_millis(1));
    world
}

fn any_command(rng: &mut SmallRng) -> VifCommand {
    let station = StationIndex(rng.random_range(0..20));
    match rng.random_range(0..18) {
        0 => VifCommand::Reset,
        1 | 2 => VifCommand::Initialize,
        4 => VifCommand::Flush(rng.random()),
        5 => VifCommand::AddStation(station, bssid(rng.random_range(0..3)), PeerHt::default()),
        6 => VifCommand::RemoveStation(bssid(rng.random_range(0..3))),
        7 => VifCommand::RemoveKey(station, rng.random()),
        8 => VifCommand::BlockAck(BlockAck {
            station,
            tid: rng.random(),
            start: Some(0),
        }),
        9 => VifCommand::RateTable(
            station,
            Box::new(if rng.random() {
                ladder()
            } else {
                RateTable::new()
            }),
            AggregationLimits::default(),
        ),
        10 => VifCommand::SwitchChannel(ChannelSwitch {
            channel: channel(rng.random_range(30..60)),
            after: Micros(rng.random_range(0..u64::MAX)),
        }),
        11 => VifCommand::SetKey(Box::new(Key {
            station,
            slot: rng.random(),
            index: rng.random(),
            group: rng.random(),
            cipher: Cipher::Ccmp,
            bytes: rng.random(),
        })),
        14 => VifCommand::TxPower(rng.random()),
        15 => VifCommand::Statistics { clear: true },
        _ => VifCommand::Configure(Box::new(VifConfig {
            address: own(rng.random_range(0..5)),
            bssid: bssid(rng.random_range(0..3)),
            mode: Mode::Station,
            channel: channel(rng.random_range(35..38)),
            associated: rng.random(),
            association_id: 0,
            filter: ReceiveFilter::from_bits_truncate(rng.random()),
            short_slot: true,
            short_preamble: true,
            protect: rng.random(),
            forget_stations: rng.random(),
        })),
    }
}

/// Whatever VMs ask for, as the host driver passes it on.
fn any_slot(rng: &mut SmallRng) -> ScanSlot {
    let participant = |rng: &mut SmallRng, number| Participant {
        vm: vm(number),
        active: rng.random(),
        request: Arc::new(ScanRequest {
            channels: Vec::new(),
            probe: (0..rng.random_range(0..60)).map(|_| rng.random()).collect(),
            ssids: vec![vec![1; rng.random_range(0..300)]],
            rate: Rate::OFDM_6,
            max_away: Micros(0),
            filter: ReceiveFilter::all(),
        }),
    };
    ScanSlot {
        channel: channel(rng.random_range(30..60)),
        dwell: Micros(rng.random_range(0..200_000)),
        max_away: Micros(rng.random_range(0..2)),
        begins: rng.random(),
        participants: (0..rng.random_range(0..4))
            .map(|number| participant(rng, number))
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_from_the_air_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120), to in 0usize..4) {
        let mut world = joined();
        let mut bytes = bytes;
        let target = match to { 0 | 1 => own(to), 2 => MacAddr::BROADCAST, _ => bssid(3) };
        if let Some(address) = bytes.get_mut(4..10) { address.copy_from_slice(&target.0); }
        if let Some(address) = bytes.get_mut(10..16) { address.copy_from_slice(&bssid(0).0); }
        let frame = Buffer::from_slice(&bytes).unwrap();
        let radio = world.nic.radio;
        world.nic.heard(&airlane_air::Heard {
            radio, frame, channel: channel(36), rate: Rate::OFDM_6, signal: Dbm(f32::NAN), at: Instant(0),
            from: radio, aggregated: false,
        });
        world.run(Micros::from_millis(1));
    }

    #[test]
    fn no_frame_of_a_guest_panics_or_goes_uncounted(
        bytes in proptest::collection::vec(any::<u8>(), 1..120), mine in any::<bool>(), seal in any::<bool>(),
    ) {
        let mut world = joined();
        let mut bytes = bytes;
        if let Some(address) = bytes.get_mut(10..16).filter(|_| mine) { address.copy_from_slice(&own(0).0); }
        let tag = world.send(0, &bytes, |t| if seal { t.cipher = TxCipher::Ccmp(KEY) });
        world.run(Micros::from_millis(100));
        world.status_of(0, tag);
        world.assert_conserved();
    }

    #[test]
    fn any_order_of_commands_keeps_every_answer_and_every_frame(seed in any::<u64>()) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut world = World::new(&[36, 37]);
        for _ in 0..150 {
            let number = rng.random_range(0..3);
            match rng.random_range(0..10) {
                0 => drop(world.leave_scan(number)),
                1 => drop(world.request(NicRequest::ScanSlot(Box::new(any_slot(&mut rng))))),
                _ => {}
            }
            if rng.random_range(0..3) == 0 {
                let frame = uplink(number, rng.random_range(0..2), &[0; 200]);
                world.send(number, &frame, |t| t.queue = rng.random_range(0..40));
            } else {
                let command = any_command(&mut rng);
                let (initialize, reset) = (matches!(command, VifCommand::Initialize), matches!(command, VifCommand::Reset));
                if initialize && world.nic.card.vmacs.get(vm(number)).is_some() { continue; }
                let later = matches!(command, VifCommand::Flush(_));
                if later || reset { world.ask(number, command); } else { world.answer(number, command); }
            }
            world.run(Micros(rng.random_range(0..20_000)));
            world.assert_conserved();
        }
        for number in 0..3 { world.ask(number, VifCommand::Reset); }
        world.run(Micros::from_millis(100));
        world.assert_conserved();
        for number in 0..3 { prop_assert_eq!(world.nic.vm_counters(vm(number)).queued, 0); }
    }
}
