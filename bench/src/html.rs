//! The findings as one page that needs nothing else: tables, plots, notes.

use std::fmt::Write;

use super::finding::{Bar, Figure, Findings, Goal, Panel, Verdict};
use super::plot;
use super::table::number;

const STYLE: &str = include_str!("report.css");

/// The page.
pub fn page(findings: &Findings) -> anyhow::Result<String> {
    let mut out =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let _ = writeln!(
        out,
        "<title>airlane: what sharing costs</title>\n<style>\n{STYLE}</style>\n</head>"
    );
    out += "<body>\n<h1>What sharing a card costs</h1>\n";
    let _ = writeln!(
        out,
        "<p class=\"lead\">Each figure of <em>Virtual WiFi</em> (VEE 2011), measured here beside what the paper found. \
         {}; {:.0} s in all.</p>",
        escape(&findings.effort),
        findings.seconds
    );
    out += "<p class=\"key\"><span class=\"native\"></span>native: nothing shared <span class=\"shared\"></span>shared \
            <span class=\"best\"></span>shared, as tuned by default <span class=\"paper\"></span>the paper's value \
            <span class=\"quartiles\"></span>quartiles</p>\n";
    if !findings.goals.is_empty() {
        goals(&mut out, &findings.goals);
    }
    for one in &findings.figures {
        figure(&mut out, one)?;
    }
    machine(&mut out, findings);
    out += "</body>\n</html>\n";
    Ok(out)
}

fn goals(out: &mut String, goals: &[Goal]) {
    *out += "<section><h2>Goals</h2>\n<table><thead><tr><th>figure</th><th>paper</th><th>reach</th><th>strive</th>\
             <th>measured</th><th>quartiles</th><th></th></tr></thead><tbody>\n";
    for goal in goals {
        let (measured, quartiles) = goal.texts();
        let class = match goal.verdict() {
            Some(Verdict::Striven) => "striven",
            Some(Verdict::Reached) => "reached",
            Some(Verdict::Missed) => "missed",
            None => "unknown",
        };
        let _ = writeln!(
            out,
            "<tr><td>{}<small>{}</small></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\"><b>{measured}</b></td><td class=\"n\">{quartiles}</td><td><span class=\"{class}\">{}</span></td></tr>",
            escape(goal.what),
            escape(&goal.how),
            escape(goal.paper),
            goal.unit.text(goal.reach),
            goal.unit.text(goal.strive),
            goal.verdict_text(),
        );
    }
    *out += "</tbody></table></section>\n";
}

fn figure(out: &mut String, figure: &Figure) -> anyhow::Result<()> {
    let _ = writeln!(
        out,
        "<section id=\"{}\"><h2>{}</h2>\n<p class=\"source\">Paper: {}</p>",
        figure.name,
        escape(figure.title),
        escape(figure.paper)
    );
    for note in &figure.notes {
        let _ = writeln!(out, "<p>{}</p>", escape(note));
    }
    for one in &figure.panels {
        panel(out, one)?;
    }
    *out += "</section>\n";
    Ok(())
}

fn panel(out: &mut String, panel: &Panel) -> anyhow::Result<()> {
    let _ = writeln!(
        out,
        "<h3>{}</h3>\n{}",
        escape(&panel.title),
        plot::svg(panel)?
    );
    let _ = writeln!(
        out,
        "<details><summary>values in {}</summary><table><thead><tr><th></th><th>median</th><th>quartiles</th>\
         <th>paper</th><th>samples</th></tr></thead><tbody>",
        escape(panel.unit)
    );
    for bar in &panel.bars {
        row(out, bar);
    }
    *out += "</tbody></table></details>\n";
    Ok(())
}

fn row(out: &mut String, bar: &Bar) {
    let samples: Vec<String> = bar.samples.iter().map(|&value| number(value)).collect();
    let _ = writeln!(
        out,
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td class=\"n\">{}</td><td>{}</td></tr>",
        escape(&bar.label),
        number(bar.spread.median),
        number(bar.spread.low),
        number(bar.spread.high),
        bar.paper.map(number).unwrap_or_default(),
        samples.join(" ")
    );
}

fn machine(out: &mut String, findings: &Findings) {
    *out += "<section><h2>Measured on</h2><table><tbody>\n";
    for (name, value) in &findings.machine {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td></tr>",
            escape(name),
            escape(value)
        );
    }
    *out += "</tbody></table></section>\n";
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        let bars = vec![Bar::new("native", vec![1.0, 2.0]).beside(3.0)];
        let panel = Panel {
            title: "a & b".to_owned(),
            unit: "Mb/s",
            bars,
        };
        let figure = Figure {
            name: "throughput",
            panels: vec![panel],
            ..Figure::default()
        };
        Findings {
            figures: vec![figure],
            ..Findings::default()
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = page(&findings()).unwrap();
        for outside in ["src=", "href=", "url(", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("<svg"), "the plot stands in it");
    }

    #[test]
    fn text_is_not_taken_for_markup() {
        let page = page(&findings()).unwrap();
        assert!(page.contains("a &amp; b"));
    }
}
