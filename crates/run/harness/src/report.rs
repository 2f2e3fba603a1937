//! `report.json`: what a run has found. Its schema stands in `docs/report.schema.json`.

use serde::Serialize;
use std::collections::BTreeMap;

/// The whole report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// True when the run came to its end and every check passed.
    pub passed: bool,
    /// True while the run goes on: what stands here is what is known so far.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// Why the run ended before its last check.
    pub error: Option<String>,
    /// From the start of the first VM to the end of the last check, or of a run that ended before it.
    pub seconds: f64,
    /// One entry for each VM of the scenario.
    pub vms: Vec<Vm>,
    /// One entry for each check and VM, and for each step.
    pub checks: Vec<Check>,
    /// One entry for each step that was made, in the order in which they were over.
    pub steps: Vec<Step>,
    /// What was counted behind the cards.
    pub counters: Counters,
}

/// One VM.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Vm {
    /// Its name in the scenario.
    pub name: String,
    /// The name of its card, where there are several cards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_name: Option<String>,
    /// The driver that its kernel has bound to the card.
    pub driver: Option<String>,
    /// Its `uname -r`.
    pub kernel: Option<String>,
    /// Its card's address, as the guest sees it.
    pub mac: Option<String>,
    /// The network that it is in.
    pub ssid: Option<String>,
    /// Its access point.
    pub bssid: Option<String>,
    /// How its key came about.
    pub key_mgmt: Option<String>,
    /// Whether its management frames are protected, as both ends say.
    pub pmf: Option<bool>,
    /// Who it is to its access point, in a network that asks.
    pub eap: Option<Eap>,
    /// How strongly it hears its access point after the last check, in dBm, as its driver says.
    pub signal_dbm: Option<i64>,
    /// Echo requests to its gateway.
    pub ping: Option<Ping>,
    /// Both ways, in Mb/s.
    pub tcp_mbps: Option<Both>,
    /// Both ways, in Mb/s.
    pub udp_mbps: Option<Both>,
}

/// An identity, as the access point's EAP server has found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Eap {
    /// `TLS` or `PEAP`.
    pub method: String,
    /// The name.
    pub identity: String,
}

/// Echo requests, and replies to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ping {
    /// How many echo requests the VM has sent.
    pub sent: u64,
    /// How many of them were answered.
    pub received: u64,
}

/// A rate each way, as the receiver has measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Both {
    /// From the VM.
    pub tx: f64,
    /// To the VM.
    pub rx: f64,
}

/// One check of one VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The check.
    pub name: String,
    /// The VM.
    pub vm: String,
    /// Its outcome.
    pub passed: bool,
    /// False where the run ended before it; then it has not passed.
    pub made: bool,
    /// What was seen.
    pub detail: String,
}

/// Something that has happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// The step.
    pub name: String,
    /// What has happened, as the scenario says it.
    #[serde(rename = "do")]
    pub act: String,
    /// To which VM, access point or card.
    pub about: String,
    /// When it began, in seconds after all VMs were up.
    pub at: f64,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was done.
    pub passed: bool,
    /// What was seen.
    pub detail: String,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// What a command has printed.
    pub stdout: Option<String>,
    /// What a command has printed as errors.
    pub stderr: Option<String>,
}

/// Counters by name.
pub type Counts = BTreeMap<String, u64>;

/// Counters of the whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// Of the medium, the host drivers and the NICs; those of all cards together.
    pub radio: Counts,
    /// Of each VM's card, by VM.
    pub cards: BTreeMap<String, Counts>,
    /// Of each VM's virtual MAC, by VM.
    pub vmacs: BTreeMap<String, Counts>,
    /// Of each channel on which VMs have networks, by channel; empty where there are several cards.
    pub channels: BTreeMap<String, Counts>,
    /// Of the radio of each of several cards, by the card's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub radios: BTreeMap<String, CardRadio>,
}

impl Counters {
    /// Puts back what went with the VMs, as it was `before` they ended: their vMACs, and what their networks' channels had.
    pub fn keep(&mut self, before: Self) {
        for (vm, counts) in before.vmacs {
            self.vmacs.entry(vm).or_insert(counts);
        }
        self.channels.extend(before.channels);
        for (card, radio) in before.radios {
            let now = self.radios.entry(card).or_default();
            now.channels.extend(radio.channels);
        }
    }
}

/// The radio of one of several cards.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CardRadio {
    /// Of its NIC and its host driver.
    pub counters: Counts,
    /// Of each channel on which its VMs have networks, by channel.
    pub channels: BTreeMap<String, Counts>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn schema() -> jsonschema::Validator {
        let text = include_str!("../../../../docs/report.schema.json");
        jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
    }

    fn sample() -> Value {
        let vm = Vm {
            name: "it".to_owned(),
            driver: Some("iwlwifi".to_owned()),
            ping: Some(Ping {
                sent: 10,
                received: 10,
            }),
            pmf: Some(false),
            eap: Some(Eap {
                method: "TLS".to_owned(),
                identity: "it".to_owned(),
            }),
            signal_dbm: Some(-52),
            tcp_mbps: Some(Both { tx: 10.5, rx: 11.0 }),
            ..Vm::default()
        };
        let check = Check {
            name: "ping".to_owned(),
            vm: "it".to_owned(),
            passed: true,
            made: true,
            detail: "10 of 10".to_owned(),
        };
        let step = Step {
            name: "exec it".to_owned(),
            exit_code: Some(0),
            stdout: Some("out".to_owned()),
            ..Step::default()
        };
        let mut counters = Counters::default();
        counters
            .cards
            .entry("it".to_owned())
            .or_default()
            .insert("interrupts".to_owned(), 5);
        let radio = CardRadio {
            counters: [("nic_heard".to_owned(), 5)].into(),
            channels: [("36".to_owned(), [("visits".to_owned(), 1)].into())].into(),
        };
        counters.radios.insert("attic".to_owned(), radio);
        let report = Report {
            scenario: "two-networks".to_owned(),
            passed: true,
            vms: vec![
                vm,
                Vm {
                    name: "user".to_owned(),
                    card_name: Some("attic".to_owned()),
                    ..Vm::default()
                },
            ],
            checks: vec![check],
            steps: vec![step, Step::default()],
            counters,
            ..Report::default()
        };
        serde_json::to_value(report).unwrap()
    }

    #[test]
    fn a_report_is_as_its_schema_says() {
        let sample = sample();
        let errors: Vec<String> = schema()
            .iter_errors(&sample)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [""; 0]);
    }

    fn counts(name: &str, count: u64) -> Counts {
        [(name.to_owned(), count)].into()
    }

    fn on_36(beacons: u64) -> BTreeMap<String, Counts> {
        [("36".to_owned(), counts("beacons_heard", beacons))].into()
    }

    /// A run with one card and, unlike any, two more: with what its VM's network had while the VM was there.
    fn counted(beacons: u64, tunes: u64) -> Counters {
        let radio = |_| CardRadio {
            counters: counts("nic_tunes", tunes),
            channels: on_36(beacons),
        };
        let cards = ["attic", "cellar"].map(str::to_owned).into_iter();
        Counters {
            channels: on_36(beacons),
            radios: cards.map(|card| (card.clone(), radio(card))).collect(),
            ..Counters::default()
        }
    }

    #[test]
    fn what_went_with_the_vms_is_reported_as_it_was_before() {
        let mut before = counted(70, 5);
        before.vmacs.insert("it".to_owned(), counts("sent", 9));
        let mut counters = counted(0, 6);
        counters.keep(before);
        assert_eq!(counters.vmacs["it"]["sent"], 9);
        assert_eq!(counters.channels["36"]["beacons_heard"], 70);
        for card in ["attic", "cellar"] {
            let radio = &counters.radios[card];
            assert_eq!(radio.channels["36"]["beacons_heard"], 70, "{card}");
            assert_eq!(radio.counters["nic_tunes"], 6, "{card}: counted to the end");
        }
    }

    #[test]
    fn a_vm_says_which_card_it_is_on_only_where_there_are_several() {
        let report = sample();
        assert_eq!(report["vms"][0].get("card_name"), None);
        assert_eq!(report["vms"][1]["card_name"], "attic");
    }

    #[test]
    fn a_report_says_that_the_run_goes_on_only_while_it_does() {
        assert_eq!(sample().get("running"), None);
        let running = Report {
            running: true,
            ..Report::default()
        };
        let running = serde_json::to_value(running).unwrap();
        assert!(running["running"] == true && schema().is_valid(&running));
    }

    #[test]
    fn the_schema_refuses_what_is_no_report() {
        let broken: [fn(&mut Value); 12] = [
            |report| drop(report.as_object_mut().unwrap().remove("passed")),
            |report| report["passed"] = json!("yes"),
            |report| report["vms"][0]["ping"] = json!({"sent": 10}),
            |report| report["vms"][0]["pmf"] = json!("yes"),
            |report| report["vms"][1]["card_name"] = Value::Null,
            |report| report["vms"][0]["eap"]["identity"] = Value::Null,
            |report| report["vms"][0]["tcp_mbps"]["tx"] = json!("fast"),
            |report| report["checks"][0]["passed"] = Value::Null,
            |report| report["steps"][0]["exit_code"] = json!("0"),
            |report| report["checks"][0]["made"] = json!("yes"),
            |report| report["counters"]["cards"]["it"]["interrupts"] = json!(-1),
            |report| report["counters"]["radios"]["attic"]["channels"]["36"] = json!(1),
        ];
        for (index, breaks) in broken.into_iter().enumerate() {
            let mut report = sample();
            breaks(&mut report);
            assert!(!schema().is_valid(&report), "case {index}");
        }
    }
}
