//! The live table as text: one row per VM. Pure; who prints it decides about terminals.

use airlane_guests::state::State;

/// A row of the table: a VM, or a built-in access point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name in the scenario.
    pub name: String,
    /// How far it has come.
    pub state: State,
    /// Its network, or what it serves.
    pub network: String,
    /// Its access point.
    pub bssid: String,
    /// Its IPv4 address, or that which it serves.
    pub address: String,
    /// To and from the air, in Mb/s; none while nothing is known.
    pub mbps: Option<(f64, f64)>,
}

/// The widths of all columns but the first, which takes the longest name's.
const HEADINGS: [(&str, usize); 5] = [
    ("STATE", 14),
    ("NETWORK", 14),
    ("BSSID", 17),
    ("ADDRESS", 15),
    ("Mb/s UP / DOWN", 15),
];

/// The table's lines, each cut to `width` columns.
pub fn lines(rows: &[Row], width: usize, colour: bool) -> Vec<String> {
    let names = rows
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let headings: Vec<String> = HEADINGS
        .iter()
        .map(|(text, width)| format!("  {text:<width$}"))
        .collect();
    let head = format!("{:<names$}{}", "VM", headings.concat());
    let mut lines = vec![paint(&cut(&head, width), "1", colour)];
    for row in rows {
        let line = cut(
            &format!("{:<names$}{}", row.name, cells(row).concat()),
            width,
        );
        lines.push(painted_state(&line, row.state, names + 2, colour));
    }
    lines
}

fn cells(row: &Row) -> Vec<String> {
    let mbps = row
        .mbps
        .map_or_else(String::new, |(up, down)| format!("{up:.1} / {down:.1}"));
    let texts = [
        row.state.word(),
        &row.network,
        &row.bssid,
        &row.address,
        &mbps,
    ];
    let pairs = texts.iter().zip(HEADINGS);
    pairs
        .map(|(text, (_, width))| format!("  {:<width$}", cut(text, width)))
        .collect()
}

/// At most `width` characters.
fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Colours the state's word, which begins at column `start`.
fn painted_state(line: &str, state: State, start: usize, colour: bool) -> String {
    let (_, width) = HEADINGS[0];
    let part =
        |from: usize, to: usize| -> String { line.chars().skip(from).take(to - from).collect() };
    let (before, word, after) = (
        part(0, start),
        part(start, start + width),
        part(start + width, usize::MAX),
    );
    format!("{before}{}{after}", paint(&word, colour_of(state), colour))
        .trim_end()
        .to_owned()
}

/// ECMA-48 8.3.117: 31 red, 32 green, 33 yellow.
fn colour_of(state: State) -> &'static str {
    match state {
        State::Addressed | State::Serving => "32",
        State::Refused | State::Failed | State::Stopped => "31",
        _ => "33",
    }
}

/// `text` in a colour or weight.
pub fn paint(text: &str, code: &str, colour: bool) -> String {
    match colour && !text.is_empty() {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        vec![
            Row {
                name: "it".to_owned(),
                state: State::Addressed,
                network: "corp".to_owned(),
                bssid: "02:00:00:00:01:01".to_owned(),
                address: "192.168.1.100".to_owned(),
                mbps: Some((12.34, 0.0)),
            },
            Row {
                name: "user".to_owned(),
                state: State::Booting,
                ..Row::default()
            },
        ]
    }

    #[test]
    fn one_line_for_each_vm_under_a_heading() {
        let lines = lines(&rows(), 120, false);
        assert_eq!(
            lines,
            [
                "VM    STATE           NETWORK         BSSID              ADDRESS          Mb/s UP / DOWN ",
                "it    addressed       corp            02:00:00:00:01:01  192.168.1.100    12.3 / 0.0",
                "user  booting",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [0, 5, 20, 60] {
            assert!(
                lines(&rows(), width, false)
                    .iter()
                    .all(|line| line.chars().count() <= width)
            );
        }
    }

    #[test]
    fn colour_appears_only_when_asked_for() {
        assert!(!lines(&rows(), 120, false).concat().contains('\x1b'));
        assert!(lines(&rows(), 120, true)[1].contains("\x1b[32maddressed     \x1b[0m"));
    }
}
