//! What the medium yields, by rate, signal-to-noise ratio and number of saturated stations: a table
//! in the repository, so that a change of the medium shows in its figures.
//!
//! `UPDATE_DOCS=1 cargo test -p airlane-air --test table` writes it anew. The table is compared to the
//! last digit: with the same seed and the same arithmetic, every draw is decided alike. Logarithms and
//! powers come from the C library; where they differ in a last bit ([`arithmetic`]), one draw decided
//! otherwise changes all that follow, and the table holds only as closely as a second's sample does.

mod common;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_air::*;
use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use common::*;

const PAYLOAD: usize = 1472;
/// QoS header, CCMP, LLC, IP and UDP around the payload.
const FRAME: usize = 26 + 16 + 8 + 28 + PAYLOAD;
const SPAN: Micros = Micros(1_000_000);
const STATIONS: [usize; 4] = [1, 2, 5, 20];
const SNR: [f32; 7] = [3.0, 8.0, 13.0, 18.0, 23.0, 28.0, 33.0];
/// Frames that each station keeps queued.
const DEPTH: u16 = 128;

fn rates() -> Vec<(&'static str, Rate)> {
    vec![
        ("6 Mb/s", Rate::OFDM_6),
        ("24 Mb/s", Rate::Ofdm(OfdmRate::M24)),
        ("54 Mb/s", M54),
        ("MCS 7", ht(7, false, true)),
        ("MCS 15, 40 MHz", ht(15, true, true)),
        ("MCS 23, 40 MHz", ht(23, true, true)),
    ]
}

/// Counts the data PPDUs.
struct Ppdus(Arc<AtomicU64>);

impl Tap for Ppdus {
    fn frame(&mut self, captured: &Captured<'_>) {
        let last = captured.subframe.is_none_or(|subframe| subframe.last);
        let data = captured.frame[0] == 0x88;
        self.0.fetch_add(u64::from(data && last), Ordering::Relaxed);
    }
}

struct Yield {
    mbps: f64,
    /// Share of MPDUs lost to noise, in per cent.
    noise: f64,
    /// Share of PPDUs lost to another, in per cent.
    collided: f64,
}

struct Bench {
    air: Air,
    senders: Vec<(RadioId, u16)>,
    rate: Rate,
}

impl Bench {
    fn new(rate: Rate, snr: f32, stations: usize) -> Self {
        let floor = noise_floor_dbm(rate, AirConfig::default().noise_figure_db);
        let mut air = Air::new(AirConfig {
            path_loss: PathLoss::Ideal {
                loss_db: 15.0 - floor - snr,
            },
            ..AirConfig::default()
        });
        let channel = ghz5().with_width(Width::Mhz40Above);
        radio(&mut air, channel, ACCESS_POINT);
        let senders = (0..stations).map(|n| (radio(&mut air, channel, address(n)), 0));
        let senders = senders.collect();
        Self { air, senders, rate }
    }

    fn send(&mut self, now: Instant, at: usize) {
        let (id, sequence) = &mut self.senders[at];
        *sequence = (*sequence + 1) & 0xfff;
        let frame = qos(ACCESS_POINT, address(at), *sequence, FRAME);
        let channel = ghz5().with_width(Width::Mhz40Above);
        let mut transmission = Transmission::new(at as u64, frame, channel, self.rate);
        transmission.edca.aifsn = 3;
        transmission.aggregation = Some(Aggregation::LARGEST);
        self.air.transmit(now, *id, transmission);
    }

    fn run(mut self) -> Yield {
        let ppdus = Arc::new(AtomicU64::new(0));
        self.air.set_tap(Box::new(Ppdus(Arc::clone(&ppdus))));
        let depth = if matches!(self.rate, Rate::Ht { .. }) {
            DEPTH
        } else {
            2
        };
        for at in 0..self.senders.len() {
            for _ in 0..depth {
                self.send(Instant(0), at);
            }
        }
        let (mut now, mut acknowledged) = (Instant(0), 0);
        while now < Instant(0) + SPAN {
            now = self.air.step(now).expect("stations are saturated");
            while let Some(event) = self.air.next_event() {
                if let AirEvent::Sent(Ended { token, outcome, .. }) = event {
                    acknowledged += u64::from(outcome == Outcome::Acknowledged);
                    self.send(now, token as usize);
                }
            }
        }
        let counters = self.air.counters();
        let ppdus = ppdus.load(Ordering::Relaxed) as f64;
        Yield {
            mbps: (acknowledged * 8 * PAYLOAD as u64) as f64 / now.0 as f64,
            noise: 100.0 * counters.noise_errors as f64 / counters.frames as f64,
            collided: 100.0 * counters.collisions as f64 / ppdus,
        }
    }
}

fn document() -> String {
    let mut text = String::from(
        "Goodput in Mb/s of UDP payload (1,472 bytes, EDCA best effort, CCMP) / MPDUs lost to noise in\n\
         per cent / PPDUs lost to a collision in per cent, by signal-to-noise ratio in the bandwidth\n\
         of the rate and by saturated stations. 802.11n with short guard interval and A-MPDUs.\n\
         Below 12 dB in 20 MHz, 9 dB in 40 MHz, stations are weaker than -82 dBm: they do not hear\n\
         each other, and all are hidden nodes.\n\
         Written by `UPDATE_DOCS=1 cargo test -p airlane-air --test table`.\n\n",
    );
    let heads: String = STATIONS.map(|stations| format!("{stations:>22}")).concat();
    writeln!(text, "{:<16}{:>6}{heads}", "rate", "SNR").unwrap();
    for (name, rate) in rates() {
        for snr in SNR {
            write!(text, "{name:<16}{snr:>6.0}").unwrap();
            for stations in STATIONS {
                let Yield {
                    mbps,
                    noise,
                    collided,
                } = Bench::new(rate, snr, stations).run();
                write!(
                    text,
                    "{:>22}",
                    format!("{mbps:.1} / {noise:.1} / {collided:.1}")
                )
                .unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// What the C library makes of the model's formulas, all bits of it.
fn arithmetic() -> u64 {
    let mut sum = 0u64;
    for (_, rate) in rates() {
        for quarter_db in 0..160u16 {
            let snr = f32::from(quarter_db) / 4.0;
            let success = error_model::success_probability(rate, FRAME, snr);
            let floor = noise_floor_dbm(rate, snr);
            for bits in [success.to_bits(), u64::from(floor.to_bits())] {
                sum = sum.rotate_left(7).wrapping_mul(0x0000_0100_0000_01b3) ^ bits;
            }
        }
    }
    sum
}

/// [`arithmetic`] where the table was written.
const WRITTEN_WITH: u64 = 0xe2ed_57d8_c46c_2406;

/// True when two lines differ by no more than samples of a second do: words are equal, numbers
/// nearly so. At 6 Mb/s a second has 300 frames, of which chance moves a few.
fn sampled_alike(one: &str, other: &str) -> bool {
    let mut words = one.split_whitespace().zip(other.split_whitespace());
    words.all(|(one, other)| nearly(one, other))
}

fn nearly(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 0.03 * one.abs().max(other.abs()) + 0.5,
        _ => one == other,
    }
}

#[test]
fn the_table_in_the_repository_is_what_the_medium_yields() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/medium.txt");
    let now = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let exact = arithmetic() == WRITTEN_WITH;
    for (kept, now) in kept.lines().zip(now.lines()) {
        let equal = kept == now || !exact && sampled_alike(kept, now);
        assert!(equal, "run with UPDATE_DOCS=1 and judge:\n{kept}\n{now}");
    }
    println!(
        "arithmetic {:#018x}, compared exactly: {exact}",
        arithmetic()
    );
    assert_eq!(kept.lines().count(), now.lines().count());
}
