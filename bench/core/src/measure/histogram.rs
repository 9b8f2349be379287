//! LevelDB's histogram of operation times and its text output.
//!
//! It has 154 buckets of microseconds: 1 to 10 by 1, 12 to 20 by 2, 25 to 50 by 5, 60 to 100 by 10,
//! the same pattern in each further decade up to 9e9, then one for everything above. Percentiles
//! for the result record come from a second, finer set of buckets in nanoseconds (at most 1.6 %
//! wide).

use std::fmt::Write as _;

use crate::measure::rocksdb_histogram::RocksdbHistogram;

const STEPS: [u32; 16] = [
    10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90,
];
const BUCKETS: usize = 154;
const FINE_BITS: u32 = 6;
const FINE_BUCKETS: usize = (64 - FINE_BITS as usize + 1) << FINE_BITS;

/// Latencies of single operations.
#[derive(Clone, Debug)]
pub struct Histogram {
    limits: Vec<f64>,
    coarse: Vec<f64>,
    fine: Vec<u64>,
    rocksdb: RocksdbHistogram,
    min: f64,
    max: f64,
    max_ns: u64,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the upper bounds of the buckets.
fn limits() -> Vec<f64> {
    let mut limits: Vec<f64> = (1..10).map(f64::from).collect();
    let mut decade = 1.0;
    while limits.len() < BUCKETS - 1 {
        // From 10 times the decade up to, but not including, 100 times.
        limits.extend(STEPS.iter().map(|&step| f64::from(step) * decade));
        decade *= 10.0;
    }
    limits.truncate(BUCKETS - 1);
    limits.push(1e200);
    limits
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        let limits = limits();
        Self {
            min: 1e200,
            max: 0.0,
            max_ns: 0,
            count: 0.0,
            sum: 0.0,
            squares: 0.0,
            coarse: vec![0.0; limits.len()],
            fine: vec![0; FINE_BUCKETS],
            rocksdb: RocksdbHistogram::new(),
            limits,
        }
    }

    /// Adds one operation.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of one operation are far below 2^53"
    )]
    pub fn add(&mut self, ns: u64) {
        let micros = ns as f64 / 1000.0;
        let bucket = self.limits.partition_point(|&limit| limit <= micros);
        self.coarse[bucket.min(BUCKETS - 1)] += 1.0;
        self.fine[fine_bucket(ns)] += 1;
        self.rocksdb.add(ns / 1000);
        self.min = self.min.min(micros);
        self.max = self.max.max(micros);
        self.max_ns = self.max_ns.max(ns);
        self.count += 1.0;
        self.sum += micros;
        self.squares += micros * micros;
    }

    /// Adds all operations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        for (mine, theirs) in self.coarse.iter_mut().zip(&other.coarse) {
            *mine += theirs;
        }
        for (mine, theirs) in self.fine.iter_mut().zip(&other.fine) {
            *mine += theirs;
        }
        self.rocksdb.merge(&other.rocksdb);
    }

    /// Returns RocksDB's text, line by line.
    pub fn to_rocksdb_text(&self) -> String {
        self.rocksdb.to_text()
    }

    /// Returns whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0.0
    }

    /// Returns the longest operation in nanoseconds.
    pub const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Returns the latency in nanoseconds that `per_million` of a million operations did not
    /// exceed.
    pub fn percentile_ns(&self, per_million: u64) -> u64 {
        let total: u64 = self.fine.iter().sum();
        let wanted = (u128::from(total) * u128::from(per_million)).div_ceil(1_000_000);
        let mut seen = 0u128;
        for (bucket, &count) in self.fine.iter().enumerate() {
            seen += u128::from(count);
            if count > 0 && seen >= wanted {
                return fine_limit(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }

    fn median(&self) -> f64 {
        let threshold = self.count * 0.5;
        let mut sum = 0.0;
        for (bucket, &count) in self.coarse.iter().enumerate() {
            sum += count;
            if sum >= threshold {
                let left = if bucket == 0 {
                    0.0
                } else {
                    self.limits[bucket - 1]
                };
                let share = (threshold - (sum - count)) / count;
                let within = left + (self.limits[bucket] - left) * share;
                // Not `clamp`: in an empty histogram the minimum exceeds the maximum.
                return within.max(self.min).min(self.max);
            }
        }
        self.max
    }

    /// Returns LevelDB's text, line by line.
    pub fn to_text(&self) -> String {
        let count = self.count;
        let (average, deviation) = if self.is_empty() {
            (0.0, 0.0)
        } else {
            let variance = (self.squares * count - self.sum * self.sum) / (count * count);
            (self.sum / count, variance.max(0.0).sqrt())
        };
        let min = if self.is_empty() { 0.0 } else { self.min };
        let mut text = format!(
            "Count: {count:.0}  Average: {average:.4}  StdDev: {deviation:.2}\n\
             Min: {min:.4}  Median: {:.4}  Max: {:.4}\n{}\n",
            if self.is_empty() { 0.0 } else { self.median() },
            self.max,
            "-".repeat(54),
        );
        let mut cumulative = 0.0;
        for (bucket, &inside) in self
            .coarse
            .iter()
            .enumerate()
            .filter(|(_, inside)| **inside > 0.0)
        {
            cumulative += inside;
            let left = if bucket == 0 {
                0.0
            } else {
                self.limits[bucket - 1]
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "[ {left:7.0}, {:7.0} ) {inside:7.0} {:7.3}% {:7.3}% {}",
                self.limits[bucket],
                100.0 / count * inside,
                100.0 / count * cumulative,
                "#".repeat(marks(inside / count)),
            );
        }
        text
    }
}

/// Returns one mark for every 5 %.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 20"
)]
fn marks(share: f64) -> usize {
    (20.0 * share + 0.5) as usize
}

/// Returns the fine bucket of a time; there are 64 buckets per octave.
fn fine_bucket(ns: u64) -> usize {
    let octave = (ns | 1).ilog2();
    if octave < FINE_BITS {
        return usize::try_from(ns).unwrap_or(0);
    }
    let shift = octave - FINE_BITS;
    let within = usize::try_from(ns >> shift).unwrap_or(0);
    ((shift as usize) << FINE_BITS) + within
}

/// Returns the greatest time in a fine bucket.
fn fine_limit(bucket: usize) -> u64 {
    let one = 1usize << FINE_BITS;
    if bucket < 2 * one {
        return bucket as u64;
    }
    let shift = bucket / one - 1;
    let within = (bucket % one + one) as u64;
    (within << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests;
