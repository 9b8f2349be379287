//! The writes of the log that are not in tables yet, in the follower's own memtables.
//!
//! The memtables end where the writer's do, because these are what becomes durable together: then
//! the follower drops whole memtables. If it has missed a seal, it copies the rest of a memtable.

use std::collections::VecDeque;
use std::sync::Arc;

use cairndb_base::{Error, Kind, Result, SeqNo};
use cairndb_format::batch::{self, Entry};
use cairndb_format::log::Record;
use cairndb_mem::{MemWriter, Memtable};

use crate::log::commit::MemtableValues;
use crate::state::keyspaces::{Keyspaces, LiveKeyspaces};
use crate::state::memtables::{MemWriters, Memtables};
use crate::state::ranges::Deleted;
use crate::state::sections::{Orders, Section, StoredKey};
use crate::versions::engine_state::ImmutableMemtable;

/// What the records need besides their bytes.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(super) orders: &'a Orders,
    pub(super) keyspaces: &'a Keyspaces,
    /// Numbers of the keyspaces that exist.
    pub(super) live: &'a LiveKeyspaces,
}

/// Memtables with the writes after some sequence number.
#[derive(Debug)]
pub(super) struct Followed {
    /// Bytes that a memtable is made for.
    capacity: usize,
    pub(super) mutable: Memtables,
    writers: MemWriters,
    /// Full memtables, oldest first.
    pub(super) sealed: VecDeque<ImmutableMemtable>,
    /// Deleted ranges, oldest first.
    pub(super) ranges: Vec<(Section, Deleted)>,
    /// Number of those that readers know.
    known_ranges: usize,
    /// Sequence number up to which everything is in tables.
    pub(super) floor: SeqNo,
    /// Last sequence number.
    pub(super) last_seq: SeqNo,
    /// Where the next memtables end, ascending.
    seals: VecDeque<SeqNo>,
    /// Whether memtables were added since the last view.
    pub(super) is_new: bool,
}

impl Followed {
    /// Returns memtables for the writes after `floor`.
    pub(super) fn new(floor: SeqNo, capacity: usize, orders: &Orders) -> Followed {
        let mut followed = Followed {
            capacity,
            mutable: Memtables::default(),
            writers: MemWriters::default(),
            sealed: VecDeque::new(),
            ranges: Vec::new(),
            known_ranges: 0,
            floor,
            last_seq: floor,
            seals: VecDeque::new(),
            is_new: true,
        };
        // Views need one of the default section.
        followed.add(Section::Default, orders);
        followed
    }

    /// Adds the memtable of a section that has none.
    fn add(&mut self, section: Section, orders: &Orders) {
        let order = orders[section].clone();
        let (part, writer) = Memtable::new(order, Vec::new(), self.capacity);
        self.mutable.add(section, part);
        self.writers.add(section, writer);
        self.is_new = true;
    }

    /// Adds seals of the writer, ascending and newer than those before.
    pub(super) fn add_seals(&mut self, seals: Vec<SeqNo>) {
        self.seals.extend(seals);
    }

    /// Applies a record that follows the last one.
    ///
    /// # Errors
    /// `Corruption` if it does not, or cannot be decoded.
    pub(super) fn apply(&mut self, record: &Record<'_>, places: &Places<'_>) -> Result<()> {
        let first = record.seq.saturating_sub(u64::from(record.gap));
        if first > self.last_seq + 1 {
            return Err(Error::corruption("the log lacks records")
                .expected(format_args!("sequence number {}", self.last_seq + 1))
                .found(first));
        }
        let mut next = record.seq;
        for entry in batch::iter(record.payload)? {
            let entry = entry?;
            if next > self.floor {
                self.apply_entry(next, &entry, places)?;
            }
            next += 1;
        }
        self.last_seq = self.last_seq.max(next - 1);
        Ok(())
    }

    fn apply_entry(&mut self, seq: SeqNo, entry: &Entry<'_>, places: &Places<'_>) -> Result<()> {
        if entry.kind == Kind::TimeMark {
            return Ok(());
        }
        let key = StoredKey::of_entry(entry);
        if !places.keyspaces.keeps_logged(key.keyspace(), places.live)? {
            return Ok(());
        }
        self.seal_before(seq, places.orders);
        if !self.writers.has(key.section) {
            self.add(key.section, places.orders);
        }
        let writer = self.writers.of(key.section);
        if entry.kind != Kind::RangeDelete {
            writer.insert(seq, entry.kind, key.bytes, entry.value);
            return Ok(());
        }
        let range = Deleted::new(entry.key, entry.value, seq);
        if range.reaches(writer.table().order(), entry.key) {
            // It stands for the range, as in the writer's memtable.
            writer.insert(seq, Kind::Delete, key.bytes, &[]);
            self.ranges.push((key.section, range));
        }
        Ok(())
    }

    /// Ends the memtables if the writer's end before `seq`.
    fn seal_before(&mut self, seq: SeqNo, orders: &Orders) {
        let passed = self.seals.iter().take_while(|seal| **seal < seq).count();
        if passed > 0 {
            self.seals.drain(..passed);
            self.seal(orders);
        }
    }

    /// Ends the memtables here, unless they are empty.
    pub(super) fn seal(&mut self, orders: &Orders) {
        if self.mutable.is_empty() {
            return;
        }
        self.writers = MemWriters::default();
        let mem = std::mem::take(&mut self.mutable);
        self.sealed.push_back(immutable(mem));
        self.add(Section::Default, orders);
    }

    /// Drops what is in tables: everything up to `floor`.
    pub(super) fn drop_until(&mut self, floor: SeqNo, orders: &Orders) -> Result<()> {
        self.floor = floor;
        self.last_seq = self.last_seq.max(floor);
        let passed = self.seals.iter().take_while(|seal| **seal <= floor).count();
        self.seals.drain(..passed);
        self.ranges.retain(|(_, range)| range.seq > floor);
        self.known_ranges = self.known_ranges.min(self.ranges.len());
        self.sealed.retain(|sealed| sealed.mem.seq_max() > floor);
        let straddles = |mem: &Memtables| !mem.is_empty() && mem.seq_min() <= floor;
        if let Some(oldest) = self.sealed.front_mut().filter(|it| straddles(&it.mem)) {
            let (mem, _) = after(&oldest.mem, floor, self.capacity, orders)?;
            *oldest = immutable(mem);
        } else if self.sealed.is_empty() && straddles(&self.mutable) {
            let (mem, writers) = after(&self.mutable, floor, self.capacity, orders)?;
            (self.mutable, self.writers) = (mem, writers);
            if !self.writers.has(Section::Default) {
                self.add(Section::Default, orders);
            }
        }
        self.is_new = true;
        Ok(())
    }

    /// Returns the deleted ranges that readers do not know yet.
    pub(super) fn take_new_ranges(&mut self) -> &[(Section, Deleted)] {
        let before = std::mem::replace(&mut self.known_ranges, self.ranges.len());
        &self.ranges[before..]
    }

    /// Records that readers know all deleted ranges.
    pub(super) fn know_ranges(&mut self) {
        self.known_ranges = self.ranges.len();
    }
}

fn immutable(mem: Memtables) -> ImmutableMemtable {
    ImmutableMemtable {
        mem,
        logged: 0,
        first_segment: None,
        values: MemtableValues::default(),
        ranges: Vec::new(),
        flush: None,
    }
}

/// Copies the entries after `floor`.
fn after(
    mem: &Memtables,
    floor: SeqNo,
    capacity: usize,
    orders: &Orders,
) -> Result<(Memtables, MemWriters)> {
    let (mut kept, mut writers) = (Memtables::default(), MemWriters::default());
    for section in Section::ALL {
        let Some(part) = mem.part(section).filter(|part| part.seq_max() > floor) else {
            continue;
        };
        let (copy, mut writer): (Arc<Memtable>, MemWriter) =
            Memtable::new(orders[section].clone(), Vec::new(), capacity);
        let mut cursor = part.cursor();
        cursor.seek_to_first();
        while cursor.valid() {
            if cursor.seq() > floor {
                cursor.check_value()?;
                writer.insert(cursor.seq(), cursor.kind(), cursor.key(), cursor.value());
            }
            cursor.next();
        }
        kept.add(section, copy);
        writers.add(section, writer);
    }
    Ok((kept, writers))
}
