//! Shared words on the heap, for environments in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::Result;

use crate::shared::{ProcessId, SharedFile, SharedWords};
use crate::sync::Mutex;

/// A file of shared words in memory, which several handles may open.
///
/// ```
/// use cairndb_env::implement::SharedHeap;
/// let file = SharedHeap::new(8);
/// let (a, b) = (file.open(1), file.open(2));
/// assert!(a.file().try_lock(3)? && !b.file().try_lock(3)?);
/// assert!(b.file().is_locked(3)?);
/// drop(a);
/// assert!(b.file().try_lock(3)?);
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedHeap {
    words: Arc<[AtomicU64]>,
    holders: Arc<Mutex<Locks>>,
}

/// The locks of one file.
#[derive(Debug, Default)]
struct Locks {
    /// Handle and process that lock a word.
    holders: BTreeMap<usize, (u64, u64)>,
    next_handle: u64,
    unnamed: bool,
}

impl SharedHeap {
    /// Returns a file of so many words, all 0.
    pub fn new(words: usize) -> SharedHeap {
        SharedHeap {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            holders: Arc::default(),
        }
    }

    /// Returns a file with the same words as this one now, and without locks, as a crash of the
    /// machine may leave it.
    #[must_use]
    pub fn copy(&self) -> SharedHeap {
        let word = |word: &AtomicU64| AtomicU64::new(word.load(Ordering::Relaxed));
        SharedHeap {
            words: self.words.iter().map(word).collect(),
            holders: Arc::default(),
        }
    }

    /// Opens the file for a process.
    pub fn open(&self, process: u64) -> SharedWords {
        let mut locks = self.holders.lock();
        locks.next_handle += 1;
        SharedWords::new(Arc::new(OpenHeap {
            file: self.clone(),
            handle: locks.next_handle,
            process,
        }))
    }

    /// Records that the file has lost its name.
    pub fn unlink(&self) {
        self.holders.lock().unnamed = true;
    }

    /// Releases the locks of a process that was killed.
    pub fn kill(&self, process: u64) {
        let mut locks = self.holders.lock();
        locks.holders.retain(|_, (_, of)| *of != process);
    }
}

#[derive(Debug)]
struct OpenHeap {
    file: SharedHeap,
    handle: u64,
    process: u64,
}

impl SharedFile for OpenHeap {
    fn words(&self) -> &[AtomicU64] {
        &self.file.words
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn try_lock(&self, word: usize) -> Result<bool> {
        let mut locks = self.file.holders.lock();
        let own = (self.handle, self.process);
        Ok(*locks.holders.entry(word).or_insert(own) == own)
    }

    fn unlock(&self, word: usize) {
        let mut locks = self.file.holders.lock();
        if locks.holders.get(&word) == Some(&(self.handle, self.process)) {
            locks.holders.remove(&word);
        }
    }

    fn is_locked(&self, word: usize) -> Result<bool> {
        let locks = self.file.holders.lock();
        let holder = locks.holders.get(&word);
        Ok(holder.is_some_and(|(handle, _)| *handle != self.handle))
    }

    fn is_named(&self) -> Result<bool> {
        Ok(!self.file.holders.lock().unnamed)
    }

    fn process(&self) -> ProcessId {
        ProcessId {
            number: self.process,
            ..ProcessId::default()
        }
    }

    fn has_ended(&self, _: ProcessId) -> bool {
        false
    }
}

impl Drop for OpenHeap {
    fn drop(&mut self) {
        let mut locks = self.file.holders.lock();
        locks
            .holders
            .retain(|_, (handle, _)| *handle != self.handle);
    }
}
