//! What was found: figures of panels of bars, and the lines of the summary. This is the JSON.

use serde::Serialize;

use super::stats::Spread;

/// Everything that one call has measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// What it was measured on, by name.
    pub machine: Vec<(String, String)>,
    /// How it was called.
    pub effort: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// What the figures come down to.
    pub summary: Vec<KeyFigure>,
    /// How long it took.
    pub seconds: f64,
}

/// One figure.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// As the command line names it.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What that means, in a sentence.
    pub meaning: &'static str,
    /// What it is in the paper.
    pub paper: &'static str,
    /// Its parts, each with a scale of its own.
    pub panels: Vec<Panel>,
    /// What must be known to read it.
    pub notes: Vec<String>,
}

/// Bars of one scale.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Panel {
    /// What is compared.
    pub title: String,
    /// Of the values.
    pub unit: &'static str,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bar {
    /// Which path, stage or number of VMs.
    pub label: String,
    /// How the samples lie.
    pub spread: Spread,
    /// What the paper found there, in the same unit.
    pub paper: Option<f64>,
    /// The samples, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Bar {
    /// Of these samples.
    pub fn new(label: impl Into<String>, samples: Vec<f64>) -> Self {
        Self {
            label: label.into(),
            spread: Spread::of(&samples),
            paper: None,
            samples,
        }
    }

    /// Beside what the paper found.
    pub fn beside(mut self, paper: f64) -> Self {
        self.paper = Some(paper);
        self
    }
}

/// One line of the summary: the paper's value beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct KeyFigure {
    /// What is measured.
    pub what: &'static str,
    /// What that means, in a sentence.
    pub meaning: &'static str,
    /// What the paper says.
    pub paper: &'static str,
    /// How values are written.
    pub unit: Unit,
    /// What was found.
    pub measured: Spread,
    /// The figure that it is read from, as the command line names it.
    pub figure: &'static str,
    /// How it is read from there.
    pub how: String,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 1.05 is "+5.0 %".
    Beyond,
    /// 0.99 is "99.00 %".
    Share,
    /// -0.9 is "-90.0 %".
    Change,
    /// 12.3 is "12.3 µs".
    Micros,
    /// As it is.
    Plain,
    /// Whole.
    Ticks,
}

impl Unit {
    /// The value as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Beyond => format!("{:+.1} %", (value - 1.0) * 100.0),
            Self::Share => format!("{:.2} %", value * 100.0),
            Self::Change => format!("{:+.1} %", value * 100.0),
            Self::Micros => format!("{value:.1} µs"),
            Self::Plain => format!("{value:.3}"),
            Self::Ticks => format!("{value:.0}"),
        }
    }
}

impl KeyFigure {
    /// Median and quartiles as text.
    pub fn texts(&self) -> (String, String) {
        let Spread { low, median, high } = self.measured;
        let [low, median, high] = [low, median, high].map(|value| self.unit.text(value));
        (median, format!("{low} to {high}"))
    }

    /// What measures it.
    pub fn command(&self) -> String {
        command(self.figure)
    }
}

/// What a user types to measure a figure.
pub fn command(figure: &str) -> String {
    format!("airlane bench {figure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_table_has_them() {
        assert_eq!(Unit::Beyond.text(1.05), "+5.0 %");
        assert_eq!(Unit::Share.text(0.999), "99.90 %");
        assert_eq!(Unit::Change.text(-0.9), "-90.0 %");
        assert_eq!(Unit::Micros.text(12.34), "12.3 µs");
    }
}
