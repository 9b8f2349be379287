//! The initial state of an open database, made from the result of recovery.

use crate::jobs::relocation::ValueGcState;
use crate::read::view::{Readers, View};
use crate::recovery::recovered::Recovered;
use crate::state::files::opener::TableOpener;
use crate::state::squeezes::Squeezes;
use crate::state::version::Version;
use crate::versions::state::{
    Background, Compactions, DurableState, Flushes, ImmutableMemtable, State,
};
use cairndb_base::SEQ_MAX;
use cairndb_mem::Memtable;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Returns the version found by recovery.
pub(super) fn first_version(opener: &TableOpener, recovered: &mut Recovered) -> Arc<Version> {
    let version = std::mem::take(&mut recovered.version);
    let mapped = &opener.mapping.bytes;
    mapped.store(version.bytes(), Ordering::Relaxed);
    Arc::new(version)
}

/// Number of a handle's first view.
pub(super) const FIRST_VIEW: u64 = 0;

/// Returns the view with which readers start.
pub(super) fn first_view(
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
pub(super) fn first_state(
    mutable: &Arc<Memtable>,
    sealed: VecDeque<ImmutableMemtable>,
    version: &Arc<Version>,
    recovered: &mut Recovered,
) -> State {
    State {
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
