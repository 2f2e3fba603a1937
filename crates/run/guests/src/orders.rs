//! What access points are made to do, as shell lines for the VM in which hostapd runs. Each is numbered as in the
//! scenario; its network has the number of its first.

use airlane_dot11::{Channel, MacAddr, Width};
use airlane_scenario::{AccessPoint, Security};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Beacons that announce another channel before the access point goes there.
const ANNOUNCED: u32 = 5;

/// The words with which access point `number` is spoken to.
pub fn cli(number: usize) -> String {
    format!("hostapd_cli -i wlan{number}")
}

/// It dies: no time for a farewell, and no beacon more from the kernel.
pub fn off(number: usize, network: usize) -> String {
    format!(
        "kill -s KILL $(cat /run/hostapd{number}.pid) && ip -n ap{network} link set wlan{number} down"
    )
}

/// It begins anew. The line lasts as long as the access point.
pub fn on(number: usize, network: usize) -> String {
    format!("ip netns exec ap{network} /airlane/serve-ap {number} >/dev/console 2>&1")
}

/// It announces another channel, and goes there.
pub fn channel(number: usize, ap: &AccessPoint, to: Channel) -> String {
    let frequency = to.frequency();
    let wide = |side: &str, centre: u32| {
        format!(" sec_channel_offset={side} center_freq1={centre} bandwidth=40")
    };
    let width = match to.width() {
        Width::Mhz20 => String::new(),
        Width::Mhz40Above => wide("1", frequency + 10),
        Width::Mhz40Below => wide("-1", frequency - 10),
    };
    let ht = if ap.width.is_some() { " ht" } else { "" };
    must(&format!(
        "{} chan_switch {ANNOUNCED} {frequency}{width}{ht}",
        cli(number)
    ))
}

/// It lets in those only who know another passphrase, and sends all away that are there: by its file, so that it stays
/// when the access point comes back.
pub fn passphrase(number: usize, ap: &AccessPoint, passphrase: &str) -> String {
    let key = match ap.security {
        Security::Wpa3Sae => "sae_password",
        _ => "wpa_passphrase",
    };
    let conf = format!("/etc/airlane/hostapd{number}.conf");
    // A passphrase holds any printable character: a shell must not see it.
    let line = STANDARD.encode(format!("{key}={passphrase}\n"));
    format!(
        "{{ grep -v '^{key}=' {conf}; echo {line} | base64 -d; }} >{conf}.new && mv {conf}.new {conf} && \
         kill -s HUP $(cat /run/hostapd{number}.pid)"
    )
}

/// It sends a station away.
pub fn deauthenticate(number: usize, station: MacAddr, reason: u16) -> String {
    must(&format!(
        "{} deauthenticate {station} reason={reason}",
        cli(number)
    ))
}

/// It replaces a station's own key, and then the group's. These are test commands of hostapd, which Debian's build has.
pub fn rekey(number: usize, station: MacAddr) -> String {
    let cli = cli(number);
    format!("{cli} raw REKEY_PTK {station}; sleep 1; {cli} raw REKEY_GTK")
}

/// hostapd_cli succeeds whatever hostapd has said.
fn must(command: &str) -> String {
    format!("said=$({command} 2>&1); echo \"$said\"; [ \"$said\" = OK ]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_scenario::Scenario;
    use std::path::Path;
    use std::process::Command;

    fn access_point(keys: &str) -> AccessPoint {
        let text = format!(
            "[[access_point]]\nname = 'corp'\nchannel = 36\naddress = '10.0.0.1/24'\n{keys}\n[[vm]]\nname = 'it'\n"
        );
        let scenario = Scenario::parse(Path::new("s.toml"), &text).unwrap();
        scenario.access_points[0].clone()
    }

    #[test]
    fn a_wide_channel_has_its_side_and_its_centre() {
        let to = Channel::from_frequency(5_240).unwrap();
        let narrow = channel(1, &access_point(""), to);
        assert!(narrow.contains("wlan1 chan_switch 5 5240 2>&1"), "{narrow}");
        let wide = channel(
            0,
            &access_point("width = 40"),
            to.with_width(Width::Mhz40Below),
        );
        let words = "5240 sec_channel_offset=-1 center_freq1=5230 bandwidth=40 ht";
        assert!(wide.contains(words), "{wide}");
    }

    #[test]
    fn a_passphrase_is_written_as_it_is() {
        let (folder, ap) = (
            tempfile::tempdir().unwrap(),
            access_point("passphrase = 'password'"),
        );
        let conf = folder.path().join("hostapd3.conf");
        std::fs::write(&conf, "ssid=corp\nwpa_passphrase=password\nwpa=2\n").unwrap();
        let wild = r#"a'b"c$(d)\e&f/g`h"#;
        let line = passphrase(3, &ap, wild);
        let line = line.replace("/etc/airlane", &folder.path().to_string_lossy());
        let line = line.split(" && kill").next().unwrap().to_owned();
        let status = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(status.success());
        let text = std::fs::read_to_string(&conf).unwrap();
        assert_eq!(text, format!("ssid=corp\nwpa=2\nwpa_passphrase={wild}\n"));
    }

    #[test]
    fn what_hostapd_refuses_fails() {
        for (said, well) in [("OK", true), ("FAIL", false), ("", false)] {
            let line = must(&format!("echo {said}"));
            let status = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(status.status.success(), well, "{said}");
        }
    }
}
