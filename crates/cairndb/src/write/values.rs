//! The value file being filled: large values go there once, before the log record that points to
//! them.
//!
//! Only the commit leader appends; the sync pass syncs through a second handle. After a failed
//! append the file is closed for good and the next value begins a new one.

use std::sync::Arc;

use cairndb_base::Result;
use cairndb_env::FileSync;
use cairndb_env::sync::Mutex;
use cairndb_format::value_file::{Pointer, ValueWriter};

#[derive(Debug)]
struct Active {
    number: u64,
    writer: ValueWriter,
}

/// The active value file and the handles that still need a sync.
#[derive(Debug, Default)]
pub(crate) struct ValueLog {
    active: Mutex<Option<Active>>,
    dirty: Mutex<Vec<(u64, Arc<dyn FileSync>)>>,
}

impl ValueLog {
    /// Whether a new file must be begun before the next append: there is none, or one of this length.
    pub(crate) fn needs_file(&self, bytes_max: u64) -> bool {
        self.active
            .lock()
            .as_ref()
            .is_none_or(|active| active.writer.bytes() >= bytes_max)
    }

    /// Files that were appended to since they were synced.
    pub(crate) fn unsynced_files(&self) -> usize {
        self.dirty.lock().len()
    }

    /// The number of the file being filled.
    pub(crate) fn active(&self) -> Option<u64> {
        self.active.lock().as_ref().map(|active| active.number)
    }

    pub(crate) fn begin(&self, number: u64, writer: ValueWriter) {
        *self.active.lock() = Some(Active { number, writer });
    }

    /// Appends one value; returns its pointer and the file's length.
    pub(crate) fn append(&self, key_hash: u64, value: &[u8]) -> Result<(Pointer, u64)> {
        let mut slot = self.active.lock();
        let active = slot.as_mut().expect("the caller began a value file");
        match active.writer.append(key_hash, &[value]) {
            Ok(pointer) => {
                let mut dirty = self.dirty.lock();
                if dirty
                    .last()
                    .is_none_or(|(number, _)| *number != active.number)
                {
                    dirty.push((active.number, active.writer.syncer()));
                }
                Ok((pointer, active.writer.bytes()))
            }
            Err(error) => {
                *slot = None;
                Err(error)
            }
        }
    }

    /// Has the next pass sync `file` too.
    #[cfg(test)]
    pub(crate) fn sync_also(&self, file: Arc<dyn FileSync>) {
        self.dirty.lock().push((u64::MAX, file));
    }

    /// Syncs every file appended to since the last call; returns how many there were.
    pub(crate) fn sync(&self) -> Result<u64> {
        // Taken out first: what is appended from here on belongs to the next pass.
        let dirty = std::mem::take(&mut *self.dirty.lock());
        for (_, file) in &dirty {
            file.sync()?;
        }
        Ok(dirty.len() as u64)
    }
}
