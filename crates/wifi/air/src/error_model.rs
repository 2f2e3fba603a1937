//! How likely a frame is to arrive without a bit error, by signal-to-noise ratio.
//!
//! OFDM and HT: the bit error probability of each constellation in white Gaussian noise (Proakis,
//! *Digital Communications*, 5.2), then the union bound of the K = 7 convolutional code under
//! hard-decision decoding, `Pb <= 1/(2b) sum c_d D^d` with `D = sqrt(4 p (1 - p))` and the weight
//! spectra of Frenger, Orten and Ottosson, "Convolutional codes with optimum distance spectrum",
//! IEEE Communications Letters 3(11), 1999. This is the model that Pei and Henderson, "Validation
//! of OFDM error rate model in ns-3" (2010), measured against a CMU testbed.
//! DSSS and CCK: IEEE 802.15.2-2003 annex on 802.11b error rates.
//!
//! Left out: fading, frequency selectivity, and any loss of separating MIMO streams. Each of `n`
//! streams has an `n`-th of the power.

use airlane_dot11::{DsssRate, OfdmRate, Rate};

#[derive(Clone, Copy)]
enum Modulation {
    Bpsk,
    Qpsk,
    Qam16,
    Qam64,
}

#[derive(Clone, Copy)]
enum Coding {
    Half,
    TwoThirds,
    ThreeQuarters,
    FiveSixths,
}

/// Probability, 0 to 1, that `octets` bytes at `rate` are received without error when the signal is
/// `snr_db` above noise and interference together.
pub fn success_probability(rate: Rate, octets: usize, snr_db: f32) -> f64 {
    let snr = 10f64.powf(f64::from(snr_db) / 10.0);
    let bits = 8.0 * octets as f64;
    match rate {
        Rate::Dsss { rate, .. } => dsss(rate, bits, snr),
        Rate::Ofdm(rate) => {
            let (modulation, coding) = ofdm_scheme(rate);
            coded(modulation, coding, bits, snr)
        }
        Rate::Ht { mcs, .. } => {
            let (modulation, coding) = ht_scheme(mcs);
            let streams = f64::from(mcs / 8) + 1.0;
            coded(modulation, coding, bits, snr / streams)
        }
    }
}

/// IEEE 802.11-2020 table 17-4.
fn ofdm_scheme(rate: OfdmRate) -> (Modulation, Coding) {
    match rate {
        OfdmRate::M6 => (Modulation::Bpsk, Coding::Half),
        OfdmRate::M9 => (Modulation::Bpsk, Coding::ThreeQuarters),
        OfdmRate::M12 => (Modulation::Qpsk, Coding::Half),
        OfdmRate::M18 => (Modulation::Qpsk, Coding::ThreeQuarters),
        OfdmRate::M24 => (Modulation::Qam16, Coding::Half),
        OfdmRate::M36 => (Modulation::Qam16, Coding::ThreeQuarters),
        OfdmRate::M48 => (Modulation::Qam64, Coding::TwoThirds),
        OfdmRate::M54 => (Modulation::Qam64, Coding::ThreeQuarters),
    }
}

/// IEEE 802.11-2020 table 19-27.
fn ht_scheme(mcs: u8) -> (Modulation, Coding) {
    match mcs % 8 {
        0 => (Modulation::Bpsk, Coding::Half),
        1 => (Modulation::Qpsk, Coding::Half),
        2 => (Modulation::Qpsk, Coding::ThreeQuarters),
        3 => (Modulation::Qam16, Coding::Half),
        4 => (Modulation::Qam16, Coding::ThreeQuarters),
        5 => (Modulation::Qam64, Coding::TwoThirds),
        6 => (Modulation::Qam64, Coding::ThreeQuarters),
        _ => (Modulation::Qam64, Coding::FiveSixths),
    }
}

fn coded(modulation: Modulation, coding: Coding, bits: f64, snr: f64) -> f64 {
    let raw = uncoded_error(modulation, snr);
    without_error(coded_error(coding, raw), bits)
}

fn without_error(bit_error: f64, bits: f64) -> f64 {
    (bits * (-bit_error.clamp(0.0, 1.0)).ln_1p()).exp()
}

/// Gray-coded constellations, nearest neighbours only.
fn uncoded_error(modulation: Modulation, snr: f64) -> f64 {
    match modulation {
        Modulation::Bpsk => 0.5 * erfc(snr.sqrt()),
        Modulation::Qpsk => 0.5 * erfc((snr / 2.0).sqrt()),
        Modulation::Qam16 => 0.375 * erfc((snr / 10.0).sqrt()),
        Modulation::Qam64 => 7.0 / 24.0 * erfc((snr / 42.0).sqrt()),
    }
}

/// Shortest distance, step between distances, input bits per step of the punctured code, and the
/// weight spectrum from that distance on.
type Spectrum = (i32, i32, f64, [f64; 6]);

fn spectrum(coding: Coding) -> Spectrum {
    match coding {
        Coding::Half => (10, 2, 1.0, [36., 211., 1404., 11633., 77433., 502690.]),
        Coding::TwoThirds => (6, 1, 2.0, [3., 70., 285., 1276., 6160., 27128.]),
        Coding::ThreeQuarters => (5, 1, 3.0, [42., 201., 1492., 10469., 62935., 379644.]),
        Coding::FiveSixths => (4, 1, 5.0, [92., 528., 8694., 79453., 792114., 7375573.]),
    }
}

fn coded_error(coding: Coding, raw: f64) -> f64 {
    let distance = (4.0 * raw * (1.0 - raw)).sqrt();
    let (first, step, input_bits, weights) = spectrum(coding);
    let growth = distance.powi(step);
    let mut term = distance.powi(first);
    let mut sum = 0.0;
    for weight in weights {
        sum += weight * term;
        term *= growth;
    }
    (sum / (2.0 * input_bits)).min(0.5)
}

/// IEEE 802.15.2-2003: DBPSK and DQPSK with 11-chip spreading over 22 MHz; CCK by the union bound
/// over its code words of 4 and 8 bits.
fn dsss(rate: DsssRate, bits: f64, snr: f64) -> f64 {
    match rate {
        DsssRate::M1 => without_error(0.5 * (-22.0 * snr).exp(), bits),
        DsssRate::M2 => without_error(dqpsk_error(11.0 * snr), bits),
        DsssRate::M5_5 => without_error(14.0 * q(8.0 * snr) + q(16.0 * snr), bits / 4.0),
        DsssRate::M11 => without_error(cck11_error(snr), bits / 8.0),
    }
}

/// Proakis, 5.2-71 approximated for Gray coding.
fn dqpsk_error(snr_per_bit: f64) -> f64 {
    use std::f64::consts::{PI, SQRT_2};
    if snr_per_bit <= 0.0 {
        return 0.5;
    }
    let factor = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt() / snr_per_bit.sqrt();
    (factor * (-(2.0 - SQRT_2) * snr_per_bit).exp()).min(0.5)
}

fn cck11_error(snr: f64) -> f64 {
    let terms = [
        (24., 4.),
        (16., 6.),
        (174., 8.),
        (16., 10.),
        (24., 12.),
        (1., 16.),
    ];
    terms
        .iter()
        .map(|(count, distance)| count * q(distance * snr))
        .sum()
}

/// Tail probability of the normal distribution beyond `sqrt(x)`.
fn q(x: f64) -> f64 {
    0.5 * erfc((x / 2.0).sqrt())
}

/// Complementary error function for `x >= 0`, relative error below 1.2e-7 (W. J. Cody's rational
/// form is exact to more digits than an error model deserves; this is the Chebyshev fit of *Numerical
/// Recipes*, 6.2).
fn erfc(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        0.17087277,
        -0.82215223,
        1.48851587,
        -1.13520398,
        0.27886807,
        -0.18628806,
        0.09678418,
        0.37409196,
        1.00002368,
        -1.26551223,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let polynomial = COEFFICIENTS.iter().fold(0.0, |sum, c| sum * t + c);
    t * (polynomial - x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SNR at which one frame in ten is lost.
    fn snr_at_ten_percent(rate: Rate, octets: usize) -> f32 {
        (-100..400)
            .map(|tenths| tenths as f32 / 10.0)
            .find(|snr| success_probability(rate, octets, *snr) > 0.9)
            .unwrap()
    }

    #[test]
    fn erfc_matches_tables() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.4795001),
            (1.0, 0.1572992),
            (3.0, 2.209e-5),
        ] {
            assert!((erfc(x) / expected - 1.0_f64).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn faster_rates_need_more_signal() {
        let needed: Vec<f32> = [
            OfdmRate::M6,
            OfdmRate::M12,
            OfdmRate::M18,
            OfdmRate::M24,
            OfdmRate::M36,
            OfdmRate::M48,
            OfdmRate::M54,
        ]
        .iter()
        .map(|rate| snr_at_ten_percent(Rate::Ofdm(*rate), 1000))
        .collect();
        assert!(needed.is_sorted(), "{needed:?}");
        assert!((2.0..6.0).contains(&needed[0]), "{needed:?}");
        assert!((20.0..25.0).contains(&needed[6]), "{needed:?}");
    }

    #[test]
    fn dsss_reaches_further_than_cck() {
        let needed: Vec<f32> = DsssRate::ALL
            .iter()
            .map(|rate| {
                let rate = Rate::Dsss {
                    rate: *rate,
                    short_preamble: false,
                };
                snr_at_ten_percent(rate, 1024)
            })
            .collect();
        assert!(needed.is_sorted(), "{needed:?}");
        assert!(needed[0] < 0.0 && needed[3] < 12.0, "{needed:?}");
    }

    #[test]
    fn short_frames_and_single_streams_fare_better() {
        let m54 = Rate::Ofdm(OfdmRate::M54);
        assert!(success_probability(m54, 14, 20.0) > success_probability(m54, 1500, 20.0));
        let ht = |mcs| Rate::Ht {
            mcs,
            ht40: false,
            short_guard: false,
            greenfield: false,
        };
        let one = snr_at_ten_percent(ht(7), 1500);
        let two = snr_at_ten_percent(ht(15), 1500);
        assert!((two - one - 3.0).abs() < 0.2, "{one} {two}");
    }

    #[test]
    fn probabilities_stay_within_bounds() {
        for snr in -400..600 {
            for rate in [Rate::OFDM_6, Rate::DSSS_1, Rate::Ofdm(OfdmRate::M54)] {
                let p = success_probability(rate, 1500, snr as f32 / 10.0);
                assert!((0.0..=1.0).contains(&p), "{rate} {snr} {p}");
            }
        }
    }
}
