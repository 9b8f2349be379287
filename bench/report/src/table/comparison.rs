//! Two builds or two files compared: for each row the ratio of the rates, its interval, and a
//! verdict.
//!
//! The ratio is the geometric mean of the rounds' ratios, with Student's interval of their
//! logarithms (1908). Where both were measured in turns, in one run, a round is compared with the
//! same round: what disturbs the machine for longer than a round disturbs both. Two files are
//! compared by their means, with the interval of Welch (1947), and nothing removes what was
//! different on the day.
//!
//! A verdict needs a difference of [`DIFFERENCE_MIN`] that the interval of 99 % confirms: of thirty
//! rows without a difference, one is called worse in every seventh run. The interval that is shown
//! is that of 95 %.

use std::fmt::Write as _;

use bench_core::result::record::{Record, Status};

use crate::engine;
use crate::error::Error;
use crate::input::ReportInput;
use crate::number::{self, float};
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// Smallest difference of a rate that matters.
const DIFFERENCE_MIN: f64 = 0.01;
/// Number of rounds from which there is a verdict.
const ROUNDS_MIN: usize = 3;

/// Quantiles of Student's distribution for intervals of 95 and 99 %, from one degree of freedom on.
const STUDENT: [[f64; 2]; 30] = [
    [12.706, 63.657],
    [4.303, 9.925],
    [3.182, 5.841],
    [2.776, 4.604],
    [2.571, 4.032],
    [2.447, 3.707],
    [2.365, 3.499],
    [2.306, 3.355],
    [2.262, 3.250],
    [2.228, 3.169],
    [2.201, 3.106],
    [2.179, 3.055],
    [2.160, 3.012],
    [2.145, 2.977],
    [2.131, 2.947],
    [2.120, 2.921],
    [2.110, 2.898],
    [2.101, 2.878],
    [2.093, 2.861],
    [2.086, 2.845],
    [2.080, 2.831],
    [2.074, 2.819],
    [2.069, 2.807],
    [2.064, 2.797],
    [2.060, 2.787],
    [2.056, 2.779],
    [2.052, 2.771],
    [2.048, 2.763],
    [2.045, 2.756],
    [2.042, 2.750],
];

/// What the rounds of a row say about the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Better,
    Worse,
    NoDifference,
    /// Fewer than [`ROUNDS_MIN`] rounds.
    TooFewRounds,
    /// One of them failed, which the other did not.
    Failed,
    /// The other one failed.
    OtherFailed,
}

impl Verdict {
    const fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifference => "no difference",
            Verdict::TooFewRounds => "too few rounds",
            Verdict::Failed => "FAILED",
            Verdict::OtherFailed => "the other failed",
        }
    }
}

/// A row of a comparison.
#[derive(Clone, Debug)]
struct Compared {
    label: String,
    /// Logarithm of the ratio, and half of the intervals of 95 and 99 %.
    difference: Option<(f64, [f64; 2])>,
    verdict: Verdict,
}

/// The rows that two builds or two files have in common.
#[derive(Clone, Debug)]
pub struct Comparison {
    rows: Vec<Compared>,
    /// What was compared with what.
    title: String,
    remark: &'static str,
}

impl Comparison {
    /// Compares an engine with the same engine of another build, in the records of one run.
    ///
    /// # Errors
    /// If the text is no such file; the error names the line.
    pub fn of_builds(text: &str, engine: &str, other: &str) -> Result<Self, Error> {
        let run = Run::new(ReportInput::read(text)?);
        let row = |table: &Table| {
            let label = outline::full_label(&run, table);
            let (new, old) = (table.row(engine)?, table.row(other)?);
            Some(compared(label, new, old, paired))
        };
        Ok(Self {
            rows: run.tables.iter().filter_map(row).collect(),
            title: format!("{} against the other build", engine::title(engine)),
            remark: "",
        })
    }

    /// Compares what two files have in common: the same engine, variant and workload.
    ///
    /// # Errors
    /// If one of the texts is no such file; the error names the line.
    pub fn of_files(new: &str, old: &str) -> Result<Self, Error> {
        let (new, old) = (ReportInput::read(new)?, ReportInput::read(old)?);
        let (new, old) = (Run::new(new), Run::new(old));
        let mut rows = Vec::new();
        for table in &new.tables {
            let mut others = old.tables.iter();
            let Some(other) = others.find(|it| it.key == table.key && it.state == table.state)
            else {
                continue;
            };
            for row in table.engines() {
                let same = |it: &&Row| it.engine == row.engine && it.variant == row.variant;
                if let Some(old) = other.engines().find(same) {
                    let label = outline::full_label(&new, table);
                    let label = format!("{}, {label}", row.title());
                    rows.push(compared(label, row, old, apart));
                }
            }
        }
        Ok(Self {
            rows,
            title: "The new file against the old one".to_owned(),
            remark: "Two files hold what was different on two days as well: the machine, its \
                     neighbours, its clock. --against runs two builds in turns.\n",
        })
    }

    /// Returns whether a row is worse, or failed where the other did not.
    pub fn is_worse(&self) -> bool {
        let bad = |row: &Compared| matches!(row.verdict, Verdict::Worse | Verdict::Failed);
        self.rows.iter().any(bad)
    }

    /// Returns one line for each row, the geometric mean of all ratios, and how many rows are
    /// better and worse.
    pub fn text(&self) -> String {
        let mut out = format!("{}: ratio of the rates, interval of 95 %\n", self.title);
        let longest = self.rows.iter().map(|row| row.label.chars().count()).max();
        let width = longest.unwrap_or(0);
        for row in &self.rows {
            let figure = row
                .difference
                .map_or_else(String::new, |(mean, [half, _])| {
                    let ends = [mean - half, mean + half].map(|end| number::ratio(end.exp()));
                    let interval = if half.is_finite() {
                        format!("[{}, {}]", ends[0], ends[1])
                    } else {
                        String::new()
                    };
                    format!("{:>7} {interval:<16}", number::ratio(mean.exp()))
                });
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(
                out,
                "  {:<width$} {figure:<24} {}",
                row.label,
                row.verdict.words()
            );
        }
        let logs: Vec<f64> = self
            .rows
            .iter()
            .filter_map(|row| Some(row.difference?.0))
            .collect();
        if !logs.is_empty() {
            let mean = mean(&logs).exp();
            let count = |verdict| {
                self.rows
                    .iter()
                    .filter(|row| row.verdict == verdict)
                    .count()
            };
            let _ = writeln!(
                out,
                "geometric mean of {} rows: {}; {} better, {} worse, {} failed",
                logs.len(),
                number::ratio(mean),
                count(Verdict::Better),
                count(Verdict::Worse),
                count(Verdict::Failed)
            );
        }
        out.push_str(self.remark);
        out
    }
}

/// Mean of a difference, half of its intervals of 95 and 99 %, and the number of rounds.
type Interval = (f64, [f64; 2], usize);

fn compared(
    label: String,
    new: &Row,
    old: &Row,
    interval: fn(&Row, &Row) -> Option<Interval>,
) -> Compared {
    let failed = |row: &Row| {
        row.records
            .iter()
            .any(|record| record.status == Status::Failed)
    };
    let found = interval(new, old);
    let verdict = match (failed(new), failed(old), found) {
        (true, false, _) => Verdict::Failed,
        (false, true, _) => Verdict::OtherFailed,
        (_, _, Some((mean, [_, half], rounds))) if rounds >= ROUNDS_MIN => judge(mean, half),
        _ => Verdict::TooFewRounds,
    };
    Compared {
        label,
        difference: found.map(|(mean, halves, _)| (mean, halves)),
        verdict,
    }
}

fn judge(mean: f64, half: f64) -> Verdict {
    if mean.abs() <= half || mean.abs() < DIFFERENCE_MIN {
        Verdict::NoDifference
    } else if mean > 0.0 {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len() as u64)
}

/// Returns the variance of the mean of some values, of which there are at least two.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let count = float(values.len() as u64);
    squares / (count - 1.0) / count
}

/// Returns half of both intervals; infinite without degrees of freedom.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down, at least 0, and at most 30 where it is an index"
)]
fn halves(variance: f64, freedom: f64) -> [f64; 2] {
    if freedom < 1.0 {
        return [f64::INFINITY; 2];
    }
    let at = freedom.min(float(STUDENT.len() as u64)) as usize - 1;
    STUDENT[at].map(|quantile| quantile * variance.sqrt())
}

/// Returns the logarithms of a row's rates with their rounds.
fn logs(row: &Row) -> Vec<(u32, f64)> {
    let log = |record: &Record| Some((record.round, record.rate()?.ln()));
    let logs = row.records.iter().filter_map(log);
    logs.filter(|(_, log)| log.is_finite()).collect()
}

/// Compares round by round.
fn paired(new: &Row, old: &Row) -> Option<Interval> {
    let old = logs(old);
    let pair = |(round, log): (u32, f64)| {
        let (_, other) = old.iter().find(|(other, _)| *other == round)?;
        Some(log - other)
    };
    let differences: Vec<f64> = logs(new).into_iter().filter_map(pair).collect();
    let rounds = differences.len();
    let found = match rounds {
        0 => return None,
        1 => [f64::INFINITY; 2],
        _ => halves(variance(&differences), float(rounds as u64) - 1.0),
    };
    Some((mean(&differences), found, rounds))
}

/// Compares the means, with the degrees of freedom of Welch and Satterthwaite.
fn apart(new: &Row, old: &Row) -> Option<Interval> {
    let values = |row: &Row| -> Vec<f64> { logs(row).into_iter().map(|(_, log)| log).collect() };
    let sides = [values(new), values(old)];
    let rounds = sides.iter().map(Vec::len).min().unwrap_or(0);
    if rounds == 0 {
        return None;
    }
    let difference = mean(&sides[0]) - mean(&sides[1]);
    if rounds == 1 {
        return Some((difference, [f64::INFINITY; 2], rounds));
    }
    let variances = [variance(&sides[0]), variance(&sides[1])];
    let total: f64 = variances.iter().sum();
    let parts = variances.iter().zip(&sides);
    let parts = parts.map(|(part, side)| part.powi(2) / (float(side.len() as u64) - 1.0));
    let freedom = if total > 0.0 {
        total.powi(2) / parts.sum::<f64>()
    } else {
        float(rounds as u64)
    };
    Some((difference, halves(total, freedom), rounds))
}
