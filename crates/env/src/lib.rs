//! The outside world behind four interfaces: files, clock and randomness, threads, and locks.
//!
//! Floor 2. No other library crate touches `std::fs`, a clock or a thread; the engine can ask the
//! operating system for exactly what [`Env`], [`Dir`] and the file traits offer. Two environments
//! here implement them, [`RealEnv`] and [`MemEnv`]; a third, with crash states and faults, is the
//! crate `cairndb-sim`, for tests. [`implement`] has the parts to build another from.

#![allow(
    clippy::useless_conversion,
    reason = "the widths of the system's own types differ between platforms"
)]

pub mod dir;
pub mod environment;
pub mod file;
mod fork;
pub mod implement;
pub mod mem;
pub mod random;
#[cfg(unix)]
pub mod real;
pub mod sync;
#[cfg(unix)]
mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use dir::{Dir, DirLock, Space};
pub use environment::{Background, Env, Join, Priority};
pub use file::{Access, FileSync, LogRegion, MappedBytes, Mapping, ReadFile, WritableFile};
pub use fork::{Origin, forked};
pub use mem::MemEnv;
#[cfg(unix)]
pub use real::RealEnv;
