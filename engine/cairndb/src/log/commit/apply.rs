//! Inserts into the mutable memtable: a whole write, or a long batch in parts, each of which fills
//! a memtable.

use std::sync::Arc;

use cairndb_base::{Kind, SEQ_MAX, SeqNo};
use cairndb_env::LogRegion;
use cairndb_format::batch::{BatchWriter, Entry, OwnEntries};
use cairndb_format::value_file::Pointer;
use cairndb_mem::{Borrowed, MemWriter};

use super::{Appended, Commit, MemtableNotes};
use crate::log::payload::Payload;
use crate::state::memtables::MemWriters;
use crate::state::ranges::Deleted;
use crate::state::sections::StoredKey;

/// Number of log bytes of an entry in addition to key and value: its kind and their lengths.
const FRAME_BYTES: usize = 3;

/// A batch of which parts have been inserted.
#[derive(Debug)]
pub(crate) struct Parts<'b> {
    batch: &'b BatchWriter,
    rest: OwnEntries<'b>,
    inserted: u64,
    /// Its log record.
    appended: Option<Appended>,
}

impl<'b> Parts<'b> {
    /// Returns a batch of which nothing has been inserted.
    pub(crate) fn new(batch: &'b BatchWriter, appended: Option<Appended>) -> Parts<'b> {
        Parts {
            batch,
            rest: batch.own_entries(),
            inserted: 0,
            appended,
        }
    }

    fn check_complete(&self) {
        assert_eq!(
            self.inserted,
            self.batch.count(),
            "the count of a batch matches its entries"
        );
    }
}

/// Borrows the `len` bytes before `end` if the region can be read in place.
fn borrow_value(
    region: Option<&Arc<dyn LogRegion>>,
    end: Option<u64>,
    len: usize,
) -> Option<Borrowed<'_>> {
    let (region, end) = region.zip(end)?;
    Borrowed::by(region, end - len as u64, len)
}

/// Fields of a [`Commit`] that an insert changes, separate from the segment that holds its values.
struct Inserter<'a> {
    writers: &'a mut MemWriters,
    last_seq: &'a mut SeqNo,
    notes: &'a mut MemtableNotes,
}

impl Inserter<'_> {
    /// Inserts an entry; `borrowed` is its value in the log segment, if it stays there.
    #[expect(clippy::inline_always, reason = "it is part of a batch's inner loop")]
    #[inline(always)]
    fn insert(
        &mut self,
        kind: Kind,
        key: StoredKey<'_>,
        value: &[u8],
        borrowed: Option<Borrowed<'_>>,
    ) {
        *self.last_seq += 1;
        let (seq, writer) = (*self.last_seq, self.writers.of(key.section));
        if matches!(kind, Kind::Pointer | Kind::RangeDelete) {
            return self.notes.insert(writer, seq, kind, key, value);
        }
        match borrowed {
            Some(borrowed) => writer.insert_logged(seq, kind, key.bytes, value, borrowed),
            None => writer.insert(seq, kind, key.bytes, value),
        }
    }
}

impl MemtableNotes {
    /// Inserts a pointer, and records its file, or the deletion of a range.
    #[cold]
    #[inline(never)]
    fn insert(
        &mut self,
        writer: &mut MemWriter,
        seq: SeqNo,
        kind: Kind,
        key: StoredKey<'_>,
        value: &[u8],
    ) {
        if kind == Kind::Pointer {
            self.note_pointer(value);
            writer.insert(seq, kind, key.bytes, value);
        } else {
            self.delete_range(writer, seq, key, value);
        }
    }

    /// Deletes the range from `key` to before `end`. A tombstone of the first key stands for it in
    /// the memtable, which is thereby flushed like any other.
    fn delete_range(&mut self, writer: &mut MemWriter, seq: SeqNo, key: StoredKey<'_>, end: &[u8]) {
        let range = Deleted::new(key.bytes, end, seq);
        if range.reaches(writer.table().order(), key.bytes) {
            writer.insert(seq, Kind::Delete, key.bytes, &[]);
            self.ranges.push((key.section, range));
        }
    }

    fn note_pointer(&mut self, pointer: &[u8]) {
        let (file, bytes) =
            Pointer::decode(pointer).map_or((0, 0), |pointer| (pointer.file.0, pointer.len));
        let first = self.values.first.map_or(file, |first| first.min(file));
        self.values.first = Some(first);
        self.values.bytes += u64::from(bytes);
    }
}

impl Commit {
    /// Inserts `payload` into the mutable memtable, and returns its last sequence number. Values
    /// that were `appended` to the log stay there if it can be read in place.
    pub(crate) fn apply(&mut self, payload: &Payload<'_>, appended: Option<Appended>) -> SeqNo {
        self.check_numbers(payload.count());
        match payload {
            Payload::One { kind, key, value } => {
                let value = if *kind == Kind::Delete { &[] } else { *value };
                let end = self.in_place(appended);
                // The only value is at the end of the payload.
                let end = end.filter(|_| MemWriter::stays_apart(value.len()));
                let region = self.segment.as_ref().map(|segment| &segment.region);
                let mut inserts = Inserter {
                    writers: &mut self.writers,
                    last_seq: &mut self.last_seq,
                    notes: &mut self.notes,
                };
                inserts.insert(*kind, *key, value, borrow_value(region, end, value.len()));
            }
            Payload::Many(batch) => {
                self.apply_rest(&mut Parts::new(batch, appended));
            }
        }
        self.last_seq
    }

    fn check_numbers(&self, count: u64) {
        assert!(
            self.last_seq + count < SEQ_MAX,
            "sequence numbers are exhausted"
        );
    }

    /// Returns the end of the payload in the segment, if it can be read there.
    #[inline]
    fn in_place(&self, appended: Option<Appended>) -> Option<u64> {
        let appended = appended.filter(|_| self.logged_values.in_place);
        appended.map(|appended| appended.end)
    }

    /// Records that the batch is inserted in parts: none of it is in the mutable memtable, which is
    /// empty.
    pub(crate) fn begin_parts(&mut self, parts: &Parts<'_>) {
        assert!(self.mutable.is_empty(), "parts begin in an empty memtable");
        self.check_numbers(parts.batch.count());
        self.logged_values.bytes = 0;
        self.memtable_segment = None;
    }

    /// Inserts the next part of a batch, which fills the mutable memtable. Returns whether a part
    /// is left.
    pub(crate) fn apply_part(&mut self, parts: &mut Parts<'_>) -> bool {
        self.note_part(parts);
        let complete = self.apply_entries::<true>(parts);
        if complete {
            parts.check_complete();
        }
        !complete
    }

    /// Inserts the rest of a batch into the mutable memtable, however large it gets.
    pub(crate) fn apply_rest(&mut self, parts: &mut Parts<'_>) {
        let complete = self.apply_entries::<false>(parts);
        assert!(complete, "nothing limits the memtable");
        parts.check_complete();
    }

    /// Records that the mutable memtable holds a part of a record.
    fn note_part(&mut self, parts: &Parts<'_>) {
        let segment = self.segment.as_ref().filter(|_| parts.appended.is_some());
        if let Some(segment) = segment {
            self.memtable_segment.get_or_insert(segment.number);
        }
    }

    /// Inserts entries until the batch ends or, if `LIMITED`, the memtable is full. Returns whether
    /// the batch ended.
    #[inline]
    fn apply_entries<const LIMITED: bool>(&mut self, parts: &mut Parts<'_>) -> bool {
        let entries = parts.batch.entries();
        let end = self.in_place(parts.appended);
        let segment = self.segment.as_ref().filter(|_| end.is_some());
        let region = segment.map(|segment| &segment.region);
        let borrowed = borrow_value(region, end, entries.len());
        let mut inserts = Inserter {
            writers: &mut self.writers,
            last_seq: &mut self.last_seq,
            notes: &mut self.notes,
        };
        let (logged, is_logged) = (&mut self.logged_values, parts.appended.is_some());
        loop {
            let before = parts.rest.clone();
            let Some(entry) = parts.rest.next() else {
                return true;
            };
            let key = StoredKey::of_entry(&entry);
            let Entry { kind, value, .. } = entry;
            // An empty value need not point into the batch.
            let piece = borrowed.filter(|_| !value.is_empty());
            let piece = piece.and_then(|borrowed| {
                let at = value.as_ptr().addr() - entries.as_ptr().addr();
                borrowed.piece(at, value.len())
            });
            if LIMITED {
                let value_bytes = match piece {
                    Some(_) => MemWriter::logged_room(value.len()),
                    None => value.len(),
                };
                let bytes = (key.bytes.len() + value.len() + FRAME_BYTES) as u64;
                let pins = logged.in_place && logged.bytes > 0;
                if !inserts
                    .writers
                    .has_room(key.section, key.bytes.len(), value_bytes)
                    || pins && logged.bytes + bytes > logged.bytes_max
                {
                    parts.rest = before;
                    return false;
                }
                logged.bytes += if is_logged { bytes } else { 0 };
            }
            inserts.insert(kind, key, value, piece);
            parts.inserted += 1;
        }
    }
}
