//! The simulated environment: a file system that distinguishes what is durable from what is
//! visible.
//!
//! It makes every state that a crash may leave, fails any operation in any of several ways, logs
//! all operations and checks the order of syncs. Everything follows from a seed: clock, randomness,
//! the pieces that writes fall into. Background work is stepped, unless threads are requested.
//!
//! Flow of an operation: a handle begins a call on the state, which counts and logs it, keeps a
//! crash point if somebody watches, and applies faults; then the handle changes the disk. One lock
//! covers all of it.
//!
//! A crash test either lets one run go on to its end and takes crash points on the way
//! ([`SimEnv::watch`]), or stops a run at an operation ([`SimEnv::crash_at`]) and takes the crash
//! point there ([`SimEnv::crash_point`]). Each point gives many images, new environments in which
//! to open the database. Assumptions about devices: sectors are written whole or not at all, file
//! lengths and names change apart from data, and nothing else is promised before a sync.

mod content;
mod crash;
mod directory;
mod disk;
mod fault;
mod files;
mod machine;
mod op;
mod protocol;
mod state;
mod states;
mod tamper;
#[cfg(test)]
mod tests;
mod unit;

pub use content::SECTOR_BYTES;
pub use crash::{CrashChoice, CrashPoint, Fill, Keep, Profile};
pub use fault::{Cause, Effect, Fault, Short};
pub use machine::SimEnv;
pub use op::{Op, OpKind};
pub use protocol::{ManifestFacts, Violation};
pub use states::{CrashState, CrashStates};
