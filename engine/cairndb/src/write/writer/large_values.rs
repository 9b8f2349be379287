//! Writes of large values: the values are appended to a value file, then pointers are written like
//! any other entry.
//!
//! Memtable and log are prepared for the pointers first. Otherwise each attempt on a full disk
//! would append the values again.

use std::sync::atomic::Ordering;

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{ErrorKind, Kind, Result};
use cairndb_format::batch::{BatchWriter, Entry};
use cairndb_format::value_file::{POINTER_BYTES, Pointer, ValueWriter};

use crate::durable::log::Log;
use crate::log::commit::{Commit, closing};
use crate::log::payload::Payload;
use crate::log::values::UNSYNCED_FILES_MAX;
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::state::sections::{Section, StoredKey};
use crate::state::stats::Stats;
use crate::write::writer::{Precondition, Writer};

/// Counts the values that a write has appended, by file, until their pointers are in the memtable
/// or the write is abandoned. Must not be dropped under the commit lock.
struct InFlight<'a> {
    log: &'a Log,
    files: Vec<u64>,
}

impl<'a> InFlight<'a> {
    fn new(log: &'a Log) -> InFlight<'a> {
        let files = Vec::new();
        InFlight { log, files }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut commit = self.log.lock();
        for file in &self.files {
            commit.note_value_inserted(*file);
        }
    }
}

/// Length of value files in a small database.
const SHORT_FILE_BYTES: u64 = 64 << 20;

/// Number of times that a writer helps to free value files before it goes on: a compaction shows
/// which values are dead, a relocation copies the others, and after each the tables must be durable
/// before files are dropped. What readers hold cannot be freed however often it helps.
const SPACE_ROUNDS_MAX: u32 = 4;

/// A key and its value.
type LargeValue<'b> = (StoredKey<'b>, &'b [u8]);

/// Returns the batch with each large value replaced with a pointer.
fn with_pointers<'b>(
    batch: &'b WriteBatch,
    mut pointer: impl FnMut(LargeValue<'b>) -> [u8; POINTER_BYTES],
) -> Result<BatchWriter> {
    let mut pointers = BatchWriter::with_capacity(batch.len().saturating_mul(64));
    for entry in batch.writer() {
        let entry = entry?;
        let key = StoredKey::of_entry(&entry);
        let Entry { kind, value, .. } = entry;
        let encoded;
        let (kind, value) = if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
            encoded = pointer((key, value));
            (Kind::Pointer, &encoded[..])
        } else {
            (kind, value)
        };
        match key.section {
            Section::Default => pointers.add(kind, key.bytes, value),
            _ => pointers.add_in(kind, key.keyspace(), key.users(), value),
        }
    }
    Ok(pointers)
}

impl Writer {
    /// Writes one large value.
    pub(crate) fn write_large(
        &self,
        key: StoredKey<'_>,
        value: &[u8],
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        self.cleared(self.write_value(key, value, durability, precondition))
    }

    /// Writes a batch with large values, if `precondition` holds.
    pub(crate) fn write_batch_with_values(
        &self,
        batch: &WriteBatch,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        self.cleared(self.write_values(batch, durability, precondition))
    }

    /// Unlinks the files left by a write that found the disk full, which would take the space of
    /// the next write.
    fn cleared(&self, written: Result<()>) -> Result<()> {
        if let Err(error) = &written
            && error.kind() == ErrorKind::NoSpace
        {
            self.base.sweeper.reap();
        }
        written
    }

    fn write_value(
        &self,
        key: StoredKey<'_>,
        value: &[u8],
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        self.base.check_writable()?;
        let mut in_flight = InFlight::new(&self.disk.log);
        let entry = |pointer| Payload::One {
            kind: Kind::Pointer,
            key,
            value: pointer,
        };
        self.wait_for_space();
        let mut commit = self.prepare(&entry(&[0; POINTER_BYTES]), durability)?;
        if let Some(holds) = precondition {
            holds(&commit)?;
        }
        let pointers = self.append_values(&mut commit, &mut in_flight, &[(key, value)])?;
        self.write_prepared(
            commit,
            &entry(&pointers[0].encode()),
            durability,
            precondition,
        )
    }

    fn write_values(
        &self,
        batch: &WriteBatch,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        let mut in_flight = InFlight::new(&self.disk.log);
        let mut large = Vec::new();
        let blank = with_pointers(batch, |value| {
            large.push(value);
            [0; POINTER_BYTES]
        })?;
        self.wait_for_space();
        let mut commit = self.prepare(&Payload::Many(&blank), durability)?;
        if let Some(holds) = precondition {
            // Checked again below, but no value is appended for a write that is refused here.
            holds(&commit)?;
        }
        let pointers = self.append_values(&mut commit, &mut in_flight, &large)?;
        let mut pointers = pointers.iter();
        let pointed = with_pointers(batch, |_| {
            let pointer = pointers.next().expect("one pointer per large value");
            pointer.encode()
        })?;
        self.write_prepared(commit, &Payload::Many(&pointed), durability, precondition)
    }

    /// Waits or helps if too many value files are dead, whenever as many bytes were appended as one
    /// memtable may point to. A memtable may be full of entries long before it points to as many,
    /// so being full of pointers is not the condition. The write fails only if the disk has no
    /// space for it.
    fn wait_for_space(&self) {
        if self.base.check_writable().is_err() {
            return;
        }
        let mut commit = self.disk.log.lock();
        let max = self.base.settings.memtable_values_max();
        if commit.closing || commit.appended_values.unchecked_bytes < max {
            return;
        }
        commit.appended_values.unchecked_bytes = 0;
        let mut reason = self.space.value_gc().hold_up(&commit);
        drop(commit);
        for _ in 0..SPACE_ROUNDS_MAX {
            let Some(stalled) = reason else {
                break;
            };
            if self.relieve_stall(stalled).is_err() {
                break;
            }
            reason = self.space.value_gc().hold_up(&self.disk.log.lock());
        }
    }

    /// Returns the length at which a new file for values is closed: a quarter of the bytes in value
    /// files, but at least 64 MiB and at most the length that was set. A file is dropped only as a
    /// whole, so longer files would keep more dead bytes in a small database.
    fn value_file_bytes(&self) -> u64 {
        let view = self.base.versions.view();
        let files = view.version.values.values();
        let bytes: u64 = files.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
        let most = self.base.settings.value_file;
        most.min((bytes / 4).max(SHORT_FILE_BYTES))
    }

    /// Appends large values and returns their pointers, in order. Values for one file are appended
    /// together: if there is no space for the last value of a batch, a new file with the others is
    /// never named.
    fn append_values(
        &self,
        commit: &mut Commit,
        in_flight: &mut InFlight<'_>,
        values: &[LargeValue<'_>],
    ) -> Result<Vec<Pointer>> {
        self.base.health.check_write()?;
        if commit.closing {
            return Err(closing());
        }
        let files = self.disk.value_files.values();
        let mut pointers: Vec<Pointer> = Vec::with_capacity(values.len());
        while pointers.len() < values.len() {
            let before = pointers.len();
            let mut bytes_max = files.bytes_max();
            let starts = files.needs_file(bytes_max);
            if starts {
                bytes_max = self.value_file_bytes();
                files.set_bytes_max(bytes_max);
            }
            let fill = |file: &mut ValueWriter| {
                for (key, value) in &values[before..] {
                    let hash = self.base.opener.orders[key.section].hash(key.bytes);
                    pointers.push(file.append(hash, &[value])?);
                    if file.bytes() >= bytes_max {
                        break;
                    }
                }
                Ok(())
            };
            if starts {
                let begun = self.disk.value_files.begin_value_file(commit, false, fill);
                files.begin(begun?.0);
            } else {
                files.append(fill)?;
            }
            for pointer in &pointers[before..] {
                commit.note_value_appended(pointer.file.0);
                in_flight.files.push(pointer.file.0);
            }
            if files.unsynced_files() > UNSYNCED_FILES_MAX {
                // Each unsynced file holds a descriptor.
                let _turn = self.disk.log.manifests.take_sync_turn()?;
                files.sync().map_err(|error| self.base.poison(error))?;
            }
        }
        let bytes: u64 = pointers.iter().map(|pointer| u64::from(pointer.len)).sum();
        let (before, due) = (commit.value_bytes(), self.base.values_when_idle_max());
        if before < due && before + bytes >= due {
            // Wakes an idle worker: nothing else notifies it of the work at the next pause.
            self.base.versions.lock().background.idle.disturb();
            self.base.versions.notify_work();
        }
        commit.appended_values.unchecked_bytes += bytes;
        Stats::add(&self.base.stats.value_bytes, bytes);
        self.disk.reserve.ask_for_reserve_after(bytes);
        Ok(pointers)
    }
}
