//! Accesses that went wrong: counted for the VM whose they are, and told to its log, not too often.

use std::sync::atomic::{AtomicU64, Ordering};

/// An access to an address range that the VM does not own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guest address {address:#x} + {length} bytes is not mapped for this device")]
pub struct Fault {
    /// First byte of the access.
    pub address: u64,
    /// Its length in bytes.
    pub length: usize,
}

/// What was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Read,
    Write,
}

/// One VM's faults. Shared with its frames: the NIC may be the first to see that a page is missing.
#[derive(Default)]
pub(crate) struct Faults {
    vm: String,
    count: AtomicU64,
}

impl Faults {
    /// Of the VM of this name.
    pub(crate) fn of(vm: &str) -> Self {
        let vm = vm.to_owned();
        let count = AtomicU64::new(0);
        Self { vm, count }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts one. A guest can make millions: only the first, second, fourth, eighth and so on are told.
    #[cold]
    pub(crate) fn note(&self, attempt: Attempt, what: &str, address: u64, length: usize) -> Fault {
        let count = self.count.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if count.is_power_of_two() {
            let verb = match attempt {
                Attempt::Read => "read",
                Attempt::Write => "write",
            };
            tracing::warn!(
                vm = self.vm,
                "the card was told to {verb} its {what} at guest address {address:#x} + {length} bytes, which the VM \
                 has not mapped for that: refused ({count} such accesses so far)"
            );
        }
        Fault { address, length }
    }
}
