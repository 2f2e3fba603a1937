//! The entry in Wireshark's list of interfaces, asked by the real tshark: it lists the run and its VM, starts a
//! capture, and reads what is on the air. Needs what `cargo xtask setup --with-tshark` sets up.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use airlane_air::{AirConfig, Position};
use airlane_ap::gateway::Network;
use airlane_control::{KnownVm, Names, SOCKET, Server};
use airlane_daemon::{BuiltIn, Daemon, DaemonConfig};
use airlane_dot11::{Band, Channel, Dbm, MacAddr};
use tempfile::TempDir;

/// Not as root, for whom Wireshark ignores `WIRESHARK_EXTCAP_DIR`.
const NAMESPACES: [&str; 3] = ["--user", "--map-user=1000", "--map-group=1000"];
const VM: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);

/// A run of which nothing but an access point that beacons is there.
struct Run {
    /// In the place of the folder for temporary files.
    temporary: TempDir,
    _control: Server,
    _daemon: Daemon,
}

impl Run {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("airlane-run");
        fs::create_dir(&folder).unwrap();
        let daemon = Daemon::start(DaemonConfig {
            air: AirConfig::default(),
            run_dir: folder.clone(),
            capture: None,
            cards: Vec::new(),
            access_point_vms: Vec::new(),
            built_ins: vec![access_point()],
            uplinks: Vec::new(),
        })
        .unwrap();
        let names = Names {
            run: "two".to_owned(),
            vms: vec![KnownVm {
                name: "it".to_owned(),
                model: "5300".to_owned(),
                address: VM,
                card_name: None,
            }],
            ..Names::default()
        };
        let socket = folder.join(SOCKET);
        let control = Server::start(&socket, Arc::clone(daemon.handle()), names).unwrap();
        Self {
            temporary,
            _control: control,
            _daemon: daemon,
        }
    }
}

fn access_point() -> BuiltIn {
    let channel = Channel::new(Band::Ghz5, 36).unwrap();
    BuiltIn {
        name: "corp".to_owned(),
        bss: airlane_ap::Config::new(BSSID, "corp", channel),
        network: Network {
            hardware: BSSID,
            address: [192, 168, 1, 1].into(),
            prefix: 24,
            known: Default::default(),
            answers: true,
            name_servers: Vec::new(),
            host_names: Default::default(),
            captive_portal: None,
        },
        has_uplink: false,
        position: Position::default(),
        tx_power: Dbm(15.0),
    }
}

/// tshark with its extcap folder, as a user installs the entry.
struct Tshark {
    folder: TempDir,
    argv: Vec<String>,
}

impl Tshark {
    /// tshark starts `dumpcap` from the folder of its own program, which is the loader: so both go into one folder.
    fn new(argv: Vec<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [loader, flag, libraries, program]: [String; 4] =
            argv.try_into().expect("loader, libraries, tshark");
        let own_loader = folder.path().join("loader");
        fs::copy(fs::canonicalize(loader).unwrap(), &own_loader).unwrap();
        let own_loader = own_loader.to_string_lossy().into_owned();
        let dumpcap = Path::new(&program).with_file_name("dumpcap");
        let script = format!(
            "#!/bin/sh\nexec {own_loader} {flag} {libraries} {} \"$@\"\n",
            dumpcap.display()
        );
        let wrapper = folder.path().join("dumpcap");
        fs::write(&wrapper, script).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("extcap")).unwrap();
        let entry = folder.path().join("extcap/airlane");
        symlink(env!("CARGO_BIN_EXE_airlane"), entry).unwrap();
        Self {
            folder,
            argv: vec![own_loader, flag, libraries, program],
        }
    }

    fn run(&self, run: &Run, arguments: &[&str]) -> Output {
        Command::new("unshare")
            .args(NAMESPACES)
            .args(&self.argv)
            .args(arguments)
            .env("WIRESHARK_EXTCAP_DIR", self.folder.path().join("extcap"))
            .env("TMPDIR", run.temporary.path())
            .env("HOME", self.folder.path())
            .output()
            .expect("tshark starts")
    }
}

#[test]
#[ignore = "needs tshark: cargo xtask setup --with-tshark"]
fn tshark_lists_a_run_and_captures_from_it() {
    let test = "tshark_lists_a_run_and_captures_from_it";
    if !common::has_namespaces(test, &NAMESPACES, &[]) {
        return;
    }
    let Some(argv) = common::tshark(test) else {
        return;
    };
    let (run, tshark) = (Run::new(), Tshark::new(argv));
    let listed = tshark.run(&run, &["-D"]);
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(
        text.contains("airlane:two (airlane: the air of two)"),
        "{listed:?}"
    );
    assert!(
        text.contains("airlane:two:it (airlane: VM it of two)"),
        "{listed:?}"
    );
    let types = tshark.run(&run, &["-i", "airlane:two", "-L"]);
    let text = String::from_utf8_lossy(&types.stdout);
    assert!(text.contains("IEEE802_11_RADIO"), "{types:?}");
    let fields = [
        "-T",
        "fields",
        "-e",
        "wlan.bssid",
        "-e",
        "radiotap.channel.freq",
    ];
    let capture = ["-i", "airlane:two", "-c", "3"];
    let captured = tshark.run(&run, &[&capture[..], &fields[..]].concat());
    let text = String::from_utf8_lossy(&captured.stdout);
    assert_eq!(text.lines().count(), 3, "{captured:?}");
    assert!(
        text.lines().all(|line| line == format!("{BSSID}\t5180")),
        "{captured:?}"
    );
}
