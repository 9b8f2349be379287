//! The state that an opening begins with, from what recovery found.

use crate::jobs::relocation::Relocating;
use crate::read::view::{Readers, View};
use crate::recovery::recovered::Recovered;
use crate::state::idle::Idle;
use crate::state::opener::TableOpener;
use crate::state::squeezes::Squeezes;
use crate::state::version::Version;
use crate::versions::state::{Part, State};
use cairndb_mem::Memtable;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The version that recovery found.
pub(super) fn first_version(opener: &TableOpener, recovered: &mut Recovered) -> Arc<Version> {
    let version = std::mem::take(&mut recovered.version);
    let mapped = &opener.mapping.bytes;
    mapped.store(version.bytes(), Ordering::Relaxed);
    Arc::new(version)
}

/// The number of a handle's first view.
pub(super) const FIRST_VIEW: u64 = 0;

/// The view that readers begin with.
pub(super) fn first_view(
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

/// The state of a handle that has done nothing yet.
pub(super) fn first_state(
    mutable: &Arc<Memtable>,
    sealed: VecDeque<Part>,
    version: &Arc<Version>,
    recovered: &mut Recovered,
) -> State {
    State {
        mutable: Arc::clone(mutable),
        immutables: sealed,
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
        compactions: Vec::new(),
        range_compactions_waiting: 0,
        persisting: false,
        idle: Idle::default(),
        hurrying: 0,
        closing: false,
        retry_at_ns: 0,
        retry_ns: 0,
        last_flush: (0, 0),
    }
}
