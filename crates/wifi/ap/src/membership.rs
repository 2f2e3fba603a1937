//! Who belongs to the BSS, and who must go (IEEE 802.11-2020 11.3).

use airlane_dot11::MacAddr;

use crate::access_point::{AccessPoint, Event, Order};
use crate::counters::Drop;
use crate::management::{self, Reason};
use crate::station::{State, Station};

impl AccessPoint {
    /// A station has all its keys, or needs none.
    pub(crate) fn authorize(&mut self, address: MacAddr) {
        let station = self.stations.get_mut(address);
        if station.is_some_and(|station| station.advance(State::Authorized)) {
            self.counters.joined += 1;
            self.events.push_back(Event::Joined(address));
        }
    }

    /// Tells a station that it must go, and forgets it.
    pub(crate) fn send_away(&mut self, address: MacAddr, reason: Reason) {
        if self.forget(address, reason).is_some() {
            self.counters.sent_away += 1;
            let farewell = management::deauthentication(&self.config, address, reason);
            self.send_management(address, farewell);
        }
    }

    /// Takes a station away, with all that waits for it.
    pub(crate) fn forget(&mut self, address: MacAddr, reason: Reason) -> Option<Station> {
        let station = self.stations.remove(address)?;
        if station.is_authorized() {
            self.events.push_back(Event::Left(address, reason));
        }
        for _ in 0..station.waiting.len() {
            self.counters.drop(Drop::StationGone);
        }
        self.orders.push_back(Order::Recall(address));
        Some(station)
    }
}
