//! The oracle: Bianchi's model of saturated stations ("Performance Analysis of the IEEE 802.11
//! Distributed Coordination Function", IEEE JSAC 18(3), 2000), and the process that it describes.
//!
//! The model assumes that a station's attempts collide independently of its past. With few stations
//! and 16 slots that costs some per cent: with two, each knows much of the other's counter. So the
//! process itself is here, too: the same slots, played out without that assumption.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Smallest window, in slots: CWmin + 1.
const WINDOW: f64 = 16.0;
/// How often it can double: CWmax = 1023.
const STAGES: i32 = 6;

/// Probability that a station sends in a slot, when each attempt collides with probability `p`
/// (equation 7).
fn attempt(p: f64) -> f64 {
    let stages: f64 = (0..STAGES).map(|stage| (2.0 * p).powi(stage)).sum();
    2.0 / (1.0 + WINDOW + p * WINDOW * stages)
}

/// Probability that an attempt of one of `stations` collides: the fixed point of equations 7 and 9.
pub fn collision(stations: usize) -> f64 {
    let others = stations as i32 - 1;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - attempt(p)).powi(others) > p {
            low = p;
        } else {
            high = p;
        }
    }
    low
}

/// What a slot of each kind lasts, in microseconds, and carries.
#[derive(Clone, Copy)]
pub struct Slots {
    pub empty: f64,
    pub success: f64,
    pub collision: f64,
    pub bits: f64,
}

impl Slots {
    /// A station that draws zero after its success sends once more before anyone else may: DCF
    /// (Tinnirello, Bianchi and Xiao, "Refinements on IEEE 802.11 Distributed Coordination Function
    /// Modeling Approaches", IEEE TVT 59(3), 2010). EDCA gives that slot to all.
    pub fn dcf(self) -> Self {
        let goes_on = 1.0 / WINDOW;
        Self {
            success: self.success / (1.0 - goes_on) + self.empty,
            bits: self.bits / (1.0 - goes_on),
            ..self
        }
    }
}

/// Throughput of all stations together, in bits per microsecond (equation 13).
pub fn throughput(stations: usize, slots: &Slots) -> f64 {
    let tau = attempt(collision(stations));
    let quiet = (1.0 - tau).powi(stations as i32);
    let success = stations as f64 * tau * (1.0 - tau).powi(stations as i32 - 1);
    let collision = 1.0 - quiet - success;
    let time = quiet * slots.empty + success * slots.success + collision * slots.collision;
    success * slots.bits / time
}

/// Share of attempts that collide when the process is played out for `turns` busy slots.
pub fn played(stations: usize, turns: usize) -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut players = vec![(0, 0_u32); stations];
    let (mut attempts, mut lost) = (0, 0);
    for _ in 0..turns {
        let first = players.iter().map(|(_, slots)| *slots).min().unwrap();
        let senders = players.iter().filter(|(_, slots)| *slots == first).count();
        attempts += senders;
        lost += if senders > 1 { senders } else { 0 };
        for (stage, slots) in &mut players {
            if *slots > first {
                *slots -= first + 1;
                continue;
            }
            *stage = if senders > 1 {
                STAGES.min(*stage + 1)
            } else {
                0
            };
            *slots = rng.random_range(0..16 << *stage);
        }
    }
    lost as f64 / attempts as f64
}
