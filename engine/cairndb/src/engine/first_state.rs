//! The initial state of an open database, made from the result of recovery.

use crate::durable::disk::Disk;
use crate::jobs::relocation::ValueGcState;
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::read::view::{Readers, View};
use crate::recovery::recovered::Recovered;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::snapshots::Snapshots;
use crate::state::squeezes::Squeezes;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::base::Base;
use crate::versions::engine_state::{
    Background, Compactions, DurableState, EngineState, Flushes, ImmutableMemtable,
};
use crate::versions::settings::Settings;
use crate::versions::sweeper::Sweeper;
use crate::versions::version_set::VersionSet;
use cairndb_base::SEQ_MAX;
use cairndb_env::{Dir, DirLock, Env, Origin};
use cairndb_mem::Memtable;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Returns the version found by recovery.
fn first_version(opener: &TableOpener, recovered: &mut Recovered) -> Arc<Version> {
    let version = std::mem::take(&mut recovered.version);
    let mapped = &opener.mapping.bytes;
    mapped.store(version.bytes(), Ordering::Relaxed);
    Arc::new(version)
}

/// Number of a handle's first view.
const FIRST_VIEW: u64 = 0;

/// Returns the view with which readers start.
fn first_view(
    mutable: &Arc<Memtable>,
    sealed: &VecDeque<ImmutableMemtable>,
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
        SEQ_MAX,
    )
}

/// Returns the state of a handle that has done nothing yet.
fn first_state(
    mutable: &Arc<Memtable>,
    sealed: VecDeque<ImmutableMemtable>,
    version: &Arc<Version>,
    recovered: &mut Recovered,
) -> EngineState {
    EngineState {
        mutable: Arc::clone(mutable),
        immutables: sealed,
        version: Arc::clone(version),
        next_run: recovered.next_run,
        durable: DurableState {
            version: Arc::clone(version),
            seq: recovered.last_seq,
            dead: std::mem::take(&mut recovered.value_dead),
            pending: None,
            installed: 0,
            persisted: 0,
            persisting: false,
            manifest: recovered.manifest,
            failed_manifest: 0,
        },
        flushes: Flushes {
            running: Vec::new(),
            next: 1,
            last: (0, 0),
        },
        compactions: Compactions::default(),
        value_gc: ValueGcState::default(),
        squeezes: Squeezes::default(),
        background: Background::default(),
        parts: None,
        closing: false,
    }
}

/// Builds the first owners from the result of the open.
pub(super) fn foundation(opened: Opened) -> (Arc<Base>, Arc<Disk>) {
    let Opened {
        env,
        dir,
        lock,
        context,
        settings,
        opener,
        mut recovered,
    } = opened;
    recovered.check();
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
    let origin = Origin::here();
    let base = Arc::new(Base {
        sweeper: Sweeper::new(origin, &dir, &readers.health, &opener.reaper, lock),
        versions: VersionSet::new(view, state, recovered.last_seq),
        env,
        dir,
        origin,
        settings,
        context: readers.context,
        health: readers.health,
        stats: Stats::default(),
        snapshots: Snapshots::default(),
        opener,
        stored_operator: recovered.merge_operator,
        next_file: AtomicU64::new(recovered.next_file),
    });
    let disk = Disk::new(&base, commit, segments, recovered.report);
    (base, Arc::new(disk))
}
