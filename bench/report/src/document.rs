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
    /// A caveat the reader must know before trusting a figure.
    Note(String),
    /// List items, each with its subject first.
    List(Vec<Item>),
    /// The engines with their colours.
    Legend(Vec<Name>),
    /// Rates as bars.
    Bars(Bars),
    /// Latencies on a logarithmic axis.
    Latency(Latency),
    /// Rates per second, over time.
    Timeline(Vec<Strip>),
    /// A table of strings and numbers.
    Grid(Grid),
    /// The next block starts a new page when printed.
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
    /// Subject; may be empty.
    pub(crate) subject: String,
    /// Text after the subject.
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
    /// Settings variant, unless it is the plain one.
    pub(crate) variant: Option<String>,
    /// Whether the engine merges with a read and a put; such rows carry a mark.
    pub(crate) by_hand: bool,
}

impl Name {
    /// Returns an engine with its plain settings.
    pub(crate) fn plain(engine: &str) -> Self {
        Self {
            style: engine_style::index(engine),
            title: engine_style::title(engine).to_owned(),
            variant: None,
            by_hand: false,
        }
    }

    /// Returns the title and mark.
    pub(crate) fn marked(&self) -> String {
        let mark = if self.by_hand {
            engine_style::BY_HAND
        } else {
            ""
        };
        format!("{}{mark}", self.title)
    }

    /// Returns title, mark and variant in one string.
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
    /// Rescales the bars so that the longest is full again after rows were removed.
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
    /// Reason the row is not ranked.
    pub(crate) unranked: Option<String>,
    /// The measured figures, or the reason they are missing.
    pub(crate) value: Value,
}

/// A bar, or the reason there is none.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Measured.
    Measured(Measured),
    /// Status, `skipped` or `failed`, and the reason.
    Missing(&'static str, String),
}

/// The end of a bar and the text after it; lengths are fractions of the fastest row's.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Rate, such as `4,030,000 ops/sec`.
    pub(crate) text: String,
    /// Length of the bar.
    pub(crate) share: f64,
    /// Lower end of the spread.
    pub(crate) low: f64,
    /// Upper end of the spread.
    pub(crate) high: f64,
    /// Spread, such as `3.91M to 4.10M`, if there were several rounds.
    pub(crate) range: Option<String>,
    /// Rate of the concurrent writer in operations per second, such as `writer 48.6k`.
    pub(crate) writer: Option<String>,
    /// The figures in full sentences.
    pub(crate) hint: String,
    /// Whether the row is first among the ranked rows, or tied with the first.
    pub(crate) leads: bool,
    /// Ratio to the reference, such as `1.00x LevelDB`.
    pub(crate) times_reference: Option<String>,
    /// Ratio to the baseline, such as `(1.08x baseline)`.
    pub(crate) times_baseline: Option<String>,
}

/// Percentiles of several engines.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    /// Power of ten at which the axis starts, in nanoseconds.
    pub(crate) first: i32,
    /// Power of ten at which the axis ends, in nanoseconds.
    pub(crate) last: i32,
    /// Rows.
    pub(crate) rows: Vec<Percentiles>,
}

/// Column titles of [`Percentiles`].
pub(crate) const PERCENTILES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// Latency percentiles of one engine, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Percentiles {
    /// Engine.
    pub(crate) name: Name,
    /// Percentiles in the order of [`PERCENTILES`].
    pub(crate) points: [Option<u64>; 6],
}

impl Latency {
    /// Returns the position of a time on the axis, from 0 to 1.
    pub(crate) fn at(&self, nanoseconds: u64) -> f64 {
        let log = number::float(nanoseconds.max(1)).log10();
        let (first, last) = (f64::from(self.first), f64::from(self.last));
        ((log - first) / (last - first)).clamp(0.0, 1.0)
    }
}

/// Rate of one engine over time, second by second.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    /// Engine.
    pub(crate) name: Name,
    /// Operations in each second.
    pub(crate) values: Vec<u64>,
    /// Length, highest second and lowest second as text.
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

/// The meaning of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Plain.
    #[default]
    Plain,
    /// A number, right-aligned.
    Number,
    /// The best of its line.
    Best,
    /// A figure that does not follow, a failure, or a loss.
    Bad,
    /// Less important.
    Faint,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Text or number.
    pub(crate) text: String,
    /// Meaning of the cell.
    pub(crate) tone: Tone,
    /// Engine whose colour precedes the text, or whose bar is drawn under it.
    pub(crate) style: Option<usize>,
    /// Length of the bar under the text, 0 to 1.
    pub(crate) bar: Option<f64>,
    /// Remark, such as a variant.
    pub(crate) tag: Option<String>,
    /// Spread of the rounds: `±3%`, or `±12x`.
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

    /// Returns a cell with a number, or a dash if there is none.
    pub(crate) fn number(text: Option<String>) -> Self {
        let tone = if text.is_some() {
            Tone::Number
        } else {
            Tone::Faint
        };
        Self::toned(text.unwrap_or_else(|| "-".into()), tone)
    }

    /// Returns a cell with the text, or with `not reported`.
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
