//! The handshakes of all stations, and the group key that they share (IEEE 802.11-2020 12.7.6, 12.7.7).

use airlane_dot11::MacAddr;
use airlane_lane::Instant;

use crate::access_point::{AccessPoint, Event, random};
use crate::authenticator::{GroupKey, Overdue, Refusal, Step};
use crate::counters::Drop;
use crate::keys::{Group, Pairwise};
use crate::management::Reason;

impl AccessPoint {
    /// The payload of an EAPOL frame of a station.
    pub(crate) fn take_key_frame(&mut self, now: Instant, from: MacAddr, payload: &[u8]) {
        let group = self.group_key();
        let Some(station) = self.stations.get_mut(from) else {
            return;
        };
        let Some(authenticator) = &mut station.authenticator else {
            return self.counters.drop(Drop::Eapol);
        };
        match authenticator.hear(now, payload, &group) {
            Ok(Step::Expanded(key, message)) => {
                station.pairwise = Some(Pairwise::new(&key));
                self.send_key_frame(from, &message);
            }
            Ok(Step::Finished) => {
                self.authorize(from);
                self.hand_out_next_group(now, from);
            }
            Ok(Step::GroupFinished) => self.finish_rekey(),
            Err(refusal) => self.refuse(from, refusal),
        }
    }

    fn refuse(&mut self, from: MacAddr, refusal: Refusal) {
        self.counters.drop(Drop::Eapol);
        match refusal {
            Refusal::Mic => {
                self.counters.wrong_keys += 1;
                self.events.push_back(Event::WrongKey(from));
            }
            Refusal::Element => self.send_away(from, Reason::ElementMismatch),
            Refusal::Frame(_) | Refusal::Unexpected | Refusal::Replay(_) => {}
        }
    }

    /// Repeats what was not answered, and sends away who never answers.
    pub(crate) fn run_handshakes(&mut self, now: Instant) {
        let group = self.group_key();
        let overdue = |station: &mut crate::station::Station| {
            let overdue = station.authenticator.as_mut()?.expire(now, &group)?;
            Some((station.address, overdue))
        };
        let overdue: Vec<_> = self.stations.iter_mut().filter_map(overdue).collect();
        for (address, overdue) in overdue {
            match overdue {
                Overdue::Again(message) => self.send_key_frame(address, &message),
                Overdue::GiveUp(reason) => {
                    self.send_away(address, reason);
                    self.finish_rekey();
                }
            }
        }
    }

    /// What stations are given: the next key while there is one.
    fn group_key(&self) -> GroupKey {
        let group = self.next_group.as_ref().or(self.group.as_ref());
        group.map_or(
            GroupKey {
                id: 1,
                bytes: [0; 16],
                sent: 0,
            },
            |group| group.key,
        )
    }

    pub(crate) fn rekey_when_due(&mut self, now: Instant) {
        let Some(interval) = self.config.group_rekey else {
            return;
        };
        if self.next_rekey.is_some_and(|due| due <= now) {
            self.next_rekey = Some(now + interval);
            self.rekey_group(now);
        }
    }

    /// Gives all stations a new group key, which is used as soon as all have it.
    pub fn rekey_group(&mut self, now: Instant) {
        let Some(current) = self.group.as_ref().filter(|_| self.next_group.is_none()) else {
            return;
        };
        let id = 3 - current.key.id;
        self.next_group = Some(Group::new(id, random(&mut self.rng)));
        self.counters.group_rekeys += 1;
        let members: Vec<_> = self.joined().map(|(address, _)| address).collect();
        for address in members {
            self.hand_out_next_group(now, address);
        }
        self.finish_rekey();
    }

    /// To one station. Whose handshake is still open gets it afterwards.
    fn hand_out_next_group(&mut self, now: Instant, to: MacAddr) {
        let Some(group) = self.next_group.as_ref().map(|group| group.key) else {
            return;
        };
        let station = self.stations.get_mut(to);
        let authenticator = station.and_then(|station| station.authenticator.as_mut());
        let message = authenticator.and_then(|a| a.change_group_key(now, &group));
        if let Some(message) = message {
            self.send_key_frame(to, &message);
        }
    }

    /// Uses the next group key once nobody is left to confirm it.
    fn finish_rekey(&mut self) {
        let open = |station: &crate::station::Station| {
            let authenticator = station.authenticator.as_ref();
            station.is_authorized() && authenticator.is_some_and(|a| a.due().is_some())
        };
        if !self.stations.iter().any(open)
            && let Some(next) = self.next_group.take()
        {
            self.group = Some(next);
        }
    }
}
