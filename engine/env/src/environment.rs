//! The environment: source of directories, time, randomness and threads.
//!
//! One object is injected when a database is opened and passed down; every access to the operating
//! system goes through it.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::Result;

use crate::dir::Dir;

/// The way in which an environment runs background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// On dedicated threads started by [`Env::spawn`].
    Threads,
    /// Only when the caller steps it, one job at a time; deterministic for a given seed.
    Stepped,
}

/// The urgency of a background thread's work relative to the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The priority of the thread that starts it: the work mostly waits for the disk, and other
    /// threads wait for the rest of it.
    Normal,
    /// `nice` +10 if possible: the work is CPU-bound for as long as there is any.
    Low,
}

/// A join handle: blocks until the thread has finished. A panic in the thread is not propagated;
/// the thread's body must catch and report its own panics.
pub type Join = Box<dyn FnOnce() + Send>;

/// The engine's only interface to the outside world.
pub trait Env: Debug + Send + Sync {
    /// Opens a directory. Creates the last path component if `create` is set and it is missing.
    ///
    /// With `create` the directory's entry in its parent is durable on return, whether this call or
    /// an earlier, interrupted one created it.
    ///
    /// # Errors
    /// `NotFound` if the directory is missing, `InvalidArgument` if the path is not a directory,
    /// otherwise `Io`; every error names the path.
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>>;

    /// Returns whether background work runs on threads or is stepped.
    fn background(&self) -> Background;

    /// Starts a thread.
    ///
    /// # Errors
    /// `NotSupported` if [`Env::background`] is `Stepped`; `Io` if the system cannot start one.
    /// Neither names a path: a thread belongs to no directory.
    fn spawn(&self, name: &str, priority: Priority, body: Box<dyn FnOnce() + Send>)
    -> Result<Join>;

    /// Returns monotonic nanoseconds since an arbitrary start. For slow paths and sampling only.
    fn now_ns(&self) -> u64;

    /// Returns the time in milliseconds since 1970, for what users read. It may go back.
    #[expect(clippy::disallowed_methods, reason = "this is the clock of all others")]
    fn wall_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Returns a random number, for log salts and hash seeds.
    fn random_u64(&self) -> u64;

    /// Returns the physical memory in bytes as seen by the environment (including any cgroup
    /// limit).
    fn memory_bytes(&self) -> u64;

    /// Returns the maximum number of files that the reader of one directory should hold open at a
    /// time: 1,024 if no limit is known.
    fn open_files_max(&self) -> usize {
        1024
    }
}
