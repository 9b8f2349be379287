//! Pool of files that are read by descriptor, with a limit on how many are open at a time.
//!
//! Readers that use `pread` on a table or value file go through it. A file that the pool closed is
//! reopened at its next read. Its name must therefore exist until the last reader is dropped, which
//! the handles in `state/version.rs` and `state/files/value_handle.rs` guarantee. A mapped file
//! needs its descriptor only to create the mapping and releases it at once.
//!
//! Locks: the ring, then one slot. No file is opened under either; a file may be closed under them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use cairndb_base::{ErrorKind, Result};
use cairndb_env::sync::{Mutex, RwLock};
use cairndb_env::{Access, Dir, Mapping, ReadFile};
use cairndb_format::missing::needed;
use cairndb_shared::{Slot as FollowerSlot, revoked};

/// The open files of one database.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    pub(crate) dir: Arc<dyn Dir>,
    /// Maximum number of files open at a time.
    max: usize,
    /// Whether another process may remove files.
    pub(crate) follows: bool,
    /// What holds the files of views, if anything does: without it, or once something was revoked,
    /// a missing file is no damage.
    pub(crate) slot: OnceLock<Arc<FollowerSlot>>,
    /// Slots of open files, the most recently opened last; some of the files may already be
    /// dropped.
    ring: Mutex<VecDeque<Weak<Slot>>>,
}

/// Slot of one descriptor.
#[derive(Debug, Default)]
struct Slot {
    open: RwLock<Option<Arc<dyn ReadFile>>>,
    /// Whether the file was read since the clock hand last passed it.
    used: AtomicBool,
}

/// An immutable file, open or not.
#[derive(Debug)]
pub(crate) struct PooledFile {
    files: Arc<OpenFiles>,
    name: String,
    /// Length when first opened.
    size: u64,
    slot: Arc<Slot>,
}

impl OpenFiles {
    /// Returns a pool for the directory `dir` with at most `max` open files.
    pub(crate) fn new(dir: Arc<dyn Dir>, max: usize, follows: bool) -> Arc<OpenFiles> {
        Arc::new(OpenFiles {
            dir,
            max: max.max(1),
            follows,
            slot: OnceLock::new(),
            ring: Mutex::default(),
        })
    }

    /// Opens `name`. The caller then calls [`PooledFile::keep`], or [`PooledFile::close`] if it
    /// mapped the file.
    ///
    /// # Errors
    /// Errors of opening; `Corruption` if the file does not exist, in a follower `Revoked`.
    pub(crate) fn open(self: &Arc<Self>, name: String) -> Result<Arc<PooledFile>> {
        let file = self.open_needed(&name)?;
        let size = file.size();
        let slot = Slot {
            open: RwLock::new(Some(file)),
            used: AtomicBool::new(false),
        };
        Ok(Arc::new(PooledFile {
            files: Arc::clone(self),
            name,
            size,
            slot: Arc::new(slot),
        }))
    }

    fn open_needed(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let opened = self.dir.open_read(name);
        let held = self.slot.get().is_some_and(|slot| slot.revoked() == 0);
        if let Ok(file) = &opened {
            file.expect(Access::Random);
        }
        match &opened {
            Err(error) if self.follows && !held && error.kind() == ErrorKind::NotFound => {
                Err(revoked().file(name))
            }
            _ => needed(name, opened),
        }
    }

    /// Adds an open file to the ring, and closes files that were not read recently while there are
    /// too many.
    fn admit(&self, slot: &Arc<Slot>) {
        let mut ring = self.ring.lock();
        ring.push_back(Arc::downgrade(slot));
        let mut chances = ring.len();
        while ring.len() > self.max {
            let Some(oldest) = ring.pop_front().and_then(|oldest| oldest.upgrade()) else {
                continue;
            };
            // Relaxed: a missed mark only costs reopening a file.
            if chances > 0 && oldest.used.swap(false, Ordering::Relaxed) {
                chances -= 1;
                ring.push_back(Arc::downgrade(&oldest));
            } else {
                *oldest.open.write() = None;
            }
        }
    }
}

impl PooledFile {
    /// Counts the newly opened file among the open files.
    pub(crate) fn keep(&self) {
        self.files.admit(&self.slot);
    }

    /// Closes the descriptor of a file that was not kept, until its next read.
    pub(crate) fn close(&self) {
        *self.slot.open.write() = None;
    }

    fn file(&self) -> Result<Arc<dyn ReadFile>> {
        let open = self.slot.open.read().clone();
        if let Some(file) = open {
            self.slot.used.store(true, Ordering::Relaxed);
            return Ok(file);
        }
        // The file may be shorter than before, if it is a value file whose last append found the
        // disk full. Reads past its end fail. Refusing the whole file would lose intact values.
        let file = self.files.open_needed(&self.name)?;
        let first = self.slot.open.write().replace(Arc::clone(&file)).is_none();
        // Two readers may have reopened the file at the same time: one descriptor is kept and
        // counted once.
        if first {
            self.keep();
        }
        Ok(file)
    }
}

impl ReadFile for PooledFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.file()?.read_at(offset, out)
    }

    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>> {
        self.file()?.map(len, access)
    }

    fn advise(&self, offset: u64, len: u64, wanted: bool) {
        // This is only advice: a file that cannot be reopened gets none.
        if let Ok(file) = self.file() {
            file.advise(offset, len, wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use cairndb_env::{Background, Env, MemEnv};

    use super::*;

    fn directory() -> Arc<dyn Dir> {
        let env = MemEnv::new(Background::Stepped);
        env.open_dir(std::path::Path::new("db"), true).unwrap()
    }

    fn open_now(files: &[Arc<PooledFile>]) -> Vec<bool> {
        let open = files.iter().map(|file| file.slot.open.read().is_some());
        open.collect()
    }

    fn read(file: &PooledFile) -> Vec<u8> {
        let mut bytes = vec![0; 1];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    /// Regression: an append that fails on a full disk is truncated again, and a reader may have
    /// seen the longer file. When such a reader reopened the file, it treated the whole file, with
    /// all its values, as damaged.
    #[test]
    fn what_stands_before_the_end_of_a_file_that_became_shorter_is_read() {
        let dir = directory();
        let pool = OpenFiles::new(Arc::clone(&dir), 1, false);
        let write = |name: &str, bytes: &[u8]| dir.create(name).unwrap().append(bytes).unwrap();
        write("long", &[1, 2, 3]);
        write("other", &[4]);
        let files = ["long", "other"].map(|name| pool.open(name.to_owned()).unwrap());
        for file in &files {
            file.keep();
        }
        assert_eq!(open_now(&files), [false, true]);
        dir.unlink("long").unwrap();
        write("long", &[1, 2]);
        let mut bytes = [0; 2];
        files[0].read_at(0, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2]);
        let error = files[0].read_at(1, &mut bytes).unwrap_err();
        let reported = (error.kind(), error.file_name(), error.file_offset());
        assert_eq!(reported, (ErrorKind::Corruption, Some("long"), Some(1)));
    }

    #[test]
    fn so_many_are_open_and_all_can_be_read() {
        let dir = directory();
        let pool = OpenFiles::new(Arc::clone(&dir), 3, false);
        let files: Vec<_> = (0..8u8)
            .map(|n| {
                dir.create(&n.to_string()).unwrap().append(&[n]).unwrap();
                let file = pool.open(n.to_string()).unwrap();
                file.keep();
                file
            })
            .collect();
        for round in 0..3 {
            for (n, file) in files.iter().enumerate() {
                assert_eq!(usize::from(read(file)[0]), n, "round {round}");
                let open = open_now(&files).into_iter().filter(|open| *open).count();
                assert!((1..=3).contains(&open), "{open} are open");
            }
        }
        drop(files);
        assert!(pool.ring.lock().len() <= 3);
    }

    #[test]
    fn what_is_read_often_stays_open() {
        let dir = directory();
        for name in ["often", "a", "b", "c", "d"] {
            dir.create(name).unwrap().append(&[1]).unwrap();
        }
        let pool = OpenFiles::new(Arc::clone(&dir), 2, false);
        let often = pool.open("often".to_owned()).unwrap();
        often.keep();
        for name in ["a", "b", "c", "d"] {
            read(&often);
            pool.open(name.to_owned()).unwrap().keep();
            assert!(often.slot.open.read().is_some(), "closed for {name}");
        }
    }

    #[test]
    fn a_file_that_was_closed_is_opened_again_and_counted() {
        let dir = directory();
        dir.create("f").unwrap().append(&[7, 8]).unwrap();
        let file = OpenFiles::new(Arc::clone(&dir), 2, false)
            .open("f".to_owned())
            .unwrap();
        file.close();
        assert_eq!(read(&file), [7]);
        assert_eq!(file.files.ring.lock().len(), 1, "a reopened file counts");
    }
}
