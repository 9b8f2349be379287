//! Copying large values out of value files that are mostly dead, as a merge rewrites the pointers to them.
//!
//! A value file goes when nothing refers to it any more; one live value keeps the whole. So a merge is given a set of
//! such files, the victims, and where it meets a pointer to one, it copies the value to the file being filled and
//! writes the pointer to the copy. What saves an eighth by it is encoded then, for good. A value that cannot be read
//! keeps its pointer: who asks for it is told what is wrong, as before, and its file stays.
//!
//! One merge at a time has a relocation, on one thread; the lock is for the type's sake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairndb_base::{FileNumber, Order, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_format::value_file::{CODEC_RAW, Pointer, ValueEncoder, read_stored};

use crate::log::values::ValueLog;
use crate::state::version::Values;

/// A buffer above this size is given back after its value.
const BUFFER_BYTES_KEPT: usize = 1 << 20;
/// A copy of so many bytes takes about as long as moving an entry: a step of a merge is bounded by both.
const BYTES_AN_ENTRY: u64 = 1 << 10;

/// What is remembered of relocations.
#[derive(Debug, Default)]
pub(crate) struct Relocating {
    /// The files that are being emptied.
    pub(crate) victims: BTreeSet<u64>,
    /// Files with a value that could not be read, or that a damaged table points to: none is tried again by this handle.
    pub(crate) unmovable: BTreeSet<u64>,
    /// While a job is at it: no file from this one on may be called dead.
    pub(crate) first_copies: Option<u64>,
    /// The length of all files when they were last looked at under load.
    pub(crate) looked_at: u64,
    /// What of the mutable memtable was looked at, and what it hides.
    pub(crate) hidden: Hidden,
}

/// Large values that entries of the mutable memtable have overwritten or deleted, as far as these
/// were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hidden {
    /// The memtable, by its first sequence number.
    pub(crate) memtable: SeqNo,
    /// Entries up to here were looked at.
    pub(crate) seen: SeqNo,
    /// Stored bytes of the values.
    pub(crate) bytes: u64,
}

impl Relocating {
    /// Notes that the job with `relocation` is installed or given up.
    pub(crate) fn end(&mut self, relocation: &Relocation) {
        self.first_copies = None;
        for file in relocation.unmovable() {
            self.victims.remove(&file);
            self.unmovable.insert(file);
        }
    }
}

/// What has been done so far.
#[derive(Debug, Default)]
struct Tally {
    /// Stored bytes of the values copied, by the file they were in.
    dead: BTreeMap<u64, u64>,
    /// Files with a value that could not be read.
    unmovable: BTreeSet<u64>,
    /// Bytes read since [`Relocation::take_weight`] was asked last, and bytes written altogether.
    recent: u64,
    copied: u64,
    buffer: Vec<u8>,
    encoder: ValueEncoder,
}

/// The victims of one merge, and where their values go.
#[derive(Debug)]
pub(crate) struct Relocation {
    victims: BTreeSet<u64>,
    /// Files are read through these; the victims are among them.
    values: Arc<Values>,
    moved: Arc<ValueLog>,
    encodes: bool,
    tally: Mutex<Tally>,
}

impl Relocation {
    pub(crate) fn new(
        victims: BTreeSet<u64>,
        values: Arc<Values>,
        moved: Arc<ValueLog>,
        encodes: bool,
    ) -> Relocation {
        Relocation {
            victims,
            values,
            moved,
            encodes,
            tally: Mutex::default(),
        }
    }

    /// The pointer to write for `pointer`, which `key` has: to a copy, where its file is a victim.
    ///
    /// # Errors
    /// Of writing the copy; the file it was to go to is closed then.
    pub(crate) fn follow(&self, order: &Order, key: &[u8], pointer: Pointer) -> Result<Pointer> {
        let FileNumber(file) = pointer.file;
        let Some(handle) = self
            .values
            .get(&file)
            .filter(|_| self.victims.contains(&file))
        else {
            return Ok(pointer);
        };
        let mut tally = self.tally.lock();
        let tally = &mut *tally;
        let hash = order.hash(key);
        let end = pointer.end().unwrap_or(u64::MAX);
        let found = handle.file(end).and_then(|source| {
            read_stored(&*source, pointer.file, &pointer, hash, &mut tally.buffer)
        });
        if found.is_err() {
            tally.unmovable.insert(file);
            return Ok(pointer);
        }
        let stored = tally.buffer.as_slice();
        let is_raw = pointer.codec == CODEC_RAW;
        let raw_len = usize::try_from(pointer.raw_len).unwrap_or(usize::MAX);
        let encoded = if is_raw && self.encodes {
            tally.encoder.encode(stored)
        } else {
            (!is_raw).then_some(stored)
        };
        let copy = self.moved.append(|file| match encoded {
            Some(encoded) => file.append_encoded(hash, encoded, raw_len),
            None => file.append(hash, &[stored]),
        })?;
        assert_eq!(copy.raw_len, pointer.raw_len, "a copy is as long");
        tally.buffer.clear();
        tally.buffer.shrink_to(BUFFER_BYTES_KEPT);
        tally.encoder.shrink_to(BUFFER_BYTES_KEPT);
        let bytes = u64::from(pointer.len);
        *tally.dead.entry(file).or_insert(0) += bytes;
        tally.recent += bytes;
        tally.copied += u64::from(copy.len);
        Ok(copy)
    }

    /// What was copied since this was asked last, as so many entries.
    pub(crate) fn take_weight(&self) -> u64 {
        std::mem::take(&mut self.tally.lock().recent) / BYTES_AN_ENTRY
    }

    /// Stored bytes of the values copied, by the file they were in.
    pub(crate) fn dead(&self) -> BTreeMap<u64, u64> {
        self.tally.lock().dead.clone()
    }

    /// Bytes written.
    pub(crate) fn copied(&self) -> u64 {
        self.tally.lock().copied
    }

    /// Victims with a value that could not be read.
    pub(crate) fn unmovable(&self) -> BTreeSet<u64> {
        self.tally.lock().unmovable.clone()
    }
}
