//! What the air is sending for the card, by token. Few at a time: a list is fastest.

use airlane_waist::VmId;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A frame of a VM, by its serial number.
    Frame { vm: VmId, serial: u64 },
    /// A null frame of the card itself, under this VM's address: its station sleeps, or is awake. The VM does not hear
    /// of it.
    Announcement { vm: VmId, sleeps: bool },
    /// A probe request of a scan.
    Probe { vm: VmId },
}

impl Kind {
    fn vm(self) -> VmId {
        match self {
            Self::Frame { vm, .. } | Self::Announcement { vm, .. } | Self::Probe { vm } => vm,
        }
    }
}

/// Every transmission whose end the air has not told.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Vec<(u64, Kind)>);

impl InFlight {
    pub(crate) fn add(&mut self, token: u64, kind: Kind) {
        self.0.push((token, kind));
    }

    /// Takes one out; `None` when its vMAC is gone.
    pub(crate) fn complete(&mut self, token: u64) -> Option<Kind> {
        let at = self.0.iter().position(|&(known, _)| known == token)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes all of one VM out; their ends will be nobody's.
    pub(crate) fn forget(&mut self, vm: VmId) -> Vec<u64> {
        let (gone, keep): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|&(_, kind)| kind.vm() == vm);
        self.0 = keep;
        gone.into_iter().map(|(token, _)| token).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
