//! What a VM that its user starts needs to join its network: the files that are written for it, and what the user is told.

use super::certificates::Certificates;
use airlane_iwl::microcode;
use airlane_scenario::{AccessPoint, Eap, EapMethod, Scenario, Security, Vm};
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where the certificates and keys of VM `vm` are put, in a run's output folder.
pub fn credentials(output: &Path, vm: &str) -> PathBuf {
    output.join(format!("{vm}-credentials"))
}

/// Writes what the VM needs in a network that asks for an identity; in another network, nothing. Keys are for this user
/// only. Files of an earlier run are replaced: each run has an authority of its own.
pub fn write_credentials(
    output: &Path,
    scenario: &Scenario,
    vm: &Vm,
    certificates: Option<&Certificates>,
) -> Result<()> {
    let network = scenario.network_of(vm);
    let asks = network.is_some_and(|ap| ap.security == Security::Wpa2Enterprise);
    let Some(certificates) = certificates.filter(|_| asks) else {
        return Ok(());
    };
    let folder = credentials(output, &vm.name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (path, content) in certificates.of_vm(vm.eap.as_ref())? {
        let name = Path::new(&path).file_name().unwrap_or_default();
        let file = folder.join(name);
        replace(&file, &content).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// A new file, with the rights that a new file has.
fn replace(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let secret = file.extension().is_some_and(|ending| ending == "key");
    let mode = if secret { 0o600 } else { 0o644 };
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let options = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(file);
    options?.write_all(content)
}

/// What the user is told: which network to join with what, a sentence a line. `output` is the run's output folder.
pub fn how_to_join(output: &Path, scenario: &Scenario, vm: &Vm) -> Vec<String> {
    let Some(network) = scenario.network_of(vm) else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "inside it, join the network {:?} ({}) {}",
        network.ssid,
        network.security.word(),
        with_what(network, vm)
    )];
    if network.security == Security::Wpa2Enterprise {
        lines.push(which_files(&credentials(output, &vm.name), vm));
    }
    if network.requires_frame_protection() {
        lines.push(format!(
            "it needs management frame protection, which the vendor's {} does not declare: install the one that \
             `airlane firmware --model {}` writes (its --help says how)",
            microcode::file_name(vm.model),
            vm.model
        ));
    }
    lines
}

fn with_what(network: &AccessPoint, vm: &Vm) -> String {
    let Some(Eap { identity, method }) = &vm.eap else {
        return match &vm.passphrase {
            _ if network.security == Security::Wpa2Enterprise => any_user(network),
            Some(key) => format!("with passphrase {key:?}"),
            None => "with no passphrase".to_owned(),
        };
    };
    match method {
        EapMethod::Peap { password } => {
            format!("by PEAP (MSCHAPv2) with identity {identity:?} and password {password:?}")
        }
        EapMethod::Tls { .. } => format!("by EAP-TLS with identity {identity:?}"),
    }
}

/// The VM is whoever its user says that it is.
fn any_user(network: &AccessPoint) -> String {
    let users = network.users.iter();
    let users = users.map(|(name, password)| format!("{name:?} with password {password:?}"));
    let users: Vec<String> = users.collect();
    format!("by PEAP (MSCHAPv2) or TTLS as {}", users.join(", or "))
}

fn which_files(folder: &Path, vm: &Vm) -> String {
    let folder = folder.display();
    match vm.eap.as_ref().map(|eap| &eap.method) {
        Some(EapMethod::Tls { .. }) => format!(
            "its certificate is {folder}/client.pem, its key {folder}/client.key, the network's authority {folder}/ca.pem"
        ),
        Some(EapMethod::Peap { .. }) | None => {
            format!("the network's authority is {folder}/ca.pem")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// One network with these lines and one external VM with those.
    fn scenario(network: &str, vm: &str) -> Scenario {
        let text = format!(
            "[[access_point]]\nname = 'corp'\nchannel = 36\naddress = '10.0.0.1/24'\n{network}\n\
             [[vm]]\nname = 'yours'\nexternal = true\n{vm}\n"
        );
        Scenario::parse(Path::new("s.toml"), &text).unwrap()
    }

    const ENTERPRISE: &str = "security = 'wpa2-enterprise'\nusers = { ann = 'a secret', bo = 'b' }";
    const TLS: &str = "eap = { method = 'tls', identity = 'me@corp' }";

    fn told(network: &str, vm: &str) -> Vec<String> {
        let scenario = scenario(network, vm);
        how_to_join(Path::new("/o"), &scenario, &scenario.vms[0])
    }

    fn written(network: &str, vm: &str) -> (tempfile::TempDir, Vec<(String, u32)>) {
        let (scenario, output) = (scenario(network, vm), tempfile::tempdir().unwrap());
        for _ in 0..2 {
            let certificates = Certificates::for_run(&scenario).unwrap();
            let vm = &scenario.vms[0];
            write_credentials(output.path(), &scenario, vm, certificates.as_ref()).unwrap();
        }
        let folder = credentials(output.path(), "yours");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries
            .map(|entry| {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                (entry.file_name().into_string().unwrap(), mode)
            })
            .collect();
        files.sort();
        (output, files)
    }

    #[test]
    fn a_network_with_a_passphrase_needs_one_line_and_no_file() {
        let line =
            "inside it, join the network \"corp\" (wpa2-psk) with passphrase \"a passphrase\"";
        assert_eq!(told("passphrase = 'a passphrase'", ""), [line]);
        assert_eq!(written("passphrase = 'a passphrase'", "").1, []);
        assert!(told("", "")[0].ends_with("(open) with no passphrase"));
    }

    #[test]
    fn a_network_that_requires_frame_protection_names_the_microcode_of_the_model() {
        for network in [
            "security = 'wpa3-sae'\npassphrase = 'a passphrase'",
            "passphrase = 'a passphrase'\nhostapd = ['ieee80211w=1', 'ieee80211w=2']",
            "hostapd = ['wpa=2', 'wpa_key_mgmt=OWE']",
        ] {
            let lines = told(network, "card = '6205'");
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert!(lines[1].contains("iwlwifi-6000g2a-6.ucode"), "{lines:?}");
            assert!(
                lines[1].contains("`airlane firmware --model 6205`"),
                "{lines:?}"
            );
        }
        let both =
            "passphrase = 'a passphrase'\nhostapd = ['wpa_key_mgmt=WPA-PSK SAE', 'ieee80211w=1']";
        assert_eq!(told(both, "").len(), 1, "WPA2 is offered as well");
    }

    #[test]
    fn a_certificate_and_its_key_are_written_and_named_and_the_key_is_private() {
        let lines = told(ENTERPRISE, TLS);
        assert!(
            lines[0].ends_with("by EAP-TLS with identity \"me@corp\""),
            "{lines:?}"
        );
        assert_eq!(
            lines[1],
            "its certificate is /o/yours-credentials/client.pem, its key /o/yours-credentials/client.key, \
             the network's authority /o/yours-credentials/ca.pem"
        );
        let (_output, files) = written(ENTERPRISE, TLS);
        let names = [
            ("ca.pem", 0o644),
            ("client.key", 0o600),
            ("client.pem", 0o644),
        ];
        assert_eq!(files, names.map(|(name, mode)| (name.to_owned(), mode)));
    }

    #[test]
    fn a_vm_with_a_password_gets_the_authority_and_one_without_an_identity_all_users() {
        let peap = told(ENTERPRISE, "eap = { method = 'peap', identity = 'ann' }");
        assert!(
            peap[0].ends_with("with identity \"ann\" and password \"a secret\""),
            "{peap:?}"
        );
        let any = told(ENTERPRISE, "");
        assert!(
            any[0].ends_with(
                "by PEAP (MSCHAPv2) or TTLS as \"ann\" with password \"a secret\", or \"bo\" with password \"b\""
            ),
            "{any:?}"
        );
        assert_eq!(
            any[1],
            "the network's authority is /o/yours-credentials/ca.pem"
        );
        let (_output, files) = written(ENTERPRISE, "");
        assert_eq!(files, [("ca.pem".to_owned(), 0o644)]);
    }
}
