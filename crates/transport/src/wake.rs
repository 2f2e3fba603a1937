//! Wake-ups by eventfd.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use airlane_lane::ring::Wake;
use rustix::event::{EventfdFlags, eventfd};

/// A counter of the kernel's that threads and processes wait for (`man 2 eventfd`).
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// One that counts from zero, with flags of `eventfd(2)`, as `libc::EFD_NONBLOCK`. It is closed on exec.
    pub fn new(flags: i32) -> io::Result<Self> {
        let flags = EventfdFlags::from_bits_retain(flags.cast_unsigned());
        Ok(Self(eventfd(0, flags | EventfdFlags::CLOEXEC)?))
    }

    /// Another descriptor of the same counter.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Adds to the counter.
    pub fn write(&self, count: u64) -> io::Result<()> {
        rustix::io::write(&self.0, &count.to_ne_bytes())?;
        Ok(())
    }

    /// The counter, which is zero afterwards. Waits while it is zero, or fails if it is not to wait.
    pub fn read(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

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
    event.as_fd()
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
