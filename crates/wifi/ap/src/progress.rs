//! What time and the medium bring: beacons and deadlines that are due, and how frames ended
//! (IEEE 802.11-2020 11.1.3, 11.2.3.6).

use airlane_dot11::{MacAddr, time_units};
use airlane_lane::{Instant, Micros};

use crate::access_point::{AccessPoint, OnAir, Sent};
use crate::counters::Drop;
use crate::management::{BEACON_INTERVAL, Reason};
use crate::msdu::Msdu;
use crate::station::Station;

/// Silence after which a station is asked whether it is there (as hostapd's ap_max_inactivity).
const INACTIVITY: Micros = Micros::from_millis(300_000);

impl AccessPoint {
    /// Does what is due, and says when to come back.
    pub fn step(&mut self, now: Instant) -> Instant {
        if self.next_beacon <= now {
            self.beacon(now);
            let interval = time_units(u64::from(BEACON_INTERVAL));
            while self.next_beacon <= now {
                self.next_beacon += interval;
            }
            self.look_after_silent(now);
        }
        self.run_handshakes(now);
        self.rekey_when_due(now);
        self.due()
    }

    fn due(&self) -> Instant {
        let handshakes = self.stations.iter().filter_map(|station| {
            let authenticator = station.authenticator.as_ref()?;
            authenticator.due()
        });
        let others = handshakes.chain(self.next_rekey);
        others.fold(self.next_beacon, Instant::min)
    }

    /// Asks stations that were not heard for long whether they are there: a null frame is
    /// acknowledged by whoever is.
    pub(crate) fn look_after_silent(&mut self, now: Instant) {
        let silent = |station: &&mut Station| {
            now.saturating_since(station.heard_at) >= INACTIVITY && !station.waiting.asleep
        };
        let mut asked = Vec::new();
        for station in self.stations.iter_mut().filter(silent) {
            // Not again with every beacon while the answer is awaited.
            station.heard_at = now;
            asked.push(station.address);
        }
        for address in asked {
            let null = self.down(address, None).null();
            self.send_plain(address, &null, OnAir::Probe(address));
        }
    }

    /// What became of a frame.
    pub fn sent(&mut self, now: Instant, token: u64, end: Sent) {
        if let Sent::Through(attempts) | Sent::Lost(attempts) = end {
            self.counters.retries += u64::from(attempts.saturating_sub(1));
        }
        match self.on_air.remove(&token) {
            Some(OnAir::Data(to, msdu)) => self.data_sent(now, to, msdu, end),
            Some(OnAir::Probe(to)) => match end {
                Sent::Through(_) => {}
                Sent::Lost(_) | Sent::Cancelled => self.send_away(to, Reason::Inactive),
            },
            Some(OnAir::Passing | OnAir::Group) | None => {}
        }
    }

    fn data_sent(&mut self, now: Instant, to: MacAddr, msdu: Msdu, end: Sent) {
        let Some(station) = self.stations.get_mut(to) else {
            return self.counters.drop(Drop::StationGone);
        };
        station.on_air = station.on_air.saturating_sub(1);
        match end {
            Sent::Through(attempts) => {
                station.heard_at = now;
                station.rate.report(attempts <= 1);
                self.counters.sent += 1;
                self.counters.sent_bytes += msdu.ethernet.len() as u64;
            }
            Sent::Lost(_) | Sent::Cancelled if station.waiting.asleep => {
                station.waiting.put_back(msdu);
                self.counters.put_back += 1;
            }
            Sent::Lost(_) => {
                station.rate.report(false);
                self.counters.drop(Drop::NoAck);
            }
            Sent::Cancelled => station.waiting.put_back(msdu),
        }
        self.release(to);
    }
}
