//! Relocation: copies large values out of value files that are mostly dead, while a compaction
//! rewrites the pointers to them.
//!
//! A value file is removed once nothing refers to it; one live value keeps the whole file. A
//! compaction is therefore given a set of such files, the victims. For each pointer to a victim it
//! copies the value to the file being filled, and writes the pointer to the copy. A value that
//! compression shrinks by an eighth is then stored compressed permanently. A value that cannot be
//! read keeps its pointer and its file, and reading it still returns the error.
//!
//! At most one compaction at a time has a relocation, on one thread; the lock only makes the type
//! `Sync`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairndb_base::{FileNumber, Order, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_files::Relocate;
use cairndb_format::value_file::{CODEC_RAW, Pointer, ValueEncoder, read_stored};

use crate::log::values::ValueLog;
use crate::state::version::Values;

/// Size above which a buffer is freed after its value.
const BUFFER_BYTES_KEPT: usize = 1 << 20;
/// Number of bytes whose copy takes about as long as moving an entry; both limit a step of a
/// compaction.
const BYTES_AN_ENTRY: u64 = 1 << 10;

/// State of value garbage collection.
#[derive(Debug, Default)]
pub(crate) struct ValueGcState {
    /// Files that are being emptied.
    pub(crate) victims: BTreeSet<u64>,
    /// Files with a value that could not be read, or to which a damaged table points. This handle
    /// does not try them again.
    pub(crate) unmovable: BTreeSet<u64>,
    /// During a relocation, no file with this number or a higher one may be considered dead.
    pub(crate) first_copies: Option<u64>,
    /// Total length of all value files when they were last examined under load.
    pub(crate) looked_at: u64,
    /// Examined part of the mutable memtable, and the values it hides.
    pub(crate) hidden: Hidden,
}

/// Large values that entries of the examined part of the mutable memtable have overwritten or
/// deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hidden {
    /// First sequence number of the memtable, which identifies it.
    pub(crate) memtable: SeqNo,
    /// Sequence number up to which entries were examined.
    pub(crate) seen: SeqNo,
    /// Number of stored bytes of the hidden values.
    pub(crate) bytes: u64,
}

impl ValueGcState {
    /// Records that the job with `relocation` was installed or abandoned.
    pub(crate) fn end(&mut self, relocation: &Relocation) {
        self.first_copies = None;
        for file in relocation.unmovable() {
            self.victims.remove(&file);
            self.unmovable.insert(file);
        }
    }
}

/// Results of a relocation so far.
#[derive(Debug, Default)]
struct Tally {
    /// Number of stored bytes of the copied values, by their former file.
    dead: BTreeMap<u64, u64>,
    /// Files with a value that could not be read.
    unmovable: BTreeSet<u64>,
    /// Number of bytes read since the last [`Relocation::take_weight`], and of bytes written in
    /// total.
    recent: u64,
    copied: u64,
    buffer: Vec<u8>,
    encoder: ValueEncoder,
}

/// The victims of a compaction, and the target of their values.
#[derive(Debug)]
pub(crate) struct Relocation {
    victims: Values,
    moved: Arc<ValueLog>,
    encodes: bool,
    tally: Mutex<Tally>,
}

impl Relocation {
    pub(crate) fn new(victims: Values, moved: Arc<ValueLog>, encodes: bool) -> Relocation {
        Relocation {
            victims,
            moved,
            encodes,
            tally: Mutex::default(),
        }
    }

    /// Returns the number of bytes written.
    pub(crate) fn copied(&self) -> u64 {
        self.tally.lock().copied
    }

    /// Returns the victims with a value that could not be read.
    pub(crate) fn unmovable(&self) -> BTreeSet<u64> {
        self.tally.lock().unmovable.clone()
    }
}

impl Relocate for Relocation {
    /// Copies the value of `key` if `pointer` refers to a victim, and returns the pointer to write.
    ///
    /// # Errors
    /// Errors of writing the copy, after which the target file is closed.
    fn follow(&self, order: &Order, key: &[u8], pointer: Pointer) -> Result<Pointer> {
        let FileNumber(file) = pointer.file;
        let Some(handle) = self.victims.get(&file) else {
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
        assert_eq!(copy.raw_len, pointer.raw_len, "a copy keeps its length");
        tally.buffer.clear();
        tally.buffer.shrink_to(BUFFER_BYTES_KEPT);
        tally.encoder.shrink_to(BUFFER_BYTES_KEPT);
        let bytes = u64::from(pointer.len);
        *tally.dead.entry(file).or_insert(0) += bytes;
        tally.recent += bytes;
        tally.copied += u64::from(copy.len);
        Ok(copy)
    }

    fn take_weight(&self) -> u64 {
        std::mem::take(&mut self.tally.lock().recent) / BYTES_AN_ENTRY
    }

    fn dead(&self) -> BTreeMap<u64, u64> {
        std::mem::take(&mut self.tally.lock().dead)
    }
}
