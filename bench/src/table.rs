//! The findings for people at a terminal.

use std::fmt::Write;

use super::finding::{Bar, Figure, Findings, Goal};

/// All of it.
pub fn text(findings: &Findings) -> String {
    let mut out = String::new();
    for figure in &findings.figures {
        add_figure(&mut out, figure);
    }
    if !findings.goals.is_empty() {
        add_goals(&mut out, &findings.goals);
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

fn add_goals(out: &mut String, goals: &[Goal]) {
    let _ = writeln!(
        out,
        "{:62} {:>14} {:>9} {:>9} {:>10}",
        "goal", "paper", "reach", "strive", "measured"
    );
    for goal in goals {
        let _ = writeln!(
            out,
            "{:62} {:>14} {:>9} {:>9} {:>10}  {}",
            goal.what,
            goal.paper,
            goal.unit.text(goal.reach),
            goal.unit.text(goal.strive),
            goal.texts().0,
            goal.verdict_text()
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
