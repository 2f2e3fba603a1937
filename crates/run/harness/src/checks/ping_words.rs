//! The words of the program `ping`: how it is asked, and what it says.

use crate::report::Ping;

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
