//! Repair of a damaged database: the public function and its settings.

use std::path::Path;

use cairndb_base::Result;
use cairndb_repair::{RepairReport, Settings};

use crate::engine::configure::database_settings;
use crate::state::budget::Budget;
use crate::state::options::{MEMORY_BUDGET_MIN, Options};

/// Share of the memory budget in which entries of the log are sorted.
const SORT_SHARE: usize = 4;

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
    options: Options,
    dry_run: bool,
    include_unnamed: bool,
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

/// Reads the damaged database at `source`, writes everything that is intact to a new database at
/// `target`, and reports what is kept, what is lost and what cannot be determined.
///
/// Nothing in `source` is changed. `target` must not exist, or be empty; its parent must exist. The
/// new database is durable and closed when the call returns, and opens like any other. With
/// [`RepairOptions::dry_run`], `target` is not touched.
///
/// With the Cargo feature `leveldb`, `source` may also be a directory that LevelDB has written; the
/// new database is CairnDB's.
///
/// Tables, the log and value files are read without `CURRENT`, with a manifest that is damaged, old
/// or missing, with tables whose index is damaged, and with a log that is damaged in the middle. In
/// each file, every page or record that is intact is kept. Newer versions replace older ones, and
/// deleted keys stay deleted, unless the version or tombstone itself is lost; the report then names
/// the keys. The guide has the steps in `docs/guide/after-damage.md`.
///
/// Cost: reads the directory once and writes the new one, as a compaction of everything. Memory:
/// the budget of the options, one log segment, one page for each of the tables that share keys, one
/// for each sorted part of the log (a quarter of the budget long), one value, and up to 1 KiB for
/// each table. Of LevelDB's tables, a block takes the place of a page, and one table whose index is
/// damaged is held as a whole, with one decoded block of it. A dry run also holds the entries of
/// the log.
///
/// May be [watched](crate::watch); the total is the length of the source's files.
///
/// # Errors
/// - `InvalidArgument` if `source` holds no database or has another comparator or merge operator,
///   or if `target` is not empty; the message says which.
/// - `Locked` while a handle has `source` open for writing.
/// - `FormatTooNew` if a newer version wrote a file of `source`.
/// - `NotFound` if `source` does not exist.
/// - `NoSpace` and `Io` from writing `target`; what was written is then removed again.
///
/// Damage of the source is not an error, and neither is a failure to read a file of it: both are in
/// the report.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let parent = tempfile::tempdir().unwrap();
/// # let (source, target) = (parent.path().join("damaged"), parent.path().join("repaired"));
/// # cairndb::Db::open(&source)?.close()?;
/// let options = cairndb::Options::new();
/// let report = cairndb::repair(&source, &target, &cairndb::RepairOptions::new(&options))?;
/// println!("{report}");
/// let db = options.open(&target)?;
/// # db.close()?;
/// # Ok(()) }
/// ```
pub fn repair(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &RepairOptions,
) -> Result<RepairReport> {
    let given = &options.options;
    let budget = given.memory_budget.max(MEMORY_BUDGET_MIN);
    let operator = given.merge_operator.as_ref();
    let settings = Settings {
        database: database_settings(given, Budget::new(budget)),
        comparators: given.registered.comparators.clone(),
        merge_operator: operator.map(|operator| operator.name().to_owned()),
        sort_bytes: budget / SORT_SHARE,
        dry_run: options.dry_run,
        include_unnamed: options.include_unnamed,
    };
    let env = given.environment();
    cairndb_repair::repair(&env, source.as_ref(), target.as_ref(), &settings)
}
