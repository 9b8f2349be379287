//! The engine-neutral part of the benchmark: workloads, measurement and verification.
//!
//! [`engine`] defines what an adapter must implement. [`workload`] contains the catalogue of
//! workloads, the keys and values, and the model that knows every correct answer. [`measure`]
//! contains the measured loops and the runner that runs a list of workloads on one engine.
//! [`result`] contains the record and the output derived from it. [`host`] covers the machine. This
//! crate knows no engine by name.

extern crate self as bench_core;

pub mod engine;
pub mod fault;
pub mod flags;
pub mod host;
pub mod measure;
pub mod result;
pub mod workload;

#[cfg(test)]
mod testing;
