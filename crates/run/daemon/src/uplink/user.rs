//! User-mode network: passt turns a station's packets into the host's own connections. One passt serves one
//! address, so each station of the network has one of its own, on a socket pair that no other program sees; it ends
//! when that is closed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use airlane_dot11::MacAddr;
use anyhow::{Context, Result};
use rustix::event::PollFlags;

use super::port::Port;
use super::stream::FrameStream;

/// A station and its address.
pub type Station = (MacAddr, Ipv4Addr);

/// A network whose gateway is passt.
#[derive(Clone, Debug)]
pub struct UserNetwork {
    /// passt, with what stands before its arguments.
    pub program: Vec<String>,
    /// The gateway's hardware address.
    pub hardware: MacAddr,
    /// The gateway's address.
    pub gateway: Ipv4Addr,
    /// Length of the prefix.
    pub prefix: u8,
    /// Where stations send their name server requests; the host's own name server answers.
    pub name_server: Ipv4Addr,
    /// Who is in it.
    pub stations: Vec<Station>,
}

/// All of it, while it runs.
pub struct UserPort {
    sessions: BTreeMap<MacAddr, Session>,
}

struct Session {
    stream: FrameStream,
    child: Child,
}

impl UserNetwork {
    /// Starts one passt for each station.
    pub fn start(&self) -> Result<UserPort> {
        let session = |&(mac, address): &Station| Ok((mac, self.session(address)?));
        let sessions: Result<_> = self.stations.iter().map(session).collect();
        Ok(UserPort {
            sessions: sessions?,
        })
    }

    fn session(&self, address: Ipv4Addr) -> Result<Session> {
        let (own, others) = UnixStream::pair()?;
        let (program, before) = self.program.split_first().context("passt has no name")?;
        let child = Command::new(program)
            .args(before)
            .args(self.arguments(address))
            .stdin(OwnedFd::from(others))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let stream = FrameStream::new(own)?;
        Ok(Session { stream, child })
    }

    /// Addresses come from the access point's own gateway. What trusts the host's loopback stays out of reach.
    fn arguments(&self, address: Ipv4Addr) -> Vec<String> {
        let flags = "--foreground --quiet --fd 0 --ipv4-only --no-map-gw --no-dhcp";
        let mut arguments: Vec<String> = flags.split(' ').map(str::to_owned).collect();
        for (name, value) in [
            ("--address", address.to_string()),
            ("--netmask", self.prefix.to_string()),
            ("--gateway", self.gateway.to_string()),
            ("--mac-addr", self.hardware.to_string()),
            ("--dns-forward", self.name_server.to_string()),
        ] {
            arguments.extend([name.to_owned(), value]);
        }
        arguments
    }
}

impl Port for UserPort {
    fn poll_fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let sessions = self.sessions.values();
        sessions.map(|session| session.stream.poll_fd()).collect()
    }

    /// A passt that ends takes its station's uplink with it, and no other's.
    fn receive(&mut self, give: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.sessions.retain(|station, session| {
            let received = session.stream.receive(give);
            if let Err(error) = &received {
                tracing::error!("the uplink of {station} is gone, passt has ended: {error:#}");
            }
            received.is_ok()
        });
        Ok(())
    }

    /// By the station that sends it.
    fn send(&mut self, frame: &[u8]) {
        let source = frame.get(6..12).and_then(|source| source.try_into().ok());
        let session = source.and_then(|source| self.sessions.get_mut(&MacAddr(source)));
        if let Some(session) = session {
            session.stream.send(frame);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passt_is_told_the_network_and_nothing_of_the_host() {
        let network = UserNetwork {
            program: vec!["passt".to_owned()],
            hardware: MacAddr([2, 0, 0, 0, 1, 1]),
            gateway: Ipv4Addr::new(192, 168, 1, 1),
            prefix: 24,
            name_server: Ipv4Addr::new(192, 168, 1, 3),
            stations: Vec::new(),
        };
        let line = network.arguments(Ipv4Addr::new(192, 168, 1, 100)).join(" ");
        for words in [
            "--address 192.168.1.100",
            "--gateway 192.168.1.1",
            "--mac-addr 02:00:00:00:01:01",
            "--dns-forward 192.168.1.3",
            "--no-map-gw",
        ] {
            assert!(line.contains(words), "{line}");
        }
    }

    #[test]
    fn a_passt_that_is_not_there_is_an_error_with_its_name() {
        let network = UserNetwork {
            program: vec!["/nonexistent/passt".to_owned()],
            hardware: MacAddr::ZERO,
            gateway: Ipv4Addr::LOCALHOST,
            prefix: 24,
            name_server: Ipv4Addr::LOCALHOST,
            stations: vec![(MacAddr::ZERO, Ipv4Addr::LOCALHOST)],
        };
        let error = network.start().err().expect("it cannot start");
        assert!(format!("{error:#}").contains("/nonexistent/passt"));
    }
}
