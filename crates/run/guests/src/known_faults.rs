//! Faults of guest kernels that have nothing to do with the card or its driver: a table. Everything that is not in it fails
//! the check `console`.
//!
//! Only a whole report counts, from `cut here` to `end trace`: its own lines are excused, nothing that stands between them by
//! chance, such as a message of the card's driver.

/// One known fault.
pub struct KnownFault {
    /// In one sentence.
    pub name: &'static str,
    /// How the releases that have it begin, as `uname -r` says them.
    kernel: &'static str,
    /// Phrases that all stand in the report.
    signature: &'static [&'static str],
    /// Where the kernel's source has it.
    pub source: &'static str,
}

/// All of them.
const KNOWN: [KnownFault; 1] = [KnownFault {
    name: "the kernel's random generator asks for the time before it goes again after a suspend",
    kernel: "6.1.",
    signature: &[
        "kernel/time/timekeeping.c",
        "ktime_get_seconds+",
        "irqrouter_resume+",
    ],
    source: "kernel/time/timekeeping.c, ktime_get_seconds: WARN_ON(timekeeping_suspended); reached from \
             drivers/acpi/pci_link.c, irqrouter_resume, by way of drivers/char/random.c, crng_make_state",
}];

const BEGIN: &str = "------------[ cut here ]";
const END: &str = "---[ end trace";
/// Lines of its own that a report has among the phrases of faults, beside its first one.
const OWN: [&str; 2] = ["WARNING: CPU: ", "Call Trace:"];
/// No report is longer.
const LONGEST: usize = 150;

/// The lines, counted from 0, that belong to reports of known faults, each with its fault.
pub fn excused(log: &str) -> Vec<(usize, &'static KnownFault)> {
    let lines: Vec<&str> = log.lines().collect();
    let begins = lines.iter().enumerate();
    let begins = begins.filter(|(_, line)| line.contains(BEGIN));
    begins
        .flat_map(|(begin, _)| report(&lines, begin))
        .collect()
}

/// The lines of the report that begins there, if it is one of a known fault.
fn report(lines: &[&str], begin: usize) -> Vec<(usize, &'static KnownFault)> {
    let rest = lines.get(begin..).unwrap_or_default();
    let ends = |line: &&str| line.contains(END) || line.contains(BEGIN);
    let length = rest.iter().skip(1).take(LONGEST).position(ends);
    let Some(report) = length.and_then(|length| rest.get(..length + 2)) else {
        return Vec::new();
    };
    let whole = report.last().is_some_and(|line| line.contains(END));
    let known = KNOWN.iter().find(|fault| whole && fault.is_in(report));
    let own = |line: &str| line.contains(BEGIN) || OWN.iter().any(|phrase| line.contains(phrase));
    let numbered = report.iter().enumerate();
    let own = numbered.filter(|(_, line)| own(line));
    known
        .map(|fault| own.map(|(index, _)| (begin + index, fault)).collect())
        .unwrap_or_default()
}

impl KnownFault {
    fn is_in(&self, report: &[&str]) -> bool {
        // `CPU: 0 PID: 300 Comm: rtcwake Not tainted 6.1.0-56-amd64 #1  Debian 6.1.…`
        let release = |line: &str| {
            let (before, _) = line.split_once(" Comm: ")?.1.split_once(" #")?;
            Some(before.rsplit(' ').next()?.starts_with(self.kernel))
        };
        let has = |phrase: &str| report.iter().any(|line| line.contains(phrase));
        report.iter().any(|line| release(line) == Some(true))
            && self.signature.iter().all(|phrase| has(phrase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::faults;

    /// As the console of a 6.1 guest shows it, shortened.
    const RESUME: &str = "\
        [ 60.1] ACPI: PM: Low-level resume complete\n\
        [ 60.1] ------------[ cut here ]------------\n\
        [ 60.1] WARNING: CPU: 0 PID: 312 at kernel/time/timekeeping.c:824 ktime_get_seconds+0x38/0x40\n\
        [ 60.1] CPU: 0 PID: 312 Comm: agent Not tainted 6.1.0-56-amd64 #1  Debian 6.1.192-1\n\
        [ 60.1] RIP: 0010:ktime_get_seconds+0x38/0x40\n\
        [ 60.1] Call Trace:\n\
        [ 60.1]  crng_make_state+0x9c/0x1d0\n\
        [ 60.1]  irqrouter_resume+0x20/0x50\n\
        [ 60.1] ---[ end trace 0000000000000000 ]---\n\
        [ 60.2] done\n";

    #[test]
    fn a_known_fault_of_the_kernel_is_excused() {
        assert_eq!(faults(RESUME), []);
        assert_eq!(excused(RESUME).len(), 3);
    }

    #[test]
    fn the_same_report_of_another_place_kernel_or_way_is_a_fault() {
        for (old, new) in [
            ("timekeeping.c", "tick-sched.c"),
            ("6.1.0-56", "6.12.0-56"),
            ("irqrouter_resume", "iwl_pci_resume"),
            ("---[ end trace", "---"),
        ] {
            let other = RESUME.replace(old, new);
            assert_eq!(faults(&other).len(), 3, "{old}");
        }
    }

    #[test]
    fn what_stands_in_or_beside_a_known_report_is_still_judged() {
        let error = "[ 60.1] iwlwifi 0000:00:03.0: Microcode SW error detected.\n";
        let inside = RESUME.replace("[ 60.1] Call", &format!("{error}[ 60.1] Call"));
        assert_eq!(faults(&inside).len(), 1);
        let second = RESUME.replace("timekeeping.c", "tick-sched.c");
        assert_eq!(faults(&format!("{RESUME}{second}")).len(), 3);
        // A report that is cut off by the next one is no whole report.
        let cut = RESUME.lines().take(4).collect::<Vec<_>>().join("\n");
        assert_eq!(faults(&format!("{cut}\n{RESUME}")).len(), 2);
    }
}
