//! RocksDB's histogram and its text output.
//!
//! Each bucket's limit is one and a half times the previous limit, truncated to its two leading
//! digits. Percentiles are interpolated within a bucket, as RocksDB does, so that its users see
//! comparable figures. The unit is that of the added values: RocksDB adds nanoseconds in
//! `cache_bench` and microseconds in `db_bench`.

use std::fmt::Write as _;

/// Counts of values in RocksDB's buckets.
#[derive(Clone, Debug)]
pub struct RocksdbHistogram {
    limits: Vec<u64>,
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    squares: f64,
    min: u64,
    max: u64,
}

impl Default for RocksdbHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the upper bounds of the buckets.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "RocksDB truncates the positive number too"
)]
fn limits() -> Vec<u64> {
    let mut limits = vec![1, 2];
    let mut exact = 2.0 * 1.5;
    while exact <= float(u64::MAX) {
        limits.push(two_digits(exact as u64));
        exact *= 1.5;
    }
    limits
}

/// Returns a number with all but its two leading digits set to zero.
fn two_digits(number: u64) -> u64 {
    let mut power = 1;
    let mut leading = number;
    while leading / 10 > 10 {
        leading /= 10;
        power *= 10;
    }
    leading * power
}

impl RocksdbHistogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        let limits = limits();
        Self {
            counts: vec![0; limits.len()],
            limits,
            count: 0,
            sum: 0,
            squares: 0.0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        let bucket = self.limits.partition_point(|&limit| limit < value);
        self.counts[bucket.min(self.limits.len() - 1)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.squares += float(value) * float(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values added.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest value added.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the value below which `percent` of all values are, interpolated within its bucket.
    pub fn percentile(&self, percent: f64) -> f64 {
        let threshold = float(self.count) * (percent / 100.0);
        let mut seen = 0;
        for (bucket, &inside) in self.counts.iter().enumerate() {
            seen += inside;
            if float(seen) < threshold || seen == 0 {
                continue;
            }
            let left = float(self.left(bucket));
            let share = if inside == 0 {
                0.0
            } else {
                (threshold - float(seen - inside)) / float(inside)
            };
            let within = left + (float(self.limits[bucket]) - left) * share;
            return within.max(float(self.min)).min(float(self.max));
        }
        float(self.max)
    }

    /// Returns the lower bound of a bucket.
    fn left(&self, bucket: usize) -> u64 {
        if bucket == 0 {
            0
        } else {
            self.limits[bucket - 1]
        }
    }

    /// Returns the mean of all values.
    #[expect(clippy::cast_precision_loss, reason = "the mean is only displayed")]
    pub fn average(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / float(self.count)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "the deviation is only displayed"
    )]
    fn deviation(&self) -> f64 {
        let (count, sum) = (float(self.count), self.sum as f64);
        if self.count == 0 {
            return 0.0;
        }
        let variance = (self.squares * count - sum * sum) / (count * count);
        variance.max(0.0).sqrt()
    }

    /// Returns RocksDB's text, line by line.
    pub fn to_text(&self) -> String {
        let min = if self.count == 0 { 0 } else { self.min };
        let percentile = |percent| self.percentile(percent);
        let mut text = format!(
            "Count: {} Average: {:.4}  StdDev: {:.2}\nMin: {min}  Median: {:.4}  Max: {}\n\
             Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n{}\n",
            self.count,
            self.average(),
            self.deviation(),
            percentile(50.0),
            self.max,
            percentile(50.0),
            percentile(75.0),
            percentile(99.0),
            percentile(99.9),
            percentile(99.99),
            "-".repeat(54),
        );
        let one_percent = 100.0 / float(self.count);
        let mut cumulative = 0;
        let filled = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, inside)| **inside > 0);
        for (bucket, &inside) in filled {
            cumulative += inside;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} {:7}, {:7} ] {inside:8} {:7.3}% {:7.3}% {}",
                if bucket == 0 { '[' } else { '(' },
                self.left(bucket),
                self.limits[bucket],
                one_percent * float(inside),
                one_percent * float(cumulative),
                "#".repeat(marks(one_percent * float(inside))),
            );
        }
        text
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times are far below 2^53, and the figures are only displayed"
)]
const fn float(number: u64) -> f64 {
    number as f64
}

/// Returns one mark for every 5 %.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 20"
)]
fn marks(percent: f64) -> usize {
    (percent / 5.0 + 0.5) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_rocksdb_prints() {
        let limits = limits();
        let printed = [
            1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300, 1900, 2900,
            4400, 6600, 9900, 14000, 22000, 33000, 50000, 75000, 110_000, 170_000, 250_000,
            380_000, 570_000, 860_000, 1_200_000, 1_900_000, 2_900_000, 4_300_000, 6_500_000,
            9_800_000, 14_000_000,
        ];
        assert_eq!(limits[..printed.len()], printed);
        assert!(limits.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(limits.len(), 109);
    }

    #[test]
    fn the_text_is_rocksdbs_for_the_same_values() {
        let mut histogram = RocksdbHistogram::new();
        for value in [1, 40, 40, 45, 100, 100, 100, 100, 100, 3000] {
            histogram.add(value);
        }
        let expected = "Count: 10 Average: 362.6000  StdDev: 879.80\n\
            Min: 1  Median: 82.8000  Max: 3000\n\
            Percentiles: P50: 82.80 P75: 99.80 P99: 3000.00 P99.9: 3000.00 P99.99: 3000.00\n\
            ------------------------------------------------------\n\
            [       0,       1 ]        1  10.000%  10.000% ##\n\
            (      34,      51 ]        3  30.000%  40.000% ######\n\
            (      76,     110 ]        5  50.000%  90.000% ##########\n\
            (    2900,    4400 ]        1  10.000% 100.000% ##\n";
        assert_eq!(histogram.to_text(), expected);
    }

    #[test]
    fn merging_is_adding_and_nothing_is_nothing() {
        let (mut one, mut two, mut both) = (
            RocksdbHistogram::new(),
            RocksdbHistogram::new(),
            RocksdbHistogram::new(),
        );
        for value in 0..5000 {
            (if value % 3 == 0 { &mut one } else { &mut two }).add(value * value);
            both.add(value * value);
        }
        one.merge(&two);
        assert_eq!(one.to_text(), both.to_text());
        let empty = RocksdbHistogram::new().to_text();
        assert!(empty.starts_with(
            "Count: 0 Average: 0.0000  StdDev: 0.00\nMin: 0  Median: 0.0000  Max: 0\n"
        ));
    }

    #[test]
    fn a_value_beyond_every_limit_is_counted_in_the_last_bucket() {
        let mut histogram = RocksdbHistogram::new();
        histogram.add(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.max(), u64::MAX);
        assert!(histogram.to_text().contains(" 100.000% 100.000% "));
    }
}
