//! Echo requests from each VM to its own gateway: none may be lost.

use super::findings::Findings;
use super::gateway::gateway;
use crate::report::Ping;
use crate::session::Session;
use crate::stop::Stop;
use airlane_scenario::{Check, CheckKind};
use std::time::Duration;

/// All VMs at the same time.
pub fn check(
    session: &mut Session,
    findings: &mut Findings,
    checks: &[&Check],
) -> Result<(), Stop> {
    let mut commands = Vec::new();
    let mut asked = Vec::new();
    for check in checks {
        match gateway(session, check.vm) {
            Some(gateway) => {
                commands.push((check.vm, command(count(check), &gateway)));
                asked.push(*check);
            }
            None => findings.add_for(session, check, false, "it has no gateway".to_owned()),
        }
    }
    let longest = checks.iter().map(|check| count(check)).max().unwrap_or(0);
    let limit = Duration::from_secs(20 + 2 * longest);
    let results = session.exec_all(&commands, limit)?;
    for (check, result) in asked.into_iter().zip(results) {
        let ping = result.and_then(|result| parse(&result.output));
        if let Some(measured) = findings.measured(check.vm) {
            measured.ping = ping;
        }
        let wanted = count(check);
        let passed = ping
            == Some(Ping {
                sent: wanted,
                received: wanted,
            });
        let detail = match ping {
            Some(ping) => format!("{} of {} echo requests answered", ping.received, ping.sent),
            None => "ping has not said a result".to_owned(),
        };
        findings.add_for(session, check, passed, detail);
    }
    Ok(())
}

fn count(check: &Check) -> u64 {
    match check.kind {
        CheckKind::Ping { count } => count,
        _ => 0,
    }
}

/// The words of `ping`: five requests a second, two seconds' patience for the last reply.
pub fn command(count: u64, gateway: &str) -> String {
    format!("ping -q -c {count} -i 0.2 -W 2 {gateway}")
}

/// `10 packets transmitted, 9 packets received, …` (BusyBox), `10 packets transmitted, 9 received, …`.
pub fn parse(output: &str) -> Option<Ping> {
    let line = output
        .lines()
        .find(|line| line.contains("packets transmitted"))?;
    let mut numbers = line
        .split(", ")
        .map(|part| part.split(' ').next().unwrap_or("").parse().ok());
    Some(Ping {
        sent: numbers.next()??,
        received: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_ping_are_read() {
        let nine = Some(Ping {
            sent: 10,
            received: 9,
        });
        assert_eq!(
            parse("PING …\n\n10 packets transmitted, 9 packets received, 10% packet loss\n"),
            nine
        );
        assert_eq!(
            parse("10 packets transmitted, 9 received, 10% packet loss, time 1ms\n"),
            nine
        );
    }

    #[test]
    fn what_is_no_result_is_none() {
        for text in [
            "",
            "ping: sendto: Network is unreachable",
            "x packets transmitted, y received",
        ] {
            assert_eq!(parse(text), None);
        }
    }
}
