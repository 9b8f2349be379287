//! The outside world behind four interfaces: files, clock and randomness, threads, and locks.
//!
//! Floor 2. No other library crate touches `std::fs`, a clock or a thread; the engine reaches the
//! operating system only through [`Env`], [`Dir`] and the file traits. This crate has two
//! environments, [`RealEnv`] and [`MemEnv`]. A third, with crash states and faults, is in the crate
//! `cairndb-sim`, for tests. [`implement`] has the building blocks for others.

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
pub mod shared;
pub mod sync;
#[cfg(unix)]
mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use dir::{Dir, DirLock, FileId, Linked, Space};
pub use environment::{Background, Env, Join, Priority};
pub use file::{Access, FileSync, LogRegion, MappedBytes, Mapping, ReadFile, WritableFile};
pub use fork::{Origin, forked};
pub use mem::MemEnv;
#[cfg(unix)]
pub use real::RealEnv;
pub use shared::{LockState, ProcessId, SharedFile, SharedWords};
