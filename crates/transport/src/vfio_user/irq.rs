//! The interrupts of one client: which eventfd stands for which type, and the mask of INTx.
//!
//! INTx follows VFIO's level rule (`VFIO_IRQ_INFO_AUTOMASKED`): a signal masks the line; an unmask
//! signals again if the device still drives it. QEMU unmasks at the guest's next register access.
//! Source: `linux/vfio.h` (`struct vfio_irq_set`), vfio-user.rst `VFIO_USER_DEVICE_SET_IRQS`.

use std::os::fd::OwnedFd;

use super::protocol::{Fds, SetIrqs};
use vfio_bindings::bindings::vfio::*;

/// Interrupt types of a PCI device in VFIO (`VFIO_PCI_NUM_IRQS`).
pub const TYPES: u32 = VFIO_PCI_NUM_IRQS;
const INTX: u32 = VFIO_PCI_INTX_IRQ_INDEX;
const ERROR: u32 = VFIO_PCI_ERR_IRQ_INDEX;
const MSI: u32 = VFIO_PCI_MSI_IRQ_INDEX;
const MSIX: u32 = VFIO_PCI_MSIX_IRQ_INDEX;

/// Interrupt state.
#[derive(Default)]
pub struct Interrupts {
    intx: Option<OwnedFd>,
    unmask: Option<OwnedFd>,
    msi: Option<OwnedFd>,
    /// By vector; as many as the card has once one of them has been set.
    msix: Vec<Option<OwnedFd>>,
    masked: bool,
}

/// Flags and number of vectors of the type `index` on a card with so many vectors of MSI-X; `None` when there is no such type. Error recovery is
/// refused, as a kernel refuses it for conventional PCI: of zero vectors QEMU would warn.
pub fn info(index: u32, msix: u16) -> Option<(u32, u32)> {
    match index {
        INTX => Some((
            VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED,
            1,
        )),
        MSI => Some((VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE, 1)),
        MSIX if msix > 0 => Some((VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE, msix.into())),
        ERROR => None,
        _ if index < TYPES => Some((0, 0)),
        _ => None,
    }
}

/// A signal must never wait, whatever the client has made of its descriptor: an eventfd whose counter is
/// full, or a full pipe in an eventfd's place, would hold up the lane. The flag belongs to the open file, so
/// a client that takes it off again hangs its own lane and nothing else.
fn never_waiting(event: OwnedFd) -> Result<OwnedFd, i32> {
    let set = || {
        let flags = rustix::fs::fcntl_getfl(&event)?;
        rustix::fs::fcntl_setfl(&event, flags | rustix::fs::OFlags::NONBLOCK)
    };
    set().map_err(|errno: rustix::io::Errno| errno.raw_os_error())?;
    Ok(event)
}

/// Writes one to an eventfd. A full counter means the signal is pending anyway.
fn signal(event: &OwnedFd) -> bool {
    matches!(
        rustix::io::write(event, &1u64.to_ne_bytes()),
        Ok(8) | Err(rustix::io::Errno::AGAIN)
    )
}

impl Interrupts {
    /// Does what the client asks of a card with `msix` vectors of MSI-X; an error number when it cannot be done. An
    /// eventfd comes along for each vector that is set, or none at all to take them away.
    pub fn set(&mut self, set: &SetIrqs<'_>, events: Fds, msix: u16) -> Result<(), i32> {
        let vectors = info(set.index, msix).ok_or(libc::EINVAL)?.1;
        let end = set.start.checked_add(set.count).ok_or(libc::EINVAL)?;
        if end > vectors {
            return Err(libc::EINVAL);
        }
        let events = events.into_iter().map(never_waiting);
        let events: Fds = events.collect::<Result<_, _>>()?;
        self.msix.resize_with(msix.into(), || None);
        match set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK {
            VFIO_IRQ_SET_ACTION_TRIGGER => self.trigger(set, events),
            VFIO_IRQ_SET_ACTION_MASK if set.index == INTX => self.mask(set, true),
            VFIO_IRQ_SET_ACTION_UNMASK if set.index == INTX => self.unmask(set, events),
            _ => Err(libc::EINVAL),
        }
    }

    fn trigger(&mut self, set: &SetIrqs<'_>, events: Fds) -> Result<(), i32> {
        match set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK {
            VFIO_IRQ_SET_DATA_NONE if set.count == 0 => self.take_away(set.index),
            VFIO_IRQ_SET_DATA_EVENTFD if set.count > 0 => self.assign(set, events)?,
            VFIO_IRQ_SET_DATA_NONE => self.loop_back(set, |_| true),
            VFIO_IRQ_SET_DATA_BOOL if set.data.len() as u64 >= u64::from(set.count) => {
                self.loop_back(set, |at| set.data.get(at).is_some_and(|&value| value != 0));
            }
            _ => return Err(libc::EINVAL),
        }
        Ok(())
    }

    /// Where the eventfds of a type are, by vector.
    fn events(&mut self, index: u32) -> &mut [Option<OwnedFd>] {
        match index {
            INTX => std::slice::from_mut(&mut self.intx),
            MSI => std::slice::from_mut(&mut self.msi),
            MSIX => &mut self.msix,
            _ => &mut [],
        }
    }

    /// Those of `set`.
    fn chosen_events(&mut self, set: &SetIrqs<'_>) -> impl Iterator<Item = &mut Option<OwnedFd>> {
        let (start, count) = (set.start as usize, set.count as usize);
        self.events(set.index).iter_mut().skip(start).take(count)
    }

    fn take_away(&mut self, index: u32) {
        self.events(index).fill_with(|| None);
        if index == INTX {
            (self.masked, self.unmask) = (false, None);
        }
    }

    fn assign(&mut self, set: &SetIrqs<'_>, events: Fds) -> Result<(), i32> {
        if !events.is_empty() && events.len() as u64 != u64::from(set.count) {
            return Err(libc::EINVAL);
        }
        if set.index == INTX {
            (self.masked, self.unmask) = (false, None);
        }
        let mut events = events.into_iter();
        self.chosen_events(set)
            .for_each(|event| *event = events.next());
        Ok(())
    }

    /// Signals as the device would, for a client that tries its eventfds.
    fn loop_back(&mut self, set: &SetIrqs<'_>, chosen: impl Fn(usize) -> bool) {
        for (at, event) in self.chosen_events(set).enumerate() {
            if chosen(at)
                && let Some(event) = event
            {
                signal(event);
            }
        }
    }

    fn mask(&mut self, set: &SetIrqs<'_>, masked: bool) -> Result<(), i32> {
        match set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK {
            VFIO_IRQ_SET_DATA_NONE if set.count == 1 => self.masked = masked,
            VFIO_IRQ_SET_DATA_BOOL if chosen(set)? => self.masked = masked,
            VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_DATA_NONE => {}
            _ => return Err(libc::EINVAL),
        }
        Ok(())
    }

    fn unmask(&mut self, set: &SetIrqs<'_>, mut events: Fds) -> Result<(), i32> {
        if set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK != VFIO_IRQ_SET_DATA_EVENTFD {
            return self.mask(set, false);
        }
        self.unmask = events.pop();
        Ok(())
    }

    /// The eventfd by which the hypervisor's kernel unmasks INTx, if it has set one.
    pub fn unmask_event(&self) -> Option<&OwnedFd> {
        self.unmask.as_ref()
    }

    /// Unmasks INTx if that eventfd has fired, and consumes it.
    pub fn take_unmask(&mut self) {
        let fired = |event| rustix::io::read(event, &mut [0; 8]).is_ok();
        if self.unmask.as_ref().is_some_and(fired) {
            self.masked = false;
        }
    }

    /// Signals a vector of MSI-X, or that of MSI; false when the client has set no eventfd for it.
    pub fn fire(&self, vector: u16) -> bool {
        let msix = self.msix.get(usize::from(vector)).and_then(Option::as_ref);
        let msi = self.msi.as_ref().filter(|_| vector == 0);
        msix.or(msi).is_some_and(signal)
    }

    /// Signals INTx when its `level` is high and the line is not masked; says whether it did.
    pub fn drive_intx(&mut self, level: bool) -> bool {
        let fired = level && !self.masked && self.intx.as_ref().is_some_and(signal);
        self.masked |= fired;
        fired
    }
}

/// The boolean of the one vector, if it is among those set.
fn chosen(set: &SetIrqs<'_>) -> Result<bool, i32> {
    match (set.count, set.data.first()) {
        (0, _) => Ok(false),
        (_, Some(&value)) => Ok(value != 0),
        _ => Err(libc::EINVAL),
    }
}

#[cfg(test)]
#[path = "irq_tests.rs"]
mod tests;
