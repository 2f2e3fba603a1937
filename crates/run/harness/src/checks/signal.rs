//! How strongly VMs hear their access points, as their own drivers say.

use crate::session::Session;
use crate::stop::Stop;
use std::time::Duration;

/// In dBm; none for a VM without a link.
pub fn look(session: &mut Session, vms: &[usize]) -> Result<Vec<Option<i64>>, Stop> {
    let commands: Vec<_> = vms
        .iter()
        .map(|&vm| (vm, "iw dev wlan0 link".to_owned()))
        .collect();
    let results = session.exec_all(&commands, Duration::from_secs(10))?;
    let read = results.into_iter().map(|result| parse(&result?.output));
    Ok(read.collect())
}

/// `signal: -52 dBm`
fn parse(output: &str) -> Option<i64> {
    let mut lines = output.lines().map(str::trim);
    let value = lines.find_map(|line| line.strip_prefix("signal: "))?;
    value.split(' ').next()?.parse().ok()
}

/// A signal as text: `-52 dBm`.
pub fn words(signal: Option<i64>) -> String {
    signal.map_or_else(|| "no signal".to_owned(), |dbm| format!("{dbm} dBm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_is_read_from_a_link() {
        let link = "Connected to 02:00:00:00:01:01 (on wlan0)\n\tSSID: corp\n\tsignal: -52 dBm\n";
        assert_eq!(parse(link), Some(-52));
        assert_eq!(parse("Not connected.\n"), None);
    }
}
