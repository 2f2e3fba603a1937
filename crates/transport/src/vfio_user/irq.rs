//! The interrupts of one client: which eventfd stands for which type, and the mask of INTx.
//!
//! INTx follows VFIO's level rule (`VFIO_IRQ_INFO_AUTOMASKED`): a signal masks the line; an unmask
//! signals again if the device still drives it. QEMU unmasks at the guest's next register access.
//! Source: `linux/vfio.h` (`struct vfio_irq_set`), vfio-user.rst `VFIO_USER_DEVICE_SET_IRQS`.

use std::os::fd::OwnedFd;

use super::protocol::SetIrqs;
use vfio_bindings::bindings::vfio::*;

/// Interrupt types of a PCI device in VFIO (`VFIO_PCI_NUM_IRQS`).
pub const TYPES: u32 = VFIO_PCI_NUM_IRQS;
const INTX: u32 = VFIO_PCI_INTX_IRQ_INDEX;
const ERROR: u32 = VFIO_PCI_ERR_IRQ_INDEX;
const MSI: u32 = VFIO_PCI_MSI_IRQ_INDEX;

/// Interrupt state.
#[derive(Default)]
pub struct Interrupts {
    intx: Option<OwnedFd>,
    unmask: Option<OwnedFd>,
    msi: Option<OwnedFd>,
    masked: bool,
}

/// Flags and number of vectors of the type `index`; `None` when there is no such type. Error recovery is
/// refused, as a kernel refuses it for conventional PCI: of zero vectors QEMU would warn.
pub fn info(index: u32) -> Option<(u32, u32)> {
    match index {
        INTX => Some((
            VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED,
            1,
        )),
        MSI => Some((VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE, 1)),
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
    /// Does what the client asks; an error number when it cannot be done. Takes at most one of
    /// the file descriptors that came along.
    pub fn set(&mut self, set: &SetIrqs<'_>, event: Option<OwnedFd>) -> Result<(), i32> {
        let vectors = info(set.index).ok_or(libc::EINVAL)?.1;
        let event = event.map(never_waiting).transpose()?;
        let end = set.start.checked_add(set.count).ok_or(libc::EINVAL)?;
        if end > vectors {
            return Err(libc::EINVAL);
        }
        match set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK {
            VFIO_IRQ_SET_ACTION_TRIGGER => self.trigger(set, event),
            VFIO_IRQ_SET_ACTION_MASK if set.index == INTX => self.mask(set, true),
            VFIO_IRQ_SET_ACTION_UNMASK if set.index == INTX => self.unmask(set, event),
            _ => Err(libc::EINVAL),
        }
    }

    fn trigger(&mut self, set: &SetIrqs<'_>, event: Option<OwnedFd>) -> Result<(), i32> {
        match set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK {
            VFIO_IRQ_SET_DATA_NONE if set.count == 0 => self.assign(set.index, None),
            VFIO_IRQ_SET_DATA_EVENTFD if set.count == 1 => self.assign(set.index, event),
            VFIO_IRQ_SET_DATA_NONE => self.loop_back(set.index),
            VFIO_IRQ_SET_DATA_BOOL if chosen(set)? => self.loop_back(set.index),
            VFIO_IRQ_SET_DATA_BOOL => Ok(()),
            _ => Err(libc::EINVAL),
        }
    }

    fn assign(&mut self, index: u32, event: Option<OwnedFd>) -> Result<(), i32> {
        match index {
            INTX => {
                self.masked = false;
                self.unmask = None;
                self.intx = event;
            }
            MSI => self.msi = event,
            _ => {}
        }
        Ok(())
    }

    fn loop_back(&self, index: u32) -> Result<(), i32> {
        let event = if index == MSI { &self.msi } else { &self.intx };
        if let Some(event) = event {
            signal(event);
        }
        Ok(())
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

    fn unmask(&mut self, set: &SetIrqs<'_>, event: Option<OwnedFd>) -> Result<(), i32> {
        if set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK != VFIO_IRQ_SET_DATA_EVENTFD {
            return self.mask(set, false);
        }
        self.unmask = event;
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

    /// Signals MSI; false when the client has set no eventfd for it.
    pub fn fire_msi(&self) -> bool {
        self.msi.as_ref().is_some_and(signal)
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
