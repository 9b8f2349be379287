//! Settings of a repair.

use crate::state::options::Options;

/// Settings of [`repair`](crate::repair).
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let parent = tempfile::tempdir().unwrap();
/// # let (source, target) = (parent.path().join("damaged"), parent.path().join("repaired"));
/// # cairndb::Db::open(&source)?.close()?;
/// let options = cairndb::RepairOptions::new(&cairndb::Options::new()).dry_run(true);
/// let report = cairndb::repair(&source, &target, &options)?;
/// assert!(report.dry_run && !target.exists());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until they are passed to a repair"]
pub struct RepairOptions {
    pub(crate) options: Options,
    pub(crate) dry_run: bool,
    pub(crate) include_unnamed: bool,
}

impl RepairOptions {
    /// Returns the defaults: the new database is written, and files that the manifest does not name
    /// are set apart.
    ///
    /// `options` must contain the database's comparator, and its merge operator if it has one, as
    /// for an open. Its environment is used for both directories. Compression, filters, the length
    /// of value files and the memory budget apply to the new database; the budget also bounds the
    /// memory of the repair. Everything else is ignored.
    pub fn new(options: &Options) -> RepairOptions {
        RepairOptions {
            options: options.clone(),
            dry_run: false,
            include_unnamed: false,
        }
    }

    /// Reads everything, writes nothing, and returns the report that a repair would return. The
    /// entries of the log are then held in memory. `false` by default.
    pub fn dry_run(mut self, dry_run: bool) -> RepairOptions {
        self.dry_run = dry_run;
        self
    }

    /// Also keeps entries of tables that an intact manifest does not name, wherever no other file
    /// has a version of the key. `false` by default: such tables were replaced or never finished,
    /// and may hold keys that have been deleted since.
    pub fn include_unnamed(mut self, include: bool) -> RepairOptions {
        self.include_unnamed = include;
        self
    }
}
