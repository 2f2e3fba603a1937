//! Probe, authentication, association (IEEE 802.11-2020 11.1.4, 11.3).

use airlane_dot11::MacAddr;
use airlane_dot11::elements::{Elements, id};
use airlane_dot11::frame::{FrameKind, Header};
use airlane_lane::Instant;

use crate::access_point::{AccessPoint, Event};
use crate::authenticator::Authenticator;
use crate::config::Security;
use crate::counters::Drop;
use crate::elements;
use crate::management::{self, AssociationResponse, Reason, Status};
use crate::rate_control::RateControl;
use crate::station::State;

/// Capability and listen interval; the current access point as well in a reassociation request.
const ASSOCIATION_FIELDS: usize = 4;
const REASSOCIATION_FIELDS: usize = 10;
const OPEN_SYSTEM: u16 = 0;

impl AccessPoint {
    pub(crate) fn answer_probe(&mut self, now: Instant, from: MacAddr, body: &[u8]) {
        let Ok(elements) = Elements::checked(body) else {
            return self.counters.drop(Drop::Malformed);
        };
        let wanted = elements.ssid().unwrap_or_default();
        if wanted.is_empty() || wanted == elements::ssid(&self.config) {
            self.counters.probe_responses += 1;
            let answer = management::probe_response(&self.config, now.0, from);
            self.send_management(from, answer);
        }
    }

    pub(crate) fn manage(&mut self, now: Instant, from: MacAddr, header: &Header, body: &[u8]) {
        match header.kind() {
            FrameKind::AUTHENTICATION => self.authenticate(now, from, body),
            FrameKind::ASSOCIATION_REQUEST => self.associate(now, from, body, false),
            FrameKind::REASSOCIATION_REQUEST => self.associate(now, from, body, true),
            FrameKind::DISASSOCIATION | FrameKind::DEAUTHENTICATION => {
                self.forget(from, Reason::Left);
            }
            _ => {}
        }
    }

    fn authenticate(&mut self, now: Instant, from: MacAddr, body: &[u8]) {
        let Some(&[a0, a1, s0, s1, _, _]) = body.first_chunk() else {
            return self.counters.drop(Drop::Malformed);
        };
        let algorithm = u16::from_le_bytes([a0, a1]);
        let status = match (algorithm, u16::from_le_bytes([s0, s1])) {
            (OPEN_SYSTEM, 1) => self.admit(now, from),
            (OPEN_SYSTEM, _) => Status::OutOfSequence,
            _ => Status::UnknownAlgorithm,
        };
        match status {
            Status::Success => self.counters.authenticated += 1,
            _ => self.counters.refused += 1,
        }
        let answer = management::authentication(&self.config, from, algorithm, status);
        self.send_management(from, answer);
    }

    /// Whoever authenticates begins anew, with all that was known of it forgotten.
    fn admit(&mut self, now: Instant, from: MacAddr) -> Status {
        self.forget(from, Reason::Left);
        match self.stations.admit(now, from) {
            Some(_) => Status::Success,
            None => Status::Full,
        }
    }

    fn associate(&mut self, now: Instant, from: MacAddr, body: &[u8], again: bool) {
        let fields = if again {
            REASSOCIATION_FIELDS
        } else {
            ASSOCIATION_FIELDS
        };
        let elements = body.get(fields..).map(Elements::checked);
        let Some(Ok(elements)) = elements else {
            return self.counters.drop(Drop::Malformed);
        };
        let Some(association_id) = self.begin_association(from) else {
            let farewell = management::deauthentication(&self.config, from, Reason::Class2);
            self.counters.drop(Drop::NotAssociated);
            return self.send_management(from, farewell);
        };
        let status = self.agree(elements);
        let response = AssociationResponse {
            again,
            status,
            association_id,
            wmm: elements.has_wmm(),
        };
        let response = response.encode(&self.config, from);
        self.send_management(from, response);
        match status {
            Status::Success => self.welcome(now, from, elements),
            _ => self.counters.refused += 1,
        }
    }

    /// A station that has been authenticated, as it was then; its association ID.
    fn begin_association(&mut self, from: MacAddr) -> Option<u16> {
        let station = self.stations.get_mut(from)?;
        if station.is_authorized() {
            self.events.push_back(Event::Left(from, Reason::Left));
        }
        station.advance(State::Authenticated);
        station.pairwise = None;
        station.authenticator = None;
        station.waiting.asleep = false;
        Some(station.id)
    }

    fn agree(&self, elements: Elements) -> Status {
        if elements.ssid() != Some(elements::ssid(&self.config)) {
            return Status::InvalidElement;
        }
        let checked = match self.config.security {
            Security::Open => Ok(()),
            Security::Wpa2Psk(_) => elements::check_rsn(elements.find(id::RSN)),
        };
        checked.map_or_else(Status::from, |()| Status::Success)
    }

    fn welcome(&mut self, now: Instant, from: MacAddr, elements: Elements) {
        self.counters.associated += 1;
        let nonce = crate::access_point::random(&mut self.rng);
        let Some(station) = self.stations.get_mut(from) else {
            return;
        };
        station.advance(State::Associated);
        station.wmm = elements.has_wmm();
        station.rate = RateControl::of(elements.rates());
        match &self.config.security {
            Security::Open => self.authorize(from),
            Security::Wpa2Psk(pmk) => {
                let rsn = elements.find(id::RSN).unwrap_or_default();
                let length = u8::try_from(rsn.len()).unwrap_or(u8::MAX);
                let rsn = [&[id::RSN, length], rsn].concat();
                let own = self.config.bssid;
                let handshake = Authenticator::new(pmk.clone(), own, from, rsn, nonce);
                let first = station.authenticator.insert(handshake).start(now);
                self.send_key_frame(from, &first);
            }
        }
    }
}
