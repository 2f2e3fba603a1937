//! The findings as one page that needs nothing else: tables, plots, notes.

use std::fmt::Write;

use super::finding::{Bar, Figure, Findings, KeyFigure, Panel, command};
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
    if !findings.summary.is_empty() {
        summary(&mut out, &findings.summary);
    }
    for one in &findings.figures {
        figure(&mut out, one)?;
    }
    machine(&mut out, findings);
    out += "</body>\n</html>\n";
    Ok(out)
}

fn summary(out: &mut String, summary: &[KeyFigure]) {
    *out += "<section><h2>In short</h2>\n<table class=\"summary\"><thead><tr><th>figure</th><th class=\"n\">the paper</th>\
             <th class=\"n\">here</th><th class=\"n\">quartiles</th><th>command</th></tr></thead><tbody>\n";
    for key in summary {
        let (median, quartiles) = key.texts();
        let _ = writeln!(
            out,
            "<tr><td>{}<small>{}</small><small>{}</small></td><td class=\"n\">{}</td><td class=\"n\"><b>{median}</b></td>\
             <td class=\"n\">{quartiles}</td><td><code>{}</code></td></tr>",
            escape(key.what),
            escape(key.meaning),
            escape(&key.how),
            escape(key.paper),
            escape(&key.command()),
        );
    }
    *out += "</tbody></table></section>\n";
}

fn figure(out: &mut String, figure: &Figure) -> anyhow::Result<()> {
    let _ = writeln!(
        out,
        "<section id=\"{}\"><h2>{}</h2>\n<p>{}</p>\n<p class=\"source\">The paper: {}. Measured by <code>{}</code>.</p>",
        figure.name,
        escape(figure.title),
        escape(figure.meaning),
        escape(figure.paper),
        escape(&command(figure.name))
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
        "<details><summary>values in {}</summary><table><thead><tr><th></th><th class=\"n\">the paper</th>\
         <th class=\"n\">here</th><th class=\"n\">quartiles</th><th>samples</th></tr></thead><tbody>",
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
        "<tr><td class=\"label\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td>{}</td></tr>",
        escape(&bar.label),
        bar.paper.map(number).unwrap_or_default(),
        number(bar.spread.median),
        number(bar.spread.low),
        number(bar.spread.high),
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
    use crate::finding::Unit;
    use crate::stats::Spread;

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
        let key = KeyFigure {
            what: "goodput",
            meaning: "What gets through.",
            paper: "74 to 96 %",
            unit: Unit::Share,
            measured: Spread::of(&[0.98, 0.99, 0.995]),
            figure: "throughput",
            how: "UDP".to_owned(),
        };
        Findings {
            figures: vec![figure],
            summary: vec![key],
            ..Findings::default()
        }
    }

    #[test]
    fn the_summary_has_the_papers_value_ours_its_spread_what_it_means_and_the_command() {
        let page = page(&findings()).unwrap();
        let row = page.lines().find(|line| line.contains("goodput"));
        let parts = [
            "74 to 96 %",
            "<b>99.00 %</b>",
            "98.50 % to 99.25 %",
            "What gets through.",
            "<code>airlane bench throughput</code>",
        ];
        for part in parts {
            assert!(row.is_some_and(|row| row.contains(part)), "{part}: {page}");
        }
    }

    /// They are for those who work on it, and stand in docs/performance.md.
    #[test]
    fn targets_are_neither_on_the_page_nor_in_the_json() {
        let findings = findings();
        let json = serde_json::to_string(&findings).unwrap();
        for text in [page(&findings).unwrap(), json, crate::text(&findings)] {
            for word in ["reach", "strive", "goal", "not measured"] {
                assert!(!text.contains(word), "{word}: {text}");
            }
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
