//! One panel as SVG: bars with quartiles, the paper's value as a mark of its own. Text is the reader's
//! browser's: no font is needed here.

use anyhow::Context;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::finding::{Bar, Panel};
use super::table::number;

const WIDTH: u32 = 760;
const ROW: i32 = 30;
const TOP: i32 = 12;
const BOTTOM: i32 = 30;
/// Least room for labels.
const LABELS: i32 = 150;
/// Of a letter, on average, with some room to spare.
const LETTER: i32 = 8;
/// Room for the value behind the longest bar.
const RIGHT: i32 = 90;
const FONT: &str = "sans-serif";

const INK: RGBColor = RGBColor(0x22, 0x2b, 0x38);
const FAINT: RGBColor = RGBColor(0xe3, 0xe8, 0xef);
const DIM: RGBColor = RGBColor(0x6b, 0x77, 0x88);
const UNSHARED: RGBColor = RGBColor(0x8a, 0x97, 0xa8);
const SHARED: RGBColor = RGBColor(0x3b, 0x76, 0xc4);
const BEST: RGBColor = RGBColor(0x1b, 0x9e, 0x77);
const PAPER: RGBColor = RGBColor(0xe0, 0x7b, 0x39);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The panel as an `<svg>` element.
pub fn svg(panel: &Panel) -> anyhow::Result<String> {
    let height = TOP + BOTTOM + ROW * panel.bars.len() as i32;
    let mut out = String::new();
    draw(panel, &mut out, height as u32)
        .with_context(|| format!("cannot plot {:?}", panel.title))?;
    Ok(out)
}

fn draw(panel: &Panel, out: &mut String, height: u32) -> anyhow::Result<()> {
    let area = SVGBackend::with_string(out, (WIDTH, height)).into_drawing_area();
    let scale = Scale::of(panel);
    scale.draw(&area, height as i32 - BOTTOM, panel.unit)?;
    for (row, bar) in panel.bars.iter().enumerate() {
        draw_bar(&area, &scale, TOP + ROW * row as i32, bar)?;
    }
    area.present()?;
    Ok(())
}

fn draw_bar(area: &Area, scale: &Scale, top: i32, bar: &Bar) -> anyhow::Result<()> {
    let middle = top + ROW / 2;
    let zero = scale.place(0.0);
    let (low, at, high) = (
        scale.place(bar.spread.low),
        scale.place(bar.spread.median),
        scale.place(bar.spread.high),
    );
    text(
        area,
        &bar.label,
        (scale.labels - 10, middle),
        HPos::Right,
        INK,
    )?;
    let body = [(zero, middle - 8), (at.max(zero + 1), middle + 8)];
    area.draw(&Rectangle::new(body, colour(&bar.label).filled()))?;
    for line in [
        vec![(low, middle), (high, middle)],
        vec![(low, middle - 4), (low, middle + 4)],
        vec![(high, middle - 4), (high, middle + 4)],
    ] {
        area.draw(&PathElement::new(line, INK.stroke_width(1)))?;
    }
    let mut end = high.max(at);
    if let Some(paper) = bar.paper {
        let paper = scale.place(paper);
        let mark = vec![(paper, middle - 12), (paper, middle + 12)];
        area.draw(&PathElement::new(mark, PAPER.stroke_width(3)))?;
        if (end..end + RIGHT - 20).contains(&paper) {
            end = paper;
        }
    }
    text(
        area,
        &number(bar.spread.median),
        (end + 8, middle),
        HPos::Left,
        INK,
    )
}

fn colour(label: &str) -> RGBColor {
    match label {
        "native" => UNSHARED,
        "default" => BEST,
        _ => SHARED,
    }
}

fn text(area: &Area, words: &str, at: (i32, i32), side: HPos, ink: RGBColor) -> anyhow::Result<()> {
    let style = TextStyle::from((FONT, 13).into_font()).color(&ink);
    let style = style.pos(Pos::new(side, VPos::Center));
    area.draw_text(words, &style, at)?;
    Ok(())
}

/// From values to places.
struct Scale {
    most: f64,
    step: f64,
    /// Where the bars begin: right of the longest label.
    labels: i32,
}

impl Scale {
    fn of(panel: &Panel) -> Self {
        let values = panel.bars.iter();
        let values = values.flat_map(|bar| [bar.spread.high, bar.paper.unwrap_or(0.0)]);
        let most = values.fold(0.0, f64::max);
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let letters = panel
            .bars
            .iter()
            .map(|bar| bar.label.chars().count() as i32);
        let labels = letters.max().unwrap_or(0) * LETTER + 10;
        Self {
            most,
            step,
            labels: labels.clamp(LABELS, WIDTH as i32 / 2),
        }
    }

    fn place(&self, value: f64) -> i32 {
        let room = f64::from(WIDTH as i32 - self.labels - RIGHT);
        self.labels + (room * value.max(0.0) / self.most).round() as i32
    }

    fn draw(&self, area: &Area, bottom: i32, unit: &str) -> anyhow::Result<()> {
        for tick in 0..=(self.most / self.step) as i32 {
            let value = f64::from(tick) * self.step;
            let at = self.place(value);
            let line = vec![(at, TOP), (at, bottom)];
            area.draw(&PathElement::new(line, FAINT.stroke_width(1)))?;
            text(
                area,
                &tick_label(value, self.step),
                (at, bottom + 12),
                HPos::Center,
                DIM,
            )?;
        }
        text(
            area,
            unit,
            (WIDTH as i32 - RIGHT + 16, bottom + 12),
            HPos::Left,
            DIM,
        )
    }
}

/// 1, 2 or 5 of a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= step);
    power * factor.unwrap_or(10.0)
}

fn tick_label(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.3), 0.5);
        assert_eq!(round_step(1.0), 1.0);
        assert_eq!(round_step(700.0), 1_000.0);
    }

    #[test]
    fn a_plot_has_every_label_and_value() {
        let bars = vec![
            Bar::new("native", vec![2.0]),
            Bar::new("a < b", vec![3.0]).beside(4.0),
        ];
        let panel = Panel {
            title: "two".to_owned(),
            unit: "Mb/s",
            bars,
        };
        let svg = svg(&panel).unwrap();
        for part in ["<svg", "native", "a &lt; b", "2.000", "3.000", "Mb/s"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn bars_begin_right_of_the_longest_label() {
        let panel = |label: &str| Panel {
            bars: vec![Bar::new("native", vec![1.0]), Bar::new(label, vec![1.0])],
            ..Panel::default()
        };
        let long = "of it beyond the unshared path";
        assert!(Scale::of(&panel(long)).labels >= 30 * 7 + 10);
        assert_eq!(Scale::of(&panel("short")).labels, LABELS);
    }

    #[test]
    fn nothing_measured_is_plotted_as_nothing() {
        let panel = Panel {
            bars: vec![Bar::new("native", Vec::new())],
            ..Panel::default()
        };
        assert!(svg(&panel).is_ok());
    }
}
