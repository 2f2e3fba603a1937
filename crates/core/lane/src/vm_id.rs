//! VM-ID: the tag that the device model puts on everything that a VM sends, and by which every
//! answer finds its way back (Virtual WiFi, section 3.2).

use std::fmt;

/// How many virtual machines one card serves: bits 35–38 of a merged address (Virtual WiFi, 4.4).
pub const MAX_VMS: usize = 16;

/// The identity of one VM on one card, `0..MAX_VMS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(u8);

/// A number that names no VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("VM-ID {0} is out of range: one card serves {MAX_VMS} VMs, 0 to {max}", max = MAX_VMS - 1)]
pub struct VmIdError(pub usize);

impl VmId {
    /// The VM-ID of this number.
    #[inline]
    pub fn new(number: usize) -> Result<Self, VmIdError> {
        match u8::try_from(number) {
            Ok(known) if number < MAX_VMS => Ok(Self(known)),
            _ => Err(VmIdError(number)),
        }
    }

    /// Its number, always below [`MAX_VMS`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Every VM-ID, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MAX_VMS).filter_map(|number| Self::new(number).ok())
    }
}

impl From<VmId> for u8 {
    #[inline]
    fn from(vm: VmId) -> u8 {
        vm.0
    }
}

impl fmt::Display for VmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_vms_and_no_more() {
        assert_eq!(VmId::all().count(), MAX_VMS);
        assert!(VmId::new(15).is_ok());
        assert_eq!(VmId::new(16), Err(VmIdError(16)));
    }
}
