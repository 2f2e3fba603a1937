//! iperf3 in a guest: its command line, and what it reports as JSON.

use serde_json::Value;

/// Ports at which every access point's servers listen; each serves one client at a time.
pub const FIRST_PORT: u16 = 5201;

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// UDP at this rate in Mb/s, else TCP.
    pub udp_mbps: Option<u64>,
    /// From the access point to the VM.
    pub to_vm: bool,
    /// How long it lasts.
    pub seconds: u64,
}

impl Transfer {
    /// The command line of the client.
    pub fn command(self, gateway: &str, port: u16) -> String {
        let udp = self
            .udp_mbps
            .map_or_else(String::new, |rate| format!(" -u -b {rate}M"));
        let reverse = if self.to_vm { " -R" } else { "" };
        let seconds = self.seconds;
        format!(
            "iperf3 -c {gateway} -p {port} -t {seconds} --connect-timeout 5000 -J{udp}{reverse}"
        )
    }
}

/// What a client has reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the receiver got.
    pub mbps: f64,
    /// (end in seconds, Mb/s) of each interval, as the client saw it.
    pub intervals: Vec<(f64, f64)>,
}

/// Reads a client's report; its own words when it failed.
pub fn parse(output: &str) -> Result<Outcome, String> {
    let report: Value = serde_json::from_str(output).map_err(|_| no_report(output))?;
    if let Some(error) = report.get("error").and_then(Value::as_str) {
        return Err(error.chars().take(200).collect());
    }
    let end = report.get("end").ok_or("a report without its end")?;
    let mbps = received(end).ok_or("a report without a rate")?;
    let intervals = report.get("intervals").and_then(Value::as_array);
    let intervals = intervals.map(|list| list.iter().filter_map(interval).collect());
    Ok(Outcome {
        mbps,
        intervals: intervals.unwrap_or_default(),
    })
}

fn no_report(output: &str) -> String {
    let first: String = output
        .lines()
        .next()
        .unwrap_or("no output")
        .chars()
        .take(200)
        .collect();
    format!("no report: {first}")
}

/// Mb/s at the receiver. Newer versions give the receiver's sum for UDP as well; older ones give the
/// sender's rate and the share of lost datagrams.
fn received(end: &Value) -> Option<f64> {
    let rate = |sum: &Value| Some(sum.get("bits_per_second")?.as_f64()? / 1e6);
    if let Some(mbps) = end.get("sum_received").and_then(rate) {
        return Some(mbps);
    }
    let sum = end.get("sum")?;
    let lost = sum
        .get("lost_percent")
        .and_then(Value::as_f64)
        .unwrap_or(0.0);
    Some(rate(sum)? * (1.0 - lost / 100.0).clamp(0.0, 1.0))
}

fn interval(interval: &Value) -> Option<(f64, f64)> {
    let sum = interval.get("sum")?;
    Some((
        sum.get("end")?.as_f64()?,
        sum.get("bits_per_second")?.as_f64()? / 1e6,
    ))
}

/// What iperf3 prints of a transfer with these rates, in Mb/s, one for each second.
#[cfg(test)]
pub fn report(rates: &[f64]) -> String {
    let interval = |(index, mbps): (usize, &f64)| {
        format!(
            r#"{{"sum": {{"end": {}.0, "bits_per_second": {}}}}}"#,
            index + 1,
            mbps * 1e6
        )
    };
    let intervals: Vec<String> = rates.iter().enumerate().map(interval).collect();
    format!(
        r#"{{"intervals": [{}], "end": {{"sum_received": {{"bits_per_second": 1}}}}}}"#,
        intervals.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_transfers_differ_in_their_words() {
        let tcp = Transfer {
            udp_mbps: None,
            to_vm: false,
            seconds: 5,
        };
        let udp = Transfer {
            udp_mbps: Some(8),
            to_vm: true,
            seconds: 5,
        };
        assert_eq!(
            tcp.command("10.0.0.1", 5201),
            "iperf3 -c 10.0.0.1 -p 5201 -t 5 --connect-timeout 5000 -J"
        );
        assert_eq!(
            udp.command("10.0.0.1", 5202),
            "iperf3 -c 10.0.0.1 -p 5202 -t 5 --connect-timeout 5000 -J -u -b 8M -R"
        );
    }

    #[test]
    fn tcp_counts_what_was_received() {
        let text = r#"{"intervals": [{"sum": {"end": 1.0, "bits_per_second": 9e6}}],
                       "end": {"sum_sent": {"bits_per_second": 12e6}, "sum_received": {"bits_per_second": 10e6}}}"#;
        assert_eq!(
            parse(text),
            Ok(Outcome {
                mbps: 10.0,
                intervals: vec![(1.0, 9.0)]
            })
        );
    }

    #[test]
    fn udp_subtracts_what_was_lost() {
        let text =
            r#"{"intervals": [], "end": {"sum": {"bits_per_second": 8e6, "lost_percent": 25.0}}}"#;
        assert_eq!(parse(text).map(|outcome| outcome.mbps), Ok(6.0));
    }

    #[test]
    fn a_failure_is_given_in_its_own_words() {
        let refused =
            r#"{"start": {}, "error": "unable to connect to server: Connection refused"}"#;
        assert_eq!(
            parse(refused),
            Err("unable to connect to server: Connection refused".to_owned())
        );
        assert_eq!(
            parse("sh: iperf3: not found\n"),
            Err("no report: sh: iperf3: not found".to_owned())
        );
        assert_eq!(parse(""), Err("no report: no output".to_owned()));
        assert!(parse("{}").is_err() && parse(r#"{"end": {}}"#).is_err());
    }
}
