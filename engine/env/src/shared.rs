//! Memory that processes share: the 64-bit words of a small mapped file, and locks on them.
//!
//! A process that dies loses its locks, whatever it was doing. The words survive it, and so may be
//! in any state that it left: what they mean is up to the caller.

use std::fmt::{self, Debug};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::Result;

/// Who holds the lock of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// Nobody.
    Free,
    /// Processes that took it with [`Dir::lock_shared`](crate::Dir::lock_shared).
    Shared,
    /// A process that took it with [`Dir::lock`](crate::Dir::lock).
    Exclusive,
    /// A process that took it in the manner of versions before followers, of which it knows
    /// nothing.
    Silent,
}

/// The process that owns something in shared memory. Numbers of processes are comparable only
/// within one namespace, and are used again, so the start of the process belongs to its identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessId {
    /// Number of the process.
    pub number: u64,
    /// Namespace of the number.
    pub namespace: u64,
    /// When the process started, in the system's units; 0 if unknown.
    pub started: u64,
}

/// An open file of shared words.
pub trait SharedFile: Debug + Send + Sync {
    /// Returns the words. Called once, when [`SharedWords`] are created.
    fn words(&self) -> &[AtomicU64];

    /// Returns whether the words may be stored to. Storing to others kills the process.
    fn is_writable(&self) -> bool;

    /// Locks a word for this open file and returns whether that succeeded: it fails while another
    /// open file, of whatever process, has the word locked. Dropping the file releases its locks.
    ///
    /// # Errors
    /// `NotSupported` if the file system has no such locks; `Io`.
    fn try_lock(&self, word: usize) -> Result<bool>;

    /// Releases the lock of a word.
    fn unlock(&self, word: usize);

    /// Returns whether another open file has the word locked.
    ///
    /// # Errors
    /// Same as [`SharedFile::try_lock`].
    fn is_locked(&self, word: usize) -> Result<bool>;

    /// Returns whether the file still has its name.
    ///
    /// # Errors
    /// `Io`.
    fn is_named(&self) -> Result<bool>;

    /// Returns the identity of this process.
    fn process(&self) -> ProcessId;

    /// Returns whether a process is known to have ended. A lock may outlive its process in a forked
    /// child, which inherits it.
    fn has_ended(&self, process: ProcessId) -> bool;
}

/// Shared words. Dereferencing is a field access.
#[derive(Clone)]
pub struct SharedWords {
    words: NonNull<[AtomicU64]>,
    /// Keeps the words alive.
    owner: Arc<dyn SharedFile>,
}

// SAFETY: the words are atomic, and their owner is itself `Send + Sync`.
#[expect(unsafe_code, reason = "a raw pointer next to the owner of its words")]
unsafe impl Send for SharedWords {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a raw pointer next to the owner of its words")]
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Wraps an open file.
    pub fn new(owner: Arc<dyn SharedFile>) -> SharedWords {
        let words = NonNull::from(owner.words());
        SharedWords { words, owner }
    }

    /// Returns the open file.
    pub fn file(&self) -> &dyn SharedFile {
        &*self.owner
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    #[inline]
    #[expect(
        unsafe_code,
        reason = "a virtual call on each put would cost more than the store"
    )]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `words` was borrowed from the owner, which this value shares. An `Arc` never
        // moves its content, so the slice is valid for as long as the owner lives.
        unsafe { self.words.as_ref() }
    }
}

impl Debug for SharedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedWords").field(&self.owner).finish()
    }
}
