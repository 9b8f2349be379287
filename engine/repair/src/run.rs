//! One repair from start to finish.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Comparator, Error, ErrorKind, Order, Result, SeqNo, watch};
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_files::{DatabaseSettings, check_seq, guarded, make_directory};
use cairndb_format::evidence::{OtherStore, other_store_in};
use cairndb_format::manifest::KeyspaceRecord;
use cairndb_format::name::{self, FileKind};

use crate::findings::Findings;
use crate::keyspaces::Keyspaces;
#[cfg(feature = "leveldb")]
use crate::leveldb::LevelSource;
use crate::log::runs::Runs;
use crate::merge::Merge;
use crate::merge::fold::Fold;
use crate::merge::source::{Sources, Stated};
use crate::own::OwnSource;
use crate::ranges::Ranges;
use crate::report::RepairReport;
use crate::survey::{Survey, no_database};
use crate::target::{Files, Identity, Sink};

/// Settings of a repair.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the new database is written; its order must be that of the damaged one.
    pub database: DatabaseSettings,
    /// Comparators that keyspaces may name, by name.
    pub comparators: BTreeMap<String, Arc<dyn Comparator>>,
    /// Name of the merge operator.
    pub merge_operator: Option<String>,
    /// Memory in which entries of the log are sorted.
    pub sort_bytes: usize,
    /// Whether everything is read and nothing is written.
    pub dry_run: bool,
    /// Whether entries of tables that an intact manifest does not name are kept, wherever no other
    /// file has a version of the key.
    pub include_unnamed: bool,
}

impl Settings {
    pub(crate) fn order(&self) -> &Order {
        &self.database.output.order
    }
}

/// Reads the damaged database at `source`, writes what is intact to a new one at `target`, and
/// reports both; `cairndb::repair` has the contract.
///
/// # Errors
/// See `cairndb::repair`.
pub fn repair(
    env: &Arc<dyn Env>,
    source: &Path,
    target: &Path,
    settings: &Settings,
) -> Result<RepairReport> {
    let from = env.open_dir(source, false)?;
    let repaired = from
        .lock_shared(name::LOCK)
        .and_then(|lock| repair_locked(env, &from, target, settings).map(|report| (lock, report)));
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
    settings: &Settings,
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
    let input = examine(from, settings, &mut findings)?;
    let repair = Repair {
        env,
        input,
        settings,
    };
    findings.report.dry_run = settings.dry_run;
    if settings.dry_run {
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
    settings: &Settings,
    findings: &mut Findings,
) -> Result<Input<'a>> {
    let survey = Survey::new(&**from, findings)?;
    // A conversion that was interrupted leaves files of ours in LevelDB's database. A file that
    // cannot be read is no reason to stop.
    let is_leveldb = matches!(other_store_in(&**from), Ok(Some(OtherStore::LevelDb)));
    #[cfg(feature = "leveldb")]
    let is_leveldb = is_leveldb || !survey.is_ours() && cairndb_leveldb::is_leveldb(&**from)?;
    if is_leveldb {
        return level_source(from, settings, findings);
    }
    if survey.is_empty() {
        return Err(no_database().path(from.path()));
    }
    let own = OwnSource::new(
        from,
        (settings.order(), &settings.comparators),
        survey,
        settings.include_unnamed,
        findings,
    )?;
    check_operator(own.merge_operator(), settings.merge_operator.as_deref())?;
    Ok(Input::Own(own))
}

/// Checks that a merge operator of the caller's is the stored one: the new database would not open
/// with another.
fn check_operator(stored: Option<String>, given: Option<&str>) -> Result<()> {
    match stored.zip(given) {
        Some((stored, given)) if stored != given => Err(Error::invalid(
            "the database has another merge operator; repair it with the one it was used with",
        )
        .expected(stored.escape_debug())
        .found(given.escape_debug())),
        _ => Ok(()),
    }
}

#[cfg(feature = "leveldb")]
fn level_source<'a>(
    from: &'a Arc<dyn Dir>,
    settings: &Settings,
    findings: &mut Findings,
) -> Result<Input<'a>> {
    // What was found so far was sought with the eyes of another format.
    *findings = Findings::default();
    let order = settings.order();
    let source = LevelSource::new(from, order, settings.include_unnamed, findings);
    source
        .map(Input::LevelDb)
        .map_err(|error| error.path(from.path()))
}

#[cfg(not(feature = "leveldb"))]
fn level_source<'a>(
    from: &'a Arc<dyn Dir>,
    _settings: &Settings,
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
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Result<Stated> {
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
    settings: &'a Settings,
}

impl Repair<'_> {
    /// Reads everything. Runs go to `dir`, and the new database, too, if it is `written`.
    fn copy(&self, dir: &Arc<dyn Dir>, written: bool, findings: &mut Findings) -> Result<()> {
        let next_file = Arc::new(AtomicU64::new(1));
        let own = self.input.own();
        let keyspaces = match own {
            Some(own) => Arc::clone(own.keyspaces()),
            None => Arc::new(Keyspaces::new(
                self.settings.order(),
                &BTreeMap::new(),
                None,
            )?),
        };
        let mut runs = Runs::new(dir, &keyspaces, &next_file, self.settings.sort_bytes);
        let mut sources = Sources::default();
        let stated = self.input.add_sources(&mut runs, &mut sources, findings)?;
        let mut sink = if written {
            let files = Files::new(&**dir, &next_file, &self.settings.database);
            Sink::Files(Box::new(files))
        } else {
            Sink::Count
        };
        let mut fold = Fold {
            order: Order::default(),
            section: 0,
            ranges: Ranges::default(),
            values: own.map(OwnSource::values),
            findings,
            log_is_guessed: own.is_some_and(OwnSource::log_is_guessed),
        };
        for (section, sources) in (0..).zip(sources).filter(|(_, it)| !it.is_empty()) {
            fold.section = section;
            fold.order = keyspaces.order(section).clone();
            fold.ranges = Ranges::of(section, &stated.ranges, &fold.order);
            sink.enter(section, &keyspaces)?;
            fold.run(&mut Merge::new(&fold.order, sources), &mut sink)?;
        }
        let records = keyspaces.kept(&findings.met);
        findings.finish(&keyspaces);
        let names = runs.names();
        drop(runs);
        names.iter().try_for_each(|name| dir.unlink(name))?;
        match sink {
            Sink::Files(files) => {
                let identity = self.identity(stated.last_seq, records);
                files.finish(&identity, self.settings.database.edit_bytes)
            }
            Sink::Count => Ok(()),
        }
    }

    fn identity(&self, last_seq: SeqNo, keyspaces: Vec<KeyspaceRecord>) -> Identity {
        let stored = self.input.own().and_then(OwnSource::merge_operator);
        // The new database counts on from it. All its entries have new numbers, so that none is
        // needed in place of one that no database reaches.
        let last_seq = check_seq(last_seq).map_or(0, |()| last_seq);
        Identity {
            comparator: self.settings.order().name().to_owned(),
            merge_operator: stored.or_else(|| self.settings.merge_operator.clone()),
            keyspaces,
            last_seq,
            salt: self.env.random_u64(),
        }
    }
}
