//! The components of a database, in dependency order.
//!
//! A component may use those of earlier stages, and those before it in its own stage.

use crate::compaction::compactor::Compactor;
use crate::compaction::schedule::Schedule;
use crate::durable::group_sync::GroupSync;
use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::persist::Persister;
use crate::durable::reserve::DiskReserve;
use crate::durable::sweeper::Sweeper;
use crate::durable::value_files::ValueFiles;
use crate::flush::flusher::Flusher;
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::recovery::report::OpenReport;
use crate::scheduler::idle_space::IdleSpace;
use crate::scheduler::runner::Runner;
use crate::scheduler::steps::Steps;
use crate::scheduler::syncer::Syncer;
use crate::scheduler::threads::Scheduler;
use crate::scheduler::worker::Worker;
use crate::space::make_room::SpaceMaker;
use crate::space::squeeze::Squeezer;
use crate::value_gc::collect::ValueGc;
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::install::Installer;
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;
use crate::write::seal::Sealer;
use crate::write::writer::Writer;
use cairndb_env::DirLock;
use cairndb_mem::ChunkPool;
use std::sync::Arc;

/// Returns another reference to a component.
pub(super) fn share<T>(part: &Arc<T>) -> Arc<T> {
    Arc::clone(part)
}

/// Components used by all others.
pub(super) struct Base {
    pub(super) shared: Arc<Shared>,
    pub(super) versions: Arc<VersionSet>,
}

/// Log, manifest, and value files, with their syncs.
pub(super) struct Durable {
    pub(super) sweeper: Arc<Sweeper>,
    pub(super) manifests: Arc<Manifests>,
    pub(super) log: Arc<Log>,
    pub(super) value_files: Arc<ValueFiles>,
    pub(super) group_sync: Arc<GroupSync>,
    pub(super) persister: Arc<Persister>,
    pub(super) reserve: Arc<DiskReserve>,
}

/// Flushes, compactions, and garbage collection of value files.
pub(super) struct Tables {
    pub(super) installer: Arc<Installer>,
    pub(super) flusher: Arc<Flusher>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) compactor: Arc<Compactor>,
    pub(super) dead_files: Arc<DeadFiles>,
    pub(super) value_gc: Arc<ValueGc>,
}

/// Room on a full disk.
pub(super) struct Space {
    pub(super) squeezer: Arc<Squeezer>,
    pub(super) space: Arc<SpaceMaker>,
}

/// The write path.
pub(super) struct Writing {
    pub(super) writer: Arc<Writer>,
    pub(super) idle_space: Arc<IdleSpace>,
}

/// Background work.
pub(super) struct Background {
    pub(super) steps: Arc<Steps>,
    pub(super) scheduler: Arc<Scheduler>,
}

impl Durable {
    pub(super) fn new(
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
    pub(super) fn new(base: &Base, durable: &Durable) -> Tables {
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
    pub(super) fn new(base: &Base, durable: &Durable, tables: &Tables) -> Space {
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
    pub(super) fn new(
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
            share(&tables.value_gc),
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
    pub(super) fn new(
        base: &Base,
        durable: &Durable,
        tables: &Tables,
        space: &Space,
        writing: &Writing,
    ) -> Background {
        let runner = Arc::new(Runner::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&durable.log),
            share(&durable.persister),
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
        let steps = Arc::new(Steps::new(
            share(&base.shared),
            share(&base.versions),
            share(&runner),
        ));
        let worker = Arc::new(Worker::new(
            share(&base.shared),
            share(&base.versions),
            share(&durable.sweeper),
            share(&runner),
        ));
        let syncer = Arc::new(Syncer::new(
            share(&base.shared),
            share(&base.versions),
            runner,
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
