//! Puts the parts of a database together: each is given those below it.
//!
//! The order of the stages is the order of dependence: a part of one stage may call those of the
//! stages before it, and those before it in its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::PageCache;
use cairndb_env::{Dir, DirLock, Env, Origin};
use cairndb_mem::{ChunkPool, Memtable};

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
use crate::engine::first_state::{FIRST_VIEW, first_state, first_version, first_view};
use crate::engine::properties::Properties;
use crate::flush::flusher::Flusher;
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::read::view::Readers;
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
use crate::state::context::ReadContext;
use crate::state::opener::TableOpener;
use crate::state::snapshots::Snapshots;
use crate::state::stats::Stats;
use crate::value_gc::dead_files::DeadFiles;
use crate::value_gc::run::ValueGc;
use crate::versions::install::Installer;
use crate::versions::shared::{Settings, Shared};
use crate::versions::version_set::VersionSet;
use crate::write::seal::Sealer;
use crate::write::writer::Writer;

/// What every other part is given.
struct Base {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
}

/// What brings data to the disk.
struct Durable {
    sweeper: Arc<Sweeper>,
    manifests: Arc<Manifests>,
    log: Arc<Log>,
    value_files: Arc<ValueFiles>,
    group_sync: Arc<GroupSync>,
    persister: Arc<Persister>,
    reserve: Arc<DiskReserve>,
}

/// What makes and rewrites tables and value files.
struct Tables {
    installer: Arc<Installer>,
    flusher: Arc<Flusher>,
    schedule: Arc<Schedule>,
    compactor: Arc<Compactor>,
    dead_files: Arc<DeadFiles>,
    value_gc: Arc<ValueGc>,
}

/// What makes room on a full disk.
struct Space {
    squeezer: Arc<Squeezer>,
    space: Arc<SpaceMaker>,
}

/// What writers use.
struct Writing {
    writer: Arc<Writer>,
    idle_space: Arc<IdleSpace>,
}

/// What does background work.
struct Background {
    steps: Arc<Steps>,
    scheduler: Arc<Scheduler>,
}

impl Durable {
    fn new(
        base: &Base,
        lock: Option<Box<dyn DirLock>>,
        commit: Commit,
        segments: Segments,
        report: OpenReport,
    ) -> Durable {
        let sweeper = Arc::new(Sweeper::new(share(&base.shared), lock));
        let manifests = Arc::new(Manifests::new(
            share(&base.shared),
            share(&base.versions),
            share(&sweeper),
        ));
        let log = Arc::new(Log::new(
            share(&base.shared),
            share(&base.versions),
            share(&sweeper),
            share(&manifests),
            commit,
            segments,
            report,
        ));
        let value_files = Arc::new(ValueFiles::new(
            share(&base.shared),
            share(&base.versions),
            share(&sweeper),
            share(&manifests),
            share(&log),
        ));
        let group_sync = Arc::new(GroupSync::new(
            share(&base.shared),
            share(&base.versions),
            share(&manifests),
            share(&log),
            share(&value_files),
        ));
        let persister = Arc::new(Persister::new(
            share(&base.shared),
            share(&base.versions),
            share(&sweeper),
            share(&manifests),
            share(&log),
            share(&value_files),
        ));
        let reserve = Arc::new(DiskReserve::new(
            share(&base.shared),
            share(&base.versions),
            share(&sweeper),
            share(&log),
        ));
        Durable {
            sweeper,
            manifests,
            log,
            value_files,
            group_sync,
            persister,
            reserve,
        }
    }
}

impl Tables {
    fn new(base: &Base, durable: &Durable) -> Tables {
        let installer = Arc::new(Installer::new(share(&base.shared), share(&base.versions)));
        let flusher = Arc::new(Flusher::new(
            share(&base.shared),
            share(&base.versions),
            share(&installer),
            share(&durable.reserve),
        ));
        let schedule = Arc::new(Schedule::new(share(&base.shared), share(&base.versions)));
        let compactor = Compactor::new(
            share(&base.shared),
            share(&base.versions),
            share(&installer),
            share(&durable.value_files),
            share(&durable.reserve),
            share(&flusher),
            share(&schedule),
        );
        let dead_files = Arc::new(DeadFiles::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.manifests),
            share(&durable.log),
            share(&durable.value_files),
        ));
        let value_gc = Arc::new(ValueGc::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.manifests),
            share(&durable.log),
            share(&durable.value_files),
            share(&schedule),
            share(&compactor),
            share(&dead_files),
        ));
        Tables {
            installer,
            flusher,
            schedule,
            compactor,
            dead_files,
            value_gc,
        }
    }
}

impl Space {
    fn new(base: &Base, durable: &Durable, tables: &Tables) -> Space {
        let squeezer = Arc::new(Squeezer::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.log),
            share(&durable.persister),
            share(&durable.reserve),
            share(&tables.compactor),
            share(&tables.dead_files),
        ));
        let space = Arc::new(SpaceMaker::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.log),
            share(&durable.persister),
            share(&durable.reserve),
            share(&tables.flusher),
            share(&tables.compactor),
            share(&tables.dead_files),
            share(&squeezer),
        ));
        Space { squeezer, space }
    }
}

impl Writing {
    fn new(
        base: &Base,
        durable: &Durable,
        tables: &Tables,
        space: &Space,
        pool: &Arc<ChunkPool>,
    ) -> Writing {
        let sealer = Arc::new(Sealer::new(
            share(&base.shared),
            share(&base.versions),
            share(&tables.flusher),
            share(&tables.schedule),
            share(pool),
        ));
        let writer = Arc::new(Writer::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.manifests),
            share(&durable.log),
            share(&durable.value_files),
            share(&durable.group_sync),
            share(&durable.persister),
            share(&durable.reserve),
            share(&tables.flusher),
            share(&tables.schedule),
            share(&tables.compactor),
            share(&space.space),
            share(&sealer),
        ));
        let idle_space = Arc::new(IdleSpace::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.log),
            share(&durable.reserve),
            share(&tables.value_gc),
            share(&sealer),
        ));
        Writing { writer, idle_space }
    }
}

impl Background {
    fn new(
        base: &Base,
        durable: &Durable,
        tables: &Tables,
        space: &Space,
        writing: &Writing,
    ) -> Background {
        let steps = Arc::new(Steps::new(
            share(&base.shared),
            share(&durable.sweeper),
            share(&durable.persister),
            share(&tables.flusher),
            share(&tables.compactor),
            share(&tables.dead_files),
            share(&tables.value_gc),
            share(&space.squeezer),
            share(&space.space),
            share(&writing.idle_space),
        ));
        let worker = Arc::new(Worker::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.log),
            share(&durable.reserve),
            share(&tables.flusher),
            share(&tables.schedule),
            share(&tables.compactor),
            share(&tables.dead_files),
            share(&tables.value_gc),
            share(&space.squeezer),
            share(&space.space),
            share(&writing.idle_space),
        ));
        let syncer = Arc::new(Syncer::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.log),
            share(&durable.persister),
            share(&tables.dead_files),
        ));
        let scheduler = Arc::new(Scheduler::new(
            share(&base.shared),
            share(&base.versions),
            share(&tables.schedule),
            share(&tables.value_gc),
            share(&steps),
            share(&worker),
            share(&syncer),
        ));
        Background { steps, scheduler }
    }
}

/// What an opening has found and made before the parts are put together.
pub(super) struct Opened {
    pub(super) env: Arc<dyn Env>,
    pub(super) dir: Arc<dyn Dir>,
    pub(super) lock: Option<Box<dyn DirLock>>,
    pub(super) context: ReadContext,
    pub(super) settings: Settings,
    pub(super) opener: Arc<TableOpener>,
    pub(super) recovered: Recovered,
}

/// The parts of a database that only tests reach into.
#[cfg(test)]
pub(crate) struct Parts {
    pub(crate) value_files: Arc<ValueFiles>,
    pub(crate) persister: Arc<Persister>,
    pub(crate) compactor: Arc<Compactor>,
    pub(crate) squeezer: Arc<Squeezer>,
}

/// Another owner of the same part.
fn share<T>(part: &Arc<T>) -> Arc<T> {
    Arc::clone(part)
}

/// Puts the parts together; with what opening itself goes on to use.
pub(super) fn assemble(opened: Opened) -> (Arc<Core>, Arc<Sweeper>, Arc<ValueGc>) {
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
    let mutable = Memtable::new(order.clone(), recovered.key_prefix(), budget.memtable);
    let version = first_version(&opener, &mut recovered);
    let sealed: VecDeque<_> = std::mem::take(&mut recovered.sealed).into();
    let view = first_view(&mutable.0, &sealed, &version, readers.clone());
    let state = first_state(&mutable.0, sealed, &version, &mut recovered);
    let commit = Commit::new(mutable, recovered.last_seq, &order, budget.memtable_logged);
    let segments = Segments::new(recovered.next_segment, budget.retained_log);
    let pool = ChunkPool::new(budget.write_share);
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
    let versions = VersionSet::new(share(&shared), view, state, recovered.last_seq);
    let base = Base {
        shared,
        versions: Arc::new(versions),
    };
    let durable = Durable::new(&base, lock, commit, segments, recovered.report);
    let (core, value_gc) = core(&base, &durable, cache, &pool);
    (core, durable.sweeper, value_gc)
}

/// The stages above [`Durable`], and the calls of users over all of them.
fn core(
    base: &Base,
    durable: &Durable,
    cache: Arc<dyn PageCache>,
    pool: &Arc<ChunkPool>,
) -> (Arc<Core>, Arc<ValueGc>) {
    let tables = Tables::new(base, durable);
    let space = Space::new(base, durable, &tables);
    let writing = Writing::new(base, durable, &tables, &space, pool);
    let background = Background::new(base, durable, &tables, &space, &writing);
    let core = Core {
        shared: share(&base.shared),
        versions: share(&base.versions),
        log: share(&durable.log),
        group_sync: share(&durable.group_sync),
        writer: share(&writing.writer),
        steps: share(&background.steps),
        manual: Manual::new(
            share(&base.shared),
            share(&base.versions),
            share(&tables.installer),
            share(&durable.log),
            share(&durable.persister),
            share(&durable.reserve),
            share(&tables.schedule),
            share(&tables.compactor),
            share(&tables.dead_files),
            share(&tables.value_gc),
            share(&space.space),
            share(&writing.writer),
        ),
        waiting: Waiting::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.log),
            share(&durable.persister),
            share(&tables.dead_files),
            share(&tables.value_gc),
            share(&background.steps),
            share(&tables.schedule),
            share(&background.scheduler),
        ),
        checkpoints: Checkpoints::new(
            share(&base.shared),
            share(&base.versions),
            share(&writing.writer),
        ),
        properties: Properties::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.log),
            cache,
            share(pool),
        ),
        closer: Closer::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.manifests),
            share(&durable.log),
            share(&durable.value_files),
            share(&durable.group_sync),
            share(&durable.persister),
            share(&tables.dead_files),
            share(&space.space),
            share(&writing.writer),
            share(&background.scheduler),
        ),
        scheduler: background.scheduler,
        #[cfg(test)]
        parts: Parts {
            value_files: share(&durable.value_files),
            persister: share(&durable.persister),
            compactor: share(&tables.compactor),
            squeezer: share(&space.squeezer),
        },
    };
    (Arc::new(core), tables.value_gc)
}
