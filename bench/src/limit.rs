//! What the air could carry: one sender that always has something to send, 802.11a at 54 Mb/s under EDCA's
//! best effort (IEEE 802.11-2020 10.23.2): AIFS, half of the smallest window, data, SIFS, ACK.

use airlane_dot11::airtime;
use airlane_dot11::{Band, OfdmRate, Rate, frame};

use super::load::{HEADERS, MAC_HEADER};

/// Of best effort (IEEE 802.11-2020 table 9-155).
const AIFSN: f64 = 3.0;
const HALF_WINDOW: f64 = 7.5;

/// Payload in Mb/s, for datagrams of this payload in open frames.
pub fn udp_mbps(payload: usize) -> f64 {
    let band = Band::Ghz5;
    let octets = MAC_HEADER + HEADERS + payload + frame::FCS;
    let rate = Rate::Ofdm(OfdmRate::M54);
    let data = airtime::duration(band, rate, octets);
    let answer = airtime::response_rate(rate);
    let ack = airtime::duration(band, answer, airtime::ACK_BYTES);
    let sifs = airtime::sifs(band).0 as f64;
    let slot = airtime::slot(band, true).0 as f64;
    let access = sifs + (AIFSN + HALF_WINDOW) * slot;
    let cycle = access + data.0 as f64 + sifs + ack.0 as f64;
    payload as f64 * 8.0 / cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 43 + 67.5 + 252 + 16 + 28 microseconds.
    #[test]
    fn a_full_frame_takes_406_and_a_half_microseconds() {
        let cycle = 1_472.0 * 8.0 / udp_mbps(1_472);
        assert!((cycle - 406.5).abs() < 0.01, "{cycle}");
    }
}
