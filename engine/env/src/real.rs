//! The real environment: the operating system's files, clock, randomness and threads.
//!
//! Directories are held by descriptor and files are opened relative to them, so that renaming or
//! replacing a path redirects nothing. Every descriptor is above the standard three (a stray print
//! never lands in a table), is closed on exec, and is never opened through a final symbolic link or
//! in blocking mode. Anything but a regular file is refused.

mod descriptor;
mod directory;
mod file_system;
mod files;
mod lock;
mod log;
mod shared;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use cairndb_base::Result;

use crate::dir::Dir;
use crate::environment::{Background, Env, Join, Priority};
use crate::{implement, system};

pub use directory::Modes;

/// The environment of the operating system.
///
/// ```
/// # mod cairndb { pub use cairndb_env as env; }
/// use cairndb::env::{Env, RealEnv};
/// let path = tempfile::tempdir().unwrap();
/// let dir = RealEnv::new().open_dir(path.path(), false)?;
/// let mut file = dir.create("000001.tbl")?;
/// file.append(b"bytes")?;
/// file.sync()?;
/// dir.sync()?;
/// assert_eq!(dir.size_of("000001.tbl")?, Some(5));
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct RealEnv {
    modes: Modes,
    /// Kind of file system that tests pretend.
    file_system: Option<i64>,
}

impl RealEnv {
    /// Creates an environment that grants permissions to the owner only.
    pub fn new() -> Arc<RealEnv> {
        Arc::new(RealEnv::default())
    }

    /// Creates an environment that creates files and directories with these permission bits (the
    /// process's umask still applies).
    pub fn with_modes(modes: Modes) -> Arc<RealEnv> {
        Arc::new(RealEnv {
            modes,
            file_system: None,
        })
    }

    /// Creates an environment that takes every file system for the one with this number, as the
    /// system's header `linux/magic.h` has it. For tests of file systems that a machine lacks.
    pub fn pretending(file_system: i64) -> Arc<RealEnv> {
        Arc::new(RealEnv {
            modes: Modes::default(),
            file_system: Some(file_system),
        })
    }
}

impl Env for RealEnv {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        Ok(Arc::new(directory::RealDir::open(
            path,
            create,
            self.modes,
            self.file_system,
        )?))
    }

    fn background(&self) -> Background {
        Background::Threads
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        implement::spawn(name, priority, body)
    }

    fn now_ns(&self) -> u64 {
        system::now_ns()
    }

    fn random_u64(&self) -> u64 {
        system::random_u64()
    }

    fn memory_bytes(&self) -> u64 {
        system::memory_bytes()
    }

    fn open_files_max(&self) -> usize {
        system::open_files_max()
    }
}
