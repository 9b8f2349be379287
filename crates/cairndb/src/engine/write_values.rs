//! Writes of large values: they go to the value file first, then pointers are written as any entry.
//!
//! Room for the pointers, in the memtable and the log, comes before both: tried again on a full disk,
//! values would be appended once more each time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{ErrorKind, FileNumber, Kind, Result};
use cairndb_format::batch::{BatchWriter, Entry};
use cairndb_format::manifest::VersionEdit;
use cairndb_format::name;
use cairndb_format::value_file::{POINTER_BYTES, Pointer, ValueWriter};

use crate::engine::core::Core;
use crate::engine::write::closing;
use crate::state::batch::WriteBatch;
use crate::state::new_files::{create_unused, is_taken};
use crate::state::options::Durability;
use crate::state::stats::Stats;
use crate::state::value_handle::ValueHandle;
use crate::write::commit::{Commit, Payload};
use crate::write::values::{Active, UNSYNCED_FILES_MAX};

/// The value files a write has appended to, until its pointers are in the memtable or it is given up.
/// Not to be dropped under the commit lock.
struct InFlight<'a> {
    core: &'a Core,
    files: Vec<u64>,
}

impl<'a> InFlight<'a> {
    fn new(core: &'a Core) -> InFlight<'a> {
        let files = Vec::new();
        InFlight { core, files }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut commit = self.core.commit.lock();
        for file in &self.files {
            commit.value_arrives(*file);
        }
    }
}

/// A key and its value.
type LargeValue<'b> = (&'b [u8], &'b [u8]);

/// The batch with a pointer in the place of each large value.
fn with_pointers<'b>(
    batch: &'b WriteBatch,
    mut pointer: impl FnMut(LargeValue<'b>) -> [u8; POINTER_BYTES],
) -> Result<BatchWriter> {
    let mut pointers = BatchWriter::with_capacity(batch.len().saturating_mul(64));
    for entry in batch.writer() {
        let Entry { kind, key, value } = entry?;
        if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
            pointers.add(Kind::Pointer, key, &pointer((key, value)));
        } else {
            pointers.add(kind, key, value);
        }
    }
    Ok(pointers)
}

impl Core {
    /// A large value goes to the value file first, then a pointer is written as any entry. Room for the
    /// pointer comes before both: tried again on a full disk, the value would be appended once more
    /// each time.
    pub(crate) fn write_large(
        &self,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.cleared(self.write_value(key, value, durability))
    }

    /// As [`Core::write_batch`], of a batch with large values.
    pub(crate) fn write_batch_with_values(
        &self,
        batch: &WriteBatch,
        durability: Durability,
    ) -> Result<()> {
        self.cleared(self.write_values(batch, durability))
    }

    /// Unlinks what a write has left behind that found the disk full: it would be in the way of the next.
    fn cleared(&self, written: Result<()>) -> Result<()> {
        if let Err(error) = &written
            && error.kind() == ErrorKind::NoSpace
        {
            self.reap();
        }
        written
    }

    fn write_value(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<()> {
        self.check_writable()?;
        let mut in_flight = InFlight::new(self);
        let entry = |pointer| Payload::One {
            kind: Kind::Pointer,
            key,
            value: pointer,
        };
        let mut commit = self.room_for(&entry(&[0; POINTER_BYTES]), durability)?;
        let pointers = self.append_values(&mut commit, &mut in_flight, &[(key, value)])?;
        self.write_in_room(commit, &entry(&pointers[0].encode()), durability)
    }

    fn write_values(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        let mut in_flight = InFlight::new(self);
        let mut large = Vec::new();
        let blank = with_pointers(batch, |value| {
            large.push(value);
            [0; POINTER_BYTES]
        })?;
        let mut commit = self.room_for(&Payload::Many(&blank), durability)?;
        let pointers = self.append_values(&mut commit, &mut in_flight, &large)?;
        let mut pointers = pointers.iter();
        let pointed = with_pointers(batch, |_| {
            let pointer = pointers.next().expect("one for each large value");
            pointer.encode()
        })?;
        self.write_in_room(commit, &Payload::Many(&pointed), durability)
    }

    /// Appends large values and gives their pointers, in order. What goes to one file goes there at once: where there is
    /// no room for the last of a batch, a new file that has the others is never named.
    fn append_values(
        &self,
        commit: &mut Commit,
        in_flight: &mut InFlight<'_>,
        values: &[LargeValue<'_>],
    ) -> Result<Vec<Pointer>> {
        self.health.check_write()?;
        if commit.closing {
            return Err(closing());
        }
        let bytes_max = self.settings.value_file;
        let mut pointers: Vec<Pointer> = Vec::with_capacity(values.len());
        while pointers.len() < values.len() {
            let before = pointers.len();
            let fill = |file: &mut ValueWriter| {
                for (key, value) in &values[before..] {
                    let hash = self.context.order.hash(key);
                    pointers.push(file.append(hash, &[value])?);
                    if file.bytes() >= bytes_max {
                        break;
                    }
                }
                Ok(())
            };
            if self.values.needs_file(bytes_max) {
                let (begun, ()) = self.begin_value_file(commit, false, fill)?;
                self.values.begin(begun);
            } else {
                self.values.append(fill)?;
            }
            for pointer in &pointers[before..] {
                commit.value_sets_out(pointer.file.0);
                in_flight.files.push(pointer.file.0);
            }
            if self.values.unsynced_files() > UNSYNCED_FILES_MAX {
                // Each keeps a descriptor until it is synced.
                let _turn = self.take_sync_turn()?;
                self.values.sync().map_err(|error| self.poison(error))?;
            }
        }
        let bytes: u64 = pointers.iter().map(|pointer| u64::from(pointer.len)).sum();
        let (before, due) = (commit.value_bytes(), self.values_when_idle_max());
        if before < due && before + bytes >= due {
            // Nothing else tells a worker that has found a rest that there will be something to do at the next.
            self.state.lock().rest.disturb();
            self.work.notify_all();
        }
        Stats::add(&self.stats.value_bytes, bytes);
        self.ask_for_reserve_after(bytes);
        Ok(pointers)
    }

    /// A new value file with what `fill` appends to it, which the manifest names then; `settled` if nothing in it will be
    /// left to be encoded. Filled first: named before, each write that found no room for its value left a file behind
    /// that had none, and an edit.
    ///
    /// # Errors
    /// Of the file or the manifest; nothing is left then but a file to unlink, and that the next opening sweeps.
    pub(crate) fn begin_value_file<T>(
        &self,
        commit: &mut Commit,
        settled: bool,
        fill: impl FnOnce(&mut ValueWriter) -> Result<T>,
    ) -> Result<(Active, T)> {
        self.ensure_manifest(commit)?;
        // Of no use to anybody where one of the steps fails. An edit that got there all the same names a
        // file that is missing, which the next opening takes for one whose name was lost.
        let given_up = |number, error| {
            self.reaper.add(name::value(FileNumber(number)));
            error
        };
        let mut number = 0;
        let created = create_unused(
            || {
                number = self.new_file();
                number
            },
            |number| ValueWriter::create(&*self.dir, number),
        );
        let (_, mut writer) = match created {
            Err(error) if !is_taken(&error) => return Err(given_up(number, error)),
            created => created?,
        };
        let given_up = |error| given_up(number, error);
        let filled = fill(&mut writer).map_err(given_up)?;
        let edit = VersionEdit {
            added_values: vec![number],
            settled_values: settled.then_some(number).into_iter().collect(),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        self.names_dirty.store(true, Ordering::Release);
        let appended = self.manifest.append(&edit, &self.stats);
        // Again: a sync pass may have taken the mark before the edit was there.
        self.names_dirty.store(true, Ordering::Release);
        appended.map_err(given_up)?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let handle = ValueHandle::begun(number, &self.opener);
        handle.settled.store(settled, Ordering::Relaxed);
        let handle = Arc::new(handle);
        // The manifest names the file already, so both versions know it from now on.
        let pending = state.pending.as_mut().map(|pending| &mut pending.version);
        let versions = [&mut state.version, &mut state.durable];
        for version in versions.into_iter().chain(pending) {
            let mut next = (**version).clone();
            let mut values = (*next.values).clone();
            values.insert(number, Arc::clone(&handle));
            next.values = Arc::new(values);
            *version = Arc::new(next);
        }
        self.publish_view(state);
        Ok((Active::new(handle, writer), filled))
    }
}
