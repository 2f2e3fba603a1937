//! What the radio heard: which frames are for whom (IEEE 802.11-2020 10.3.2, 11.3.3).

use airlane_dot11::MacAddr;
use airlane_dot11::frame::{FrameControl, FrameKind, FrameType, Header};
use airlane_lane::Instant;

use crate::access_point::{AccessPoint, Order};
use crate::counters::Drop;
use crate::eapol;
use crate::management::{self, Reason};
use crate::msdu::{ETHERNET_HEADER, Ethernet, Up};
use crate::station::State;

/// Bits of a PS-Poll's Duration/ID field that are the association ID (IEEE 802.11-2020 9.2.4.2).
const ASSOCIATION_ID: u16 = 0x3fff;

impl AccessPoint {
    /// A frame that its radio heard, without FCS.
    pub fn receive(&mut self, now: Instant, frame: &[u8]) {
        let Some(header) = self.parse(frame) else {
            return;
        };
        let Some(from) = header.transmitter.filter(|from| from.is_station()) else {
            return;
        };
        let body = frame.get(header.length..).unwrap_or_default();
        if header.is(FrameKind::PROBE_REQUEST) {
            return self.answer_probe(now, from, body);
        }
        if header.receiver != self.config.bssid || self.was_heard(now, from, &header) {
            return;
        }
        match header.frame_type() {
            FrameType::Management => self.manage(now, from, &header, body),
            FrameType::Control if header.is(FrameKind::PS_POLL) => {
                self.answer_poll(from, header.duration & ASSOCIATION_ID);
            }
            FrameType::Data => self.take_data(now, from, &header, frame),
            FrameType::Control | FrameType::Extension => {}
        }
    }

    /// Notes that a station lives. True for a frame that came before.
    fn was_heard(&mut self, now: Instant, from: MacAddr, header: &Header) -> bool {
        let Some(station) = self.stations.get_mut(from) else {
            return false;
        };
        station.heard_at = now;
        let Some(sequence) = header.sequence_control else {
            return false;
        };
        let duplicate = station.is_duplicate(header.tid, sequence, header.is_retry());
        if duplicate {
            self.counters.drop(Drop::Duplicate);
        }
        duplicate
    }

    fn take_data(&mut self, now: Instant, from: MacAddr, header: &Header, frame: &[u8]) {
        if !self.may_send_data(from) {
            return;
        }
        self.note_power(
            from,
            header.control.contains(FrameControl::POWER_MANAGEMENT),
        );
        if !header.has_payload() {
            return;
        }
        match self.open(from, header, frame) {
            Ok(()) => self.take_body(now, from, header),
            Err(reason) => self.counters.drop(reason),
        }
    }

    /// Class 3 frames are for those who are associated; all others are told (11.3.3).
    fn may_send_data(&mut self, from: MacAddr) -> bool {
        let state = self.stations.get(from).map(|station| station.state());
        let farewell = match state {
            Some(State::Associated | State::Authorized) => return true,
            Some(State::Authenticated) => {
                management::disassociation(&self.config, from, Reason::Class3)
            }
            None => management::deauthentication(&self.config, from, Reason::Class2),
        };
        self.counters.drop(Drop::NotAssociated);
        self.send_management(from, farewell);
        false
    }

    /// A station falls asleep or wakes.
    fn note_power(&mut self, from: MacAddr, asleep: bool) {
        let Some(station) = self.stations.get_mut(from) else {
            return;
        };
        let before = std::mem::replace(&mut station.waiting.asleep, asleep);
        if asleep && !before && station.on_air > 0 {
            // Tried in vain they would be given up, and those behind them would come first.
            self.orders.push_back(Order::Recall(from));
        }
        if !asleep {
            self.release(from);
        }
    }

    /// Leaves the frame in clear, without cipher header and MIC, in `scratch`.
    fn open(&mut self, from: MacAddr, header: &Header, frame: &[u8]) -> Result<(), Drop> {
        if header.control & FrameControl::DS != FrameControl::TO_DS {
            return Err(Drop::Addressing);
        }
        let more = header.control.contains(FrameControl::MORE_FRAGMENTS);
        if more || header.fragment_number() != Some(0) {
            return Err(Drop::Fragment);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(frame);
        if header.is_protected() {
            return self.decrypt(from, header);
        }
        Ok(())
    }

    fn decrypt(&mut self, from: MacAddr, header: &Header) -> Result<(), Drop> {
        let station = self.stations.get_mut(from).ok_or(Drop::NotAssociated)?;
        let key = station.pairwise.as_mut().ok_or(Drop::Undecryptable)?;
        let number = airlane_dot11::ccmp::packet_number(header, &self.scratch);
        let id = airlane_dot11::ccmp::key_id(header, &self.scratch);
        let (Some(number), Some(0)) = (number, id) else {
            return Err(Drop::Undecryptable);
        };
        let result = key.cipher.decrypt(header, &mut self.scratch);
        result.map_err(|_| Drop::Undecryptable)?;
        if !key.accept(header.tid, number) {
            return Err(Drop::Replayed);
        }
        let body = header.length..header.length + airlane_dot11::frame::CCMP_HEADER;
        self.scratch.drain(body);
        let end = self.scratch.len() - airlane_dot11::frame::CCMP_MIC;
        self.scratch.truncate(end);
        Ok(())
    }

    /// A body in clear in `scratch`: a key frame, or something to pass on.
    fn take_body(&mut self, now: Instant, from: MacAddr, header: &Header) {
        let body = self.scratch.get(header.length..).unwrap_or_default();
        let ethernet = Up::parse(header, body).and_then(|up| {
            let write = |out: &mut [u8]| up.write(out).ok_or(());
            self.pool.fill(up.length(), write).ok()
        });
        let Some((ethernet, to)) = ethernet.and_then(|frame| {
            let to = Ethernet::parse(&frame)?;
            Some((frame, to))
        }) else {
            return self.counters.drop(Drop::Malformed);
        };
        if to.kind == eapol::ETHER_TYPE {
            let payload = ethernet.get(ETHERNET_HEADER..).unwrap_or_default();
            return self.take_key_frame(now, from, payload);
        }
        let authorized = self.stations.get(from).is_some_and(|s| s.is_authorized());
        if !authorized || self.config.is_protected() != header.is_protected() {
            return self.counters.drop(Drop::Unprotected);
        }
        self.counters.received += 1;
        self.counters.received_bytes += ethernet.len() as u64;
        self.pass_on(to.to, ethernet);
    }
}
