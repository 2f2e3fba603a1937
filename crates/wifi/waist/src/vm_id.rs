//! VM-ID: the tag that the device model puts on everything that a VM sends, and by which every
//! answer finds its way back (Virtual WiFi, section 3.2); and a total map over VM-IDs.

use std::fmt;
use std::ops::{Index, IndexMut};

use airlane_dma::Sizes;

/// How many virtual machines one card serves: as many as there are chunks in the paper's merged table (Virtual WiFi,
/// section 4.4).
pub const MAX_VMS: usize = Sizes::VIRTUAL_WIFI.chunks();

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

/// One `T` for each VM that a card may serve. No look-up fails: a [`VmId`] is less than [`MAX_VMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerVm<T>([T; MAX_VMS]);

impl<T> PerVm<T> {
    /// What `value` gives for each VM.
    pub fn from_fn(value: impl FnMut(usize) -> T) -> Self {
        Self(std::array::from_fn(value))
    }

    /// All, by VM-ID.
    pub fn iter(&self) -> impl Iterator<Item = (VmId, &T)> {
        VmId::all().zip(&self.0)
    }

    /// All, by VM-ID, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (VmId, &mut T)> {
        VmId::all().zip(&mut self.0)
    }
}

impl<T: Default> Default for PerVm<T> {
    fn default() -> Self {
        Self::from_fn(|_| T::default())
    }
}

impl<T> Index<VmId> for PerVm<T> {
    type Output = T;

    fn index(&self, vm: VmId) -> &T {
        self.0.get(vm.index()).expect("a VM-ID is in range")
    }
}

impl<T> IndexMut<VmId> for PerVm<T> {
    fn index_mut(&mut self, vm: VmId) -> &mut T {
        self.0.get_mut(vm.index()).expect("a VM-ID is in range")
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

    #[test]
    fn every_vm_has_its_own_value() {
        let mut map = PerVm::from_fn(|number| number);
        for vm in VmId::all() {
            map[vm] += 100;
        }
        assert!(map.iter().all(|(vm, &value)| value == vm.index() + 100));
        assert_eq!(map.iter_mut().count(), MAX_VMS);
    }
}
