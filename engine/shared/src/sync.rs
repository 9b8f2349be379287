//! Atomics of the shared words: those of the file, or loom's under `--cfg loom`.
//!
//! This module is the only place that selects them. Under loom the words are on the heap of one
//! process, and the locks are those of an environment in memory: a word stays locked until its
//! handle releases it.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(not(loom))]
pub(crate) use cairndb_env::SharedWords as Words;
#[cfg(not(loom))]
pub(crate) use cairndb_env::sync::Mutex;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use model::{Mutex, Words};

#[cfg(loom)]
mod model {
    use std::ops::Deref;
    use std::sync::Arc;

    use cairndb_env::implement::SharedHeap;
    use cairndb_env::{SharedFile, SharedWords};
    use loom::sync::MutexGuard;
    use loom::sync::atomic::AtomicU64;

    /// The words of a model, as one process has them open.
    #[derive(Clone, Debug)]
    pub(crate) struct Words {
        words: Arc<[AtomicU64]>,
        /// Only its locks are used.
        file: SharedWords,
    }

    impl Words {
        /// Opens a new file for two processes.
        pub(crate) fn new(count: usize) -> (Words, Words) {
            let words: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
            let locks = SharedHeap::new(count);
            let open = |process| Words {
                words: Arc::clone(&words),
                file: locks.open(process),
            };
            (open(1), open(2))
        }

        pub(crate) fn file(&self) -> &dyn SharedFile {
            self.file.file()
        }
    }

    impl Deref for Words {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            &self.words
        }
    }

    /// A lock with the interface of the real one.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("a model ends with the first panic")
        }
    }
}
