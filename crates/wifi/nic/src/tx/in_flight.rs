//! What the air is sending for us, by token. Few at a time: a list is fastest.

use airlane_lane::VmId;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    /// A frame of a VM, by its serial number.
    Frame { vm: VmId, serial: u64 },
    /// A null frame of the card itself, under this VM's address: its station sleeps, or is awake. No VM hears of it.
    Announcement { vm: VmId, sleeps: bool },
    /// A probe request of a scan.
    Probe { vm: VmId },
}

impl Cargo {
    fn vm(self) -> VmId {
        match self {
            Self::Frame { vm, .. } | Self::Announcement { vm, .. } | Self::Probe { vm } => vm,
        }
    }
}

/// The list.
#[derive(Default)]
pub(crate) struct Flights(Vec<(u64, Cargo)>);

impl Flights {
    pub(crate) fn add(&mut self, token: u64, cargo: Cargo) {
        self.0.push((token, cargo));
    }

    /// Takes one out.
    pub(crate) fn land(&mut self, token: u64) -> Option<Cargo> {
        let at = self.0.iter().position(|&(known, _)| known == token)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes all of one VM out; their ends will be nobody's.
    pub(crate) fn forget(&mut self, vm: VmId) -> Vec<u64> {
        let (gone, keep): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|&(_, cargo)| cargo.vm() == vm);
        self.0 = keep;
        gone.into_iter().map(|(token, _)| token).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
