//! The findings for people at a terminal.

use std::fmt::Write;

use super::finding::{Bar, Figure, Findings, KeyFigure};

/// All of it.
pub fn text(findings: &Findings) -> String {
    let mut out = String::new();
    for figure in &findings.figures {
        add_figure(&mut out, figure);
    }
    if !findings.summary.is_empty() {
        add_summary(&mut out, &findings.summary);
    }
    let _ = write!(out, "{}; {:.0} s", findings.effort, findings.seconds);
    out
}

fn add_figure(out: &mut String, figure: &Figure) {
    let _ = writeln!(out, "{}: {}", figure.name, figure.title);
    for panel in &figure.panels {
        let _ = writeln!(out, "  {} ({})", panel.title, panel.unit);
        for bar in &panel.bars {
            let _ = writeln!(out, "{}", bar_line(bar));
        }
    }
    for note in &figure.notes {
        let _ = writeln!(out, "  {note}");
    }
    out.push('\n');
}

fn bar_line(bar: &Bar) -> String {
    let spread = bar.spread;
    let quartiles = format!("{} to {}", number(spread.low), number(spread.high));
    let paper = bar.paper.map(|paper| format!("  paper {}", number(paper)));
    format!(
        "    {:28} {:>9}  {:22}{}",
        bar.label,
        number(spread.median),
        quartiles,
        paper.unwrap_or_default()
    )
    .trim_end()
    .to_owned()
}

fn add_summary(out: &mut String, summary: &[KeyFigure]) {
    let _ = writeln!(
        out,
        "{:72} {:>15} {:>11}  quartiles",
        "in short", "paper", "here"
    );
    for key in summary {
        let (median, quartiles) = key.texts();
        let _ = writeln!(
            out,
            "{:72} {:>15} {median:>11}  {quartiles}",
            key.what, key.paper
        );
    }
    out.push('\n');
}

/// With as many digits as say something.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0..10.0 => 3,
        10.0..100.0 => 2,
        100.0..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}
