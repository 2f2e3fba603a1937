//! Every rule of a scenario, broken once: the error names the file, the line and the remedy.

use super::*;
use airlane_dma::Translation;
use airlane_iwl::Model;
use airlane_lane::Threads;
use std::time::Duration;

pub(super) const VALID: &str = r#"title = "two networks"

[run]
join_timeout = 60

[air]
country = "DE"

[card]
position = [0, 1]

[[access_point]]
name = "corp"
bssid = "02:00:00:00:01:01"
channel = 36
passphrase = "corp passphrase"
address = "192.168.1.1/24"
hostapd = ["wmm_enabled=0"]

[[access_point]]
name = "home"
ssid = "home sweet home"
channel = 6
passphrase = "home passphrase"
address = "192.168.2.1/24"

[[vm]]
name = "it"
mac = "02:00:00:00:00:01"
join = "corp"

[[vm]]
name = "user"
join = "home"
passphrase = "a wrong one"

[[check]]
kind = "ping"
count = 5

[[check]]
kind = "killed"
vm = "user"
witness = "it"
"#;

pub(super) fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(Path::new("scenarios/sample.toml"), text)
}

/// The line of [`VALID`] that is `line`, counted from 1, and the text with it replaced.
pub(super) fn with_line(line: &str, replacement: &str) -> (usize, String) {
    let number = VALID.lines().position(|other| other == line).unwrap() + 1;
    (number, VALID.replacen(line, replacement, 1))
}

/// Replaces a line and expects an error there that says `message` and `remedy`.
#[track_caller]
fn refused(line: &str, replacement: &str, message: &str, remedy: &str) {
    let (number, text) = with_line(line, replacement);
    refused_at(&text, number, message, remedy);
}

#[track_caller]
pub(super) fn refused_at(text: &str, number: usize, message: &str, remedy: &str) {
    let error = parse(text)
        .expect_err("the scenario was accepted")
        .to_string();
    let (first, second) = error
        .split_once('\n')
        .expect("one line for the error, one for the remedy");
    let place = format!("scenarios/sample.toml:{number}: ");
    assert!(
        first.starts_with(&place),
        "{first} does not start with {place}"
    );
    assert!(first.contains(message), "{first} does not say {message}");
    assert!(
        second.starts_with("  remedy: ") && second.contains(remedy),
        "{second} does not say {remedy}"
    );
}

#[test]
fn a_valid_scenario_is_understood() {
    let scenario = parse(VALID).unwrap();
    assert_eq!(scenario.name, "sample");
    assert_eq!(scenario.cards[0].position, Position([0.0, 1.0, 0.0]));
    assert_eq!(scenario.run.join_timeout, Duration::from_secs(60));
    let [corp, home] = &scenario.access_points[..] else {
        panic!()
    };
    assert_eq!(
        (corp.ssid.as_str(), corp.channel.frequency()),
        ("corp", 5180)
    );
    assert_eq!(
        (home.ssid.as_str(), home.channel.frequency()),
        ("home sweet home", 2437)
    );
    assert_eq!(home.bssid.to_string(), "02:00:00:00:01:02");
    let [it, user] = &scenario.vms[..] else {
        panic!()
    };
    assert_eq!(
        (it.joins, it.passphrase.as_deref()),
        (0, Some("corp passphrase"))
    );
    assert_eq!(
        (user.joins, user.passphrase.as_deref()),
        (1, Some("a wrong one"))
    );
    assert_eq!(user.mac.to_string(), "02:00:00:00:00:02");
}

#[test]
fn a_check_without_a_vm_is_made_of_each() {
    let checks = parse(VALID).unwrap().checks;
    let pings: Vec<usize> = checks
        .iter()
        .filter(|check| check.kind == CheckKind::Ping { count: 5 })
        .map(|check| check.vm)
        .collect();
    assert_eq!(pings, [0, 1]);
    assert_eq!(
        checks[2].kind,
        CheckKind::Killed {
            witness: 0,
            seconds: 12
        }
    );
}

#[test]
fn an_unknown_key_is_named_with_its_neighbour() {
    refused(
        "country = \"DE\"",
        "contry = \"DE\"",
        "unknown key `contry`",
        "did you mean `country`?",
    );
    refused(
        "channel = 36",
        "chanel = 36",
        "unknown key `chanel`",
        "did you mean `channel`?",
    );
    refused(
        "mac = \"02:00:00:00:00:01\"",
        "macaddr = \"x\"",
        "unknown key `macaddr`",
        "docs/scenario.md",
    );
    refused(
        "count = 5",
        "counts = 5",
        "unknown key `counts`",
        "did you mean `count`?",
    );
    refused(
        "join_timeout = 60",
        "timeout = 60",
        "unknown key `timeout`",
        "docs/scenario.md",
    );
    refused(
        "position = [0, 1]",
        "place = [0, 1]",
        "unknown key `place`",
        "docs/scenario.md",
    );
    refused(
        "[run]",
        "[runs]",
        "unknown key `runs`",
        "did you mean `run`?",
    );
}

#[test]
fn a_name_that_another_vm_or_access_point_has_is_refused() {
    refused(
        "name = \"home\"",
        "name = \"corp\"",
        "the name `corp` is used twice",
        "its own name",
    );
    refused(
        "name = \"user\"",
        "name = \"it\"",
        "the name `it` is used twice",
        "its own name",
    );
    refused(
        "name = \"user\"",
        "name = \"access-points\"",
        "the name `access-points` is reserved",
        "another name",
    );
}

#[test]
fn a_duplicate_key_is_refused() {
    let text = "ssid = \"home sweet home\"";
    refused(
        text,
        "name = \"again\"",
        "the key `name` is written twice",
        "keep one",
    );
}

#[test]
fn a_second_table_of_one_key_need_not_be_given_up() {
    let (first, both) = with_line("[card]", "[card]\nname = \"attic\"\n\n[[card]]");
    refused_at(&both, first + 3, "written twice", "write [[card]] for each");
    let (first, both) = with_line("[card]", "[card]\n\n[card]");
    refused_at(&both, first + 2, "written twice", "write [[card]] for each");
    let model = "card = \"5300\"";
    let (first, both) = with_line("join = \"corp\"", &format!("{model}\n{model}"));
    refused_at(&both, first + 1, "written twice", "keep one of the two");
}

#[test]
fn a_name_that_is_no_name_is_refused() {
    for bad in ["", "It", "a b", "../x", "-x", "a-name-with-17-ch"] {
        refused(
            "name = \"it\"",
            &format!("name = \"{bad}\""),
            "cannot be used",
            "small letters",
        );
    }
}

#[test]
fn a_bad_channel_is_refused() {
    for bad in [0, 14, 37, 200, 70_000, -36] {
        refused(
            "channel = 36",
            &format!("channel = {bad}"),
            "is not a 20 MHz channel",
            "36, 40",
        );
    }
    refused(
        "channel = 36",
        "channel = \"36\"",
        "invalid type",
        "docs/scenario.md",
    );
}

#[test]
fn a_bad_address_is_refused() {
    refused(
        "mac = \"02:00:00:00:00:01\"",
        "mac = \"02:00:00\"",
        "is not a MAC address",
        "six bytes",
    );
    refused(
        "mac = \"02:00:00:00:00:01\"",
        "mac = \"01:00:00:00:00:01\"",
        "one station",
        "six bytes",
    );
    refused(
        "bssid = \"02:00:00:00:01:01\"",
        "bssid = \"zz\"",
        "is not a MAC address",
        "six bytes",
    );
    for bad in [
        "192.168.1.1",
        "192.168.1.0/24",
        "1.2.3/24",
        "192.168.1.1/16",
        "192.168.1.100/24",
    ] {
        let line = "address = \"192.168.1.1/24\"";
        refused(line, &format!("address = \"{bad}\""), bad, "/24");
    }
}

#[test]
fn an_address_may_be_derived_drawn_or_the_cards() {
    let mac = |text: &str| {
        let written = "mac = \"02:00:00:00:00:01\"";
        let scenario = parse(&VALID.replace(written, text)).unwrap();
        scenario.vms[0].mac
    };
    let named = mac("mac = \"from-name\"");
    assert!(named.is_station() && named.0[0] & 2 != 0, "{named}");
    let drawn = mac("mac = \"random\"");
    assert!(drawn.is_station() && drawn.0[0] & 2 != 0 && drawn != named);
    assert_eq!(mac("mac = \"card\"").to_string(), "00:21:6a:00:00:01");
}

#[test]
fn two_vms_cannot_both_have_the_cards_address() {
    let written = "mac = \"02:00:00:00:00:01\"";
    let both = VALID
        .replace(written, "mac = \"card\"")
        .replace("name = \"user\"", "name = \"user\"\nmac = \"card\"");
    let error = parse(&both).unwrap_err().to_string();
    assert!(error.contains("is used twice"), "{error}");
}

#[test]
fn weight_and_policy_are_read_and_a_bad_weight_is_refused() {
    let written = "mac = \"02:00:00:00:00:01\"";
    let scenario = parse(&VALID.replace(written, "weight = 3\nchange_mac = true")).unwrap();
    let (it, user) = (&scenario.vms[0], &scenario.vms[1]);
    assert_eq!((it.weight, it.change_mac), (3, true));
    assert_eq!((user.weight, user.change_mac), (1, false));
    refused(written, "weight = 0", "weight cannot be 0", "1 to 1000");
}

#[test]
fn an_external_vm_may_change_its_address_unless_it_is_written() {
    let may = |lines: &str| {
        let text = VALID.replace("name = \"user\"", &format!("name = \"user\"\n{lines}"));
        // Of its checks, one can be made by none but an agent inside.
        let (vms, _) = text.split_once("[[check]]").unwrap();
        parse(vms).unwrap().vms[1].change_mac
    };
    assert!(may("external = true"));
    assert!(!may("external = true\nchange_mac = false"));
    assert!(!may(""));
}

#[test]
fn an_address_used_twice_is_refused() {
    let mac = "mac = \"02:00:00:00:00:01\"";
    refused(
        mac,
        "mac = \"02:00:00:00:01:01\"",
        "`02:00:00:00:01:01` is used twice",
        "its own address",
    );
    let address = "address = \"192.168.2.1/24\"";
    refused(
        address,
        "address = \"192.168.1.9/24\"",
        "overlaps the subnet 192.168.1.1/24 of `corp`",
        "its own subnet",
    );
}

#[test]
fn a_bad_ssid_or_passphrase_is_refused() {
    let ssid = "ssid = \"home sweet home\"";
    refused(ssid, "ssid = \"\"", "cannot be an SSID", "1 to 32 bytes");
    refused(ssid, "ssid = 'a\"b'", "cannot be an SSID", "1 to 32 bytes");
    refused(
        "passphrase = \"corp passphrase\"",
        "passphrase = \"short\"",
        "no WPA2 passphrase",
        "8 to 63",
    );
    refused(
        "passphrase = \"a wrong one\"",
        "passphrase = \"pässword\"",
        "no WPA2 passphrase",
        "8 to 63",
    );
}

#[test]
fn a_bad_hostapd_line_is_refused() {
    let line = "hostapd = [\"wmm_enabled=0\"]";
    refused(
        line,
        "hostapd = [\"wmm_enabled\"]",
        "not a line of hostapd.conf",
        "key=value",
    );
    refused(
        line,
        "hostapd = [\"a=1\\nb=2\"]",
        "not a line of hostapd.conf",
        "key=value",
    );
    refused(
        line,
        "hostapd = [\"interface=eth0\"]",
        "sets what airlane sets",
        "remove the line",
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused(
        "join_timeout = 60",
        "join_timeout = 0",
        "join_timeout cannot be 0",
        "1 to 3600",
    );
    refused("count = 5", "count = 0", "count cannot be 0", "1 to 1000");
    refused(
        "position = [0, 1]",
        "position = [1]",
        "two or three coordinates",
        "[5, 0]",
    );
    refused(
        "position = [0, 1]",
        "position = [nan, 0]",
        "two or three coordinates",
        "[5, 0]",
    );
    refused(
        "country = \"DE\"",
        "country = \"de\"",
        "not a country code",
        "two capital letters",
    );
    refused(
        "country = \"DE\"",
        "path_loss_exponent = 99.0",
        "path_loss_exponent cannot be 99",
        "1 to 8",
    );
    refused(
        "mac = \"02:00:00:00:00:01\"",
        "memory = 4",
        "memory cannot be 4",
        "128 to 16384",
    );
}

#[test]
fn a_model_that_is_not_built_is_refused() {
    refused(
        "position = [0, 1]",
        "model = \"9260\"",
        "no card model `9260`",
        "5300",
    );
}

#[test]
fn an_unknown_interrupt_coalescing_is_refused() {
    refused(
        "position = [0, 1]",
        "interrupts = \"count:0\"",
        "no interrupt coalescing `count:0`",
        "time:500us",
    );
}

#[test]
fn an_unknown_polling_is_refused() {
    refused(
        "position = [0, 1]",
        "polling = \"adaptive:0us\"",
        "no polling `adaptive:0us`",
        "adaptive:50us",
    );
}

#[test]
fn an_unknown_data_path_is_refused() {
    refused(
        "position = [0, 1]",
        "data_path = \"direct\"",
        "no data path `direct`",
        "passthrough",
    );
}

#[test]
fn a_vm_s_lane_has_a_thread_of_its_own_unless_the_engine_s_serves_it() {
    assert_eq!(parse(VALID).unwrap().cards[0].threads, Threads::PerVm);
    let engine = VALID.replacen("position = [0, 1]", "threads = \"engine\"", 1);
    assert_eq!(parse(&engine).unwrap().cards[0].threads, Threads::Engine);
    refused(
        "position = [0, 1]",
        "threads = \"one\"",
        "no threads `one`",
        "per-vm",
    );
}

#[test]
fn a_translation_is_one_of_three_words() {
    let merged = VALID.replacen("position = [0, 1]", "translation = \"merged\"", 1);
    let merged = &parse(&merged).unwrap().cards[0];
    assert_eq!(merged.translation, Translation::Merged);
    refused(
        "position = [0, 1]",
        "translation = \"vt-d\"",
        "no translation `vt-d`",
        "software",
    );
}

#[test]
fn a_vm_has_the_card_it_names_else_everybodys() {
    let written = VALID
        .replacen("name = \"it\"", "name = \"it\"\ncard = \"6205\"", 1)
        .replacen("position = [0, 1]", "model = \"6300\"", 1);
    let scenario = parse(&written).unwrap();
    let models: Vec<_> = scenario.vms.iter().map(|vm| vm.model).collect();
    assert_eq!(models, [Model::Wifi6205, Model::Wifi6300]);
    let name = "name = \"user\"";
    let unknown = format!("{name}\ncard = \"4965\"");
    assert!(parse(&VALID.replacen(name, &unknown, 1)).is_err());
}

#[test]
fn a_reference_to_nothing_is_refused() {
    refused(
        "join = \"home\"",
        "join = \"cafe\"",
        "no access point `cafe`",
        "corp, home",
    );
    refused("vm = \"user\"", "vm = \"usr\"", "no VM `usr`", "it, user");
    refused(
        "witness = \"it\"",
        "witness = \"user\"",
        "cannot be its own witness",
        "another VM",
    );
}

#[test]
fn a_vm_must_say_which_of_two_networks_it_joins() {
    let (line, text) = with_line("join = \"home\"", "");
    refused_at(&text, line - 2, "does not say which network", "corp, home");
}

#[test]
fn a_check_of_no_kind_or_with_stray_keys_is_refused() {
    refused(
        "kind = \"ping\"",
        "kind = \"pong\"",
        "no check `pong`",
        "associated, refused, ping",
    );
    refused(
        "count = 5",
        "seconds = 5",
        "a check `ping` has no key `seconds`",
        "remove the key",
    );
    let (line, text) = with_line("witness = \"it\"", "");
    refused_at(
        &text,
        line - 2,
        "names the VM that it happens to",
        "witness",
    );
}

#[test]
fn power_save_is_found_under_the_name_by_which_it_was_asked_for() {
    for (written, name) in [("power-save", "power-save"), ("slept", "slept")] {
        let text = VALID.replacen(
            "kind = \"ping\"\ncount = 5",
            &format!("kind = \"{written}\""),
            1,
        );
        let scenario = parse(&text).unwrap();
        let check = &scenario.checks[0];
        assert_eq!(check.kind, CheckKind::PowerSave { seconds: 5 });
        assert_eq!(check.name, name);
    }
}

#[test]
fn a_life_cycle_needs_an_action_that_there_is_and_a_count() {
    let with = |keys: &str| {
        let check = "kind = \"life-cycle\"\nname = \"life\"\nvm = \"it\"\nwitness = \"user\"";
        (
            VALID.lines().count() + 3,
            format!("{VALID}\n[[check]]\n{check}\n{keys}"),
        )
    };
    let (line, text) = with("");
    refused_at(&text, line, "says what happens", "reload, ifdown, suspend");
    let (line, text) = with("action = \"nap\"");
    refused_at(
        &text,
        line + 4,
        "no action `nap`",
        "reload, ifdown, suspend",
    );
    let (line, text) = with("action = \"reload\"\ntimes = 0");
    refused_at(&text, line + 5, "times cannot be 0", "1 to 1000");
    let scenario = parse(&with("action = \"suspend\"").1).unwrap();
    assert!(scenario.suspends(0) && !scenario.suspends(1));
}

#[test]
fn a_width_that_no_channel_has_is_refused() {
    let line = "hostapd = [\"wmm_enabled=0\"]";
    refused(line, "width = 80", "cannot be 80 MHz wide", "width = 40");
    refused(line, "width = 0", "cannot be 0 MHz wide", "width = 20");
    refused(
        line,
        "mcs = 7",
        "which the access point does not have",
        "width = 20",
    );
    refused(line, "mcs = 32\nwidth = 20", "mcs cannot be 32", "0 to 31");
    let (number, text) = with_line(line, "width = 40");
    let text = text.replacen("channel = 36", "channel = 165", 1);
    refused_at(&text, number, "channel 165 cannot be 40", "20 MHz only");
}

#[test]
fn a_bad_supplicant_line_is_refused() {
    let line = "passphrase = \"a wrong one\"";
    let with = |value: &str| format!("supplicant = ['{value}']");
    refused(
        line,
        &with("psk=x"),
        "sets what airlane sets",
        "remove the line",
    );
    for bad in ["bgscan", "=x", "a=b}"] {
        refused(line, &with(bad), "not a line of a network", "key=value");
    }
}

#[test]
fn a_walk_needs_a_vm_a_goal_and_a_network_of_two_access_points() {
    let roamed = |keys: &str| {
        let text = format!("{VALID}\n[[check]]\nkind = \"roamed\"\n{keys}");
        (VALID.lines().count() + 3, text)
    };
    let (line, text) = roamed("vm = \"it\"");
    refused_at(&text, line, "where the card walks to", "to = [");
    let (line, text) = roamed("vm = \"it\"\nto = [30, 0]");
    refused_at(&text, line + 1, "nowhere to roam", "a second access point");
    let text = text.replacen("[[vm]]", SECOND, 1);
    let scenario = parse(&text).unwrap();
    let walk = scenario.checks.iter().find_map(|check| match &check.kind {
        CheckKind::Roamed(walk) => Some(walk.clone()),
        _ => None,
    });
    let walk = walk.expect("a walk");
    assert_eq!((walk.to, walk.seconds), (Position([30.0, 0.0, 0.0]), 20));
}

const SECOND: &str = "[[access_point]]\nname = \"east\"\nssid = \"corp\"\nchannel = 44\n\n[[vm]]";

#[test]
fn a_check_made_twice_of_one_vm_is_refused() {
    let text = format!("{VALID}\n[[check]]\nkind = \"ping\"\nvm = \"it\"\n");
    refused_at(
        &text,
        text.lines().count(),
        "check name `ping` is used twice",
        "its own check name",
    );
}

#[test]
fn of_an_external_vm_only_what_is_seen_from_outside_can_be_checked() {
    let (_, text) = with_line("passphrase = \"a wrong one\"", "external = true");
    let (text, _) = text.split_once("[[check]]\nkind = \"killed\"").unwrap();
    for kind in ["ping", "refused", "downlink"] {
        let text = text.replace("kind = \"ping\"\ncount = 5", &format!("kind = \"{kind}\""));
        assert!(
            Scenario::parse(Path::new("s.toml"), &text).is_ok(),
            "{kind}"
        );
    }
    let text = text.replace("kind = \"ping\"\ncount = 5", "kind = \"isolated\"");
    let line = text
        .lines()
        .position(|line| line == "kind = \"isolated\"")
        .unwrap()
        + 1;
    refused_at(
        &text,
        line,
        "cannot run the check `isolated` inside an external VM",
        "associated, refused, ping, downlink",
    );
}

#[test]
fn a_gateway_that_is_the_host_sends_no_check() {
    let text = "[[access_point]]\nname='a'\nchannel=36\naddress='10.0.0.1/24'\nkind='built-in'\n\
                uplink='tap'\n[[vm]]\nname='it'\n[[check]]\nkind='downlink'\n";
    refused_at(text, 10, "the gateway of `a` is the host", "another uplink");
}

#[test]
fn an_empty_scenario_says_what_is_missing() {
    refused_at("", 1, "no [[access_point]]", "add at least one");
    let (before, _) = VALID.split_once("[[vm]]").unwrap();
    refused_at(before, 1, "no [[vm]]", "add at least one");
}

#[test]
fn a_missing_key_is_named_at_its_table() {
    let (line, text) = with_line("channel = 6", "");
    refused_at(&text, line - 3, "missing key `channel`", "add the key");
}

#[test]
fn what_is_no_toml_is_refused_at_its_line() {
    refused("count = 5", "count 5", "", "toml.io");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::load(Path::new("/nonexistent/x.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("/nonexistent/x.toml: ") && error.contains("remedy"),
        "{error}"
    );
}
