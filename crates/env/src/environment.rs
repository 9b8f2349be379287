//! The environment: source of directories, time, randomness and threads.
//!
//! One object is injected when a database is opened and passed down; nothing reaches the operating
//! system without it.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::Result;

use crate::dir::Dir;

/// How background work runs in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// On threads of its own, started by [`Env::spawn`].
    Threads,
    /// Only when the caller steps it, one job at a time: deterministic from a seed.
    Stepped,
}

/// How urgent a background thread's work is compared with the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Like the thread that starts it: it mostly waits for the disk, and others wait for the rest
    /// of its work.
    Normal,
    /// `nice` +10 if possible: it computes for as long as there is work.
    Low,
}

/// A join handle: blocks until the thread has ended. A panic of the thread is not passed on; the
/// thread's body must catch and report its own.
pub type Join = Box<dyn FnOnce() + Send>;

/// Everything that the engine may ask of the outside world.
pub trait Env: Debug + Send + Sync {
    /// Opens a directory. Creates the last path component if `create` is set and it is missing.
    ///
    /// With `create` the directory's entry in its parent is durable on return, whether this call or
    /// an earlier, interrupted one created it.
    ///
    /// # Errors
    /// `NotFound` if it is missing, `InvalidArgument` if it is not a directory, `Io` otherwise;
    /// each names the path.
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>>;

    /// Whether background work runs on threads or is stepped.
    fn background(&self) -> Background;

    /// Starts a thread.
    ///
    /// # Errors
    /// `NotSupported` if [`Env::background`] is `Stepped`; `Io` if the system cannot start one.
    /// Neither names a path: a thread belongs to no directory.
    fn spawn(&self, name: &str, priority: Priority, body: Box<dyn FnOnce() + Send>)
    -> Result<Join>;

    /// Monotonic nanoseconds from an arbitrary start. For slow paths and samples only.
    fn now_ns(&self) -> u64;

    /// A random number: log salts, hash seeds.
    fn random_u64(&self) -> u64;

    /// Physical memory in bytes as the environment sees it (cgroup limit included).
    fn memory_bytes(&self) -> u64;

    /// Most files that the reader of one directory should hold open at a time. 1,024 if no limit is
    /// known.
    fn open_files_max(&self) -> usize {
        1024
    }
}
