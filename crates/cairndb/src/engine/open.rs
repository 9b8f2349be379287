//! Opening: the steps, in order.
//!
//! look -> lock -> CURRENT -> manifest -> names -> (sizes -> replay -> new manifest -> sweep) ->
//! ready. Nothing on disk changes before the last doubt is gone: every refusal leaves the directory
//! as it was.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, FileNumber, PageCache, Result};
use cairndb_env::{Dir, DirLock, Env, Origin, RealEnv};
use cairndb_format::evidence::{Evidence, is_leveldb};
use cairndb_format::manifest::read_current;
use cairndb_format::name;
use cairndb_format::name::FileKind;
use cairndb_mem::{ChunkPool, ClockCache, Memtable};

use crate::compaction::compactor::Compactor;
use crate::compaction::schedule::Schedule;
use crate::durable::group_sync::GroupSync;
use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::persist::Persister;
use crate::durable::reserve::DiskReserve;
use crate::durable::sweeper::Sweeper;
use crate::durable::value_files::ValueFiles;
use crate::engine::checkpoint::Checkpoints;
use crate::engine::close::Closer;
use crate::engine::core::Core;
use crate::engine::properties::Properties;
use crate::flush::flush::Flusher;
use crate::jobs::output::OutputSettings;
use crate::jobs::relocation::Relocating;
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::read::view::{Readers, View};
use crate::recovery::leftovers::{Whose, unnamed, whose};
use crate::recovery::moved_values::LargeValues;
use crate::recovery::recover::{Recovery, remove_unused_logs, unused_file};
use crate::recovery::recovered::Recovered;
use crate::recovery::report::OpenReport;
use crate::scheduler::idle_space::IdleSpace;
use crate::scheduler::manual::Manual;
use crate::scheduler::steps::Steps;
use crate::scheduler::syncer::Syncer;
use crate::scheduler::threads::Scheduler;
use crate::scheduler::waiting::Waiting;
use crate::scheduler::worker::Worker;
use crate::space::make_room::SpaceMaker;
use crate::space::squeeze::Squeezer;
use crate::state::budget::Budget;
use crate::state::context::ReadContext;
use crate::state::files::OpenFiles;
use crate::state::idle::Rest;
use crate::state::opener::{Mapping, TableOpener};
use crate::state::options::{FILTER_BITS_MAX, MEMORY_BUDGET_MIN, Options};
use crate::state::reaper::Reaper;
use crate::state::snapshots::Snapshots;
use crate::state::squeezes::Squeezes;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::value_gc::dead_files::DeadFiles;
use crate::value_gc::run::ValueGc;
use crate::versions::install::Installer;
use crate::versions::shared::Settings;
use crate::versions::shared::Shared;
use crate::versions::state::{Part, State};
use crate::versions::version_set::VersionSet;
use crate::write::seal::Sealer;
use crate::write::writer::Writer;

/// Openings that copy the large values of the log before one leaves them where they are. Two,
/// because room may have been made meanwhile, and leaving them is the lesser promise.
const COPYING_TRIES: usize = 2;

/// What stands in the directory.
enum Found {
    /// Nothing, or nothing but a LOCK.
    Empty,
    /// A database: the number of its manifest.
    Database(FileNumber),
}

fn validate(options: &Options) -> Result<()> {
    if options.memory_budget < MEMORY_BUDGET_MIN {
        return Err(Error::invalid("the memory budget must be at least 256 KiB")
            .found(options.memory_budget));
    }
    if options.order.name().len() > 255 {
        return Err(Error::invalid(
            "the comparator's name is longer than 255 bytes",
        ));
    }
    if options.filter_bits_per_key > FILTER_BITS_MAX {
        return Err(Error::invalid("more filter bits a key than are of any use")
            .expected(format_args!("at most {FILTER_BITS_MAX}"))
            .found(options.filter_bits_per_key));
    }
    let operator = options.merge_operator.as_ref();
    if operator.is_some_and(|operator| operator.name().len() > 255) {
        return Err(Error::invalid(
            "the merge operator's name is longer than 255 bytes",
        ));
    }
    Ok(())
}

fn context(options: &Options, path: &Path) -> ReadContext {
    ReadContext {
        path: path.into(),
        order: options.order.clone(),
        merge_operator: options.merge_operator.clone(),
        fold_limits: options.fold_limits,
    }
}

fn opener(
    options: &Options,
    env: &dyn Env,
    dir: &Arc<dyn Dir>,
    cache: &Arc<dyn PageCache>,
    reaper: &Arc<Reaper>,
) -> Arc<TableOpener> {
    Arc::new(TableOpener {
        files: OpenFiles::new(Arc::clone(dir), env.open_files_max()),
        order: options.order.clone(),
        cache: Arc::clone(cache),
        mapping: Mapping {
            forced: options.mapped,
            local: dir.prefers_mapping(),
            bytes_max: env.memory_bytes() / 2,
            bytes: AtomicU64::new(0),
            value_bytes: Arc::default(),
        },
        verify_always: options.verify_always,
        reaper: Arc::clone(reaper),
        dictionaries: Arc::default(),
    })
}

fn settings(options: &Options, budget: Budget, opener: &TableOpener) -> Settings {
    Settings {
        budget,
        durability: options.durability,
        output: OutputSettings {
            order: options.order.clone(),
            compression: options.compression.table(),
            filter_bits_per_key: options.filter_bits_per_key,
            table_bytes: budget.table,
            dictionaries: Arc::clone(&opener.dictionaries),
            begin_syncs: false,
            relocation: None,
        },
        read_only: options.read_only,
        value_file: options.value_file_bytes,
    }
}

/// The error of reading manifest `number`, or that it is another store's.
#[cold]
fn other_database(dir: &dyn Dir, number: FileNumber, error: Error) -> Error {
    if error.kind() != ErrorKind::Corruption || !is_leveldb(dir, number) {
        return error;
    }
    Error::invalid("the directory holds a database of LevelDB or RocksDB; choose another directory")
        .file(name::manifest(number))
}

/// The directory, made if need be and allowed, unless what it holds cannot be opened.
fn directory(env: &dyn Env, path: &Path, options: &Options) -> Result<Arc<dyn Dir>> {
    let create = options.create_if_missing && !options.read_only;
    let (dir, made) = match env.open_dir(path, false) {
        Err(error) if create && error.kind() == ErrorKind::NotFound => {
            (env.open_dir(path, true)?, true)
        }
        opened => (opened?, false),
    };
    // Before LOCK is made: a refusal leaves nothing behind. Where it is, locking makes nothing.
    if options.read_only || dir.size_of(name::LOCK)?.is_none() {
        let found = look(&*dir, options)?;
        if create && !made && matches!(found, Found::Empty) {
            // Who made it may have died before its own name was durable. Asked only here: to be found empty
            // it has to be listed.
            return env.open_dir(path, true);
        }
    }
    Ok(dir)
}

/// Whether a creation that was cut short may have left the file.
fn is_begun(dir: &dyn Dir, name: &str) -> bool {
    match FileKind::parse(name) {
        Some(FileKind::Manifest(number)) => !is_leveldb(dir, number),
        Some(FileKind::Temp(_)) => true,
        _ => false,
    }
}

/// Says what the directory holds, or why it cannot be opened; changes nothing.
fn look(dir: &dyn Dir, options: &Options) -> Result<Found> {
    if let Some(number) = read_current(dir)? {
        if options.error_if_exists {
            return Err(Error::invalid(
                "the database exists; open it without error_if_exists",
            ));
        }
        return Ok(Found::Database(number));
    }
    let names = dir.list()?;
    let foreign = |found: &str| {
        Error::invalid(
            "the directory holds something else than a database; choose another directory",
        )
        .file(found.to_owned())
    };
    for found in &names {
        match FileKind::parse(found) {
            None => return Err(foreign(found)),
            Some(FileKind::Lock | FileKind::Current) => continue,
            Some(_) => {}
        }
        match whose(dir, found)? {
            // A creation cut short leaves the first manifest, in whatever state, and no CURRENT; it
            // holds nothing.
            _ if is_begun(dir, found) => {}
            Whose::Ours => {
                return Err(Error::corruption(
                    "the directory holds database files but no CURRENT; restore CURRENT from a backup",
                )
                .file(found.clone()));
            }
            Whose::Other(Evidence::Foreign, _) => return Err(foreign(found)),
            // Nothing is lost with what is empty. It stays where it is.
            Whose::Other(..) | Whose::Gone => {}
        }
    }
    if !options.create_if_missing || options.read_only {
        let advice = if options.read_only {
            "no database here; a read-only opening creates none"
        } else {
            "no database here; set create_if_missing to create one"
        };
        return Err(Error::new(ErrorKind::NotFound, advice).path(dir.path()));
    }
    Ok(Found::Empty)
}

/// The parts of a database that only tests reach into.
#[cfg(test)]
pub(crate) struct Parts {
    pub(crate) value_files: Arc<ValueFiles>,
    pub(crate) persister: Arc<Persister>,
    pub(crate) compactor: Arc<Compactor>,
    pub(crate) squeezer: Arc<Squeezer>,
}

/// What an opening has found and made before the parts are put together.
struct Opened {
    env: Arc<dyn Env>,
    dir: Arc<dyn Dir>,
    lock: Option<Box<dyn DirLock>>,
    context: ReadContext,
    settings: Settings,
    opener: Arc<TableOpener>,
    recovered: Recovered,
}

/// Puts the parts together: each is given those below it.
fn assemble(opened: Opened) -> (Arc<Core>, Arc<Sweeper>, Arc<ValueGc>) {
    let Opened {
        env,
        dir,
        lock,
        context,
        settings,
        opener,
        mut recovered,
    } = opened;
    let (order, budget) = (context.order.clone(), settings.budget);
    let readers = Readers::new(context, FIRST_VIEW);
    // Not from the pool: a database that is given a few entries takes little memory for them.
    let mutable = Memtable::new(order.clone(), recovered.key_prefix(), budget.part);
    let version = first_version(&opener, &mut recovered);
    let sealed: VecDeque<_> = std::mem::take(&mut recovered.sealed).into();
    let view = first_view(&mutable.0, &sealed, &version, readers.clone());
    let state = first_state(&mutable.0, sealed, &version, &mut recovered);
    let commit = Commit::new(mutable, recovered.last_seq, &order, budget.part_logged);
    let cache = Arc::clone(&opener.cache);
    let shared = Arc::new(Shared {
        env,
        dir,
        origin: Origin::here(),
        settings,
        context: readers.context,
        health: readers.health,
        stats: Stats::default(),
        snapshots: Snapshots::default(),
        opener,
        stored_operator: recovered.merge_operator,
        next_file: AtomicU64::new(recovered.next_file),
    });
    let versions = Arc::new(VersionSet::new(
        Arc::clone(&shared),
        view,
        state,
        recovered.last_seq,
    ));
    let segments = Segments::new(recovered.next_segment, budget.retained_log);
    let pool = ChunkPool::new(budget.write_share);
    let sweeper = Arc::new(Sweeper::new(Arc::clone(&shared), lock));
    let manifests = Arc::new(Manifests::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
    ));
    let log = Arc::new(Log::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        commit,
        segments,
        recovered.report,
    ));
    let value_files = Arc::new(ValueFiles::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        Arc::clone(&log),
    ));
    let group_sync = Arc::new(GroupSync::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
    ));
    let persister = Arc::new(Persister::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
    ));
    let reserve = Arc::new(DiskReserve::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&log),
    ));
    let installer = Arc::new(Installer::new(Arc::clone(&shared), Arc::clone(&versions)));
    let flusher = Arc::new(Flusher::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&installer),
        Arc::clone(&reserve),
    ));
    let schedule = Arc::new(Schedule::new(Arc::clone(&shared), Arc::clone(&versions)));
    let compactor = Compactor::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&installer),
        Arc::clone(&value_files),
        Arc::clone(&reserve),
        Arc::clone(&flusher),
        Arc::clone(&schedule),
    );
    let dead_files = Arc::new(DeadFiles::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
    ));
    let value_gc = Arc::new(ValueGc::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
        Arc::clone(&schedule),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
    ));
    let squeezer = Arc::new(Squeezer::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&log),
        Arc::clone(&persister),
        Arc::clone(&reserve),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
    ));
    let space = Arc::new(SpaceMaker::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&log),
        Arc::clone(&persister),
        Arc::clone(&reserve),
        Arc::clone(&flusher),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
        Arc::clone(&squeezer),
    ));
    let sealer = Arc::new(Sealer::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&flusher),
        Arc::clone(&schedule),
        Arc::clone(&pool),
    ));
    let writer = Arc::new(Writer::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
        Arc::clone(&group_sync),
        Arc::clone(&persister),
        Arc::clone(&reserve),
        Arc::clone(&flusher),
        Arc::clone(&schedule),
        Arc::clone(&compactor),
        Arc::clone(&space),
        Arc::clone(&sealer),
    ));
    let idle_space = Arc::new(IdleSpace::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&log),
        Arc::clone(&reserve),
        Arc::clone(&value_gc),
        Arc::clone(&sealer),
    ));
    let steps = Arc::new(Steps::new(
        Arc::clone(&shared),
        Arc::clone(&sweeper),
        Arc::clone(&persister),
        Arc::clone(&flusher),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
        Arc::clone(&value_gc),
        Arc::clone(&squeezer),
        Arc::clone(&space),
        Arc::clone(&idle_space),
    ));
    let worker = Arc::new(Worker::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&log),
        Arc::clone(&reserve),
        Arc::clone(&flusher),
        Arc::clone(&schedule),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
        Arc::clone(&value_gc),
        Arc::clone(&squeezer),
        Arc::clone(&space),
        Arc::clone(&idle_space),
    ));
    let syncer = Arc::new(Syncer::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&log),
        Arc::clone(&persister),
        Arc::clone(&dead_files),
    ));
    let scheduler = Arc::new(Scheduler::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&schedule),
        Arc::clone(&value_gc),
        Arc::clone(&steps),
        Arc::clone(&worker),
        Arc::clone(&syncer),
    ));
    let manual = Manual::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&installer),
        Arc::clone(&log),
        Arc::clone(&persister),
        Arc::clone(&reserve),
        Arc::clone(&schedule),
        Arc::clone(&compactor),
        Arc::clone(&dead_files),
        Arc::clone(&value_gc),
        Arc::clone(&space),
        Arc::clone(&writer),
    );
    let waiting = Waiting::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&log),
        Arc::clone(&persister),
        Arc::clone(&dead_files),
        Arc::clone(&value_gc),
        Arc::clone(&steps),
        Arc::clone(&schedule),
        Arc::clone(&scheduler),
    );
    let checkpoints = Checkpoints::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&writer),
    );
    let properties = Properties::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&log),
        cache,
        pool,
    );
    let closer = Closer::new(
        Arc::clone(&shared),
        Arc::clone(&versions),
        Arc::clone(&sweeper),
        Arc::clone(&manifests),
        Arc::clone(&log),
        Arc::clone(&value_files),
        Arc::clone(&group_sync),
        Arc::clone(&persister),
        Arc::clone(&dead_files),
        Arc::clone(&space),
        Arc::clone(&writer),
        Arc::clone(&scheduler),
    );
    let core = Core {
        shared,
        versions,
        log,
        group_sync,
        writer,
        scheduler,
        steps,
        manual,
        waiting,
        checkpoints,
        properties,
        closer,
        #[cfg(test)]
        parts: Parts {
            value_files,
            persister,
            compactor,
            squeezer,
        },
    };
    (Arc::new(core), sweeper, value_gc)
}

fn first_version(opener: &TableOpener, recovered: &mut Recovered) -> Arc<Version> {
    let version = std::mem::take(&mut recovered.version);
    let mapped = &opener.mapping.bytes;
    mapped.store(version.bytes(), Ordering::Relaxed);
    Arc::new(version)
}

/// The number of a handle's first view.
const FIRST_VIEW: u64 = 0;

fn first_view(
    mutable: &Arc<Memtable>,
    sealed: &VecDeque<Part>,
    version: &Arc<Version>,
    readers: Readers,
) -> View {
    let sealed = sealed.iter().rev().map(|part| Arc::clone(&part.mem));
    View::new(
        Arc::clone(mutable),
        sealed.collect(),
        Arc::clone(version),
        readers,
        FIRST_VIEW,
    )
}

fn first_state(
    mutable: &Arc<Memtable>,
    sealed: VecDeque<Part>,
    version: &Arc<Version>,
    recovered: &mut Recovered,
) -> State {
    State {
        mutable: Arc::clone(mutable),
        sealed,
        version: Arc::clone(version),
        durable: Arc::clone(version),
        durable_seq: recovered.last_seq,
        durable_dead: std::mem::take(&mut recovered.value_dead),
        pending: None,
        installed: 0,
        durable_installed: 0,
        next_run: recovered.next_run,
        relocating: Relocating::default(),
        squeezes: Squeezes::default(),
        damaged: BTreeMap::new(),
        unreadable: BTreeMap::new(),
        manifest: recovered.manifest,
        failed_manifest: 0,
        flushes: Vec::new(),
        next_flush: 1,
        merges: Vec::new(),
        range_merges_waiting: 0,
        persisting: false,
        rest: Rest::default(),
        hurrying: 0,
        closing: false,
        retry_at_ns: 0,
        retry_ns: 0,
        last_flush: (0, 0),
    }
}

impl Recovered {
    fn created(next_file: u64) -> Recovered {
        Recovered {
            version: Version::default(),
            sealed: Vec::new(),
            last_seq: 0,
            next_file,
            next_run: 1,
            next_segment: 1,
            manifest: 0,
            value_dead: BTreeMap::new(),
            merge_operator: None,
            report: OpenReport {
                created: true,
                ..OpenReport::default()
            },
            listed: None,
            logs: BTreeSet::new(),
            made: Vec::new(),
        }
    }
}

impl Core {
    /// Opens the database at `path`.
    pub(crate) fn open(options: &Options, path: &Path) -> Result<Arc<Core>> {
        Self::open_here(options, path).map_err(|error| error.directory(path))
    }

    fn open_here(options: &Options, path: &Path) -> Result<Arc<Core>> {
        validate(options)?;
        let mut tries = 0;
        loop {
            let copies = tries < COPYING_TRIES;
            let large = if copies {
                LargeValues::default()
            } else {
                LargeValues::in_place()
            };
            match Self::open_once(options, path, &large) {
                Err(error) if error.kind() == ErrorKind::NoSpace => {
                    // Recovery may have filled the disk with its own copies, which are gone again.
                    if !copies && (!large.freed() || tries > 2 * COPYING_TRIES) {
                        return Err(error);
                    }
                    let again = !copies || large.may_try_again();
                    tries = if again { tries + 1 } else { COPYING_TRIES };
                }
                opened => return opened,
            }
        }
    }

    fn open_once(options: &Options, path: &Path, large: &LargeValues) -> Result<Arc<Core>> {
        let env: Arc<dyn Env> = match &options.env {
            Some(env) => Arc::clone(env),
            None => RealEnv::new(),
        };
        let dir = directory(&*env, path, options)?;
        let lock = if options.read_only {
            dir.lock_shared(name::LOCK)?
        } else {
            Some(dir.lock(name::LOCK)?)
        };
        let budget = Budget::new(options.memory_budget);
        let cache: Arc<dyn PageCache> = Arc::new(ClockCache::new(budget.cache));
        let reaper = Arc::new(Reaper::default());
        let opener = opener(options, &*env, &dir, &cache, &reaper);
        let settings = settings(options, budget, &opener);
        let context = context(options, path);
        // For the next attempt, while the directory is locked.
        let freed_if_full = |error: Error, dir: &dyn Dir| {
            let full = error.kind() == ErrorKind::NoSpace && !options.read_only;
            if full && remove_unused_logs(dir).unwrap_or(false) {
                large.note_freed();
            }
            error
        };
        // Looked at again under the lock: another process may have created it meanwhile.
        let mut recovered = match look(&*dir, options)? {
            // Not 1: a creation cut short may have left files, and numbers are never used twice.
            Found::Empty => Recovered::created(unused_file(&dir.list()?, 1)),
            Found::Database(number) => {
                let recovery = Recovery {
                    opener: &opener,
                    settings: &settings,
                    context: &context,
                    mode: options.recovery,
                    large,
                    env: &*env,
                };
                let recovered = recovery.run(number);
                let named = |error| other_database(&*dir, number, error);
                recovered.map_err(|error| freed_if_full(named(error), &*dir))?
            }
        };
        let (listed, logs) = (recovered.listed.take(), std::mem::take(&mut recovered.logs));
        let (core, sweeper, value_gc) = assemble(Opened {
            env,
            dir: Arc::clone(&dir),
            lock,
            context,
            settings,
            opener,
            recovered,
        });
        let ready = core.after_open(&sweeper, &value_gc, listed, &logs);
        ready.map_err(|error| freed_if_full(error, &*dir))?;
        Ok(core)
    }

    /// Makes what recovery found durable, and sweeps what it superseded.
    fn after_open(
        &self,
        sweeper: &Sweeper,
        value_gc: &ValueGc,
        listed: Option<Vec<String>>,
        logs: &BTreeSet<u64>,
    ) -> Result<()> {
        self.versions.note_first_view();
        let listed = listed.map_or_else(|| self.shared.dir.list(), Ok)?;
        let (version, manifest) = {
            let state = self.versions.lock();
            (Arc::clone(&state.version), state.manifest)
        };
        self.log
            .leftovers()
            .note(unnamed(listed, &version, manifest, logs));
        if self.shared.settings.read_only {
            return Ok(());
        }
        self.scheduler.rest_when_paid();
        // After a clean close nothing is written before the first write or merge, and nothing
        // removed.
        if !self.log.report().clean || self.log.report().created {
            let mut commit = self.log.lock();
            self.log.ensure_manifest(&mut commit)?;
            drop(commit);
            sweeper.reap();
        }
        // Last: threads keep the engine, and with it the lock.
        if value_gc.space_wanted(&self.versions.lock()) {
            // Closing had no time for it. Without a thread it stays until the first write.
            let _ = self.scheduler.start_threads();
        }
        Ok(())
    }
}
