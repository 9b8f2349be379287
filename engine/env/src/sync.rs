//! Locks of the library crates, named in one place.
//!
//! They are `parking_lot` locks: small, without poisoning, and as fast as an atomic when
//! uncontended. Lock-free code has its own switch to loom's models, next to the code that is
//! checked with them.

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
