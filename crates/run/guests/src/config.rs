//! The configuration files that guests get: `vm.conf` for our scripts, `hostapdN.conf` and
//! `wpa_supplicant.conf` for the programs. What may stand in them was checked with the scenario.

use super::certificates::Certificates;
use super::overlay::File;
use super::security::{self, FOLDER};
use airlane_dot11::{Band, Channel, Width};
use airlane_scenario::{ACCESS_POINT_VM, AccessPoint, ApKind, Scenario, Security, Vm};
use anyhow::Result;

/// The files of a VM that joins a network.
pub fn station(
    scenario: &Scenario,
    vm: &Vm,
    certificates: Option<&Certificates>,
) -> Result<Vec<File>> {
    let conf = format!(
        "NAME={}\nROLE=station\nCOUNTRY={}\n",
        vm.name, scenario.air.country
    );
    let supplicant = scenario
        .network_of(vm)
        .map(|network| wpa_supplicant(&scenario.air.country, network, vm));
    let mut files = vec![
        file("etc/airlane/vm.conf", conf),
        file(
            "etc/airlane/wpa_supplicant.conf",
            supplicant.unwrap_or_default(),
        ),
    ];
    if vm.swcrypto {
        let options = "options iwlwifi swcrypto=1\n".to_owned();
        files.push(file("etc/modprobe.d/airlane.conf", options));
    }
    if let (Some(eap), Some(certificates)) = (&vm.eap, certificates) {
        files.extend(certificates.of_vm(Some(eap))?);
    }
    Ok(files)
}

/// The files of the VM that runs all access points.
pub fn access_points(
    scenario: &Scenario,
    certificates: Option<&Certificates>,
) -> Result<Vec<File>> {
    let mut conf = format!(
        "NAME={ACCESS_POINT_VM}\nROLE=access-point\nCOUNTRY={}\nRADIOS={}\n",
        scenario.air.country,
        scenario.access_points.len()
    );
    let mut files = Vec::new();
    // The radios of built-in access points stay without a file, so that all keep their numbers.
    let numbered = scenario.access_points.iter().enumerate();
    for (index, ap) in numbered.filter(|(_, ap)| ap.kind == ApKind::Hostapd) {
        conf += &format!(
            "AP{index}_NAME={}\nAP{index}_MAC={}\nAP{index}_NETWORK={}\nAP{index}_ADDRESS={}\nAP{index}_LEASES=\"{}\"\n",
            ap.name,
            ap.bssid,
            ap.network,
            ap.subnet,
            leases(scenario, index)
        );
        let rate = ap.mcs.map(|mcs| fixed_rate(ap.channel, mcs));
        conf += &rate.map_or_else(String::new, |rate| format!("AP{index}_RATE=\"{rate}\"\n"));
        let content = hostapd(scenario, index, ap);
        files.push(file(&format!("etc/airlane/hostapd{index}.conf"), content));
        if ap.security == Security::Wpa2Enterprise {
            let members = scenario.vms.iter().filter(|vm| vm.joins == ap.network);
            let path = format!("{FOLDER}/eap{index}.users");
            files.push(file(&path, security::users(ap, members)));
        }
    }
    if let Some(certificates) = certificates {
        files.extend(certificates.of_server()?);
    }
    files.push(file("etc/airlane/vm.conf", conf));
    Ok(files)
}

/// `MAC=ADDRESS` of each VM in a network: a known VM gets its address without the address server's
/// two seconds of looking for another owner.
fn leases(scenario: &Scenario, network: usize) -> String {
    let leases = scenario.leases(network).into_iter();
    let leases = leases.map(|(station, address)| format!("{station}={address}"));
    leases.collect::<Vec<_>>().join(" ")
}

fn file(path: &str, content: String) -> File {
    (path.to_owned(), content.into_bytes())
}

/// hostapd takes the last of two lines with the same key, so the scenario's lines win.
fn hostapd(scenario: &Scenario, index: usize, ap: &AccessPoint) -> String {
    let country = &scenario.air.country;
    let mode = match ap.channel.band() {
        Band::Ghz2 => "g",
        Band::Ghz5 => "a",
    };
    let mut lines = vec![
        format!("interface=wlan{index}"),
        "driver=nl80211".to_owned(),
        "ctrl_interface=/run/hostapd".to_owned(),
        format!("country_code={country}"),
        format!("ssid={}", ap.ssid),
        format!("hw_mode={mode}"),
        format!("channel={}", ap.channel.number()),
    ];
    lines.extend(ap.width.into_iter().flat_map(high_throughput));
    if scenario.access_points_of(ap.network).count() > 1 {
        lines.push(format!("bridge=br{}", ap.network));
    }
    lines.extend(security::access_point(index, ap));
    lines.extend(ap.hostapd.iter().cloned());
    lines.join("\n") + "\n"
}

/// 802.11n as wide as it is, with short guard intervals, and WMM, which it needs (IEEE 802.11-2020
/// 4.3.14).
fn high_throughput(width: Width) -> [String; 3] {
    let wide = match width {
        Width::Mhz20 => "",
        Width::Mhz40Above => "[HT40+][SHORT-GI-40]",
        Width::Mhz40Below => "[HT40-][SHORT-GI-40]",
    };
    [
        "wmm_enabled=1".to_owned(),
        "ieee80211n=1".to_owned(),
        format!("ht_capab=[SHORT-GI-20]{wide}"),
    ]
}

/// The one rate of 802.11n at which it sends to stations, as `iw set bitrates` names it.
fn fixed_rate(channel: Channel, mcs: u8) -> String {
    match channel.band() {
        Band::Ghz2 => format!("ht-mcs-2.4 {mcs}"),
        Band::Ghz5 => format!("ht-mcs-5 {mcs}"),
    }
}

fn wpa_supplicant(country: &str, network: &AccessPoint, vm: &Vm) -> String {
    let mut lines = security::station(network, vm);
    lines.extend(vm.supplicant.iter().cloned());
    format!(
        "ctrl_interface=/run/wpa_supplicant\ncountry={country}\nnetwork={{\n\tssid=\"{}\"\n\t{}\n}}\n",
        network.ssid,
        lines.join("\n\t")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scenario() -> Scenario {
        let text = r#"
            [[access_point]]
            name = "corp"
            channel = 36
            passphrase = "a passphrase"
            address = "192.168.1.1/24"
            hostapd = ["wmm_enabled=0"]
            [[access_point]]
            name = "open"
            channel = 6
            address = "192.168.2.1/24"
            [[vm]]
            name = "it"
            join = "corp"
            [[vm]]
            name = "guest"
            join = "open"
        "#;
        Scenario::parse(Path::new("s.toml"), text).unwrap()
    }

    fn content(files: &[File], path: &str) -> String {
        let found = files.iter().find(|(name, _)| name == path);
        String::from_utf8(found.unwrap().1.clone()).unwrap()
    }

    #[test]
    fn the_access_point_vm_gets_one_hostapd_file_for_each_radio() {
        let files = access_points(&scenario(), None).unwrap();
        let vm = content(&files, "etc/airlane/vm.conf");
        assert!(
            vm.contains("AP0_LEASES=\"02:00:00:00:00:01=192.168.1.100\"\n"),
            "{vm}"
        );
        assert!(
            vm.contains("RADIOS=2") && vm.contains("AP1_ADDRESS=192.168.2.1/24"),
            "{vm}"
        );
        let corp = content(&files, "etc/airlane/hostapd0.conf");
        assert!(
            corp.contains("interface=wlan0\n") && corp.contains("hw_mode=a\nchannel=36\n"),
            "{corp}"
        );
        assert!(
            corp.ends_with("wpa_passphrase=a passphrase\nwmm_enabled=0\n"),
            "{corp}"
        );
        let open = content(&files, "etc/airlane/hostapd1.conf");
        assert!(
            open.contains("hw_mode=g\nchannel=6\n") && !open.contains("wpa"),
            "{open}"
        );
    }

    #[test]
    fn an_access_point_of_802_11n_says_how_wide_it_is() {
        let text = "[[access_point]]\nname = 'n'\nchannel = 40\nwidth = 40\nmcs = 15\n\
                    address = '10.0.0.1/24'\n[[vm]]\nname = 'it'\n";
        let scenario = Scenario::parse(Path::new("s.toml"), text).unwrap();
        let files = access_points(&scenario, None).unwrap();
        let vm = content(&files, "etc/airlane/vm.conf");
        assert!(vm.contains("AP0_RATE=\"ht-mcs-5 15\"\n"), "{vm}");
        let conf = content(&files, "etc/airlane/hostapd0.conf");
        assert!(
            conf.contains("ieee80211n=1\nht_capab=[SHORT-GI-20][HT40-][SHORT-GI-40]\n"),
            "{conf}"
        );
    }

    #[test]
    fn access_points_of_one_ssid_share_a_bridge_and_a_subnet() {
        let text = r#"
            [[access_point]]
            name = "west"
            ssid = "corp"
            channel = 36
            passphrase = "a passphrase"
            address = "192.168.1.1/24"
            [[access_point]]
            name = "east"
            ssid = "corp"
            channel = 44
            [[vm]]
            name = "it"
            supplicant = ['bgscan="simple:5:-65:30"']
        "#;
        let scenario = Scenario::parse(Path::new("s.toml"), text).unwrap();
        let files = access_points(&scenario, None).unwrap();
        let vm = content(&files, "etc/airlane/vm.conf");
        assert!(
            vm.contains("AP1_NETWORK=0\nAP1_ADDRESS=192.168.1.1/24\nAP1_LEASES=\"\"\n"),
            "{vm}"
        );
        let east = content(&files, "etc/airlane/hostapd1.conf");
        assert!(
            east.contains("channel=44\nbridge=br0\n") && east.contains("a passphrase"),
            "{east}"
        );
        let it = content(
            &station(&scenario, &scenario.vms[0], None).unwrap(),
            "etc/airlane/wpa_supplicant.conf",
        );
        assert!(it.contains("\tbgscan=\"simple:5:-65:30\"\n}"), "{it}");
    }

    #[test]
    fn a_station_gets_its_own_network_and_key() {
        let scenario = scenario();
        let corp = content(
            &station(&scenario, &scenario.vms[0], None).unwrap(),
            "etc/airlane/wpa_supplicant.conf",
        );
        assert!(
            corp.contains("ssid=\"corp\"") && corp.contains("psk=\"a passphrase\""),
            "{corp}"
        );
        let open = content(
            &station(&scenario, &scenario.vms[1], None).unwrap(),
            "etc/airlane/wpa_supplicant.conf",
        );
        assert!(
            open.contains("key_mgmt=NONE") && !open.contains("psk"),
            "{open}"
        );
    }
}
