//! Assembles the components of a database: each receives the components that it uses.

use crate::durable::sweeper::Sweeper;
use crate::engine::checkpoint::Checkpoints;
use crate::engine::close::Closer;
use crate::engine::core::Core;
use crate::engine::first_state::{FIRST_VIEW, first_state, first_version, first_view};
use crate::engine::properties::Properties;
use crate::engine::stages::{Background, Base, Durable, Space, Tables, Writing, share};
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::read::view::Readers;
use crate::recovery::recovered::Recovered;
use crate::scheduler::manual::Manual;
use crate::scheduler::waiting::Waiting;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::snapshots::Snapshots;
use crate::state::stats::Stats;
use crate::value_gc::collect::ValueGc;
use crate::versions::shared::{Settings, Shared};
use crate::versions::version_set::VersionSet;
use cairndb_base::PageCache;
use cairndb_env::{Dir, DirLock, Env, Origin};
use cairndb_mem::{ChunkPool, Memtable};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Everything that was found and created during an open.
pub(super) struct Opened {
    pub(super) env: Arc<dyn Env>,
    pub(super) dir: Arc<dyn Dir>,
    pub(super) lock: Option<Box<dyn DirLock>>,
    pub(super) context: ReadContext,
    pub(super) settings: Settings,
    pub(super) opener: Arc<TableOpener>,
    pub(super) recovered: Recovered,
}

/// Components of a database that only tests access.
#[cfg(test)]
pub(crate) struct Parts {
    pub(crate) value_files: Arc<crate::durable::value_files::ValueFiles>,
    pub(crate) persister: Arc<crate::durable::persist::Persister>,
    pub(crate) compactor: Arc<crate::compaction::compactor::Compactor>,
    pub(crate) squeezer: Arc<crate::space::squeeze::Squeezer>,
}

/// Assembles the components. Also returns those used during the open.
pub(super) fn assemble(opened: Opened) -> (Arc<Core>, Arc<Sweeper>, Arc<ValueGc>) {
    let cache = Arc::clone(&opened.opener.cache);
    let pool = ChunkPool::new(opened.settings.budget.write_share);
    let (base, durable) = foundation(opened);
    let (core, value_gc) = core(&base, &durable, cache, &pool);
    (core, durable.sweeper, value_gc)
}

/// Builds the first stages from the result of the open.
fn foundation(opened: Opened) -> (Base, Durable) {
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
    // Not from the pool, so that a database with few entries uses little memory.
    let mutable = Memtable::new(order.clone(), recovered.key_prefix(), budget.memtable);
    let version = first_version(&opener, &mut recovered);
    let sealed: VecDeque<_> = std::mem::take(&mut recovered.sealed).into();
    let view = first_view(&mutable.0, &sealed, &version, readers.clone());
    let state = first_state(&mutable.0, sealed, &version, &mut recovered);
    let commit = Commit::new(mutable, recovered.last_seq, &order, budget.memtable_logged);
    let segments = Segments::new(recovered.next_segment, budget.retained_log);
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
    (base, durable)
}

/// Builds the stages above [`Durable`], and `Core` on top of all of them.
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
        manual: manual(base, durable, &tables, &space, &writing),
        waiting: waiting(base, durable, &tables, &background),
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
            share(&durable.manifests),
            cache,
            share(pool),
        ),
        closer: closer(base, durable, &tables, &space, &writing, &background),
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

fn manual(
    base: &Base,
    durable: &Durable,
    tables: &Tables,
    space: &Space,
    writing: &Writing,
) -> Manual {
    Manual::new(
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
    )
}

fn waiting(base: &Base, durable: &Durable, tables: &Tables, background: &Background) -> Waiting {
    Waiting::new(
        share(&base.shared),
        share(&base.versions),
        share(&durable.log),
        share(&durable.persister),
        share(&tables.dead_files),
        share(&tables.value_gc),
        share(&background.steps),
        share(&tables.schedule),
        share(&background.scheduler),
    )
}

fn closer(
    base: &Base,
    durable: &Durable,
    tables: &Tables,
    space: &Space,
    writing: &Writing,
    background: &Background,
) -> Closer {
    Closer::new(
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
    )
}

#[cfg(test)]
mod tests;
