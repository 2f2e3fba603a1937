//! Whatever is done to the medium, in whatever order, nothing is lost, nothing hangs, and time
//! does not go back.

mod common;

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use common::*;
use proptest::prelude::*;

const RADIOS: usize = 4;

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: usize,
        to: usize,
        length: usize,
        category: usize,
        protect: u8,
        rate: u8,
    },
    Tune(usize, u8),
    Cancel(usize),
    Move(usize, f32),
    Replace(usize),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let send = (
        0..RADIOS,
        0..RADIOS + 2,
        0..2000_usize,
        0..4_usize,
        0..3_u8,
        0..4_u8,
    )
        .prop_map(|(from, to, length, category, protect, rate)| Act::Send {
            from,
            to,
            length,
            category,
            protect,
            rate,
        });
    prop_oneof![
        6 => send,
        2 => (0..RADIOS, 0..6_u8).prop_map(|(radio, channel)| Act::Tune(radio, channel)),
        1 => (0..RADIOS).prop_map(Act::Cancel),
        1 => (0..RADIOS, 0.0..80.0_f32).prop_map(|(radio, x)| Act::Move(radio, x)),
        1 => (0..RADIOS).prop_map(Act::Replace),
        6 => (0..600_u64).prop_map(Act::Wait),
    ]
}

struct World {
    air: Air,
    radios: Vec<RadioId>,
    now: Instant,
    last: Instant,
    ended: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut air = Air::new(AirConfig {
            seed,
            path_loss: PathLoss::LogDistance { exponent: 3.2 },
            ..AirConfig::default()
        });
        let radios = (0..RADIOS)
            .map(|at| radio_at(&mut air, ghz5(), address(at), 12.0 * at as f32))
            .collect();
        Self {
            air,
            radios,
            now: Instant(0),
            last: Instant(0),
            ended: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        let Self { air, now, .. } = self;
        match *act {
            Act::Send { from, .. } => air.transmit(*now, self.radios[from], transmission(act)),
            Act::Tune(radio, 0) => air.tune(*now, self.radios[radio], None),
            Act::Tune(radio, 1) => air.tune(*now, self.radios[radio], Some(ghz2())),
            Act::Tune(radio, 2) => {
                let wide = ghz5().with_width(Width::Mhz40Above);
                air.tune(*now, self.radios[radio], Some(wide));
            }
            Act::Tune(radio, 3) => {
                let other = Channel::new(Band::Ghz5, 40).unwrap();
                let other = other.with_width(Width::Mhz40Below);
                air.tune(*now, self.radios[radio], Some(other));
            }
            Act::Tune(radio, _) => air.tune(*now, self.radios[radio], Some(ghz5())),
            Act::Cancel(radio) => air.cancel(*now, self.radios[radio], |token| token % 2 == 0),
            Act::Move(radio, x) => {
                let position = Position { x, y: 0.0, z: 0.0 };
                air.move_radio(self.radios[radio], position);
            }
            Act::Replace(at) => {
                air.remove_radio(self.radios[at]);
                self.radios[at] = radio(air, ghz5(), address(at));
            }
            Act::Wait(span) => {
                *now += Micros(span);
                let next = air.step(*now);
                assert!(next.is_none_or(|next| next > *now));
            }
        }
        self.take_events();
    }

    fn take_events(&mut self) {
        while let Some(event) = self.air.next_event() {
            let at = event.at();
            assert!(at >= self.last, "{event:?} after {}", self.last);
            self.last = at;
            self.ended += u64::from(matches!(event, AirEvent::Sent(_)));
        }
        assert_conserved(&self.air, &self.radios);
        assert_eq!(self.ended, self.air.counters().ended());
    }

    /// With every radio on the channel of its frames, all queues run empty.
    fn settle(&mut self) {
        for channel in [ghz2(), ghz5(), ghz2(), ghz5(), ghz2(), ghz5()] {
            for _ in 0..8 {
                for radio in &self.radios {
                    self.air.tune(self.now, *radio, Some(channel));
                }
                self.run_empty();
            }
        }
        let counters = self.air.counters();
        assert_eq!(counters.offered, counters.ended());
    }

    /// Comes back when told to, and never finds that something has come out before.
    fn run_empty(&mut self) {
        self.take_events();
        while let Some(next) = self.air.step(self.now) {
            self.take_events();
            self.now = next;
            self.last = next;
        }
        self.take_events();
    }
}

fn transmission(act: &Act) -> Transmission {
    let Act::Send {
        from,
        to,
        length,
        category,
        protect,
        rate,
    } = *act
    else {
        unreachable!("only called for sends");
    };
    let receiver = if to > RADIOS {
        MacAddr::BROADCAST
    } else {
        address(to)
    };
    let rate = [
        Rate::OFDM_6,
        M54,
        Rate::DSSS_1,
        Rate::Ht {
            mcs: 15,
            ht40: length % 2 == 0,
            short_guard: true,
            greenfield: false,
        },
    ][usize::from(rate)];
    let (receiver_is_odd, sequence) = (to % 2 == 1, (length / 7 % 4096) as u16);
    let frame = if receiver_is_odd {
        data(receiver, address(from), length)
    } else {
        qos(receiver, address(from), sequence, length)
    };
    let mut transmission = Transmission::new(length as u64, frame, ghz5(), rate);
    transmission.aggregation = Some(Aggregation::LARGEST);
    transmission.category = AccessCategory::ALL[category];
    transmission.protect =
        [Protection::None, Protection::RtsCts, Protection::CtsToSelf][usize::from(protect)];
    transmission
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_and_nothing_hangs(seed: u64, acts in prop::collection::vec(act(), 1..120)) {
        let mut world = World::new(seed);
        for act in &acts {
            world.act(act);
        }
        world.settle();
    }
}
