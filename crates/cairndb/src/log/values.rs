//! A value file being filled. There are two: large values go to one before the log record that points to them, and
//! what is copied out of files that are mostly dead goes to the other, so that values that stay are kept apart from
//! those of now, and a sync of what was written never waits for a copy.
//!
//! One thread appends, the commit leader or the relocation; the sync pass syncs through a second handle. After a failed
//! append the file is closed for good and the next value begins a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::FileSync;
use cairndb_env::sync::Mutex;
use cairndb_format::value_file::{HEADER_BYTES, ValueWriter};

use crate::state::value_handle::ValueHandle;

/// A file with a value in it is longer: one is never closed with none.
const FILLED_BYTES_MIN: u64 = HEADER_BYTES as u64 + 1;

/// A value file as it is filled.
#[derive(Debug)]
pub(crate) struct Active {
    handle: Arc<ValueHandle>,
    writer: ValueWriter,
}

impl Active {
    /// That of `handle`, with what `writer` has appended to it.
    pub(crate) fn new(handle: Arc<ValueHandle>, writer: ValueWriter) -> Active {
        assert_eq!(handle.number, writer.number().0, "a handle's own file");
        Active { handle, writer }
    }

    /// The file's number.
    pub(crate) fn number(&self) -> u64 {
        self.handle.number
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.handle.end();
    }
}

/// Value files that may wait for their sync.
pub(crate) const UNSYNCED_FILES_MAX: usize = 64;

/// The value file being filled and the handles that still need a sync.
#[derive(Debug, Default)]
pub(crate) struct ValueLog {
    active: Mutex<Option<Active>>,
    /// The number of the file being filled, or 0: who asks for it may hold locks, and must not wait for an append.
    number: AtomicU64,
    dirty: Mutex<Vec<(u64, Arc<dyn FileSync>)>>,
    /// Held over a sync, with the failure of the first that failed: who finds nothing left to claim must not take for
    /// durable what another still syncs, or could not. Outside `dirty`; nothing else is taken within it.
    syncing: Mutex<Option<Error>>,
}

impl ValueLog {
    /// Whether a new file must be begun before the next append: there is none, or one of this length.
    pub(crate) fn needs_file(&self, bytes_max: u64) -> bool {
        self.active
            .lock()
            .as_ref()
            .is_none_or(|active| active.writer.bytes() >= bytes_max.max(FILLED_BYTES_MIN))
    }

    /// Files that were appended to since they were synced.
    pub(crate) fn unsynced_files(&self) -> usize {
        self.dirty.lock().len()
    }

    /// The number of the file being filled.
    pub(crate) fn active(&self) -> Option<u64> {
        // Relaxed: changed under the commit lock, or by whoever appends.
        let number = self.number.load(Ordering::Relaxed);
        (number > 0).then_some(number)
    }

    /// Fills `begun` from here on. What it has is synced with what comes.
    pub(crate) fn begin(&self, begun: Active) {
        let mut slot = self.active.lock();
        self.number.store(begun.number(), Ordering::Relaxed);
        if begun.writer.bytes() >= FILLED_BYTES_MIN {
            self.appended(&begun);
        }
        *slot = Some(begun);
    }

    /// Notes how long a file has become, and that it is to be synced.
    fn appended(&self, active: &Active) {
        let (handle, writer) = (&active.handle, &active.writer);
        handle.bytes.store(writer.bytes(), Ordering::Relaxed);
        let mut dirty = self.dirty.lock();
        if dirty.last().is_none_or(|(file, _)| *file != handle.number) {
            dirty.push((handle.number, writer.syncer()));
        }
    }

    /// Closes the file being filled, if it is `file`: the next value begins another. By whoever keeps others from
    /// beginning one meanwhile; of another file it waits for no append.
    pub(crate) fn finish(&self, file: u64) {
        if self.active() == Some(file) {
            *self.active.lock() = None;
            self.number.store(0, Ordering::Relaxed);
        }
    }

    /// Has the disk begin with what was appended, without a wait.
    pub(crate) fn begin_sync(&self) {
        let dirty = self.dirty.lock().last().map(|(_, file)| Arc::clone(file));
        if let Some(file) = dirty {
            file.begin();
        }
    }

    /// Appends what `write` does; returns what it gives.
    pub(crate) fn append<T>(&self, write: impl FnOnce(&mut ValueWriter) -> Result<T>) -> Result<T> {
        let mut slot = self.active.lock();
        let Some(active) = slot.as_mut() else {
            return Err(Error::new(ErrorKind::Io, "the value file was closed"));
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

    /// Has the next pass sync `file` too.
    #[cfg(test)]
    pub(crate) fn sync_also(&self, file: Arc<dyn FileSync>) {
        self.dirty.lock().push((u64::MAX, file));
    }

    /// Syncs every file appended to since the last call; returns how many there were. When it returns, what others had
    /// begun to sync is durable, too.
    ///
    /// # Errors
    /// Of the first sync that failed, in this call or an earlier one: what it was about is not synced again.
    pub(crate) fn sync(&self) -> Result<u64> {
        let mut failed = self.syncing.lock();
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        // Taken out first: what is appended from here on belongs to the next pass.
        let dirty = std::mem::take(&mut *self.dirty.lock());
        for (_, file) in &dirty {
            file.sync()
                .inspect_err(|error| *failed = Some(error.clone()))?;
        }
        Ok(dirty.len() as u64)
    }
}
