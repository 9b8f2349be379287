//! The environment: where directories, time, randomness and threads come from.
//!
//! One object is injected when a database is opened and handed down; nothing reaches the operating
//! system past it.

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

/// How urgent a background thread's work is beside the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// As the thread that starts it: it mostly waits for the disk, and what it does between is what others wait for.
    Normal,
    /// `nice` +10 where possible: it computes for as long as there is work.
    Low,
}

/// A join handle: blocks until the thread has ended. A panic of the thread is not passed on; its
/// body has to catch and report its own.
pub type Join = Box<dyn FnOnce() + Send>;

/// Everything the engine may ask of the world outside.
pub trait Env: Debug + Send + Sync {
    /// Opens a directory, creating the last path component when `create` is set and it is missing.
    ///
    /// With `create` the entry of the directory in its parent is durable on return, whether this
    /// call made it or an earlier one that was interrupted.
    ///
    /// # Errors
    /// `NotFound` when it is missing, `InvalidArgument` when it is not a directory, `Io` otherwise; each
    /// names the path.
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>>;

    /// Whether jobs run on threads or are stepped.
    fn background(&self) -> Background;

    /// Starts a thread.
    ///
    /// # Errors
    /// `NotSupported` where [`Env::background`] is `Stepped`; `Io` when the system has no thread to give.
    /// Neither names a path: a thread belongs to no directory.
    fn spawn(&self, name: &str, priority: Priority, body: Box<dyn FnOnce() + Send>)
    -> Result<Join>;

    /// Monotonic nanoseconds from an arbitrary start. For slow paths and samples only.
    fn now_ns(&self) -> u64;

    /// A random number: log salts, hash seeds.
    fn random_u64(&self) -> u64;

    /// Physical memory in bytes as the environment sees it (cgroup limit included).
    fn memory_bytes(&self) -> u64;

    /// Most files that one directory's reader should hold open at a time. 1,024 where nothing is
    /// known that bounds it.
    fn open_files_max(&self) -> usize {
        1024
    }
}
