//! Rules of a flush or compaction: it keeps the newest version of each key that is visible to each
//! open snapshot and to current readers, and nothing else.
//!
//! Versions of a key arrive newest first. Snapshots divide the sequence numbers into stripes; of
//! each stripe only the newest version can ever be seen. A version at or below the oldest snapshot
//! is the last one kept: older versions are permanently invisible. If it is the only version kept,
//! its sequence number is rewritten to 0, which is visible to every reader and takes no byte. If no
//! older run can hold the key (`bottom`), a final tombstone has nothing left to hide and is
//! dropped. Keys with merge operands are handled by [`operands`](crate::jobs::operands).

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Kind, Order, Result, SeqNo};
use cairndb_files::Output;
use cairndb_format::value_file::Pointer;

use crate::jobs::gathered::Gathered;
use crate::jobs::inputs::{Change, Inputs};
use crate::state::context::ReadContext;
use crate::state::keyspaces::LiveKeyspaces;
use crate::state::ranges::RangeMap;
use crate::state::sections::keyspace_of;
use crate::state::version::Values;
use crate::state::version::deleted::number_or;

/// Facts that determine which versions are kept.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Sequence numbers at which readers may read, ascending, including the published one.
    pub(crate) snapshots: Vec<SeqNo>,
    /// Whether no older run holds any of these keys.
    pub(crate) bottom: bool,
    pub(crate) context: ReadContext,
    pub(crate) values: Arc<Values>,
    /// Upper bound of the keys, exclusive; later keys belong to another job.
    pub(crate) end: Option<Vec<u8>>,
    /// The keyspaces that exist, whose entries are kept; `None` in the default section.
    pub(crate) live: Option<LiveKeyspaces>,
    /// Number of drops of keyspaces before this was read.
    pub(crate) drops: u64,
    pub(crate) ranges: JobRanges,
}

/// The deleted ranges that a job applies: those whose log is in tables, or will be with its output.
/// Others may be lost with the log, and what they hide must then still be there.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobRanges {
    /// The map at each snapshot; empty if no range is deleted.
    pub(crate) maps: Vec<RangeMap>,
    /// Sequence number up to which all deletions are applied to every version that is visible to
    /// all readers.
    pub(crate) applied: SeqNo,
    /// The newest map, if it has deletions that no reader sees yet. Operands are not folded across
    /// them.
    pub(crate) unpublished: RangeMap,
}

impl JobRanges {
    /// Returns the ranges for a job over entries up to `last`, up to which `map_at` returns the map
    /// of a moment.
    pub(crate) fn new(
        snapshots: &[SeqNo],
        last: SeqNo,
        map_at: impl Fn(SeqNo) -> RangeMap,
    ) -> JobRanges {
        let maps = snapshots.iter().map(|seq| map_at((*seq).min(last)));
        let mut maps: Vec<_> = maps.collect();
        if maps.iter().all(RangeMap::is_empty) {
            maps.clear();
        }
        let oldest = snapshots.first().copied().unwrap_or(0);
        JobRanges {
            maps,
            applied: oldest.min(last),
            unpublished: RangeMap::EMPTY,
        }
    }
}

/// Streaming state of [`Rules::run`], kept between steps.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(super) key: Vec<u8>,
    has_key: bool,
    /// Whether all visible versions of the key have been handled, so that older versions are
    /// dropped.
    pub(super) done: bool,
    pub(super) kept: usize,
    pub(super) stripe: usize,
    /// Stored bytes of the values whose pointers were dropped, by value file.
    pub(crate) dead: BTreeMap<u64, u64>,
    pub(crate) entries_in: u64,
    pub(super) gathered: Gathered,
    /// Keyspace of the last key that was looked up, and whether it was dropped.
    keyspace: Option<u32>,
    ended: bool,
    /// No key from the last one on and before this one is in a deleted range. `None` if that is not
    /// known, or if no range follows.
    clear_until: Option<Arc<[u8]>>,
}

impl Progress {
    /// Records that the newest version of `key` visible to all readers has been handled: older
    /// versions are dropped.
    pub(crate) fn settle(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.has_key = true;
        self.done = true;
        self.kept = 1;
    }

    /// Records that no later entry has the last key.
    pub(crate) fn forget(&mut self) {
        self.has_key = false;
    }
}

impl Rules {
    pub(super) fn stripe(&self, seq: SeqNo) -> usize {
        self.snapshots.partition_point(|snapshot| *snapshot < seq)
    }

    /// Returns the sequence number up to which versions are visible to all readers.
    #[inline]
    pub(super) fn oldest(&self) -> SeqNo {
        self.snapshots.first().copied().unwrap_or(SeqNo::MAX)
    }

    pub(super) fn order(&self) -> &Order {
        &self.context.order
    }

    #[inline]
    pub(super) fn is_at_end(&self, inputs: &Inputs) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| self.order().compare(inputs.key(), end).is_ge())
    }

    /// Returns whether `key` belongs to a keyspace that was dropped.
    #[inline]
    pub(super) fn is_ended(&self, key: &[u8], progress: &mut Progress) -> bool {
        let Some(live) = &self.live else {
            return false;
        };
        let number = keyspace_of(key);
        if progress.keyspace != Some(number) {
            progress.keyspace = Some(number);
            progress.ended = live.binary_search(&number).is_err();
        }
        progress.ended
    }

    /// Returns whether the current version is older than a deletion of its range that every reader
    /// knows to whom it would be visible.
    #[inline]
    pub(super) fn is_deleted(&self, inputs: &Inputs, progress: &mut Progress) -> bool {
        !self.ranges.maps.is_empty() && self.is_in_range(inputs, progress)
    }

    #[inline(never)]
    fn is_in_range(&self, inputs: &Inputs, progress: &mut Progress) -> bool {
        let (key, order) = (inputs.key(), self.order());
        let clear = progress.clear_until.as_ref();
        if clear.is_some_and(|until| order.compare(key, until).is_lt()) {
            return false;
        }
        // The newest map has every range that an older one has, or newer ones in its place.
        let around = self.ranges.maps.last().map(|map| map.around(order, key));
        let around = around.unwrap_or_default();
        if !around.before.is_some_and(|range| range.reaches(order, key)) {
            progress.clear_until = around.after.map(|range| Arc::clone(&range.start));
            return false;
        }
        let stored = inputs.seq();
        let seq = number_or(stored, || inputs.ranges_applied());
        let map = self.ranges.maps.get(self.stripe(stored));
        let covering = map.and_then(|map| map.covering(order, key));
        covering.is_some_and(|range| range.seq > seq)
    }

    /// Returns whether operands of `key` in a stripe may be replaced by one entry. In the stripe of
    /// versions that are not published, a deletion of their range may come between them.
    pub(super) fn may_fold(&self, key: &[u8], stripe: usize) -> bool {
        let unpublished = &self.ranges.unpublished;
        if unpublished.is_empty() || stripe < self.snapshots.len() {
            return true;
        }
        let newest = self.snapshots.last().copied().unwrap_or(0);
        let covering = unpublished.covering(self.order(), key);
        covering.is_none_or(|range| range.seq <= newest)
    }

    /// Drops a version of a dropped keyspace or a deleted range. The next version of its key is
    /// handled as if it were the newest, unless a newer one was kept.
    fn drop_dead(inputs: &mut Inputs, progress: &mut Progress, new_key: bool) -> Result<()> {
        progress.entries_in += 1;
        if new_key {
            progress.forget();
        }
        if !inputs.only_hides() {
            Self::drop_entry(inputs, progress)?;
        }
        inputs.step()
    }

    /// Returns whether an entry may be copied without looking at what else decides about it.
    fn copies(&self, inputs: &Inputs) -> bool {
        !inputs.has_hiders() && self.ranges.maps.is_empty()
    }

    /// Moves up to `entries_max` entries from `inputs` to `output`, and returns whether any are
    /// left.
    pub(crate) fn run(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        entries_max: u64,
    ) -> Result<bool> {
        let oldest = self.oldest();
        let stop = progress.entries_in.saturating_add(entries_max);
        while inputs.valid() && progress.entries_in < stop {
            let new_key = !progress.has_key
                || match inputs.change() {
                    Change::None => false,
                    Change::Sure => true,
                    Change::Unknown => self.order().compare(inputs.key(), &progress.key).is_ne(),
                };
            if new_key && self.is_at_end(inputs) {
                return Ok(false);
            }
            let ended = new_key && self.is_ended(inputs.key(), progress);
            if ended || self.is_deleted(inputs, progress) {
                Self::drop_dead(inputs, progress, new_key)?;
                continue;
            }
            if new_key && self.copies(inputs) && self.copy_plain(inputs, output, progress, stop)? {
                continue;
            }
            progress.entries_in += 1;
            if new_key {
                progress.key.clear();
                progress.key.extend_from_slice(inputs.key());
                progress.has_key = true;
                progress.done = false;
                progress.kept = 0;
            } else if progress.done {
                if !inputs.only_hides() {
                    Self::drop_entry(inputs, progress)?;
                }
                inputs.step()?;
                continue;
            } else if !self.order().can_hash() {
                // Equal keys may differ in bytes, and a snapshot must see them as written.
                progress.key.clear();
                progress.key.extend_from_slice(inputs.key());
            }
            if inputs.only_hides() {
                // Neither an operand nor a version newer than the oldest snapshot hides anything.
                progress.done = inputs.kind() != Kind::Merge && inputs.seq() <= oldest;
                inputs.step()?;
                continue;
            }
            if inputs.kind() == Kind::Merge {
                self.fold_key(inputs, output, progress)?;
                continue;
            }
            self.one(inputs, output, progress, oldest)?;
            inputs.step()?;
        }
        Ok(inputs.valid())
    }

    /// Keeps or drops the current version, which is not an operand.
    #[inline]
    fn one(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        oldest: SeqNo,
    ) -> Result<()> {
        let (seq, kind) = (inputs.seq(), inputs.kind());
        let first = progress.kept == 0;
        if kind == Kind::Pointer {
            progress.entries_in += output.take_weight();
        }
        if seq <= oldest {
            progress.done = true;
            if kind == Kind::Delete && self.bottom {
                return Ok(());
            }
            let seq = if first { 0 } else { seq };
            return Self::keep(inputs, output, progress, seq, kind);
        }
        let stripe = self.stripe(seq);
        if !first && stripe == progress.stripe {
            return Self::drop_entry(inputs, progress);
        }
        progress.stripe = stripe;
        Self::keep(inputs, output, progress, seq, kind)
    }

    /// Writes the current version.
    #[inline]
    fn keep(
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        seq: SeqNo,
        kind: Kind,
    ) -> Result<()> {
        let first = progress.kept == 0;
        progress.kept += 1;
        // Borrow the entry in place instead of copying it: a wide load right after the narrow
        // stores of its fields would wait for every earlier store.
        match &inputs.entry() {
            Ok(entry) => output.add(first, &progress.key, seq, kind, &entry.value),
            Err(error) => Err(error.clone()),
        }
    }

    pub(super) fn drop_entry(inputs: &mut Inputs, progress: &mut Progress) -> Result<()> {
        if inputs.kind() == Kind::Pointer {
            count_dead(&mut progress.dead, inputs.value()?);
        }
        Ok(())
    }
}

/// Counts the value of an encoded pointer as dropped.
pub(super) fn count_dead(dead: &mut BTreeMap<u64, u64>, encoded: &[u8]) {
    if let Ok(pointer) = Pointer::decode(encoded) {
        *dead.entry(pointer.file.0).or_insert(0) += u64::from(pointer.len);
    }
}
