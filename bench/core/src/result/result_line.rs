//! The lines that LevelDB's program prints, character for character, or RocksDB's with
//! `--format=rocksdb`.

mod parts;
mod rocksdb;

use std::fmt::Write as _;

use crate::workload::plan::{Format, Plan};

use parts::{MIB, end_header};

pub use parts::Outcome;

/// Returns the header on stdout, up to and including its rule.
pub fn header(plan: &Plan) -> String {
    match plan.format {
        Format::LevelDb => leveldb_header(plan),
        Format::RocksDb => rocksdb::header(plan),
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates shown with one decimal, computed as LevelDB computes them"
)]
fn leveldb_header(plan: &Plan) -> String {
    let key_bytes = plan.key_bytes() as f64;
    let value_bytes = plan.value_size as f64;
    let packed = value_bytes * plan.compression_ratio;
    let num = plan.num as f64;
    let mut text = format!(
        "Keys:       {} bytes each\n\
         Values:     {} bytes each ({} bytes after compression)\n\
         Entries:    {}\n\
         RawSize:    {:.1} MB (estimated)\n\
         FileSize:   {:.1} MB (estimated)\n",
        plan.key_bytes(),
        plan.value_size,
        (packed + 0.5) as u64,
        plan.num,
        (key_bytes + value_bytes) * num / MIB,
        (key_bytes + packed) * num / MIB,
    );
    end_header(&mut text);
    text
}

/// Returns the result line, without its line ending.
pub fn result(format: Format, name: &str, outcome: &Outcome) -> String {
    match format {
        Format::LevelDb => leveldb_result(name, outcome),
        Format::RocksDb => rocksdb::result(name, outcome),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shown with three decimals at most"
)]
fn leveldb_result(name: &str, outcome: &Outcome) -> String {
    // LevelDB counts at least one operation.
    let micros = outcome.thread_seconds * 1e6 / outcome.ops.max(1) as f64;
    let mut line = format!("{name:<12} : {micros:11.3} micros/op;");
    if outcome.bytes > 0 {
        let rate = outcome.bytes as f64 / MIB / outcome.elapsed_seconds;
        // Writing to a String cannot fail, here and below.
        let _ = write!(line, " {rate:6.1} MB/s");
    }
    if !outcome.message.is_empty() {
        line.push(' ');
        line.push_str(&outcome.message);
    }
    line
}

/// Returns the line of a row that was not run.
pub fn skipped(name: &str, reason: &str) -> String {
    format!("{name:<12} : skipped ({reason})")
}

/// Returns the line of a row that was run but failed.
pub fn failed(name: &str, reason: &str) -> String {
    format!("{name:<12} : failed ({reason})")
}

/// Returns RocksDB's line over the runs of a repeated workload so far; empty for a single run.
pub fn combined(name: &str, ops: &[f64], mbs: &[f64]) -> String {
    if ops.len() < 2 {
        return String::new();
    }
    let title = format!("{name} [AVG {} runs]", ops.len());
    average(&title, ops, mbs, "") + "\n"
}

/// Returns RocksDB's lines over all runs; empty for a single run.
pub fn combined_at_the_end(name: &str, ops: &[f64], mbs: &[f64]) -> String {
    let runs = ops.len();
    if runs < 2 {
        return String::new();
    }
    let (rate, _) = mean_and_interval(ops);
    let millis = if rate > 0.0 { 1000.0 / rate } else { 0.0 };
    let title = format!("\n{name} [AVG    {runs} runs]");
    let text = average(&title, ops, mbs, &format!("; {millis:.3} ms/op"));
    let mut median = format!(
        "{name} [MEDIAN {runs} runs] : {} ops/sec",
        whole(median(ops))
    );
    if mbs.len() == runs {
        let _ = write!(median, "; {:6.1} MB/sec", self::median(mbs));
    }
    format!("{text}\n{median}\n")
}

/// Returns RocksDB's line of `--confidence_interval_only`; empty for a single run.
pub fn interval(name: &str, ops: &[f64], mbs: &[f64]) -> String {
    let runs = ops.len();
    if runs < 2 {
        return String::new();
    }
    let (rate, spread) = mean_and_interval(ops);
    let (rate, spread) = (whole(rate), whole(spread));
    let (low, high) = (rate - spread, rate + spread);
    let mut line = format!("{name} [CI95 {runs} runs] : ({low}, {high}) ops/sec");
    if mbs.len() == runs {
        let (mean, spread) = mean_and_interval(mbs);
        let (low, high) = (mean - spread, mean + spread);
        let _ = write!(line, "; ({low:.1}, {high:.1}) MB/sec");
    }
    line + "\n"
}

/// Returns a title, and the means with their intervals; `more` follows the first.
fn average(title: &str, ops: &[f64], mbs: &[f64], more: &str) -> String {
    let (rate, spread) = mean_and_interval(ops);
    let (rate, spread) = (whole(rate), whole(spread));
    let mut text = format!("{title} : {rate} (\u{b1} {spread}) ops/sec{more}");
    if mbs.len() == ops.len() {
        let (mean, interval) = mean_and_interval(mbs);
        let _ = write!(text, "; {mean:6.1} (\u{b1} {interval:.1}) MB/sec");
    }
    text
}

/// Cuts a rate to whole operations per second, as RocksDB shows them.
#[expect(clippy::cast_possible_truncation, reason = "that is how it is shown")]
const fn whole(rate: f64) -> i64 {
    rate as i64
}

/// Returns the mean and half of the 95 % confidence interval of a normal distribution.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn mean_and_interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, 1.96 * (squares / (count - 1.0)).sqrt() / count.sqrt())
}

/// Returns the middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests;
