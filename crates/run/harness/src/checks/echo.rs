//! Echo requests that go on beside something else, and the longest time without an answer.

use super::gateway::gateway;
use crate::session::Session;
use crate::stop::Stop;
use std::time::Duration;

/// Seconds between two requests.
const INTERVAL: f64 = 0.2;
/// How long a guest may take to start or end its stream.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// How many echo requests have been sent.
    pub sent: u64,
    /// How many of them were answered.
    pub answered: u64,
    /// The numbers, from 0, of those that were not. The last one is none of them: its answer may have been on its way when the
    /// stream was ended.
    pub lost: Vec<u64>,
    /// Longest time without an answer beyond the usual interval, in seconds.
    pub gap: f64,
}

/// Starts a stream from each VM to its own gateway; false when one has none.
pub fn start(session: &mut Session, vms: &[usize]) -> Result<bool, Stop> {
    let commands: Option<Vec<_>> = vms
        .iter()
        .map(|&vm| {
            let gateway = gateway(session, vm)?;
            let command = format!(
                "ping -i {INTERVAL} {gateway} >/run/echo.log 2>&1 & echo $! >/run/echo.pid"
            );
            Some((vm, command))
        })
        .collect();
    let Some(commands) = commands else {
        return Ok(false);
    };
    session.exec_all(&commands, PATIENCE)?;
    Ok(true)
}

/// Ends the streams; what became of each, none where the guest does not say.
pub fn stop(session: &mut Session, vms: &[usize]) -> Result<Vec<Option<Stream>>, Stop> {
    let command = "kill -s INT $(cat /run/echo.pid); sleep 1; cat /run/echo.log".to_owned();
    let commands: Vec<_> = vms.iter().map(|&vm| (vm, command.clone())).collect();
    let results = session.exec_all(&commands, PATIENCE)?;
    let read = results.into_iter().map(|result| parse(&result?.output));
    Ok(read.collect())
}

/// BusyBox: `64 bytes from 10.0.0.1: seq=7 ttl=64 time=1.234 ms`, at the end
/// `9 packets transmitted, 8 packets received, …`.
fn parse(output: &str) -> Option<Stream> {
    let sent = super::ping_words::parse(output)?.sent;
    let mut answers: Vec<(u64, f64)> = output.lines().filter_map(answer).collect();
    answers.dedup_by_key(|(number, _)| *number);
    let mut arrivals: Vec<f64> = answers.iter().map(|(_, seconds)| *seconds).collect();
    // A stream that ends without answers has its gap at the end, one that begins so at the beginning.
    arrivals.extend([0.0, sent.saturating_sub(1) as f64 * INTERVAL]);
    arrivals.sort_by(f64::total_cmp);
    let pairs = arrivals.iter().zip(arrivals.iter().skip(1));
    let longest = pairs.map(|(one, next)| next - one).fold(0.0, f64::max);
    let is_answered = |number: &u64| answers.iter().any(|(answered, _)| answered == number);
    let lost = (0..sent.saturating_sub(1)).filter(|number| !is_answered(number));
    Some(Stream {
        sent,
        answered: answers.len() as u64,
        lost: lost.collect(),
        gap: (longest - INTERVAL).max(0.0),
    })
}

/// The number of the request, and when its answer came, in seconds since the first request.
fn answer(line: &str) -> Option<(u64, f64)> {
    let field = |key: &str| {
        let (_, rest) = line.split_once(key)?;
        rest.split(' ').next()
    };
    let number: u64 = field("seq=")?.parse().ok()?;
    let milliseconds: f64 = field("time=")?.parse().ok()?;
    Some((number, number as f64 * INTERVAL + milliseconds / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(sent: u64, answered: &[u64]) -> String {
        let lines = answered
            .iter()
            .map(|seq| format!("64 bytes from 10.0.0.1: seq={seq} ttl=64 time=1.000 ms\n"));
        let lines: String = lines.collect();
        let count = answered.len();
        format!("{lines}\n{sent} packets transmitted, {count} packets received, 1% packet loss\n")
    }

    #[test]
    fn the_gap_is_the_longest_time_without_an_answer() {
        let stream = parse(&output(10, &[0, 1, 2, 7, 8, 9])).unwrap();
        assert_eq!((stream.sent, stream.answered), (10, 6));
        assert!((stream.gap - 0.8).abs() < 1e-6, "{}", stream.gap);
    }

    #[test]
    fn answers_that_never_come_again_are_a_gap() {
        let stream = parse(&output(10, &[0, 1])).unwrap();
        assert!((stream.gap - 1.4).abs() < 0.01, "{}", stream.gap);
    }

    #[test]
    fn only_the_last_request_may_be_unanswered() {
        let lost = |answered: &[u64]| parse(&output(5, answered)).unwrap().lost;
        assert_eq!(lost(&[0, 1, 2, 3]), [0; 0]);
        assert_eq!(lost(&[0, 1, 2, 4]), [3]);
        assert_eq!(lost(&[1, 2]), [0, 3]);
    }

    #[test]
    fn a_whole_stream_has_no_gap() {
        let all: Vec<u64> = (0..10).collect();
        let stream = parse(&output(10, &all)).unwrap();
        assert!(stream.gap < 0.01, "{}", stream.gap);
        assert_eq!(parse("ping: bad address"), None);
    }
}
