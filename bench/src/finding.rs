//! What was found: figures of panels of bars, and the lines of the table of goals. This is the JSON.

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
    /// The goals, as far as they were measured.
    pub goals: Vec<Goal>,
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
    /// Whose.
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

/// One line of the table of goals.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What is measured.
    pub what: &'static str,
    /// What the paper says.
    pub paper: &'static str,
    /// To be reached.
    pub reach: f64,
    /// To be striven for.
    pub strive: f64,
    /// Whether more is better than less.
    pub more_is_better: bool,
    /// How values are written.
    pub unit: Unit,
    /// What was found; nothing: it is not measured here.
    pub measured: Option<Spread>,
    /// How it comes out of which figure.
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

/// How far a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As good as was striven for.
    Striven,
    /// Good enough.
    Reached,
    /// Not good enough.
    Missed,
}

impl Goal {
    /// By the median.
    pub fn verdict(&self) -> Option<Verdict> {
        let median = self.measured?.median;
        let meets = |goal: f64| match self.more_is_better {
            true => median >= goal,
            false => median <= goal,
        };
        Some(if meets(self.strive) {
            Verdict::Striven
        } else if meets(self.reach) {
            Verdict::Reached
        } else {
            Verdict::Missed
        })
    }

    /// As tables say it.
    pub fn verdict_text(&self) -> &'static str {
        self.verdict().map_or("not measured here", Verdict::text)
    }

    /// Median and quartiles as text.
    pub fn texts(&self) -> (String, String) {
        let Some(spread) = self.measured else {
            return ("–".to_owned(), String::new());
        };
        let [low, median, high] =
            [spread.low, spread.median, spread.high].map(|value| self.unit.text(value));
        (median, format!("{low} to {high}"))
    }
}

impl Verdict {
    /// As the table says it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Striven => "striven for",
            Self::Reached => "reached",
            Self::Missed => "not reached",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(measured: f64, more_is_better: bool) -> Goal {
        Goal {
            what: "",
            paper: "",
            reach: 2.0,
            strive: if more_is_better { 3.0 } else { 1.0 },
            more_is_better,
            unit: Unit::Plain,
            measured: Some(Spread::of(&[measured])),
            how: String::new(),
        }
    }

    #[test]
    fn less_is_better_where_it_says_so() {
        assert_eq!(goal(1.0, false).verdict(), Some(Verdict::Striven));
        assert_eq!(goal(1.5, false).verdict(), Some(Verdict::Reached));
        assert_eq!(goal(2.5, false).verdict(), Some(Verdict::Missed));
    }

    #[test]
    fn more_is_better_where_it_says_so() {
        assert_eq!(goal(3.0, true).verdict(), Some(Verdict::Striven));
        assert_eq!(goal(2.5, true).verdict(), Some(Verdict::Reached));
        assert_eq!(goal(1.0, true).verdict(), Some(Verdict::Missed));
    }

    #[test]
    fn values_are_written_as_the_table_has_them() {
        assert_eq!(Unit::Beyond.text(1.05), "+5.0 %");
        assert_eq!(Unit::Share.text(0.999), "99.90 %");
        assert_eq!(Unit::Change.text(-0.9), "-90.0 %");
    }
}
