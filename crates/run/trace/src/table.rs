//! Breakdowns for people.

use super::breakdown::{Row, Summary};

/// ECMA-48 8.3.117: bold, faint, and back.
const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// One table for each way of each VM, and of all where there are several. `colour`: for a terminal.
pub fn table(summaries: &[Summary], colour: bool) -> String {
    let pen = Pen(colour);
    let several = |summary: &&Summary| {
        let same = summaries.iter().filter(|other| other.way == summary.way);
        summary.vm.is_some() || same.count() > 2
    };
    let tables = summaries.iter().filter(several);
    let tables = tables.map(|summary| one(summary, pen));
    tables.collect::<Vec<String>>().join("\n")
}

#[derive(Clone, Copy)]
struct Pen(bool);

impl Pen {
    fn paint(self, how: &str, text: &str) -> String {
        match self.0 {
            true => format!("{how}{text}{PLAIN}"),
            false => text.to_owned(),
        }
    }
}

fn one(summary: &Summary, pen: Pen) -> String {
    let whose = summary.vm.as_deref().map_or("all VMs".to_owned(), escaped);
    let frames = match summary.frames {
        1 => "1 frame".to_owned(),
        count => format!("{count} frames"),
    };
    let title = format!("{}, {whose}: {frames}", summary.way);
    let mut text = format!("{}\n", pen.paint(BOLD, &title));
    let heading = format!(
        "{:<32} {:>12} {:>21} {:>10} {:>7}  {}",
        "stage", "median ticks", "quartiles", "median us", "share", "beyond the unshared path"
    );
    text.push_str(&pen.paint(FAINT, &heading));
    text.push('\n');
    let extra = [
        Some(&summary.beyond),
        summary.to_the_air.as_ref(),
        summary.to_the_air_beyond.as_ref(),
    ];
    for row in summary.stages.iter().chain(extra.into_iter().flatten()) {
        text.push_str(line(row).trim_end());
        text.push('\n');
    }
    text
}

fn line(row: &Row) -> String {
    let [low, median, high] = row.ticks;
    let quartiles = format!("{low} to {high}");
    let beyond = if row.beyond {
        median.to_string()
    } else {
        String::new()
    };
    format!(
        "{:<32} {median:>12} {quartiles:>21} {:>10.2} {:>5.1} %  {beyond:>10}",
        row.stage,
        row.us[1],
        row.share * 100.0,
    )
}

/// A name without control characters: it may come from anybody.
pub fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|character| {
            let escape = character.is_control();
            let escaped = escape.then(|| character.escape_default());
            escaped
                .into_iter()
                .flatten()
                .chain((!escape).then_some(character))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_reach_the_terminal() {
        assert_eq!(escaped("it\x1b[2J\n"), "it\\u{1b}[2J\\n");
        assert_eq!(escaped("büro"), "büro");
    }
}
