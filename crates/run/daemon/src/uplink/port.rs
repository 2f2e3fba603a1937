//! What carries an uplink's frames further. A TAP device is one by itself.

use std::os::fd::{AsFd, BorrowedFd};

use airlane_dot11::CAPACITY;
use airlane_transport::Tap;
use anyhow::{Context, Result};
use rustix::event::PollFlags;

/// Something that Ethernet frames come from and go to.
pub trait Port: Send {
    /// What is to be waited for.
    fn poll_fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)>;
    /// Gives every frame that is there.
    fn receive(&mut self, give: &mut dyn FnMut(&[u8])) -> Result<()>;
    /// Takes a frame; what it has no room for is lost, as on any wire.
    fn send(&mut self, frame: &[u8]);
}

impl Port for Tap {
    fn poll_fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        vec![(self.as_fd(), PollFlags::IN)]
    }

    fn receive(&mut self, give: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut frame = [0; CAPACITY];
        while let Some(length) = Tap::receive(self, &mut frame).context("the TAP device is gone")? {
            give(frame.get(..length).unwrap_or_default());
        }
        Ok(())
    }

    fn send(&mut self, frame: &[u8]) {
        Tap::send(self, frame);
    }
}
