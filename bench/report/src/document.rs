//! The report as a sequence of blocks, from which every readable form is made.

use crate::engine_style;
use crate::number;

/// One piece of a page.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// A heading of level 1 to 4.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A sentence computed from the table above it.
    Verdict(String),
    /// Something the reader must know before believing a figure.
    Note(String),
    /// Items, each with its subject first.
    List(Vec<Item>),
    /// The engines with their colours.
    Legend(Vec<Name>),
    /// Rates as bars.
    Bars(Bars),
    /// Latencies on a logarithmic axis.
    Latency(Latency),
    /// Rates second by second.
    Timeline(Vec<Strip>),
    /// A table of texts and numbers.
    Grid(Grid),
    /// The next block begins a page of its own when printed.
    PageBreak,
}

impl Block {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn heading(level: u8, text: impl Into<String>) -> Self {
        Self::Heading(level, text.into())
    }
}

/// An entry of a list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it is about; may be empty.
    pub(crate) subject: String,
    /// The entry.
    pub(crate) text: String,
}

impl Item {
    pub(crate) fn new(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            text: text.into(),
        }
    }
}

/// An engine's style and title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// Position in the list of styles.
    pub(crate) style: usize,
    /// Title.
    pub(crate) title: String,
    /// Variant of its settings, when not the plain ones.
    pub(crate) variant: Option<String>,
    /// Whether it merges by reading and putting, which has a mark.
    pub(crate) by_hand: bool,
}

impl Name {
    /// An engine with its plain settings.
    pub(crate) fn plain(engine: &str) -> Self {
        Self {
            style: engine_style::index(engine),
            title: engine_style::title(engine).to_owned(),
            variant: None,
            by_hand: false,
        }
    }

    /// Title and mark.
    pub(crate) fn marked(&self) -> String {
        let mark = if self.by_hand {
            engine_style::BY_HAND
        } else {
            ""
        };
        format!("{}{mark}", self.title)
    }

    /// Title, mark and variant in one text.
    pub(crate) fn full(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{} ({variant})", self.marked()),
            None => self.marked(),
        }
    }
}

/// Bars of one workload.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// Rows.
    pub(crate) rows: Vec<Bar>,
}

impl Bars {
    /// Makes the longest bar full again after rows were taken out.
    pub(crate) fn rescale(&mut self) {
        let share = |bar: &Bar| match &bar.value {
            Value::Measured(measured) => measured.share,
            Value::Missing(..) => 0.0,
        };
        let longest = self.rows.iter().map(share).fold(0.0, f64::max);
        if longest <= 0.0 {
            return;
        }
        for bar in &mut self.rows {
            if let Value::Measured(measured) = &mut bar.value {
                measured.share /= longest;
                measured.low /= longest;
                measured.high /= longest;
            }
        }
    }
}

/// One row of bars.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Engine.
    pub(crate) name: Name,
    /// Why it is not ranked.
    pub(crate) unranked: Option<String>,
    /// What was measured.
    pub(crate) value: Value,
}

/// A bar, or why there is none.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Measured.
    Measured(Measured),
    /// `skipped` or `failed`, and the reason.
    Missing(&'static str, String),
}

/// The end of a bar and the texts after it; lengths are parts of the fastest row's.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// `4,030,000 ops/sec`.
    pub(crate) text: String,
    /// Length of the bar.
    pub(crate) share: f64,
    /// Where the spread begins.
    pub(crate) low: f64,
    /// Where it ends.
    pub(crate) high: f64,
    /// `3.91M to 4.10M`, where there were several rounds.
    pub(crate) range: Option<String>,
    /// `writer 48.6k`: operations a second of the concurrent writer.
    pub(crate) writer: Option<String>,
    /// The figures in full sentences.
    pub(crate) hint: String,
    /// First among the ranked, or tied with it.
    pub(crate) leads: bool,
    /// `1.00x LevelDB`.
    pub(crate) times_reference: Option<String>,
    /// `(1.08x baseline)`.
    pub(crate) times_baseline: Option<String>,
}

/// Percentiles of several engines.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    /// Exponent of ten where the axis begins, nanoseconds.
    pub(crate) first: i32,
    /// Exponent of ten where it ends.
    pub(crate) last: i32,
    /// Rows.
    pub(crate) rows: Vec<Percentiles>,
}

/// What the columns of [`Percentiles`] are.
pub(crate) const PERCENTILES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// Percentiles of one engine in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Percentiles {
    /// Engine.
    pub(crate) name: Name,
    /// In the order of [`PERCENTILES`].
    pub(crate) points: [Option<u64>; 6],
}

impl Latency {
    /// The position of a time on the axis, 0 to 1.
    pub(crate) fn at(&self, nanoseconds: u64) -> f64 {
        let log = number::float(nanoseconds.max(1)).log10();
        let (first, last) = (f64::from(self.first), f64::from(self.last));
        ((log - first) / (last - first)).clamp(0.0, 1.0)
    }
}

/// Rates of one engine second by second.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    /// Engine.
    pub(crate) name: Name,
    /// Operations in each second.
    pub(crate) values: Vec<u64>,
    /// Length, highest and lowest second as text.
    pub(crate) text: String,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// Headings of the columns.
    pub(crate) head: Vec<String>,
    /// Lines.
    pub(crate) lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// A heading across all columns.
    Group(String),
    /// Cells.
    Cells(Vec<Cell>),
}

/// How a cell is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Plain.
    #[default]
    Plain,
    /// Number, set to the right.
    Number,
    /// The best of its line.
    Best,
    /// Does not follow, failed, or lost.
    Bad,
    /// Of less weight.
    Faint,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Text or number.
    pub(crate) text: String,
    /// How it is meant.
    pub(crate) tone: Tone,
    /// Engine whose colour comes before the text, or whose bar is under it.
    pub(crate) style: Option<usize>,
    /// Length of the bar under the text, 0 to 1.
    pub(crate) bar: Option<f64>,
    /// A remark on it: a variant.
    pub(crate) tag: Option<String>,
    /// How far the rounds lie apart: `±3%`, or `±12x`.
    pub(crate) spread: Option<String>,
}

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
            ..Self::default()
        }
    }

    /// A number, or a dash where there is none.
    pub(crate) fn number(text: Option<String>) -> Self {
        let tone = if text.is_some() {
            Tone::Number
        } else {
            Tone::Faint
        };
        Self::toned(text.unwrap_or_else(|| "-".into()), tone)
    }

    /// Text, or that the fact was not reported.
    pub(crate) fn reported(text: Option<String>) -> Self {
        text.map_or_else(|| Self::toned("not reported", Tone::Faint), Self::plain)
    }

    pub(crate) fn name(name: Name) -> Self {
        Self {
            text: name.marked(),
            style: Some(name.style),
            tag: name.variant,
            ..Self::default()
        }
    }
}
