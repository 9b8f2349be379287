//! Value files that are being filled.
//!
//! There are two. The writer appends large values to one before it writes the log record that
//! points to them. Value garbage collection copies live values to the other: long-lived values are
//! thus stored separately from new ones, and a sync of writes never waits for a copy.
//!
//! One thread at a time appends: the holder of the commit lock, or the relocation. The sync pass
//! syncs through a second handle. After a failed append the file is closed permanently, and the
//! next value starts another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::FileSync;
use cairndb_env::sync::Mutex;
use cairndb_format::value_file::{HEADER_BYTES, ValueWriter};

use crate::state::files::value_handle::ValueHandle;

/// Minimum length of a file with a value: no file is closed before it has one.
const FILLED_BYTES_MIN: u64 = HEADER_BYTES as u64 + 1;

/// A value file that is being filled.
#[derive(Debug)]
pub(crate) struct Active {
    handle: Arc<ValueHandle>,
    writer: ValueWriter,
}

impl Active {
    /// Returns the file of `handle`, with the values that `writer` has appended to it.
    pub(crate) fn new(handle: Arc<ValueHandle>, writer: ValueWriter) -> Active {
        assert_eq!(
            handle.number,
            writer.number().0,
            "handle and writer have the same file number"
        );
        Active { handle, writer }
    }

    /// Returns the number of the file.
    pub(crate) fn number(&self) -> u64 {
        self.handle.number
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.handle.end();
    }
}

/// Maximum number of value files that may wait for a sync.
pub(crate) const UNSYNCED_FILES_MAX: usize = 64;

/// The value file that is being filled, and the files that still need a sync.
#[derive(Debug, Default)]
pub(crate) struct ValueLog {
    active: Mutex<Option<Active>>,
    /// Number of the file being filled, or 0. Stored separately from `active`: a caller that reads
    /// it may hold locks and must not wait for an append.
    number: AtomicU64,
    /// Length at which the file for writers is closed; changed under the commit lock.
    bytes_max: AtomicU64,
    dirty: Mutex<Vec<(u64, Arc<dyn FileSync>)>>,
    /// Locked during a sync; contains the first sync error. A caller that finds no file to sync
    /// must not treat as durable a file that another thread is still syncing or failed to sync.
    /// Taken before `dirty`; no other lock is taken under it.
    syncing: Mutex<Option<Error>>,
}

impl ValueLog {
    /// Returns whether a new file must be started before the next append, because there is none or
    /// it has reached `bytes_max`.
    pub(crate) fn needs_file(&self, bytes_max: u64) -> bool {
        self.active
            .lock()
            .as_ref()
            .is_none_or(|active| active.writer.bytes() >= bytes_max.max(FILLED_BYTES_MIN))
    }

    /// Returns the length at which the file being filled is closed, as last set.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Sets the length at which the next file is closed.
    pub(crate) fn set_bytes_max(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Returns the number of files with appends since their last sync.
    pub(crate) fn unsynced_files(&self) -> usize {
        self.dirty.lock().len()
    }

    /// Returns the number of the file being filled.
    pub(crate) fn active(&self) -> Option<u64> {
        // Relaxed: changed under the commit lock, or by the appending thread.
        let number = self.number.load(Ordering::Relaxed);
        (number > 0).then_some(number)
    }

    /// Makes `begun` the file being filled. Values already in it are synced with later ones.
    pub(crate) fn begin(&self, begun: Active) {
        let mut slot = self.active.lock();
        self.number.store(begun.number(), Ordering::Relaxed);
        if begun.writer.bytes() >= FILLED_BYTES_MIN {
            self.appended(&begun);
        }
        *slot = Some(begun);
    }

    /// Records the new length of a file, and that it needs a sync.
    fn appended(&self, active: &Active) {
        let (handle, writer) = (&active.handle, &active.writer);
        handle.bytes.store(writer.bytes(), Ordering::Relaxed);
        let mut dirty = self.dirty.lock();
        if dirty.last().is_none_or(|(file, _)| *file != handle.number) {
            dirty.push((handle.number, writer.syncer()));
        }
    }

    /// Closes the file being filled if it is `file`; the next value starts another. The caller
    /// prevents other threads from starting a file in the meantime. If another file is being
    /// filled, this returns without waiting for an append.
    pub(crate) fn finish(&self, file: u64) {
        if self.active() == Some(file) {
            *self.active.lock() = None;
            self.number.store(0, Ordering::Relaxed);
        }
    }

    /// Starts writing the appended values to the disk, without waiting for completion.
    pub(crate) fn begin_sync(&self) {
        let dirty = self.dirty.lock().last().map(|(_, file)| Arc::clone(file));
        if let Some(file) = dirty {
            file.begin();
        }
    }

    /// Appends with `write` and returns its result.
    pub(crate) fn append<T>(&self, write: impl FnOnce(&mut ValueWriter) -> Result<T>) -> Result<T> {
        let mut slot = self.active.lock();
        let Some(active) = slot.as_mut() else {
            return Err(Error::new(
                ErrorKind::Io,
                "no value file is open for writing",
            ));
        };
        match write(&mut active.writer) {
            Ok(written) => {
                self.appended(active);
                Ok(written)
            }
            Err(error) => {
                *slot = None;
                self.number.store(0, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Adds `file` to the next sync pass.
    #[cfg(test)]
    pub(crate) fn sync_also(&self, file: Arc<dyn FileSync>) {
        self.dirty.lock().push((u64::MAX, file));
    }

    /// Syncs every file appended to since the last call, and returns their number. When this
    /// returns, files whose syncs other threads had started are also durable.
    ///
    /// # Errors
    /// The first sync error of this call or an earlier one: files whose sync failed are not synced
    /// again.
    pub(crate) fn sync(&self) -> Result<u64> {
        let mut failed = self.syncing.lock();
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        // Taken first, because values appended from here on belong to the next pass.
        let dirty = std::mem::take(&mut *self.dirty.lock());
        for (_, file) in &dirty {
            file.sync()
                .inspect_err(|error| *failed = Some(error.clone()))?;
        }
        Ok(dirty.len() as u64)
    }
}
