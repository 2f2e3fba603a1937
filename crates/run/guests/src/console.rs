//! A guest's console log: its last lines for people, and the lines that no healthy run has.

use super::known_faults::excused;
use std::path::Path;

/// Phrases of the kernel and of the card's drivers that tell of a fault, in small letters.
const FAULTS: [&str; 21] = [
    "warning: cpu",
    "------------[ cut here ]",
    "bug:",
    "kernel panic",
    "oops:",
    "call trace:",
    "general protection fault",
    "unable to handle",
    "microcode sw error",
    "hardware error",
    "hcmd skipped",
    "time out after",
    "timed out after",
    "failed to start rt ucode",
    "failed to run init ucode",
    "failed to load firmware",
    "on-chip dma error",
    "restarting adapter",
    "hardware became unavailable",
    "error sending reply_",
    "invalid eeprom",
];

/// One bad line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
}

/// The content of a log, lossily; empty when there is none.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last `count` lines that are not empty.
pub fn tail(log: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = log
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    lines
        .get(lines.len().saturating_sub(count)..)
        .unwrap_or_default()
        .to_vec()
}

/// All lines of a console log that tell of a warning, a crash or a firmware error, but those of known faults of the kernel.
pub fn faults(log: &str) -> Vec<Fault> {
    let excused = excused(log);
    let known = |at: usize| excused.iter().any(|(line, _)| *line == at);
    let numbered = log.lines().enumerate();
    let bad = numbered.filter(|(at, line)| is_fault(line) && !known(*at));
    bad.map(|(index, line)| Fault {
        line: index + 1,
        text: line.trim().to_owned(),
    })
    .collect()
}

/// Phrases, in lower case, by which programs say that they cannot do what they are asked.
const TELLING: [&str; 14] = [
    "could not",
    "cannot",
    "can't open",
    "not allowed",
    "failed to",
    "unable to",
    "unknown configuration item",
    "errors found in configuration",
    "unknown network field",
    "may be incorrect",
    "authentication failed",
    "no such file",
    "out of memory",
    "no space left",
];

/// The line that tells most about what went wrong: the first fault of kernel or driver, else the first in which a program says
/// what it cannot do, for what follows one follows from it. Without the kernel's time.
pub fn telling(log: &str) -> Option<&str> {
    let says = |line: &&str| {
        let line = line.to_lowercase();
        TELLING.iter().any(|phrase| line.contains(phrase))
    };
    let fault = faults(log).into_iter().next();
    let fault = fault.and_then(|fault| log.lines().nth(fault.line.checked_sub(1)?));
    let line = fault.or_else(|| log.lines().find(says))?.trim();
    let untimed = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(time, _)| time.trim().parse::<f64>().is_ok());
    Some(untimed.map_or(line, |(_, said)| said.trim_start()))
}

fn is_fault(line: &str) -> bool {
    let line = line.to_lowercase();
    let stuck = line.contains("queue") && line.contains("stuck");
    stuck || FAULTS.iter().any(|phrase| line.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_fault_is_found() {
        for line in [
            "[ 1.0] WARNING: CPU: 0 PID: 1 at drivers/net/wireless/x.c:10 f+0x1/0x2",
            "[ 1.0] BUG: kernel NULL pointer dereference, address: 0",
            "[ 1.0] iwlwifi 0000:00:03.0: Microcode SW error detected. Restarting 0x2000000.",
            "[ 1.0] iwlwifi 0000:00:03.0: Error sending REPLY_RXON: time out after 2000ms.",
            "[ 1.0] iwlwifi 0000:00:03.0: HCMD skipped: index (1) 2 3",
            "[ 1.0] iwlwifi 0000:00:03.0: Queue 4 is active on fifo 1 and stuck for 10000 ms.",
            "[ 1.0] ieee80211 phy0: Hardware became unavailable during restart.",
            "[ 1.0] Kernel panic - not syncing: Attempted to kill init!",
            "[ 1.0] iwlwifi 0000:00:03.0: Failed to start RT ucode: -110",
        ] {
            assert_eq!(
                faults(&format!("fine\n{line}\n")),
                [Fault {
                    line: 2,
                    text: line.to_owned()
                }]
            );
        }
    }

    #[test]
    fn a_healthy_log_has_none() {
        let log = "[ 0.1] Linux version 6.1\n\
                   [ 1.0] iwlwifi 0000:00:03.0: loaded firmware version 8.83.5.1 build 33692\n\
                   [ 1.0] iwlwifi 0000:00:03.0: Detected Intel(R) Ultimate N WiFi Link 5300 AGN\n\
                   [ 2.0] wlan0: authenticate with 02:00:00:00:01:01\n\
                   wpa_supplicant: wlan0: WPA: 4-Way Handshake failed - pre-shared key may be incorrect\n\
                   [ 2.0] wlan0: associated\n";
        assert_eq!(faults(log), []);
    }

    #[test]
    fn the_telling_line_is_the_first_fault_else_the_first_thing_that_a_program_cannot_do() {
        let hostapd = "hostapd0: Line 9: unknown configuration item 'wmm'\n\
                       hostapd0: 1 errors found in configuration file\n\
                       hostapd0: Failed to set up interface\n";
        assert_eq!(
            telling(hostapd),
            Some("hostapd0: Line 9: unknown configuration item 'wmm'")
        );
        let fault = "[   12.5] Kernel panic - not syncing: no init";
        let both = format!("{hostapd}{fault}\n");
        assert_eq!(telling(&both), Some("Kernel panic - not syncing: no init"));
        assert_eq!(telling("wlan0: associated\n[    1.0] fine\n"), None);
    }

    #[test]
    fn the_tail_skips_empty_lines() {
        assert_eq!(tail("a\n\nb\nc\r\n\n", 2), ["b", "c"]);
        assert_eq!(tail("a\n", 10), ["a"]);
        assert!(tail("", 10).is_empty());
    }
}
