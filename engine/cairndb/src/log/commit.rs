//! The commit state, through which one writer at a time appends to the log and the memtable.
//!
//! Sequence numbers are assigned under the commit lock and *published* in order. A write becomes
//! visible when it is published: an `Os` write at once, a `Sync` write only after its sync. A write
//! appended after a `Sync` write is not published before it.
//!
//! Syncs are shared (see `durable/group_sync.rs`). LevelDB's queue of batches, which a leader
//! writes for its followers, would save nothing here: an append is a short copy, and only the sync
//! is worth sharing.
//!
//! * `apply`: inserts into the memtable

mod apply;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo};
use cairndb_format::batch;
use cairndb_format::log;
use cairndb_mem::MemWriter;
use cairndb_shared::LogPosition;

pub(crate) use self::apply::Parts;
use crate::log::payload::Payload;
use crate::log::segments::Segment;
use crate::state::memtables::{MemWriters, Memtables};
use crate::state::ranges::Deleted;
use crate::state::sections::{Section, StoredKey};

/// Accounting of the mutable memtable's values that stay in the log.
#[derive(Debug)]
struct LoggedValues {
    /// Whether the segment can be read in place, so that values need not be copied out of it.
    in_place: bool,
    /// Number of bytes of the memtable's log records.
    bytes: u64,
    /// Upper limit of `bytes`.
    bytes_max: u64,
}

/// Value files referred to by the pointers of a memtable.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemtableValues {
    /// Number of the first such file.
    pub(crate) first: Option<u64>,
    /// Number of bytes of the values.
    pub(crate) bytes: u64,
}

/// What entries of the mutable memtable refer to or stand for.
#[derive(Debug, Default)]
struct MemtableNotes {
    /// The value files referred to by pointers.
    values: MemtableValues,
    /// Deleted ranges, oldest first.
    ranges: Vec<(Section, Deleted)>,
    /// Number of those that readers know.
    known_ranges: usize,
}

/// Large values that were appended to value files.
#[derive(Debug, Default)]
pub(crate) struct AppendedValues {
    /// Number of those whose pointers are not in the memtable yet, by file.
    in_flight: BTreeMap<u64, u64>,
    /// Number of bytes since a writer last looked for dead value files.
    pub(crate) unchecked_bytes: u64,
}

/// Approximate number of memtable bytes of a batch entry in addition to its encoded bytes: the
/// fixed part of a node, the position of its value, and 23 bytes in the tree if keys arrive in
/// random order. If a batch takes more, its memtable gets an additional chunk, which is counted.
const NODE_BYTES: usize = 76;

/// State that the commit lock guards.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) mutable: Memtables,
    writers: MemWriters,
    /// Newest live segment; `None` before the first logged write.
    pub(crate) segment: Option<Arc<Segment>>,
    /// Offset of the next record.
    at: u64,
    /// Position after the last record; none before the first one of this handle.
    pub(crate) position: LogPosition,
    logged_values: LoggedValues,
    /// First segment that holds a record of the mutable memtable.
    pub(crate) memtable_segment: Option<u64>,
    notes: MemtableNotes,
    pub(crate) appended_values: AppendedValues,
    /// Last sequence number assigned.
    pub(crate) last_seq: SeqNo,
    /// Number of sequence numbers assigned since the last logged record, all to writes at `None`.
    gap: u32,
    /// Last sequence numbers of `Sync` writes that are not synced yet.
    pub(crate) awaiting_sync: VecDeque<SeqNo>,
    /// Sequence number, and position in the log, up to which everything is synced.
    pub(crate) synced: (SeqNo, LogPosition),
    /// Whether a thread is running a sync pass.
    pub(crate) syncing: bool,
    /// Whether the worker waits for the next write, which may overwrite or delete large values.
    pub(crate) wakes_worker: bool,
    /// Whether the time is logged before the next logged write.
    pub(crate) mark_due: bool,
    /// Whether the worker found writes that are not published yet, and must be woken when they are.
    pub(crate) look_again: bool,
    /// Whether the handle is being closed: pending writes are completed, new ones are refused.
    pub(crate) closing: bool,
    /// Buffer in which records are assembled.
    scratch: Vec<u8>,
    /// Number of bytes of log records written by this handle.
    pub(crate) logged_bytes: u64,
}

/// Memtables that take no more entries.
#[derive(Debug)]
pub(crate) struct SealedMemtable {
    pub(crate) mem: Memtables,
    /// Number of bytes of its log records.
    pub(crate) logged: u64,
    /// First segment that holds one of its records; `None` if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// Value files referred to by its pointers.
    pub(crate) values: MemtableValues,
    /// Ranges deleted while it took writes, oldest first.
    pub(crate) ranges: Vec<(Section, Deleted)>,
}

/// A payload that was appended to the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    /// Length of the record.
    pub(crate) bytes: u64,
    /// End offset of the payload in the segment.
    end: u64,
}

#[cold]
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::Closed, "the database handle is being closed")
}

impl Commit {
    /// Returns the state before the first write of a handle. `memtable_logged_max` limits how many
    /// bytes of the log a memtable may pin by leaving its values there.
    pub(crate) fn new(
        (mutable, writers): (Memtables, MemWriters),
        last_seq: SeqNo,
        memtable_logged_max: u64,
    ) -> Commit {
        let logged_values = LoggedValues {
            in_place: false,
            bytes: 0,
            bytes_max: memtable_logged_max,
        };
        Commit {
            mutable,
            writers,
            segment: None,
            at: 0,
            position: LogPosition::default(),
            logged_values,
            memtable_segment: None,
            notes: MemtableNotes::default(),
            appended_values: AppendedValues::default(),
            last_seq,
            gap: 0,
            awaiting_sync: VecDeque::new(),
            synced: (last_seq, LogPosition::default()),
            syncing: false,
            wakes_worker: false,
            mark_due: false,
            look_again: false,
            closing: false,
            scratch: Vec::new(),
            logged_bytes: 0,
        }
    }

    /// Returns whether `payload`, which is written to the log if `logged`, fits into the mutable
    /// memtable. Anything fits into an empty one.
    #[inline]
    pub(crate) fn memtable_fits(&self, payload: &Payload<'_>, logged: bool) -> bool {
        let logged = logged && self.logged_values.in_place;
        let pinned = self.logged_values.bytes;
        let pins = !logged || pinned + payload.record_bytes() <= self.logged_values.bytes_max;
        pins && self.has_room(payload, logged) || self.mutable.is_empty()
    }

    /// Returns whether the mutable memtable has room for `payload`, whose values stay in the log if
    /// `logged`.
    #[inline]
    fn has_room(&self, payload: &Payload<'_>, logged: bool) -> bool {
        match payload {
            Payload::One { key, value, .. } => {
                let value_bytes = if logged {
                    MemWriter::logged_room(value.len())
                } else {
                    value.len()
                };
                self.writers
                    .has_room(key.section, key.bytes.len(), value_bytes)
            }
            // Estimate: each entry takes about its encoded length plus `NODE_BYTES`, except for a
            // value that stays in the log.
            Payload::Many(batch) => {
                let nodes = usize::try_from(batch.count()).unwrap_or(usize::MAX);
                let apart = if logged { batch.long_value_bytes() } else { 0 };
                let bytes = (batch.entries().len() - apart)
                    .saturating_add(nodes.saturating_mul(NODE_BYTES));
                self.writers.has_room(Section::Default, bytes, 0)
            }
        }
    }

    /// Returns whether every section that `payload` writes to has a memtable.
    #[inline]
    pub(crate) fn has_memtables(&self, payload: &Payload<'_>) -> bool {
        match payload {
            Payload::One { key, .. } => self.writers.has(key.section),
            Payload::Many(batch) if !batch.has_keyspaces() => self.writers.has(Section::Default),
            Payload::Many(_) => self.missing_memtables(payload).next().is_none(),
        }
    }

    /// Returns the sections that `payload` writes to and that have no memtable.
    pub(crate) fn missing_memtables(&self, payload: &Payload<'_>) -> impl Iterator<Item = Section> {
        let written = payload.sections();
        let sections = Section::ALL.into_iter();
        sections.filter(move |section| written[*section] && !self.writers.has(*section))
    }

    /// Adds the memtable of a section that has none.
    pub(crate) fn add_memtable(&mut self, section: Section, writer: MemWriter) {
        self.mutable.add(section, Arc::clone(writer.table()));
        self.writers.add(section, writer);
    }

    /// Takes the memtable of a section out of the mutable ones.
    pub(crate) fn take_memtable(&mut self, section: Section) -> MemWriter {
        self.mutable.take(section);
        let writer = self.writers.take(section);
        writer.expect("each mutable memtable has a writer")
    }

    /// Returns whether a record of `bytes` fits into the segment.
    pub(crate) fn segment_fits(&self, bytes: u64) -> bool {
        self.segment
            .as_ref()
            .is_some_and(|segment| self.at + bytes <= segment.region.size())
    }

    /// Continues the log in `segment`.
    pub(crate) fn enter_segment(&mut self, segment: Arc<Segment>) {
        assert!(
            self.segment
                .as_ref()
                .is_none_or(|old| old.number < segment.number),
            "the log continues in a newer segment"
        );
        assert!(
            segment.start_seq == self.last_seq + 1,
            "a segment begins with the next write"
        );
        self.at = segment.written();
        self.logged_values.in_place = segment.region.bytes(0, 0).is_some();
        self.segment = Some(segment);
    }

    /// Returns whether flushing the mutable memtable frees more than `max` bytes of earlier log
    /// segments, or a segment that was created for a long record. `regular` is the length of all
    /// other segments.
    pub(crate) fn keeps_long_log(&self, regular: u64, max: u64) -> bool {
        let Some(current) = &self.segment else {
            return false;
        };
        let first = self.memtable_segment.unwrap_or(current.number);
        let earlier = current.number.saturating_sub(first);
        earlier.saturating_mul(regular) > max || current.region.size() > regular
    }

    /// Leaves the segment, so that the next logged write starts another.
    pub(crate) fn leave_segment(&mut self) {
        self.segment = None;
        self.at = 0;
    }

    /// Replaces the mutable memtable and returns the old one, which no longer has a writer, to be
    /// flushed.
    pub(crate) fn replace_memtables(
        &mut self,
        mutable: Memtables,
        writers: MemWriters,
    ) -> SealedMemtable {
        assert!(
            mutable.is_empty() && self.mutable.seq_max() <= self.last_seq,
            "a memtable holds only writes before its seal"
        );
        self.writers = writers;
        let notes = std::mem::take(&mut self.notes);
        SealedMemtable {
            mem: std::mem::replace(&mut self.mutable, mutable),
            logged: std::mem::take(&mut self.logged_values.bytes),
            first_segment: self.memtable_segment.take(),
            values: notes.values,
            ranges: notes.ranges,
        }
    }

    /// Records that a value was appended to `file` whose pointer is not in the memtable yet. Until
    /// [`Commit::note_value_inserted`] is called, the file must not be considered dead.
    pub(crate) fn note_value_appended(&mut self, file: u64) {
        *self.appended_values.in_flight.entry(file).or_insert(0) += 1;
    }

    /// Records that the pointer to `file` is in the memtable, or that the write was abandoned.
    pub(crate) fn note_value_inserted(&mut self, file: u64) {
        let count = self.appended_values.in_flight.get_mut(&file);
        let count = count.expect("every inserted value was first recorded as appended");
        *count -= 1;
        if *count == 0 {
            self.appended_values.in_flight.remove(&file);
        }
    }

    /// Returns the deleted ranges that readers do not know yet, and that they must know before the
    /// write is published.
    pub(crate) fn take_new_ranges(&mut self) -> &[(Section, Deleted)] {
        let notes = &mut self.notes;
        let before = std::mem::replace(&mut notes.known_ranges, notes.ranges.len());
        &notes.ranges[before..]
    }

    /// Returns the ranges deleted since the last seal, oldest first.
    pub(crate) fn memtable_ranges(&self) -> &[(Section, Deleted)] {
        &self.notes.ranges
    }

    /// Returns the first value file referred to by a pointer in flight or in the mutable memtable.
    pub(crate) fn first_values(&self) -> Option<u64> {
        let in_flight = self.appended_values.in_flight.keys().next().copied();
        in_flight.into_iter().chain(self.notes.values.first).min()
    }

    /// Returns the number of bytes of the large values that the mutable memtable points to.
    pub(crate) fn value_bytes(&self) -> u64 {
        self.notes.values.bytes
    }

    /// Appends `payload` to the log. After an error nothing has been applied, and the segment is
    /// abandoned, so that it ends after its last intact record.
    pub(crate) fn log(&mut self, payload: &Payload<'_>, sync_next: bool) -> Result<Appended> {
        let seq = self.last_seq + 1;
        let segment = self.segment.as_ref().expect("the caller entered a segment");
        let payload_at = self.at + log::RECORD_HEADER_BYTES as u64;
        let (result, len) = match payload {
            Payload::One { kind, key, value } => {
                let in_keyspace = key.section != Section::Default;
                let frame = batch::frame(*kind, in_keyspace, key.bytes.len(), value.len());
                let value = if *kind == Kind::Delete { &[] } else { *value };
                let parts = [frame.before_key(), key.bytes, frame.before_value(), value];
                let len = frame.payload_len(key.bytes.len(), value.len());
                let scratch = &mut self.scratch;
                (
                    segment.append(self.at, seq, self.gap, &parts, scratch, sync_next),
                    len,
                )
            }
            Payload::Many(batch) => {
                let prefix = batch.count_prefix();
                let parts = [prefix.as_slice(), batch.entries()];
                let scratch = &mut self.scratch;
                (
                    segment.append(self.at, seq, self.gap, &parts, scratch, sync_next),
                    batch.payload_len(),
                )
            }
        };
        match result {
            Ok(end) => {
                let bytes = end - self.at;
                self.at = end;
                self.position = LogPosition::new(segment.number, end);
                self.gap = 0;
                self.logged_values.bytes += bytes;
                self.memtable_segment.get_or_insert(segment.number);
                let end = payload_at + len;
                Ok(Appended { bytes, end })
            }
            Err(error) => {
                self.leave_segment();
                Err(error)
            }
        }
    }

    /// Makes the next logged write log the time first.
    pub(crate) fn ask_for_mark(&mut self) {
        self.mark_due = true;
        self.wakes_worker = true;
    }

    /// Logs the time, in milliseconds since 1970, if the segment has room for that and `next`.
    ///
    /// # Errors
    /// Those of [`Commit::log`].
    pub(crate) fn log_mark(&mut self, wall_ms: u64, next: &Payload<'_>) -> Result<bool> {
        let value = wall_ms.to_le_bytes();
        let mark = Payload::One {
            kind: Kind::TimeMark,
            key: StoredKey::plain(b""),
            value: &value,
        };
        let fits = self.segment_fits(mark.record_bytes() + next.record_bytes());
        if fits {
            let logged = self.log(&mark, false)?;
            self.logged_bytes += logged.bytes;
            self.last_seq += 1;
        }
        Ok(fits)
    }

    /// Takes a sequence number that is not logged. Returns `None` if too many were not.
    pub(crate) fn take_unlogged(&mut self) -> Option<SeqNo> {
        let taken = self.skip_log(1).then_some(self.last_seq + 1)?;
        self.last_seq = taken;
        Some(taken)
    }

    /// Records that `count` sequence numbers will not be in the log. Returns `false` if the gap
    /// field is full and a logged record must come first.
    pub(crate) fn skip_log(&mut self, count: u64) -> bool {
        match u32::try_from(u64::from(self.gap) + count) {
            Ok(gap) => {
                self.gap = gap;
                true
            }
            Err(_) => false,
        }
    }

    /// Records that everything up to `seq`, which ends at `position`, is synced.
    pub(crate) fn note_synced(&mut self, seq: SeqNo, position: LogPosition) {
        if self.synced.0 < seq {
            self.synced = (seq, position);
        }
        let waits = |first: &SeqNo| *first <= seq;
        while self.awaiting_sync.front().is_some_and(waits) {
            self.awaiting_sync.pop_front();
        }
    }

    /// Returns the largest sequence number that may be published now, and its position in the log:
    /// the last, or the last synced one while a `Sync` write waits. The published number never
    /// decreases.
    pub(crate) fn publishable(&self) -> (SeqNo, LogPosition) {
        if self.awaiting_sync.is_empty() {
            (self.last_seq, self.position)
        } else {
            self.synced
        }
    }
}
