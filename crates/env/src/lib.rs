//! The outside world behind four seams: files, clock and randomness, threads, and the sync facade.
//!
//! Floor 2 of the house. No other library crate touches `std::fs`, a clock or a thread; what the
//! engine may ask of the operating system is exactly what [`Env`], [`Dir`] and the file traits say.
//! Three environments implement them: [`RealEnv`], [`MemEnv`], and [`sim::SimEnv`] (crash states
//! and faults).

#![allow(
    clippy::useless_conversion,
    reason = "the widths of the system's own types differ between platforms"
)]

mod borrowing;
#[cfg(test)]
mod conformance;
pub mod dir;
pub mod environment;
pub mod file;
mod fork;
pub mod mem;
mod mirror;
#[cfg(test)]
mod naming;
pub mod random;
#[cfg(unix)]
pub mod real;
pub mod sim;
pub mod sync;
#[cfg(unix)]
mod system;
mod worker;

pub use dir::{Dir, DirLock, Space};
pub use environment::{Background, Env, Join, Priority};
pub use file::{Access, FileSync, LogRegion, MappedBytes, Mapping, ReadFile, WritableFile};
pub use fork::{Origin, forked};
pub use mem::MemEnv;
#[cfg(unix)]
pub use real::RealEnv;
