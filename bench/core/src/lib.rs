//! The engine-neutral part of the benchmark: what is run, measured and believed.
//!
//! [`engine`] says what an adapter must offer; [`workload`] holds the catalogue of workloads, the
//! keys and values, and the model that knows every right answer; [`measure`] holds the measured
//! loops and the runner that takes a list of workloads through one engine; [`result`] holds the
//! record and what is made of it; [`host`] is the machine. This crate knows no engine by name.

pub mod engine;
pub mod fault;
pub mod flags;
pub mod host;
pub mod measure;
pub mod result;
pub mod workload;

#[cfg(test)]
mod testing;
