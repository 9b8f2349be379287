//! Conversion of LevelDB's databases: the public functions.

use std::fmt;
use std::path::Path;

use cairndb_base::Result;
use cairndb_convert::{UpgradePlan, UpgradeProgress, UpgradeReport};

use crate::engine::upgrade;
use crate::state::options::Options;

/// Settings of a conversion: the options with which the database will be opened, and a receiver of
/// progress reports.
///
/// ```
/// use cairndb::Options;
/// use cairndb::leveldb::UpgradeOptions;
/// let options = UpgradeOptions::new(Options::new().memory_budget(16 << 20))
///     .on_progress(|at| eprintln!("{:?}: {} of {} bytes", at.step, at.bytes, at.bytes_expected));
/// ```
#[must_use = "settings do nothing until they are passed to a conversion"]
pub struct UpgradeOptions {
    options: Options,
    progress: Box<dyn FnMut(&UpgradeProgress) + Send>,
}

impl UpgradeOptions {
    /// Returns settings without a receiver. Of `options`, a conversion uses the environment, the
    /// comparator, the memory budget, the compression, the filter bits, the length of value files
    /// and [`Options::upgrade_without_log`].
    pub fn new(options: Options) -> UpgradeOptions {
        UpgradeOptions {
            options,
            progress: Box::new(|_| {}),
        }
    }

    /// Calls `report` at the start of each step, and after every few thousand entries, on the
    /// thread that converts.
    pub fn on_progress(
        mut self,
        report: impl FnMut(&UpgradeProgress) + Send + 'static,
    ) -> UpgradeOptions {
        self.progress = Box::new(report);
        self
    }
}

impl fmt::Debug for UpgradeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradeOptions")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Estimates the size and duration of a conversion of the LevelDB database at `path`, and checks
/// everything for which it would be refused, except free space. Changes nothing; reads the
/// manifest, the logs, and up to eight pieces of 256 KiB of the tables.
///
/// # Errors
/// - `NotFound` if the directory is missing or holds no database.
/// - `InvalidArgument` if the database is not LevelDB's, its comparator is not that of `options`,
///   a file is not a regular one, or `leveldb-original/` holds an older copy.
/// - `Locked` while a process has the database open; the error names it if the system does.
/// - `FormatTooNew` if another store or a newer LevelDB wrote the manifest; `NotSupported` if a
///   block is compressed in an unknown way.
/// - `Corruption`, with file and offset, if the manifest or a log is damaged; with the file, if
///   `CURRENT`, the manifest, or a file that the manifest names is missing.
/// - `Io`.
///
/// [`UpgradePlan`] has an example.
pub fn plan(path: impl AsRef<Path>, options: &Options) -> Result<UpgradePlan> {
    upgrade::plan(options, path.as_ref())
}

/// Converts the LevelDB database at `path` in place.
///
/// LevelDB's files stay in the subdirectory `leveldb-original/`, as hard links where the file
/// system has them, otherwise as copies. The call can be repeated after a crash or an error: until
/// `CURRENT` is replaced, the directory is LevelDB's, afterwards CairnDB's, and both are complete.
/// A directory that is CairnDB's already is not an error.
///
/// Cost: LevelDB's entries are read once and written once, and the new files are read once. Memory:
/// the memory budget, and LevelDB's logs, which are about as long as its write buffer.
///
/// # Errors
/// - Those of [`plan`].
/// - `NoSpace` if the file system has less free space than estimated, or fills up.
/// - `Corruption` if a table is damaged. Nothing is left out silently.
/// - `NotSupported` if a key is longer than 64 MiB or a value longer than 1 GiB.
///
/// After an error, the directory is as it was, unless the error came after the replacement of
/// `CURRENT`; repeating the call removes what the failed attempt could not. May be
/// [watched](crate::watch): the bytes are those of keys and values, which are written and read
/// back.
///
/// [`UpgradeReport`] has an example.
pub fn upgrade(path: impl AsRef<Path>, mut options: UpgradeOptions) -> Result<UpgradeReport> {
    upgrade::upgrade(&options.options, path.as_ref(), &mut options.progress)
}
