//! What both ends of an association say of its security: `wpa_cli` in the VM, `hostapd_cli` at its
//! access point. Whatever the two or the scenario contradict is a finding.

use crate::acts;
use crate::jobs::Job;
use crate::report;
use crate::session::Session;
use crate::stop::Stop;
use airlane_guests::orders;
use airlane_scenario::{Check, Eap, EapMethod};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between the two answers that one command prints.
const NEXT: &str = "--";

/// Selectors of authentication and key management suites (IEEE 802.11-2020 table 9-151; WPA: 00-50-f2), and
/// wpa_supplicant's words for them.
const AKM_SUITES: [(&str, &str); 9] = [
    ("00-50-f2-1", "WPA/IEEE 802.1X/EAP"),
    ("00-50-f2-2", "WPA-PSK"),
    ("00-0f-ac-1", "WPA2/IEEE 802.1X/EAP"),
    ("00-0f-ac-2", "WPA2-PSK"),
    ("00-0f-ac-4", "FT-PSK"),
    ("00-0f-ac-5", "WPA2-EAP-SHA256"),
    ("00-0f-ac-6", "WPA2-PSK-SHA256"),
    ("00-0f-ac-8", "SAE"),
    ("00-0f-ac-18", "OWE"),
];

/// What one end says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// `key=value` lines.
    words: BTreeMap<String, String>,
    /// The name of the common secret behind the keys (PMKID) by the other end's address.
    pmkids: BTreeMap<String, String>,
}

/// What both ends say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// `wpa_cli status` and `wpa_cli pmksa`.
    pub vm: Answer,
    /// `hostapd_cli sta` and `hostapd_cli pmksa`.
    pub access_point: Answer,
    /// The VM is not asked: the access point's word has to do.
    pub external: bool,
}

impl Answer {
    /// Reads what one of the commands below printed; a line of another shape says nothing.
    fn parse(output: &str) -> Self {
        let (words, pmkids) = output.split_once(NEXT).unwrap_or((output, ""));
        let pair = |line: &str| {
            let (key, value) = line.split_once('=')?;
            Some((key.to_owned(), value.trim().to_owned()))
        };
        Self {
            words: words.lines().filter_map(pair).collect(),
            pmkids: pmkids.lines().filter_map(pmkid).collect(),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.words.get(key).map(String::as_str)
    }
}

/// A row of a list of PMKSAs: number, address, PMKID and more.
fn pmkid(line: &str) -> Option<(String, String)> {
    let mut columns = line.split_ascii_whitespace();
    let _number: u32 = columns.next()?.parse().ok()?;
    Some((columns.next()?.to_owned(), columns.next()?.to_owned()))
}

impl Answers {
    /// True when management frames are protected, as both say.
    pub fn pmf(&self) -> bool {
        let flags = self.access_point.get("flags").unwrap_or_default();
        let vm = self.vm.get("pmf").is_some_and(|pmf| pmf != "0");
        (vm || self.external) && flags.contains("[MFP]")
    }

    /// How the key of a VM came about that is not asked itself, in wpa_supplicant's words.
    pub fn key_mgmt(&self) -> Option<String> {
        let suite = self.access_point.get("AKMSuiteSelector");
        let suite = suite.filter(|_| self.external)?;
        let known = AKM_SUITES.iter().find(|(number, _)| *number == suite);
        Some(known.map_or(suite, |(_, word)| word).to_owned())
    }

    /// Who the VM is to the access point's EAP server, and how it has proved it.
    pub fn eap(&self) -> Option<report::Eap> {
        let method = match self.vm.get("selectedMethod") {
            Some(selected) => selected.split_once("EAP-")?.1.trim_end_matches(')'),
            // `25 (PEAP)`
            None if self.external => {
                let last = self.access_point.get("last_eap_type_as")?;
                last.split_once('(')?.1.trim_end_matches(')')
            }
            None => return None,
        };
        Some(report::Eap {
            method: method.to_owned(),
            identity: self.identity()?.to_owned(),
        })
    }

    fn identity(&self) -> Option<&str> {
        self.access_point.get("dot1xAuthSessionUserName")
    }

    /// The secret that both ends name for `vm` at `bssid`; none when they differ or have none.
    pub fn common_secret(&self, vm: &str, bssid: &str) -> Option<&str> {
        let of_vm = self.vm.pmkids.get(bssid)?;
        let of_access_point = self.access_point.pmkids.get(vm)?;
        (of_vm == of_access_point).then_some(of_vm.as_str())
    }
}

/// Asks both ends of each check's VM, all at the same time.
pub fn ask(session: &mut Session, checks: &[&Check]) -> Result<Vec<Answers>, Stop> {
    let mut jobs = Vec::new();
    for check in checks {
        jobs.push((
            ask_vm(session, check.vm)?,
            ask_access_point(session, check.vm)?,
        ));
    }
    let external = checks.iter().map(|check| is_external(session, check.vm));
    let external: Vec<bool> = external.collect();
    let answers = jobs.into_iter().zip(external);
    let answers = answers.map(|((vm, access_point), external)| {
        Ok(Answers {
            external,
            vm: answer(session, vm)?,
            access_point: answer(session, access_point)?,
        })
    });
    answers.collect()
}

fn is_external(session: &Session, number: usize) -> bool {
    let vm = session.scenario.vms.get(number);
    vm.is_some_and(|vm| vm.external)
}

/// A VM that is not ours is not asked.
fn ask_vm(session: &mut Session, number: usize) -> Result<Option<Job>, Stop> {
    let vm = session.scenario.vms.get(number);
    if vm.is_none_or(|vm| vm.external) {
        return Ok(None);
    }
    let command = format!("wpa_cli -i wlan0 status; echo {NEXT}; wpa_cli -i wlan0 pmksa");
    session.exec(number, &command).map(Some)
}

fn ask_access_point(session: &mut Session, number: usize) -> Result<Option<Job>, Stop> {
    let (Some(cli), Some(mac)) = (hostapd_cli(session, number), session.address(number)) else {
        return Ok(None);
    };
    let command = format!("{cli} sta {mac}; echo {NEXT}; {cli} pmksa");
    session.exec(session.access_points(), &command).map(Some)
}

/// The words with which the access point of a VM is spoken to. A built-in one has told already what
/// there is to tell.
pub fn hostapd_cli(session: &Session, number: usize) -> Option<String> {
    let (number, _) = acts::host_of(session, number).ok()?;
    Some(orders::cli(number))
}

fn answer(session: &mut Session, job: Option<Job>) -> Result<Answer, Stop> {
    let Some(job) = job else {
        return Ok(Answer::default());
    };
    let results = session.finish(&[job], PATIENCE)?;
    let output = results.into_iter().flatten().map(|result| result.output);
    let text = output.collect::<String>();
    Ok(Answer::parse(&text))
}

/// Everything in which the two ends and the scenario differ.
pub fn contradictions(session: &Session, number: usize, answers: &Answers) -> Vec<String> {
    let scenario = session.scenario;
    let vm = scenario.vms.get(number);
    let (Some(vm), Some(network)) = (vm, vm.and_then(|vm| scenario.network_of(vm))) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    if network.security.protects_management() && !answers.pmf() {
        wrong.push("its management frames are not protected".to_owned());
    }
    // Outside of a tunnel the user of an external VM is whoever its supplicant says.
    let hidden = |eap: &Eap| vm.external && matches!(eap.method, EapMethod::Peap { .. });
    if let Some(eap) = vm.eap.as_ref().filter(|eap| !hidden(eap))
        && answers.identity() != Some(eap.identity.as_str())
    {
        let seen = answers.identity().unwrap_or("nobody");
        let own = &eap.identity;
        wrong.push(format!("to the access point it is {seen}, not {own}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const VM: &str = "bssid=02:00:00:00:01:01\nkey_mgmt=SAE\npmf=2\n\
        selectedMethod=13 (EAP-TLS)\n--\n\
        Index / AA / PMKID / expiration (in seconds) / opportunistic\n\
        1 02:00:00:00:01:01 0123456789abcdef 43195 0\n";
    const ACCESS_POINT: &str = "02:00:00:00:00:01\nflags=[AUTH][ASSOC][AUTHORIZED][MFP]\n\
        dot1xAuthSessionUserName=it\n--\n\
        Index / SPA / PMKID / expiration (in seconds) / opportunistic\n\
        1 02:00:00:00:00:01 0123456789abcdef 43195 0\n\
        2 02:00:00:00:00:02 fedcba9876543210 43195 0\n";

    fn answers(vm: &str, access_point: &str) -> Answers {
        Answers {
            vm: Answer::parse(vm),
            access_point: Answer::parse(access_point),
            external: false,
        }
    }

    #[test]
    fn of_a_vm_that_is_not_asked_its_access_point_tells() {
        let said = "flags=[AUTH][MFP]\nAKMSuiteSelector=00-0f-ac-8\nlast_eap_type_as=25 (PEAP)\n\
                    dot1xAuthSessionUserName=carol\n";
        let own = answers("", said);
        let external = Answers {
            external: true,
            ..answers("", said)
        };
        assert_eq!((own.pmf(), own.key_mgmt(), own.eap()), (false, None, None));
        assert!(external.pmf());
        assert_eq!(external.key_mgmt().as_deref(), Some("SAE"));
        let eap = external.eap().unwrap();
        assert_eq!(
            (eap.method.as_str(), eap.identity.as_str()),
            ("PEAP", "carol")
        );
    }

    #[test]
    fn management_is_protected_when_both_ends_say_so() {
        assert!(answers(VM, ACCESS_POINT).pmf());
        assert!(!answers(&VM.replace("pmf=2", "pmf=0"), ACCESS_POINT).pmf());
        assert!(!answers(VM, &ACCESS_POINT.replace("[MFP]", "")).pmf());
        assert!(!answers("", "").pmf());
    }

    #[test]
    fn an_identity_is_what_the_access_point_says() {
        let eap = answers(VM, ACCESS_POINT).eap().unwrap();
        assert_eq!((eap.method.as_str(), eap.identity.as_str()), ("TLS", "it"));
        assert_eq!(answers(VM, "").eap(), None);
        assert_eq!(answers("selectedMethod=0\n", ACCESS_POINT).eap(), None);
    }

    #[test]
    fn a_secret_is_common_when_both_ends_name_the_same() {
        let bssid = "02:00:00:00:01:01";
        let all = answers(VM, ACCESS_POINT);
        assert_eq!(
            all.common_secret("02:00:00:00:00:01", bssid),
            Some("0123456789abcdef")
        );
        assert_eq!(all.common_secret("02:00:00:00:00:02", bssid), None);
        assert_eq!(all.common_secret("02:00:00:00:00:03", bssid), None);
    }
}
