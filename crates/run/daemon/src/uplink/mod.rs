//! What is behind a built-in access point: a TAP device of the host, or a network of passt's, which needs no
//! privilege. The only I/O of the built-in access points: one thread for each uplink carries Ethernet frames between
//! it and the radio thread, over rings.
//!
//! Not here: addresses and answers of the gateway (the `ap` crate), routes and bridges of the host.

mod port;
mod source;
mod stream;
mod user;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::JoinHandle;

use airlane_dot11::Buffer;
use airlane_lane::ring::{Receiver, Sender, Wake, ring};
use airlane_transport::{EventFd, EventWake, Tap};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};

use crate::threads;
use port::Port;

pub use source::{UplinkEnds, Uplinks};
pub use user::{Station, UserNetwork};

/// Frames that wait each way.
const RING: usize = 1_024;

/// What an access point's frames for elsewhere reach.
#[derive(Clone, Debug)]
pub enum Uplink {
    /// A TAP device. One that is made by the run gets the network's gateway address.
    Tap {
        /// An existing one; otherwise the run makes one.
        name: Option<String>,
        /// The gateway's address.
        address: Ipv4Addr,
        /// Length of the network's prefix.
        prefix: u8,
    },
    /// The host's own connections, through passt.
    User(UserNetwork),
}

impl Uplink {
    fn open(self) -> Result<Box<dyn Port>> {
        Ok(match self {
            Self::Tap {
                name,
                address,
                prefix,
            } => Box::new(tap(name.as_deref(), address, prefix)?),
            Self::User(network) => Box::new(network.start()?),
        })
    }
}

fn tap(name: Option<&str>, address: Ipv4Addr, prefix: u8) -> Result<Tap> {
    const REMEDY: &str = "run as root, or have root make one for you once (`ip tuntap add dev NAME mode tap user USER`, \
                          with an address or a bridge) and write uplink = \"tap:NAME\"";
    let tap = Tap::open(name).with_context(|| format!("no uplink\n  remedy: {REMEDY}"))?;
    if name.is_none() {
        tap.set_up(address, prefix)?;
        tracing::info!("uplink: {} has {address}/{prefix}", tap.name());
    }
    Ok(tap)
}

/// Opens an uplink and starts its thread, which ends at `stop`.
pub fn start(
    built_in: usize,
    uplink: Uplink,
    radio_wake: &Arc<dyn Wake>,
    stop: EventFd,
) -> Result<(UplinkEnds, JoinHandle<()>)> {
    let mut port = uplink.open()?;
    let wake = threads::eventfd()?;
    let own_wake: Arc<dyn Wake> = Arc::new(EventWake(wake.try_clone()?));
    let (to_radio, from) = ring(RING, Arc::clone(radio_wake));
    let (to, mut from_radio) = ring(RING, own_wake);
    let mut bridge = Bridge { to_radio, lost: 0 };
    let thread = threads::spawn(format!("uplink-{built_in}"), move || {
        if let Err(error) = bridge.run(port.as_mut(), &mut from_radio, &wake, &stop) {
            tracing::error!("uplink {built_in} has ended: {error:#}");
        }
    })?;
    let ends = UplinkEnds {
        built_in,
        to,
        from,
        ring_full: 0,
    };
    Ok((ends, thread))
}

struct Bridge {
    to_radio: Sender<Buffer>,
    /// Frames for stations that were longer than any of theirs, or found the ring full.
    lost: u64,
}

impl Bridge {
    fn run(
        &mut self,
        port: &mut dyn Port,
        from_radio: &mut Receiver<Buffer>,
        wake: &EventFd,
        stop: &EventFd,
    ) -> Result<()> {
        loop {
            port.receive(&mut |frame| self.give(frame))?;
            while let Some(frame) = from_radio.pop() {
                port.send(&frame);
            }
            if from_radio.announce_sleep() && sleep(port, wake, stop)? {
                tracing::debug!("uplink: {} frames for stations were lost", self.lost);
                return Ok(());
            }
        }
    }

    fn give(&mut self, frame: &[u8]) {
        let sent = Buffer::from_slice(frame).and_then(|frame| self.to_radio.push(frame).ok());
        self.lost += u64::from(sent.is_none());
    }
}

/// Until there is something to do; `true` when it is to end.
fn sleep(port: &dyn Port, wake: &EventFd, stop: &EventFd) -> Result<bool> {
    let own = [wake, stop].map(|fd| (airlane_transport::borrow(fd), PollFlags::IN));
    let waited = own.into_iter().chain(port.poll_fds());
    let mut fds: Vec<PollFd> = waited
        .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
        .collect();
    match poll(&mut fds, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error).context("an uplink cannot wait"),
    }
    let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    if ready(0) {
        let _ = wake.read();
    }
    Ok(ready(1))
}
