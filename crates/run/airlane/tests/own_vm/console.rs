//! The VM's serial console through `virsh console`, and what a person types there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rexpect::session::{PtySession, spawn_command};
use std::process::Command;

/// How long an answer may take, a whole boot by emulation on a busy machine included.
const PATIENCE_MS: u64 = 400_000;
/// How often something is tried that takes its time in the VM.
const TRIES: u32 = 60;

/// The console, root logged in.
pub struct Console(PtySession);

impl Console {
    /// Attaches to the VM while it boots, and waits for its shell.
    pub fn open(vm: &str) -> Self {
        let mut command = Command::new("virsh");
        // Without keep-alive: on a busy machine its answers come too late, and the console would end.
        command.args(["--keepalive-interval", "0", "--connect", "qemu:///system"]);
        command.args(["console", vm, "--force"]);
        let session = spawn_command(command, Some(PATIENCE_MS)).expect("virsh starts");
        let mut console = Self(session);
        console.shell();
        console
    }

    /// Waits for the prompt of a shell and makes it a quiet one.
    fn shell(&mut self) {
        self.0
            .exp_string("root@stranger:")
            .expect("a shell's prompt");
        self.line("dmesg -n 1; exec env PS1= TERM=dumb sh");
        self.line("stty -echo; echo rea''dy");
        self.0.exp_string("ready").expect("a quiet shell");
    }

    fn line(&mut self, line: &str) {
        self.0.send_line(line).expect("the console takes input");
    }

    /// Runs a command; its exit code and what it prints.
    fn run(&mut self, command: &str) -> (i32, String) {
        self.line(&format!("{{ {command}; }} 2>&1; echo \"=:$?:=\""));
        let end = self.0.exp_regex("=:[0-9]+:=");
        let (text, end) = end.unwrap_or_else(|error| panic!("{command}: {error}"));
        let code = end.trim_matches(['=', ':']).parse().expect("a number");
        let text = text.replace('\r', "");
        for line in text.trim().lines() {
            println!("          > {line}");
        }
        (code, text)
    }

    /// Runs a command that must succeed; what it prints.
    fn succeeds(&mut self, command: &str) -> String {
        println!("          $ {command}");
        let (code, text) = self.run(command);
        assert_eq!(code, 0, "{command}: {text}");
        text
    }

    /// Runs a command until it succeeds.
    fn until(&mut self, command: &str) -> String {
        println!("          $ {command}");
        for _ in 0..TRIES {
            if let (0, text) = self.run(command) {
                return text;
            }
            self.run("sleep 3");
        }
        panic!("never succeeded: {command}");
    }

    /// NetworkManager finds these networks.
    pub fn sees(&mut self, networks: &[&str]) {
        let all: Vec<String> = networks
            .iter()
            .map(|name| format!("grep -w {name} /tmp/list"))
            .collect();
        let list = "nmcli --colors no device wifi list --rescan yes > /tmp/list";
        self.until(&format!("{list} && {}", all.join(" && ")));
    }

    /// NetworkManager joins the network, gets an address and reaches the gateway.
    pub fn joins(&mut self, network: &str, passphrase: &str, gateway: &str) {
        self.succeeds(&format!(
            "nmcli device wifi connect {network} password '{passphrase}'"
        ));
        self.is_connected(network, gateway);
    }

    /// NetworkManager is in this network, or gets there by itself, and reaches the gateway.
    pub fn is_connected(&mut self, network: &str, gateway: &str) {
        self.until(&format!("nmcli --terse --fields NAME,STATE connection show --active | grep -x {network}:activated"));
        self.succeeds(&format!("ping -c 5 -i 0.5 -W 5 {gateway}"));
    }

    /// Whether the access point is told and tells that management frames are protected.
    pub fn protects_frames(&mut self) -> bool {
        let text = self.succeeds("iw dev $(ls /sys/class/net | grep ^wl) station dump | grep MFP");
        text.contains("yes")
    }

    /// Puts the microcode where it goes before the distribution's own, and has the driver load it.
    pub fn installs_firmware(&mut self, image: &[u8]) {
        let folder = "/lib/firmware/updates";
        let text = STANDARD.encode(image);
        self.succeeds(&format!(
            "mkdir -p {folder} && echo {text} | base64 -d > {folder}/iwlwifi-5000-5.ucode"
        ));
        self.succeeds("modprobe -r iwldvm iwlwifi && modprobe iwlwifi");
        self.until("iw phy | grep CMAC");
    }

    /// The driver has nothing to complain of.
    fn has_no_driver_faults(&mut self) {
        let text = self.run("dmesg | grep -E 'iwlwifi|WARNING|BUG:'").1;
        let faults = [
            "time out",
            "Microcode SW error",
            "Failed to",
            "WARNING",
            "BUG:",
        ];
        let found: Vec<_> = text
            .lines()
            .filter(|line| faults.iter().any(|fault| line.contains(fault)))
            .collect();
        assert!(found.is_empty(), "{found:#?}");
    }

    /// Restarts the guest; QEMU stays.
    pub fn reboots(&mut self) {
        self.has_no_driver_faults();
        self.line("systemctl reboot");
        self.shell();
    }

    /// Ends the guest, and QEMU with it.
    pub fn shut_down(mut self) {
        self.has_no_driver_faults();
        self.line("systemctl poweroff");
        self.0.exp_eof().expect("the console ends with the VM");
    }
}
