//! One repair from start to finish.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, ErrorKind, Order, Result, SeqNo, watch};
use cairndb_env::{Background, Dir, Env, MemEnv, RealEnv};
use cairndb_format::evidence::{OtherStore, other_store_in};
use cairndb_format::name::{self, FileKind};

use crate::recovery::numbers::check_seq;
use crate::recovery::staged_dir::make_directory;
use crate::repair::findings::Findings;
#[cfg(feature = "leveldb")]
use crate::repair::leveldb::LevelSource;
use crate::repair::log::runs::Runs;
use crate::repair::merge::Merge;
use crate::repair::merge::fold::Fold;
use crate::repair::merge::source::MergeSource;
use crate::repair::options::RepairOptions;
use crate::repair::own::OwnSource;
use crate::repair::report::RepairReport;
use crate::repair::survey::{Survey, no_database};
use crate::repair::target::{Files, Identity, Sink};
use crate::state::budget::Budget;
use crate::state::guard::guarded;
use crate::state::options::{MEMORY_BUDGET_MIN, Options};

/// Share of the memory budget in which entries of the log are sorted.
const SORT_SHARE: usize = 4;

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
    let (source, target) = (source.as_ref(), target.as_ref());
    let env: Arc<dyn Env> = match &options.options.env {
        Some(env) => Arc::clone(env),
        None => RealEnv::new(),
    };
    let from = env.open_dir(source, false)?;
    let repaired = from
        .lock_shared(name::LOCK)
        .and_then(|lock| repair_locked(&env, &from, target, options).map(|report| (lock, report)));
    match repaired {
        Ok((_lock, report)) => Ok(report),
        Err(error) if error.kind() == ErrorKind::FormatTooNew => Err(error.directory(source)),
        Err(error) => Err(error),
    }
}

fn repair_locked(
    env: &Arc<dyn Env>,
    from: &Arc<dyn Dir>,
    target: &Path,
    options: &RepairOptions,
) -> Result<RepairReport> {
    for found in from.list()? {
        if matches!(
            FileKind::parse(&found),
            Some(FileKind::Table(_) | FileKind::Value(_))
        ) {
            watch::expect(from.size_of(&found).unwrap_or(None).unwrap_or(0));
        }
    }
    let mut findings = Findings::default();
    let input = examine(from, options, &mut findings)?;
    let repair = Repair {
        env,
        input,
        options: &options.options,
    };
    findings.report.dry_run = options.dry_run;
    if options.dry_run {
        let scratch = MemEnv::new(Background::Stepped).open_dir(Path::new("/runs"), true)?;
        guarded(|| repair.copy(&scratch, false, &mut findings))?;
        return Ok(findings.report);
    }
    make_directory(&**env, target, |dir| {
        guarded(|| repair.copy(dir, true, &mut findings))
    })?;
    Ok(findings.report)
}

/// Returns the database that the directory holds.
fn examine<'a>(
    from: &'a Arc<dyn Dir>,
    options: &RepairOptions,
    findings: &mut Findings,
) -> Result<Input<'a>> {
    let order = &options.options.order;
    let survey = Survey::new(&**from, findings)?;
    // A conversion that was interrupted leaves files of ours in LevelDB's database. A file that
    // cannot be read is no reason to stop.
    let is_leveldb = matches!(other_store_in(&**from), Ok(Some(OtherStore::LevelDb)));
    #[cfg(feature = "leveldb")]
    let is_leveldb = is_leveldb || !survey.is_ours() && cairndb_leveldb::is_leveldb(&**from)?;
    if is_leveldb {
        return level_source(from, options, findings);
    }
    if survey.is_empty() {
        return Err(no_database().path(from.path()));
    }
    let own = OwnSource::new(from, order, survey, options.include_unnamed, findings)?;
    check_operator(own.merge_operator(), &options.options)?;
    Ok(Input::Own(own))
}

/// Checks that a merge operator of the caller's is the stored one: the new database would not open
/// with another.
fn check_operator(stored: Option<String>, options: &Options) -> Result<()> {
    match stored.zip(options.merge_operator.as_ref()) {
        Some((stored, given)) if stored != given.name() => Err(Error::invalid(
            "the database has another merge operator; repair it with the one it was used with",
        )
        .expected(stored.escape_debug())
        .found(given.name().escape_debug())),
        _ => Ok(()),
    }
}

#[cfg(feature = "leveldb")]
fn level_source<'a>(
    from: &'a Arc<dyn Dir>,
    options: &RepairOptions,
    findings: &mut Findings,
) -> Result<Input<'a>> {
    // What was found so far was sought with the eyes of another format.
    *findings = Findings::default();
    let order = &options.options.order;
    let source = LevelSource::new(from, order, options.include_unnamed, findings);
    source
        .map(Input::LevelDb)
        .map_err(|error| error.path(from.path()))
}

#[cfg(not(feature = "leveldb"))]
fn level_source<'a>(
    from: &'a Arc<dyn Dir>,
    _options: &RepairOptions,
    _findings: &mut Findings,
) -> Result<Input<'a>> {
    Err(Error::new(
        ErrorKind::NotSupported,
        "the directory holds a database of LevelDB; build with the Cargo feature `leveldb` to \
         repair it",
    )
    .path(from.path()))
}

/// The database to be repaired.
enum Input<'a> {
    Own(OwnSource<'a>),
    #[cfg(feature = "leveldb")]
    LevelDb(LevelSource<'a>),
}

impl Input<'_> {
    fn add_sources(
        &self,
        runs: &mut Runs,
        sources: &mut Vec<MergeSource>,
        findings: &mut Findings,
    ) -> Result<SeqNo> {
        match self {
            Input::Own(own) => own.add_sources(runs, sources, findings),
            #[cfg(feature = "leveldb")]
            Input::LevelDb(level) => level.add_sources(runs, sources, findings),
        }
    }

    #[cfg_attr(
        not(feature = "leveldb"),
        expect(
            clippy::unnecessary_wraps,
            reason = "with the feature there are directories that are not ours"
        )
    )]
    fn own(&self) -> Option<&OwnSource<'_>> {
        match self {
            Input::Own(own) => Some(own),
            #[cfg(feature = "leveldb")]
            Input::LevelDb(_) => None,
        }
    }
}

/// One repair.
struct Repair<'a> {
    env: &'a Arc<dyn Env>,
    input: Input<'a>,
    options: &'a Options,
}

impl Repair<'_> {
    fn order(&self) -> &Order {
        &self.options.order
    }

    /// Reads everything. Runs go to `dir`, and the new database, too, if it is `written`.
    fn copy(&self, dir: &Arc<dyn Dir>, written: bool, findings: &mut Findings) -> Result<()> {
        let budget = self.options.memory_budget.max(MEMORY_BUDGET_MIN);
        let next_file = Arc::new(AtomicU64::new(1));
        let mut runs = Runs::new(dir, self.order(), &next_file, budget / SORT_SHARE);
        let mut sources = Vec::new();
        let last_seq = self.input.add_sources(&mut runs, &mut sources, findings)?;
        let mut merge = Merge::new(self.order(), sources);
        let budget = Budget::new(budget);
        let mut sink = if written {
            let files = Files::new(&**dir, &next_file, self.options, budget);
            Sink::Files(Box::new(files))
        } else {
            Sink::Count
        };
        let own = self.input.own();
        let mut fold = Fold {
            order: self.order().clone(),
            values: own.map(OwnSource::values),
            findings,
            log_is_guessed: own.is_some_and(OwnSource::log_is_guessed),
        };
        fold.run(&mut merge, &mut sink)?;
        drop(merge);
        let names = runs.names();
        drop(runs);
        names.iter().try_for_each(|name| dir.unlink(name))?;
        match sink {
            Sink::Files(files) => files.finish(self.identity(last_seq, budget)),
            Sink::Count => Ok(()),
        }
    }

    fn identity(&self, last_seq: SeqNo, budget: Budget) -> Identity {
        let stored = self.input.own().and_then(OwnSource::merge_operator);
        let given = self.options.merge_operator.as_ref();
        // The new database counts on from it. All its entries have new numbers, so that none is
        // needed in place of one that no database reaches.
        let last_seq = check_seq(last_seq).map_or(0, |()| last_seq);
        Identity {
            comparator: self.order().name().to_owned(),
            merge_operator: stored.or_else(|| given.map(|operator| operator.name().to_owned())),
            last_seq,
            salt: self.env.random_u64(),
            edit_bytes: budget.edit,
        }
    }
}
