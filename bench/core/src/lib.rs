//! The engine-neutral part of the benchmark: what is run, measured and believed.
//!
//! [`engine`] says what an adapter must offer; [`catalog`] lists the workloads; [`workload`] holds the
//! measured loops; [`runner`] takes one list of workloads through one engine; [`model`] knows every
//! right answer; [`record`] is the result. This crate knows no engine by name.

pub mod cached;
pub mod catalog;
pub mod civil;
pub mod definition;
pub mod draw;
pub mod durability;
pub mod engine;
pub mod fault;
pub mod flags;
pub mod fold;
mod heap;
pub mod histogram;
pub mod intervals;
pub mod key;
pub mod library;
pub mod line;
pub mod loading;
pub mod meter;
pub mod model;
pub mod outline;
pub mod output;
pub mod own;
pub mod pace;
pub mod place;
pub mod plan;
pub mod pool;
pub mod process;
pub mod quiet;
pub mod random;
pub mod record;
pub mod rocksdb_histogram;
pub mod runner;
pub mod settings;
pub mod skip;
pub mod spread;
pub mod standing;
pub mod step;
pub mod ticker;
pub mod unpacked;
pub mod workload;

#[cfg(test)]
mod testing;
