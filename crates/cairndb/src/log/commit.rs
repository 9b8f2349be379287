//! The commit state: one writer at a time appends to the log and the memtable.
//!
//! Sequence numbers are handed out under the commit lock and *published* in order. A write becomes
//! visible when it is published; an `Os` write at once, a `Sync` write only after its sync, and
//! whatever was appended behind it then too. Syncs are shared: whoever finds no sync under way runs
//! one for everything appended so far, and writers that arrive meanwhile wait for the next. A queue
//! of batches that a leader writes for its followers (LevelDB's) saves nothing here, because an
//! append is a copy of a hundred nanoseconds; what must be shared is the sync.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result, SEQ_MAX, SeqNo, hash64};
use cairndb_env::LogRegion;
use cairndb_format::batch::{self, BatchWriter, Entry};
use cairndb_format::log;
use cairndb_format::value_file::Pointer;
use cairndb_mem::{Borrowed, MemWriter, Memtable};

use crate::log::segments::Segment;

/// What the mutable part leaves in the log.
#[derive(Debug)]
struct LeftInLog {
    /// The segment can be read in place, so values need not be copied out of it.
    lends: bool,
    /// Bytes that the part's records take.
    bytes: u64,
    /// Most of them.
    bytes_max: u64,
}

/// What a part's pointers lead to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemtableValues {
    /// The first value file.
    pub(crate) first: Option<u64>,
    /// Bytes of the values.
    pub(crate) bytes: u64,
}

/// About what a batch's entry takes in a memtable beside what it takes in the batch: a node's fixed part, the place of its
/// value, and in the tree 23 bytes, as keys in random order do. Where a batch takes more, its part has a chunk more,
/// which is counted.
const NODE_BYTES: usize = 76;

/// What the commit lock guards.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) mutable: Arc<Memtable>,
    writer: MemWriter,
    /// The newest live segment, none before the first logged write.
    pub(crate) segment: Option<Arc<Segment>>,
    /// Where the next record goes.
    at: u64,
    left: LeftInLog,
    /// The first segment that holds a record of the mutable part.
    pub(crate) memtable_segment: Option<u64>,
    /// What the mutable part's pointers lead to.
    memtable_values: MemtableValues,
    /// Values appended whose pointers are not in the memtable yet, counted by file.
    values_in_flight: BTreeMap<u64, u64>,
    /// Last sequence number handed out.
    pub(crate) last_seq: SeqNo,
    /// Sequence numbers handed out since the last logged record, all of `None` writes.
    gap: u32,
    /// Last sequence numbers of `Sync` writes that are not yet synced.
    pub(crate) awaiting_sync: VecDeque<SeqNo>,
    /// Everything up to here is synced.
    pub(crate) synced_seq: SeqNo,
    /// A thread is running a sync pass.
    pub(crate) syncing: bool,
    /// The worker waits for the next write: what it overwrites or deletes may be large.
    pub(crate) wakes_worker: bool,
    /// The worker has met writes that are not published yet, and wants to know when they are.
    pub(crate) look_again: bool,
    /// The handle is being closed: what is written is written out, nothing new is taken.
    pub(crate) closing: bool,
    /// Where records are put together.
    scratch: Vec<u8>,
    /// Bytes of log records written by this handle.
    pub(crate) logged_bytes: u64,
    can_hash: bool,
}

/// A memtable part that takes no more entries.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) mem: Arc<Memtable>,
    /// Bytes of the log that its records take.
    pub(crate) logged: u64,
    /// The first segment that holds one of its records, none if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// What its pointers lead to.
    pub(crate) values: MemtableValues,
}

/// A payload that was appended to the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    /// Length of its record.
    pub(crate) bytes: u64,
    /// Where in the segment the payload ends.
    end: u64,
}

/// The `len` bytes before `end`, where a region can be read in place.
fn lend(region: Option<&Arc<dyn LogRegion>>, end: Option<u64>, len: usize) -> Option<Borrowed<'_>> {
    let (region, end) = region.zip(end)?;
    Borrowed::by(region, end - len as u64, len)
}

/// What an insert changes of a [`Commit`], beside the segment that lends its values.
struct Part<'a> {
    writer: &'a mut MemWriter,
    last_seq: &'a mut SeqNo,
    values: &'a mut MemtableValues,
    can_hash: bool,
}

impl Part<'_> {
    /// Inserts an entry whose value the segment has `lent`, if it does.
    #[expect(
        clippy::inline_always,
        reason = "of a batch's loop it is a part; the call took 12 instructions an entry"
    )]
    #[inline(always)]
    fn insert(&mut self, kind: Kind, key: &[u8], value: &[u8], lent: Option<Borrowed<'_>>) {
        *self.last_seq += 1;
        if kind == Kind::Pointer {
            self.note_pointer(value);
        }
        let (seq, hash) = (*self.last_seq, if self.can_hash { hash64(key) } else { 0 });
        match lent {
            Some(lent) => self.writer.insert_logged(seq, kind, key, value, lent, hash),
            None => self.writer.insert(seq, kind, key, value, hash),
        }
    }

    #[cold]
    fn note_pointer(&mut self, pointer: &[u8]) {
        let (file, bytes) = Pointer::decode(pointer).map_or((0, 0), |it| (it.file.0, it.len));
        let first = self.values.first.map_or(file, |first| first.min(file));
        self.values.first = Some(first);
        self.values.bytes += u64::from(bytes);
    }
}

/// One write as the commit sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    /// A single entry.
    One {
        kind: Kind,
        key: &'a [u8],
        value: &'a [u8],
    },
    /// Encoded entries.
    Many(&'a BatchWriter),
}

impl Payload<'_> {
    pub(crate) fn count(&self) -> u64 {
        match self {
            Payload::One { .. } => 1,
            Payload::Many(batch) => batch.count(),
        }
    }

    /// Whether it deletes, and nothing else.
    pub(crate) fn only_deletes(&self) -> bool {
        match self {
            Payload::One { kind, .. } => *kind == Kind::Delete,
            Payload::Many(batch) => batch.own_entries().all(|it| it.kind == Kind::Delete),
        }
    }

    /// Length of the log record, header and padding included.
    pub(crate) fn record_bytes(&self) -> u64 {
        match self {
            Payload::One { kind, key, value } => {
                let frame = batch::frame(*kind, key.len(), value.len());
                log::record_bytes(frame.payload_len(key.len(), value.len()))
            }
            Payload::Many(batch) => log::record_bytes(batch.payload_len()),
        }
    }
}

#[cold]
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::Closed, "the database handle is being closed")
}

impl Commit {
    /// `memtable_logged_max` bounds the bytes of the log that a part leaves values in.
    pub(crate) fn new(
        (mutable, writer): (Arc<Memtable>, MemWriter),
        last_seq: SeqNo,
        order: &Order,
        memtable_logged_max: u64,
    ) -> Commit {
        let left = LeftInLog {
            lends: false,
            bytes: 0,
            bytes_max: memtable_logged_max,
        };
        Commit {
            mutable,
            writer,
            segment: None,
            at: 0,
            left,
            memtable_segment: None,
            memtable_values: MemtableValues::default(),
            values_in_flight: BTreeMap::new(),
            last_seq,
            gap: 0,
            awaiting_sync: VecDeque::new(),
            synced_seq: last_seq,
            syncing: false,
            wakes_worker: false,
            look_again: false,
            closing: false,
            scratch: Vec::new(),
            logged_bytes: 0,
            can_hash: order.can_hash(),
        }
    }

    /// Whether the mutable part takes `payload`, which will be `logged`; an empty one takes anything.
    pub(crate) fn memtable_has_room(&self, payload: &Payload<'_>, logged: bool) -> bool {
        if self.mutable.is_empty() {
            return true;
        }
        let logged = logged && self.left.lends;
        if logged && self.left.bytes + payload.record_bytes() > self.left.bytes_max {
            return false;
        }
        match payload {
            Payload::One { key, value, .. } => {
                let room = if logged {
                    MemWriter::logged_room(value.len())
                } else {
                    value.len()
                };
                self.writer.has_room(key.len(), room)
            }
            // The entries' own encoding is at most a few bytes an entry smaller than the nodes.
            Payload::Many(batch) => {
                let nodes = usize::try_from(batch.count()).unwrap_or(usize::MAX);
                let apart = if logged { batch.long_value_bytes() } else { 0 };
                let bytes = (batch.entries().len() - apart)
                    .saturating_add(nodes.saturating_mul(NODE_BYTES));
                self.writer.has_room(bytes, 0)
            }
        }
    }

    /// Whether the segment takes a record of `bytes`.
    pub(crate) fn segment_has_room(&self, bytes: u64) -> bool {
        self.segment
            .as_ref()
            .is_some_and(|segment| self.at + bytes <= segment.region.size())
    }

    /// Continues in `segment`.
    pub(crate) fn enter_segment(&mut self, segment: Arc<Segment>) {
        self.at = segment.written();
        self.left.lends = segment.region.bytes(0, 0).is_some();
        self.segment = Some(segment);
    }

    /// Whether flushing the mutable memtable gives back more than `max` bytes of the log's earlier
    /// segments, or a segment that was made for a long record. `regular` is the length of all
    /// others.
    pub(crate) fn keeps_long_log(&self, regular: u64, max: u64) -> bool {
        let Some(current) = &self.segment else {
            return false;
        };
        let first = self.memtable_segment.unwrap_or(current.number);
        let earlier = current.number.saturating_sub(first);
        earlier.saturating_mul(regular) > max || current.region.size() > regular
    }

    /// Forgets the segment, so that the next logged write begins another.
    pub(crate) fn leave_segment(&mut self) {
        self.segment = None;
        self.at = 0;
    }

    /// Replaces the mutable part; returns the old one, to be flushed, whose writer is gone.
    pub(crate) fn replace_memtable(&mut self, mutable: Arc<Memtable>, writer: MemWriter) -> Filled {
        self.writer = writer;
        Filled {
            mem: std::mem::replace(&mut self.mutable, mutable),
            logged: std::mem::take(&mut self.left.bytes),
            first_segment: self.memtable_segment.take(),
            values: std::mem::take(&mut self.memtable_values),
        }
    }

    /// Notes that a value was appended to `file` and its pointer is on its way to the memtable: until
    /// it is there, or given up, the file may not be called dead.
    pub(crate) fn value_sets_out(&mut self, file: u64) {
        *self.values_in_flight.entry(file).or_insert(0) += 1;
    }

    /// Notes that a pointer to `file` has arrived or was given up.
    pub(crate) fn value_arrives(&mut self, file: u64) {
        let count = self.values_in_flight.get_mut(&file);
        let count = count.expect("what arrives has set out");
        *count -= 1;
        if *count == 0 {
            self.values_in_flight.remove(&file);
        }
    }

    /// The first value file that a pointer leads to which no sealed part holds.
    pub(crate) fn first_values(&self) -> Option<u64> {
        let in_flight = self.values_in_flight.keys().next().copied();
        in_flight
            .into_iter()
            .chain(self.memtable_values.first)
            .min()
    }

    /// Bytes of the large values that the mutable part has pointers to.
    pub(crate) fn value_bytes(&self) -> u64 {
        self.memtable_values.bytes
    }

    /// Appends `payload` to the log. On an error nothing was applied; the segment is left, so that
    /// its last good byte stays its end.
    pub(crate) fn log(&mut self, payload: &Payload<'_>, sync_next: bool) -> Result<Appended> {
        let seq = self.last_seq + 1;
        let segment = self.segment.as_ref().expect("the caller entered a segment");
        let payload_at = self.at + log::RECORD_HEADER_BYTES as u64;
        let (result, len) = match payload {
            Payload::One { kind, key, value } => {
                let frame = batch::frame(*kind, key.len(), value.len());
                let value = if *kind == Kind::Delete { &[] } else { *value };
                let parts = [frame.before_key(), key, frame.before_value(), value];
                let len = frame.payload_len(key.len(), value.len());
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
                self.gap = 0;
                self.left.bytes += bytes;
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

    /// Notes that `count` sequence numbers will not stand in the log. `false` when the gap field
    /// is full and a logged record must come first.
    pub(crate) fn skip_log(&mut self, count: u64) -> bool {
        match u32::try_from(u64::from(self.gap) + count) {
            Ok(gap) => {
                self.gap = gap;
                true
            }
            Err(_) => false,
        }
    }

    /// Inserts `payload` into the mutable part; returns its last sequence number. Values that were
    /// `appended` to the log are left there where it can be read in place.
    pub(crate) fn apply(&mut self, payload: &Payload<'_>, appended: Option<Appended>) -> SeqNo {
        assert!(
            self.last_seq + payload.count() < SEQ_MAX,
            "sequence numbers are used up"
        );
        let end = appended
            .filter(|_| self.left.lends)
            .map(|appended| appended.end);
        let segment = self.segment.as_ref().filter(|_| end.is_some());
        let region = segment.map(|segment| &segment.region);
        let mut part = Part {
            writer: &mut self.writer,
            last_seq: &mut self.last_seq,
            values: &mut self.memtable_values,
            can_hash: self.can_hash,
        };
        match payload {
            Payload::One { kind, key, value } => {
                let value = if *kind == Kind::Delete { &[] } else { *value };
                // Nothing follows the only value.
                let region = region.filter(|_| MemWriter::stays_apart(value.len()));
                part.insert(*kind, key, value, lend(region, end, value.len()));
            }
            Payload::Many(batch) => {
                let entries = batch.entries();
                let lent = lend(region, end, entries.len());
                let mut count = 0;
                for Entry { kind, key, value } in batch.own_entries() {
                    count += 1;
                    // An empty one need not be a piece of the batch.
                    let piece = lent.filter(|_| !value.is_empty());
                    let piece = piece.and_then(|lent| {
                        let at = value.as_ptr().addr() - entries.as_ptr().addr();
                        lent.piece(at, value.len())
                    });
                    part.insert(kind, key, value, piece);
                }
                assert_eq!(count, batch.count(), "a batch holds what it counts");
            }
        }
        self.last_seq
    }

    /// The largest sequence number that may be published now: everything, unless a `Sync` write
    /// still waits, then what is synced. Publishing never goes back.
    pub(crate) fn publishable(&self) -> SeqNo {
        if self.awaiting_sync.is_empty() {
            self.last_seq
        } else {
            self.synced_seq
        }
    }
}
