//! Measurement: the loops, clocks, histograms, and the runner of a list.

pub(crate) mod bare;
pub mod byte_sum;
pub(crate) mod depth;
pub mod histogram;
pub mod idle;
pub mod intervals;
pub mod loops;
pub mod meter;
pub mod rate_limit;
pub mod rocksdb_histogram;
pub mod runner;
pub mod ticker;
pub mod wrong_answers;
