//! The initial state of an open database, made from the result of recovery.

use crate::durable::disk::Disk;
use crate::jobs::relocation::ValueGcState;
use crate::log::commit::Commit;
use crate::log::history::History;
use crate::log::segments::Segments;
use crate::read::view::Readers;
use crate::recovery::recovered::Recovered;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::health::Health;
use crate::state::keyspaces::Keyspaces;
use crate::state::memtables::{MemWriters, Memtables};
use crate::state::ranges::RangeDeletions;
use crate::state::sections::{Section, Sections};
use crate::state::snapshots::Snapshots;
use crate::state::squeezes::Squeezes;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::base::Base;
use crate::versions::engine_state::{
    Background, Compactions, DurableState, EndedSearched, EngineState, Flushes, ImmutableMemtable,
};
use crate::versions::followers::Followers;
use crate::versions::settings::Settings;
use crate::versions::sweeper::Sweeper;
use crate::versions::version_set::{FIRST_VIEW, VersionSet};
use cairndb_env::{Dir, DirLock, Env, Origin};
use cairndb_mem::Memtable;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Everything that was found and created during an open.
pub(super) struct Opened {
    pub(super) env: Arc<dyn Env>,
    pub(super) dir: Arc<dyn Dir>,
    pub(super) lock: Option<Box<dyn DirLock>>,
    pub(super) contexts: Sections<ReadContext>,
    pub(super) keyspaces: Arc<Keyspaces>,
    pub(super) settings: Settings,
    pub(super) opener: Arc<TableOpener>,
    pub(super) recovered: Recovered,
}

/// Returns the version found by recovery.
fn first_version(opener: &TableOpener, recovered: &mut Recovered) -> Arc<Version> {
    let mut version = std::mem::take(&mut recovered.version);
    version.becomes_newest(&opener.mapping);
    Arc::new(version)
}

/// Returns the state of a handle that has done nothing yet.
fn first_state(
    mutable: Memtables,
    sealed: VecDeque<ImmutableMemtable>,
    version: &Arc<Version>,
    recovered: &mut Recovered,
) -> EngineState {
    EngineState {
        mutable,
        immutables: sealed,
        version: Arc::clone(version),
        next_run: recovered.next_run,
        flushed_seq: recovered.last_seq,
        ranges: std::mem::take(&mut recovered.ranges)
            .map(|map| Arc::new(RangeDeletions::recovered(map))),
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
        ended: EndedSearched::default(),
        value_gc: ValueGcState::default(),
        squeezes: Squeezes::default(),
        background: Background::default(),
        parts: None,
        closing: false,
    }
}

/// Returns the log before its first segment, which takes `bytes_max`, and what is kept of it.
fn log_of(recovered: &mut Recovered, bytes_max: u64) -> (Segments, History) {
    let found = std::mem::take(&mut recovered.history);
    let segments = Segments::new(recovered.next_segment, bytes_max);
    (segments, found.into_history(recovered.last_seq))
}

/// Returns the first memtables. They are not from the pool, so that a database with few entries
/// uses little memory.
fn first_memtables(
    opener: &TableOpener,
    recovered: &Recovered,
    capacity: usize,
) -> (Memtables, MemWriters) {
    let (mut mutable, mut writers) = (Memtables::default(), MemWriters::default());
    let order = opener.orders[Section::Default].clone();
    let (part, writer) = Memtable::new(order, recovered.key_prefix(), capacity);
    mutable.add(Section::Default, part);
    writers.add(Section::Default, writer);
    (mutable, writers)
}

/// Builds the first owners from the result of the open.
pub(super) fn foundation(opened: Opened) -> (Arc<Base>, Arc<Disk>) {
    let Opened {
        env,
        dir,
        lock,
        contexts,
        keyspaces,
        settings,
        opener,
        mut recovered,
    } = opened;
    recovered.check();
    let budget = settings.budget;
    let path = Arc::clone(&contexts[Section::Default].path);
    let health = Arc::new(Health::new(path, settings.follows));
    let contexts = contexts.map(Arc::new);
    let context = Arc::clone(&contexts[Section::Default]);
    let readers = Readers::new(context, &health, &Arc::default(), FIRST_VIEW);
    let (mutable, writers) = first_memtables(&opener, &recovered, budget.memtable);
    let version = first_version(&opener, &mut recovered);
    let sealed: VecDeque<_> = std::mem::take(&mut recovered.sealed).into();
    let state = first_state(mutable.clone(), sealed, &version, &mut recovered);
    let commit = Commit::new(
        (mutable, writers),
        recovered.last_seq,
        budget.memtable_logged,
    );
    let segments = log_of(&mut recovered, budget.retained_log);
    let origin = Origin::here();
    let versions = VersionSet::new(readers, state, recovered.last_seq);
    let (reader_space, log) = (
        settings.reader_space,
        (segments.1.floor(), recovered.last_seq),
    );
    let followers = Followers::new(&env, &opener, reader_space, log);
    let base = Arc::new(Base {
        sweeper: Sweeper::new(origin, &dir, &health, &opener.reaper, followers, lock),
        versions,
        env,
        dir,
        origin,
        settings,
        context: Arc::clone(&contexts[Section::Default]),
        contexts,
        keyspaces,
        health,
        stats: Stats::default(),
        snapshots: Snapshots::default(),
        opener,
        stored: recovered.stored,
        next_file: AtomicU64::new(recovered.next_file),
    });
    // The views that a snapshot of a follower holds are those of all sections.
    if base.keyspaces.were_used() || base.settings.follows {
        base.begin_keyspaces();
    }
    let disk = Disk::new(&base, commit, segments, recovered.report);
    (base, Arc::new(disk))
}
