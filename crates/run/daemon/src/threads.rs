//! Threads with names, and the eventfds that wake them.

use std::thread::JoinHandle;

use airlane_transport::EventFd;
use anyhow::Context;

/// Starts a thread of this name.
pub fn spawn<T: Send + 'static>(
    name: String,
    run: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    let context = format!("cannot start the thread {name}");
    std::thread::Builder::new()
        .name(name)
        .spawn(run)
        .context(context)
}

/// An eventfd whose reads do not block.
pub fn eventfd() -> anyhow::Result<EventFd> {
    let nonblocking = rustix::event::EventfdFlags::NONBLOCK.bits();
    Ok(EventFd::new(i32::try_from(nonblocking)?)?)
}
