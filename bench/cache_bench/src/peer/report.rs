//! The output of RocksDB's program, version 5.x or later.

use crate::outcome::Outcome;
use crate::plan::Plan;

/// The parsed output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    version: String,
    seconds: f64,
    ops_per_second: f64,
    thread_ops_per_second: Option<f64>,
    hit_ratio: Option<f64>,
    percentiles: [Option<f64>; 5],
    max: Option<f64>,
    histogram: String,
    /// Lines that start with `WARNING`.
    pub(crate) warnings: Vec<String>,
}

impl Report {
    /// Parses its output; only the rate is required.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut report = Self {
            version: "of unknown version".to_owned(),
            ..Self::default()
        };
        let mut is_complete = false;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("RocksDB version") {
                rest.trim_start_matches([' ', ':'])
                    .trim()
                    .clone_into(&mut report.version);
            } else if let Some(rest) = line.strip_prefix("Complete in ") {
                is_complete = report.complete(rest).is_some();
            } else if let Some(rest) = line.strip_prefix("Thread ops/sec = ") {
                report.thread_ops_per_second = number(rest);
            } else if let Some(rest) = line.strip_prefix("Lookup hit ratio: ") {
                report.hit_ratio = number(rest);
            } else if line.starts_with("WARNING") {
                report.warnings.push(line.trim_end().to_owned());
            }
        }
        if !is_complete {
            let last = text
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("nothing");
            return Err(format!(
                "no line `Complete in SECONDS s; ... = OPS` in its output; the last line is: {last}"
            ));
        }
        report.latencies(text);
        Ok(report)
    }

    /// Parses `0.508 s; Rough parallel ops/sec = 196691` or `5.231 s; QPS = 3670000`.
    fn complete(&mut self, rest: &str) -> Option<()> {
        let (seconds, rate) = rest.split_once(" s; ")?;
        self.seconds = number(seconds)?;
        self.ops_per_second = number(rate.rsplit_once("= ")?.1)?;
        Some(())
    }

    /// Parses the histogram after its headline, up to the next blank line.
    fn latencies(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once("\nOperation latency (ns):\n") else {
            return;
        };
        let block = rest.split("\n\n").next().unwrap_or_default();
        for line in block.lines() {
            if let Some(rest) = line.strip_prefix("Percentiles: ") {
                for (place, name) in ["P50: ", "P75: ", "P99: ", "P99.9: ", "P99.99: "]
                    .iter()
                    .enumerate()
                {
                    self.percentiles[place] = after(rest, name);
                }
            } else if line.starts_with("Min: ") {
                self.max = after(line, "Max: ");
            }
        }
        block.trim_end_matches('\n').clone_into(&mut self.histogram);
        self.histogram.push('\n');
    }

    /// Returns the result in our form.
    pub(crate) fn outcome(&self, plan: &Plan) -> Outcome {
        let cache = if plan.cache == "rocksdb_lru" {
            "LRU"
        } else {
            "HyperClock"
        };
        let [p50, p75, p99, p999, p9999] = self.percentiles;
        let ops = plan.threads.saturating_mul(plan.ops_per_thread);
        let has_latencies = p50.is_some();
        Outcome {
            ops: Some(ops),
            wall_ns: Some(nanos(self.seconds)),
            ops_per_second: Some(self.ops_per_second),
            thread_ops_per_second: self.thread_ops_per_second,
            hit_ratio: self.hit_ratio,
            timed_ops: has_latencies.then_some(ops),
            timed_ops_per_second: has_latencies.then_some(self.ops_per_second),
            p50_ns: p50,
            p75_ns: p75,
            p99_ns: p99,
            p999_ns: p999,
            p9999_ns: p9999,
            max_ns: self.max,
            histogram: has_latencies.then(|| self.histogram.clone()),
            ..Outcome::of(plan, format!("RocksDB {} {cache}", self.version))
        }
    }
}

/// Parses a finite number that is not negative.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Parses the number after a name.
fn after(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(name)?;
    number(rest.split_whitespace().next()?)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a time too long for 64 bits becomes the longest"
)]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
