//! The simulated environment: a file system that distinguishes what is durable from what is
//! visible.
//!
//! It makes every state that a crash may leave, can fail any operation in any of several ways, logs
//! all operations and checks the order of syncs. A seed determines everything: the clock, the
//! randomness, and the pieces into which writes are split. Background work is stepped, unless
//! threads are requested.
//!
//! It is for tests of the store and of programs that use it; no crate that ships depends on it. A
//! program adds it to its dev-dependencies, next to the crate `cairndb`, and passes a [`SimEnv`] to
//! `Options::env`; the guide has such a test (`docs/guide/durability.md`).
//!
//! ```toml
//! [dev-dependencies]
//! cairndb-sim = { path = "../cairndb/engine/sim" }
//! ```
//!
//! In this example the program is a function that replaces a file. A crash before any of its
//! operations leaves the old contents or the new ones:
//!
//! ```
//! use std::path::Path;
//! use std::sync::mpsc::channel;
//!
//! use cairndb_base::Result;
//! use cairndb_env::{Dir, Env};
//! use cairndb_sim::{Profile, SimEnv};
//!
//! fn save(dir: &dyn Dir, text: &[u8]) -> Result<()> {
//!     let mut file = dir.create("settings.new")?;
//!     file.append(text)?;
//!     file.sync()?; // Without it the test fails: some states have an empty file.
//!     dir.rename("settings.new", "settings")?;
//!     dir.sync()
//! }
//!
//! let env = SimEnv::new(7);
//! let dir = env.open_dir(Path::new("/program"), true)?;
//! save(&*dir, b"old")?;
//! let (sender, points) = channel();
//! env.watch(move |point| sender.send(point).expect("the receiver exists"));
//! save(&*dir, b"new")?;
//! env.unwatch();
//! for point in points {
//!     for state in point.states(Profile::Weak, 7, 100) {
//!         let found = state.image.read_file(Path::new("/program/settings"));
//!         let expected = [Some(b"old".to_vec()), Some(b"new".to_vec())];
//!         assert!(expected.contains(&found), "{:?} before {:?}", state.choice, point.op());
//!     }
//! }
//! # Ok::<(), cairndb_base::Error>(())
//! ```
//!
//! Flow of an operation: a handle begins a call on the state, which counts and logs it, keeps a
//! crash point if a watcher is set, and applies faults; then the handle changes the disk. One lock
//! covers all of this.
//!
//! A crash test either lets one run complete and takes crash points on the way ([`SimEnv::watch`]),
//! or stops a run at an operation ([`SimEnv::crash_at`]) and takes the crash point there
//! ([`SimEnv::crash_point`]). Each point gives many images, new environments in which to open the
//! database. Assumptions about devices: sectors are written whole or not at all, file lengths and
//! names change independently of data, and nothing else is promised before a sync.

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
