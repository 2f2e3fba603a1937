//! Whether the memory of external VMs can be reached: a VMM that shares none attaches all the same, and its guest's driver
//! then waits for a card that cannot answer.

use crate::cards::Vmac;
use airlane_guests::external::missing_arguments;
use airlane_scenario::{Scenario, Vm};

/// A VMM maps its guest's memory while it starts: one that has mapped none with a file for so many looks in a row will not.
const LOOKS: u32 = 4;

/// Sees whether a VM's memory can be reached, by what its VMM has mapped since it connected.
#[derive(Clone, Debug, Default)]
pub struct MemoryWatch {
    connections: u64,
    /// Of connections before this one.
    before: (u64, u64),
    /// At the last look.
    last: (u64, u64),
    looks: u32,
}

impl MemoryWatch {
    /// Takes what is counted now: connections, ranges mapped with a file and without. True once for each connection whose
    /// VMM has mapped ranges, and none of them with a file.
    pub fn is_missing(&mut self, connections: u64, with_file: u64, without_file: u64) -> bool {
        let now = (with_file, without_file);
        if connections != self.connections {
            self.connections = connections;
            self.before = self.last;
            self.looks = 0;
        }
        self.last = now;
        let missing = now.0 == self.before.0 && now.1 > self.before.1;
        self.looks = if missing { self.looks + 1 } else { 0 };
        self.looks == LOOKS
    }
}

/// The lines that tell of external VMs which have attached without memory to share.
pub fn missing(scenario: &Scenario, watches: &mut [MemoryWatch], vmacs: &[Vmac]) -> Vec<String> {
    let all = scenario.vms.iter().zip(vmacs).zip(watches);
    let external = all.filter(|((vm, vmac), _)| vm.external && vmac.attached);
    let missing = external.filter_map(|((vm, vmac), watch)| {
        let (connections, with_file, without_file) = vmac.mapped;
        let is_missing = watch.is_missing(connections, with_file, without_file);
        is_missing.then_some(vm)
    });
    missing.map(line).collect()
}

fn line(vm: &Vm) -> String {
    format!(
        "`{}` has attached without shared memory, and its card reaches none of it: its command lacks, for {}",
        vm.name,
        missing_arguments(vm.memory)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often it is told in so many looks.
    fn told(watch: &mut MemoryWatch, looks: usize, counted: (u64, u64, u64)) -> usize {
        let missing = |_: &usize| watch.is_missing(counted.0, counted.1, counted.2);
        (0..looks).filter(missing).count()
    }

    #[test]
    fn a_vmm_without_shared_memory_is_told_once_for_each_connection() {
        let mut watch = MemoryWatch::default();
        assert_eq!(told(&mut watch, 9, (0, 0, 0)), 0, "nobody is there");
        assert_eq!(told(&mut watch, 9, (1, 0, 5)), 1);
        assert_eq!(told(&mut watch, 9, (1, 0, 7)), 0, "told already");
        assert_eq!(told(&mut watch, 9, (2, 0, 12)), 1, "it came again");
    }

    #[test]
    fn firmware_without_a_file_beside_shared_memory_is_as_it_should_be() {
        let mut watch = MemoryWatch::default();
        assert_eq!(told(&mut watch, 9, (1, 3, 5)), 0);
        // Memory comes a moment after the firmware.
        assert_eq!(told(&mut watch, 2, (2, 3, 9)), 0);
        assert_eq!(told(&mut watch, 9, (2, 5, 9)), 0);
    }
}
