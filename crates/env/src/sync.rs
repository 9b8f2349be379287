//! The sync facade: the only locks and atomics the library crates use.
//!
//! One switch point: `--cfg loom` swaps in loom's models, so that the lock-free parts can be
//! checked exhaustively.

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
