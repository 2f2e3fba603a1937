//! A total map over VMs.

use std::ops::{Index, IndexMut};

use airlane_lane::{MAX_VMS, VmId};

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
    fn every_vm_has_its_own_value() {
        let mut map = PerVm::from_fn(|number| number);
        for vm in VmId::all() {
            map[vm] += 100;
        }
        assert!(map.iter().all(|(vm, &value)| value == vm.index() + 100));
        assert_eq!(map.iter_mut().count(), MAX_VMS);
    }
}
