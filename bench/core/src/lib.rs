//! The engine-neutral part of the benchmark: what is run, measured and believed.
//!
//! [`engine`] says what an adapter must offer; [`catalog`] lists the workloads; [`workload`] holds the
//! measured loops; [`runner`] takes one list of workloads through one engine; [`model`] knows every
//! right answer; [`record`] is the result. This crate knows no engine by name.

pub mod byte_sum;
pub mod catalog;
pub mod civil_date;
pub mod definition;
pub mod directory;
pub mod draw;
pub mod durability;
pub mod engine;
pub mod fault;
pub mod flags;
mod heap_profile;
pub mod histogram;
pub mod idle;
pub mod intervals;
pub mod key;
pub mod library;
pub mod load_library;
pub mod local_peers;
pub mod meter;
pub mod model;
pub mod outline;
pub mod output;
pub mod page_cache;
pub mod plan;
pub mod pool;
pub mod process;
pub mod random;
pub mod rate_limit;
pub mod record;
pub mod result_line;
pub mod rocksdb_histogram;
pub mod runner;
pub mod self_exe;
pub mod settings;
pub mod spread;
pub mod standing;
pub mod step;
pub mod test_skip;
pub mod ticker;
pub mod workload;

#[cfg(test)]
mod testing;
