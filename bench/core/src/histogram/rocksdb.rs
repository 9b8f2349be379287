//! RocksDB's histogram of whole microseconds, and its text.
//!
//! Limits grow by half: 1, 2, 3, 4, 6, 9, 13, 19, 28, 42, ... with two digits that are not zero. A value
//! belongs to the first bucket whose limit is not below it.

use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub(super) struct Buckets {
    limits: Vec<u64>,
    counts: Vec<u64>,
    count: u64,
    min: u64,
    max: u64,
    sum: u64,
    squares: f64,
}

/// The upper ends of the buckets.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "grown as a floating-point number and cut, as RocksDB does"
)]
fn limits() -> Vec<u64> {
    let mut limits = vec![1, 2];
    let mut grown = 2.0;
    loop {
        grown *= 1.5;
        if grown > u64::MAX as f64 {
            return limits;
        }
        let (mut limit, mut power) = (grown as u64, 1);
        while limit / 10 > 10 {
            limit /= 10;
            power *= 10;
        }
        limits.push(limit * power);
    }
}

impl Buckets {
    pub(super) fn new() -> Self {
        let limits = limits();
        Self {
            counts: vec![0; limits.len()],
            limits,
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            squares: 0.0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "microseconds of one operation")]
    pub(super) fn add(&mut self, micros: u64) {
        let bucket = self.limits.partition_point(|&limit| limit < micros);
        self.counts[bucket.min(self.limits.len() - 1)] += 1;
        self.count += 1;
        self.min = self.min.min(micros);
        self.max = self.max.max(micros);
        self.sum += micros;
        self.squares += micros as f64 * micros as f64;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Where a bucket begins.
    fn left(&self, bucket: usize) -> u64 {
        bucket
            .checked_sub(1)
            .map_or(0, |before| self.limits[before])
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
    fn percentile(&self, percent: f64) -> f64 {
        let threshold = self.count as f64 * (percent / 100.0);
        let mut seen = 0;
        for (bucket, &inside) in self.counts.iter().enumerate() {
            let before = seen as f64;
            seen += inside;
            if seen as f64 >= threshold {
                let (left, right) = (self.left(bucket) as f64, self.limits[bucket] as f64);
                let share = if inside == 0 {
                    0.0
                } else {
                    (threshold - before) / inside as f64
                };
                let within = left + (right - left) * share;
                return within.max(self.min as f64).min(self.max as f64);
            }
        }
        self.max as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with a few decimals")]
    pub(super) fn to_text(&self) -> String {
        let count = self.count as f64;
        let (average, deviation) = if self.count == 0 {
            (0.0, 0.0)
        } else {
            let sum = self.sum as f64;
            let variance = (self.squares * count - sum * sum) / (count * count);
            (sum / count, variance.max(0.0).sqrt())
        };
        let percentile = |percent| {
            if self.count == 0 {
                0.0
            } else {
                self.percentile(percent)
            }
        };
        let mut text = format!(
            "Count: {} Average: {average:.4}  StdDev: {deviation:.2}\n\
             Min: {}  Median: {:.4}  Max: {}\n\
             Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n{}\n",
            self.count,
            if self.count == 0 { 0 } else { self.min },
            percentile(50.0),
            self.max,
            percentile(50.0),
            percentile(75.0),
            percentile(99.0),
            percentile(99.9),
            percentile(99.99),
            "-".repeat(54),
        );
        let mut seen = 0;
        for (bucket, &inside) in self.counts.iter().enumerate() {
            if inside == 0 {
                continue;
            }
            seen += inside;
            let share = 100.0 / count * inside as f64;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} {:7}, {:7} ] {inside:8} {share:7.3}% {:7.3}% {}",
                if bucket == 0 { '[' } else { '(' },
                self.left(bucket),
                self.limits[bucket],
                100.0 / count * seen as f64,
                "#".repeat(marks(share / 100.0)),
            );
        }
        text
    }
}

/// One mark for every 5 %, here and in LevelDB's text.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 20"
)]
pub(super) fn marks(share: f64) -> usize {
    (20.0 * share + 0.5) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rocks() {
        let limits = limits();
        assert_eq!(
            limits[..20],
            [
                1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300, 1900,
                2900
            ]
        );
        assert_eq!(limits.len(), 109);
    }

    #[test]
    fn text_is_rocks() {
        let mut buckets = Buckets::new();
        for micros in [0, 1, 2, 2, 5, 100] {
            buckets.add(micros);
        }
        let lines: Vec<String> = buckets.to_text().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "Count: 6 Average: 18.3333  StdDev: 36.55");
        assert_eq!(lines[1], "Min: 0  Median: 1.5000  Max: 100");
        assert_eq!(
            lines[2],
            "Percentiles: P50: 1.50 P75: 5.00 P99: 100.00 P99.9: 100.00 P99.99: 100.00"
        );
        assert_eq!(lines[3], "-".repeat(54));
        assert_eq!(
            lines[4..],
            [
                "[       0,       1 ]        2  33.333%  33.333% #######",
                "(       1,       2 ]        2  33.333%  66.667% #######",
                "(       4,       6 ]        1  16.667%  83.333% ###",
                "(      76,     110 ]        1  16.667% 100.000% ###",
            ]
        );
        assert!(
            Buckets::new()
                .to_text()
                .starts_with("Count: 0 Average: 0.0000")
        );
    }
}
