//! What is known of a guest, from the events that its agent sends: a pure state machine.

use super::line::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How far a VM has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// An external VM that has not attached its card yet.
    #[default]
    Waiting,
    /// The VMM of an external VM has attached its card, which no driver has started yet.
    Attached,
    /// The kernel boots.
    Booting,
    /// The agent speaks.
    Booted,
    /// The driver has its card.
    DriverUp,
    /// It looks for its network.
    Scanning,
    /// An external VM is in an IBSS, without an access point.
    Ibss,
    /// In its BSS, with its key.
    Associated,
    /// With an IPv4 address.
    Addressed,
    /// Its access points beacon (the access-point VM's last state).
    Serving,
    /// The access point has refused it.
    Refused,
    /// The guest says that it cannot go on.
    Failed,
    /// Its process has ended.
    Stopped,
}

impl State {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for it",
            Self::Attached => "attached",
            Self::Booting => "booting",
            Self::Booted => "booted",
            Self::DriverUp => "driver up",
            Self::Scanning => "scanning",
            Self::Ibss => "in an IBSS",
            Self::Associated => "associated",
            Self::Addressed => "addressed",
            Self::Serving => "serving",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether an event may lead from here to `next`.
    fn leads_to(self, next: Self) -> bool {
        use State::*;
        match (self, next) {
            (Stopped, _) | (_, Waiting) => false,
            (_, Stopped | Failed) => true,
            (Failed, _) => false,
            (Waiting, Associated) => true,
            (Booting | Waiting, Booted) => true,
            (Booted, DriverUp | Serving) => true,
            (DriverUp, Scanning) => true,
            (Scanning | Refused, Associated) => true,
            (Associated, Addressed) => true,
            (Associated | Addressed, Associated | Scanning | Refused) => true,
            (Addressed, Addressed) => true,
            (Scanning, Refused) => true,
            _ => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// How often keys were replaced without a new association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rekeys {
    /// Keys of the VM alone.
    pub pairwise: u32,
    /// Keys of all stations of its BSS.
    pub group: u32,
}

/// All that a guest has told.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// How far it has come.
    pub state: State,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// The card's driver.
    pub driver: Option<String>,
    /// The interface's address.
    pub mac: Option<String>,
    /// The network that it is in.
    pub ssid: Option<String>,
    /// The access point that it is at.
    pub bssid: Option<String>,
    /// How its key came about.
    pub key_mgmt: Option<String>,
    /// Its IPv4 address, by DHCP.
    pub ip: Option<String>,
    /// The IPv4 address of its default route.
    pub gateway: Option<String>,
    /// Why it was refused, or has failed.
    pub reason: Option<String>,
    /// The reason of its last disconnection (IEEE 802.11-2020 table 9-49).
    pub lost: Option<String>,
    /// Associations so far: a loss and a return can be told from a quiet time.
    pub associations: u32,
    /// In the access-point VM: BSSIDs by access point's name.
    pub access_points: BTreeMap<String, String>,
    /// In the access-point VM: (access point, station) that have their key.
    pub stations: BTreeSet<(String, String)>,
    /// In the access-point VM: (access point, station) that used a wrong key.
    pub wrong_keys: BTreeSet<(String, String)>,
    /// In the access-point VM: (access point, station) that could not prove their identity.
    pub eap_failures: BTreeSet<(String, String)>,
    /// Keys that replaced others while it was in its BSS.
    pub rekeys: Rekeys,
    /// In which words it was refused so far.
    pub refusals: BTreeSet<String>,
    /// Events that were not understood or not due, by name.
    pub stray: BTreeMap<String, u32>,
}

impl View {
    /// A VM whose process has just started.
    pub fn booting() -> Self {
        Self {
            state: State::Booting,
            ..Self::default()
        }
    }

    /// In the access-point VM: whether an access point has told that the credentials of the station `mac` are wrong.
    pub fn refuses(&self, mac: &str) -> bool {
        let mut told = self.wrong_keys.iter().chain(&self.eap_failures);
        told.any(|(_, station)| station == mac)
    }

    /// Takes an event in; true when the state has changed.
    pub fn apply(&mut self, event: &Event) -> bool {
        match event.name.as_str() {
            "booted" => self.booted(event),
            "driver" => self.driver_up(event),
            "scanning" => self.go(State::Scanning, event),
            "associated" => self.associated(event),
            "disconnected" => self.disconnected(event),
            "refused" => self.refused(event),
            "addressed" => self.addressed(event),
            "ap-up" => self.access_point_up(event),
            "ap-down" => self.access_point_down(event),
            "station-joined" => self.station(event, true),
            "station-left" => self.station(event, false),
            "wrong-key" => note(&mut self.wrong_keys, event),
            "eap-failed" => note(&mut self.eap_failures, event),
            "keyed" => self.keyed(event),
            "no-card" | "terminated" | "ap-failed" => self.failed(event),
            _ => self.stray(event),
        }
    }

    /// The process has ended.
    pub fn stopped(&mut self) {
        self.state = State::Stopped;
        (self.bssid, self.ip, self.gateway) = (None, None, None);
    }

    /// Moves along a legal edge; any other is counted as stray.
    fn go(&mut self, next: State, event: &Event) -> bool {
        if self.state.leads_to(next) {
            self.state = next;
            return true;
        }
        self.stray(event)
    }

    fn stray(&mut self, event: &Event) -> bool {
        // A guest may invent names without end: only so many are remembered.
        let name = if self.stray.len() < 32 {
            event.name.as_str()
        } else {
            "others"
        };
        let count = self.stray.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        false
    }

    fn booted(&mut self, event: &Event) -> bool {
        self.kernel = value(event, "kernel");
        self.go(State::Booted, event)
    }

    fn driver_up(&mut self, event: &Event) -> bool {
        self.driver = value(event, "name");
        self.mac = value(event, "mac");
        self.go(State::DriverUp, event)
    }

    fn associated(&mut self, event: &Event) -> bool {
        if !self.go(State::Associated, event) {
            return false;
        }
        self.ssid = value(event, "ssid").map(|ssid| super::ssid::decoded(&ssid));
        self.bssid = value(event, "bssid");
        self.key_mgmt = value(event, "key_mgmt");
        self.associations = self.associations.saturating_add(1);
        true
    }

    /// Before the first key this is only a failed attempt, and says nothing new.
    fn disconnected(&mut self, event: &Event) -> bool {
        self.bssid = None;
        self.lost = value(event, "reason");
        match self.state {
            State::Associated | State::Addressed => self.go(State::Scanning, event),
            _ => false,
        }
    }

    fn refused(&mut self, event: &Event) -> bool {
        self.reason = value(event, "reason");
        if self.refusals.len() < 32 {
            self.refusals.extend(refusal(event));
        }
        self.state != State::Refused && self.go(State::Refused, event)
    }

    fn addressed(&mut self, event: &Event) -> bool {
        self.ip = value(event, "ip");
        self.gateway = value(event, "gateway");
        self.go(State::Addressed, event)
    }

    fn access_point_up(&mut self, event: &Event) -> bool {
        let (name, bssid) = (event.get("name").to_owned(), event.get("bssid").to_owned());
        let new = self.access_points.len() < 64 && self.access_points.insert(name, bssid).is_none();
        if self.state == State::Booted {
            self.state = State::Serving;
        }
        new
    }

    /// One that has died tells of no station that it loses.
    fn access_point_down(&mut self, event: &Event) -> bool {
        let name = event.get("name");
        self.stations.retain(|(ap, _)| ap != name);
        self.access_points.remove(name).is_some()
    }

    fn station(&mut self, event: &Event, joined: bool) -> bool {
        let entry = (event.get("ap").to_owned(), event.get("mac").to_owned());
        if joined {
            self.stations.len() < 1024 && self.stations.insert(entry)
        } else {
            self.stations.remove(&entry)
        }
    }

    /// The first keys of an association come before it, and replace none.
    fn keyed(&mut self, event: &Event) -> bool {
        if !matches!(self.state, State::Associated | State::Addressed) {
            return false;
        }
        let count = match event.get("kind") {
            "pairwise" => &mut self.rekeys.pairwise,
            "group" => &mut self.rekeys.group,
            _ => return self.stray(event),
        };
        *count = count.saturating_add(1);
        false
    }

    fn failed(&mut self, event: &Event) -> bool {
        let said = ["reason", "program"]
            .iter()
            .find_map(|key| value(event, key));
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        self.reason = Some(format!("{}{said}", event.name));
        self.go(State::Failed, event)
    }
}

/// Remembers the access point and the station that an event names.
fn note(list: &mut BTreeSet<(String, String)>, event: &Event) -> bool {
    let entry = (event.get("ap").to_owned(), event.get("mac").to_owned());
    list.len() < 1024 && list.insert(entry)
}

/// The word of a refusal, with the 802.11 status where it has one.
fn refusal(event: &Event) -> Option<String> {
    let word = value(event, "reason")?;
    Some(match value(event, "status") {
        Some(status) => format!("{word} (status {status})"),
        None => word,
    })
}

/// A value that is there and not empty, cut to a sane length.
fn value(event: &Event, key: &str) -> Option<String> {
    let text: String = event.get(key).chars().take(256).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::*;

    fn view_after(lines: &[&str]) -> View {
        let mut view = View::booting();
        for line in lines {
            let Ok(Line::Event(event)) = Line::parse(line) else {
                panic!("{line} is no event");
            };
            view.apply(&event);
        }
        view
    }

    const UP: [&str; 5] = [
        "event booted kernel=6.1.0-1-amd64 name=it role=station",
        "event driver name=iwlwifi mac=02:00:00:00:00:01",
        "event scanning",
        "event associated ssid=corp bssid=02:00:00:00:01:01 key_mgmt=WPA2-PSK",
        "event addressed ip=192.168.1.100 gateway=192.168.1.1",
    ];

    #[test]
    fn a_vm_comes_up_step_by_step() {
        for (count, state) in [
            (0, State::Booting),
            (1, State::Booted),
            (2, State::DriverUp),
            (3, State::Scanning),
            (4, State::Associated),
            (5, State::Addressed),
        ] {
            assert_eq!(view_after(&UP[..count]).state, state);
        }
        let view = view_after(&UP);
        assert_eq!(view.driver.as_deref(), Some("iwlwifi"));
        assert_eq!(view.bssid.as_deref(), Some("02:00:00:00:01:01"));
        assert_eq!(view.gateway.as_deref(), Some("192.168.1.1"));
        assert!(view.stray.is_empty());
    }

    #[test]
    fn an_ssid_outside_ascii_is_known_by_its_octets() {
        let mut lines = UP.to_vec();
        lines[3] = r"event associated ssid=B\xc3\xbcro bssid=02:00:00:00:01:01 key_mgmt=WPA2-PSK";
        assert_eq!(view_after(&lines).ssid.as_deref(), Some("Büro"));
    }

    #[test]
    fn a_lost_bss_leads_back_to_scanning_and_a_return_is_counted() {
        let mut lines = UP.to_vec();
        lines.push("event disconnected bssid=02:00:00:00:01:01 reason=3");
        let lost = view_after(&lines);
        assert_eq!((lost.state, lost.bssid), (State::Scanning, None));
        assert_eq!(lost.lost.as_deref(), Some("3"));
        lines.push(UP[3]);
        assert_eq!(view_after(&lines).associations, 2);
    }

    #[test]
    fn a_wrong_key_leads_to_refused_and_a_second_refusal_changes_nothing() {
        let mut lines = UP[..3].to_vec();
        lines.extend([
            "event disconnected reason=15",
            "event refused reason=WRONG_KEY",
            "event refused reason=WRONG_KEY",
        ]);
        let view = view_after(&lines);
        assert_eq!(view.state, State::Refused);
        assert_eq!(view.reason.as_deref(), Some("WRONG_KEY"));
        assert!(view.stray.is_empty());
    }

    #[test]
    fn only_keys_of_a_running_association_replace_others() {
        let mut lines = UP[..3].to_vec();
        lines.extend(["event keyed kind=pairwise", UP[3], UP[4]]);
        assert_eq!(view_after(&lines).rekeys, Rekeys::default());
        lines.extend(["event keyed kind=pairwise", "event keyed kind=group"]);
        let view = view_after(&lines);
        assert_eq!((view.rekeys.pairwise, view.rekeys.group), (1, 1));
        assert!(view.stray.is_empty());
    }

    #[test]
    fn every_word_of_a_refusal_is_kept_with_its_status() {
        let mut lines = UP[..3].to_vec();
        lines.extend([
            "event refused reason=AUTH_REJECT status=15",
            "event refused reason=CONN_FAILED",
        ]);
        let refusals = view_after(&lines).refusals;
        let expected = ["AUTH_REJECT (status 15)", "CONN_FAILED"].map(str::to_owned);
        assert_eq!(refusals, BTreeSet::from(expected));
    }

    #[test]
    fn an_event_out_of_turn_is_counted_and_changes_nothing() {
        let view = view_after(&["event addressed ip=1.2.3.4", "event made-up"]);
        assert_eq!(view.state, State::Booting);
        assert_eq!(view.stray.values().sum::<u32>(), 2);
    }

    #[test]
    fn a_missing_card_is_a_failure_with_its_reason() {
        let view = view_after(&[UP[0], "event no-card"]);
        assert_eq!(
            (view.state, view.reason.as_deref()),
            (State::Failed, Some("no-card"))
        );
    }

    #[test]
    fn an_access_point_that_dies_takes_its_stations_with_it() {
        let view = view_after(&[
            "event booted kernel=6.1",
            "event ap-up name=corp bssid=02:00:00:00:01:01 ssid=corp",
            "event station-joined ap=corp mac=02:00:00:00:00:01",
            "event station-joined ap=home mac=02:00:00:00:00:02",
            "event ap-down name=corp",
        ]);
        assert_eq!(view.state, State::Serving);
        assert!(view.access_points.is_empty());
        let left = ("home".to_owned(), "02:00:00:00:00:02".to_owned());
        assert_eq!(view.stations.into_iter().collect::<Vec<_>>(), [left]);
    }

    #[test]
    fn the_access_point_vm_tells_its_bsss_and_stations() {
        let mut view = view_after(&[
            "event booted kernel=6.1",
            "event ap-up name=corp bssid=02:00:00:00:01:01 ssid=corp",
            "event station-joined ap=corp mac=02:00:00:00:00:01",
            "event wrong-key ap=corp mac=02:00:00:00:00:02",
            "event eap-failed ap=corp mac=02:00:00:00:00:03",
        ]);
        assert_eq!(view.state, State::Serving);
        assert_eq!(view.access_points.len(), 1);
        assert_eq!((view.stations.len(), view.wrong_keys.len()), (1, 1));
        assert_eq!(view.eap_failures.len(), 1);
        let Ok(Line::Event(left)) = Line::parse("event station-left ap=corp mac=02:00:00:00:00:01")
        else {
            panic!("not an event");
        };
        view.apply(&left);
        assert!(view.stations.is_empty());
    }
}
