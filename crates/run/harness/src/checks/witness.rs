//! A VM whose echo requests run all the while something happens to its neighbour: what it loses, the
//! neighbour has cost it.

use super::gateway::gateway;
use super::ping_words as ping;
use crate::jobs::Job;
use crate::report::Ping;
use crate::session::Session;
use crate::stop::Stop;
use std::time::Duration;

/// Echo requests that go on in a VM.
pub struct Witness {
    vm: usize,
    job: Job,
}

impl Witness {
    /// Begins: five requests a second. None when the VM has no gateway.
    pub fn start(session: &mut Session, vm: usize) -> Result<Option<Self>, Stop> {
        let Some(gateway) = gateway(session, vm) else {
            return Ok(None);
        };
        let job = session.exec(vm, &command(&gateway))?;
        Ok(Some(Self { vm, job }))
    }

    /// Ends; what was sent and answered.
    pub fn stop(self, session: &mut Session) -> Result<Option<Ping>, Stop> {
        let end = (self.vm, "touch /run/witness-ends".to_owned());
        session.exec_all(&[end], Duration::from_secs(20))?;
        let result = session.finish(&[self.job], Duration::from_secs(20))?;
        let output = result.into_iter().next().flatten();
        Ok(output.and_then(|finished| ping::parse(&finished.output)))
    }
}

/// `ping` tells its counts when it is interrupted.
fn command(gateway: &str) -> String {
    format!(
        "rm -f /run/witness-ends; ping -q -i 0.2 {gateway} & ping=$!; \
         while [ ! -e /run/witness-ends ]; do sleep 0.5; done; kill -s INT $ping; wait $ping"
    )
}

/// Whether it lost no more than `percent` of its requests; the last one may be on its way at the end.
pub fn unharmed(ping: Option<Ping>, percent: f64) -> (bool, String) {
    let Some(Ping { sent, received }) = ping else {
        return (false, "its ping has not said a result".to_owned());
    };
    let lost = sent.saturating_sub(received);
    let passed = received > 0 && lost.saturating_sub(1) as f64 <= percent / 100.0 * sent as f64;
    let detail = format!("{received} of {sent} echo requests answered all the while");
    (passed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(sent: u64, received: u64) -> Option<Ping> {
        Some(Ping { sent, received })
    }

    #[test]
    fn only_the_last_request_and_the_share_allowed_may_be_lost() {
        assert!(unharmed(ping(100, 99), 0.0).0);
        assert!(!unharmed(ping(100, 98), 0.0).0);
        assert!(unharmed(ping(100, 98), 1.0).0);
        assert!(!unharmed(ping(100, 97), 1.0).0);
    }

    #[test]
    fn silence_is_harm() {
        assert!(!unharmed(None, 1.0).0);
        assert!(!unharmed(ping(0, 0), 1.0).0);
        assert!(!unharmed(ping(1, 0), 1.0).0);
    }
}
