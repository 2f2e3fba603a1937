//! Wake-ups by eventfd.

use std::os::fd::{AsRawFd, BorrowedFd};

use airlane_lane::ring::Wake;
use vmm_sys_util::eventfd::EventFd;

/// Wakes a thread that polls an eventfd.
pub struct EventWake(pub EventFd);

impl Wake for EventWake {
    fn wake(&self) {
        // A full counter means that the wake-up is pending already.
        let _ = self.0.write(1);
    }
}

/// The eventfd as a descriptor that `poll` takes.
pub fn borrow(event: &EventFd) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open for as long as `event`, whose lifetime the result has.
    unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) }
}

/// Consumes a wake-up, after `poll` has reported it.
pub(crate) fn drain(event: &EventFd) {
    let _ = event.read();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_makes_the_eventfd_readable() {
        let event = EventFd::new(libc::EFD_NONBLOCK).unwrap();
        let wake = EventWake(event.try_clone().unwrap());
        assert!(event.read().is_err());
        wake.wake();
        wake.wake();
        assert_eq!(event.read().unwrap(), 2);
    }
}
