//! A value file, shared by the versions of a database: its length, its dead bytes, and access to
//! its values.
//!
//! The file is mapped under the same conditions as tables (`docs/design/0006-mapped-or-pread.md`),
//! and otherwise read by descriptor. In a mapping, a value is verified, then decoded, copied or
//! borrowed, without an intermediate copy. A growing file is mapped up to its current length, and
//! mapped again when its length has doubled; values after the end of the mapping are read by
//! descriptor.
//!
//! Threads: any thread reads and writes the fields. Fields that must agree with the manifest change
//! under the commit lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::{FileNumber, Result};
use cairndb_env::sync::RwLock;
use cairndb_env::{Access, Mapping, ReadFile};
use cairndb_format::name;
use cairndb_format::value_file::{Check, Pointer};

use crate::state::files::mapped_values::{Counted, MappedCount, MappedPrefix};
use crate::state::files::opener::TableOpener;

/// A value file and the number of its dead bytes.
#[derive(Debug)]
pub(crate) struct ValueHandle {
    pub(crate) number: u64,
    pub(crate) bytes: AtomicU64,
    pub(crate) dead: AtomicU64,
    /// Length of the durable, complete records, as recorded by a clean close; 0 if there was none.
    pub(crate) whole: AtomicU64,
    /// Whether no value in the file remains to be encoded.
    pub(crate) settled: AtomicBool,
    /// Whether this database handle created the file, in which case `bytes` is the end of a record.
    begun: bool,
    /// Whether nothing more will be appended.
    ended: AtomicBool,
    opener: Arc<TableOpener>,
    /// Opened at the first read, and again when a value lies past the length it had then.
    open: RwLock<Option<Arc<dyn ReadFile>>>,
    mapped: RwLock<Mapped>,
    obsolete: AtomicBool,
}

/// The mapped part of a value file.
#[derive(Debug, Default)]
struct Mapped {
    prefix: Option<Arc<MappedPrefix>>,
    /// Whether mapping more of the file is impossible or unwanted.
    refused: bool,
    /// Count of the current mapping and of older ones that borrowed values keep; `None` before the
    /// first.
    count: Option<Arc<MappedCount>>,
}

impl Mapped {
    fn len(&self) -> u64 {
        self.prefix.as_ref().map_or(0, |prefix| prefix.len())
    }
}

impl ValueHandle {
    pub(crate) fn new(number: u64, opener: &Arc<TableOpener>) -> ValueHandle {
        ValueHandle {
            number,
            bytes: AtomicU64::new(0),
            dead: AtomicU64::new(0),
            whole: AtomicU64::new(0),
            settled: AtomicBool::new(false),
            begun: false,
            ended: AtomicBool::new(true),
            opener: Arc::clone(opener),
            open: RwLock::new(None),
            mapped: RwLock::default(),
            obsolete: AtomicBool::new(false),
        }
    }

    /// Returns the handle of a file that is being created.
    pub(crate) fn begun(number: u64, opener: &Arc<TableOpener>) -> ValueHandle {
        let mut handle = ValueHandle::new(number, opener);
        handle.begun = true;
        handle.ended = AtomicBool::new(false);
        handle
    }

    /// Records that nothing more will be appended.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Records that everything appended is durable and nothing more will be appended.
    pub(crate) fn complete(&self) {
        if self.begun {
            let bytes = self.bytes.load(Ordering::Relaxed);
            self.whole.store(bytes, Ordering::Relaxed);
        }
    }

    /// Returns the file. Reopens it if it was shorter than `bytes` when it was opened.
    pub(crate) fn file(&self, bytes: u64) -> Result<Arc<dyn ReadFile>> {
        let open = self.open.read().clone();
        if let Some(file) = open.filter(|file| file.size() >= bytes) {
            return Ok(file);
        }
        let named = name::value(FileNumber(self.number));
        let file = self.opener.files.open(named)?;
        file.keep();
        let file: Arc<dyn ReadFile> = file;
        *self.open.write() = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Returns whether the value of `pointer` still has to be verified in `prefix`.
    pub(crate) fn check(&self, prefix: &MappedPrefix, pointer: &Pointer, key_hash: u64) -> Check {
        if self.opener.verify_always {
            Check::Now
        } else {
            prefix.check(pointer, key_hash)
        }
    }

    /// Returns a mapping of at least the first `bytes` of the file, or `None` if they must be read
    /// by descriptor.
    #[inline]
    pub(crate) fn prefix(&self, bytes: u64) -> Option<Arc<MappedPrefix>> {
        let mapped = self.mapped.read();
        if mapped.len() >= bytes {
            return mapped.prefix.clone();
        }
        let more = self.worth_mapping(&mapped, bytes);
        drop(mapped);
        more.and_then(|_| self.map_more(bytes))
    }

    /// Returns the length to map, if it is at least `bytes` and the mapping would grow enough: to
    /// twice its length, or to the final one.
    fn worth_mapping(&self, mapped: &Mapped, bytes: u64) -> Option<u64> {
        // The order matters: the thread that ends the file stores its length first.
        let ended = self.ended.load(Ordering::Acquire);
        let all = self.bytes.load(Ordering::Relaxed);
        let grown = ended || all >= mapped.len().saturating_mul(2);
        (grown && all >= bytes && !mapped.refused).then_some(all)
    }

    #[cold]
    fn map_more(&self, bytes: u64) -> Option<Arc<MappedPrefix>> {
        let mut mapped = self.mapped.write();
        // Another reader may have mapped it in the meantime.
        if mapped.len() >= bytes {
            return mapped.prefix.clone();
        }
        let all = self.worth_mapping(&mapped, bytes)?;
        let (policy, more) = (&self.opener.mapping, all - mapped.len());
        if !policy.take_values(more) {
            mapped.refused = true;
            return None;
        }
        let count = mapped.count.take();
        let count = count.unwrap_or_else(|| Arc::new(MappedCount::new(&policy.value_bytes)));
        let bytes = match self.map(all) {
            Ok(Some(bytes)) if bytes.len() as u64 == all => Counted::wrap(bytes, &count),
            other => {
                count.refuse(more);
                mapped.count = Some(count);
                // An error may be temporary; reading the file will return it.
                mapped.refused = other.is_ok();
                return None;
            }
        };
        count.take(more);
        mapped.count = Some(count);
        let shorter = mapped.prefix.take();
        let prefix = Arc::new(MappedPrefix::new(bytes, shorter.as_deref()));
        mapped.prefix = Some(Arc::clone(&prefix));
        drop(mapped);
        // Unmapped only now, after the lock is released.
        drop(shorter);
        Some(prefix)
    }

    fn map(&self, bytes: u64) -> Result<Option<Mapping>> {
        let file = self
            .opener
            .files
            .open(name::value(FileNumber(self.number)))?;
        let mapped = file.map(bytes, Access::Pieces);
        // The mapping outlives the descriptor.
        file.close();
        mapped
    }

    /// Marks the file as no longer named by the durable manifest: its last reader deletes it.
    pub(crate) fn mark_obsolete(&self) {
        if !self.obsolete.swap(true, Ordering::AcqRel) {
            let bytes = self.bytes.load(Ordering::Relaxed);
            self.opener.reaper.pin_value(bytes);
        }
    }
}

impl Drop for ValueHandle {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Acquire) {
            let name = name::value(FileNumber(self.number));
            let bytes = self.bytes.load(Ordering::Relaxed);
            self.opener.reaper.release_value(name, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use cairndb_env::{Background, Dir, Env, MemEnv};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn directory() -> Arc<dyn Dir> {
        let env = MemEnv::new(Background::Stepped);
        env.open_dir("db".as_ref(), true).unwrap()
    }

    #[test]
    fn a_file_is_mapped_anew_when_it_is_twice_as_long_and_at_its_end() {
        let dir = directory();
        let mut file = dir.create(&name::value(FileNumber(7))).unwrap();
        let opener = TableOpener::of(dir, 8 * MIB);
        let handle = ValueHandle::begun(7, &opener);
        let mut append = |bytes: u64| {
            let added = vec![9; usize::try_from(bytes).unwrap()];
            file.append(&added).unwrap();
            handle.bytes.fetch_add(bytes, Ordering::Relaxed);
        };
        let mapped = |bytes| handle.prefix(bytes).map(|prefix| prefix.len());
        append(MIB);
        assert_eq!(mapped(2 * MIB), None, "after the end");
        assert_eq!(mapped(1), Some(MIB));
        append(MIB / 2);
        assert_eq!(mapped(MIB), Some(MIB));
        assert_eq!(mapped(MIB + 1), None, "read by descriptor for now");
        append(MIB / 2);
        assert_eq!(mapped(MIB + 1), Some(2 * MIB));
        append(1);
        assert_eq!(mapped(2 * MIB + 1), None);
        handle.end();
        assert_eq!(mapped(2 * MIB + 1), Some(2 * MIB + 1));
        let taken = || opener.mapping.value_bytes.load(Ordering::Relaxed);
        assert_eq!(taken(), 2 * MIB + 1);
        let borrowed = handle.prefix(1).and_then(|prefix| prefix.bytes.part(5, 7));
        drop(handle);
        // A borrowed value keeps the whole mapping.
        assert_eq!(taken(), 2 * MIB + 1);
        assert_eq!(borrowed.as_deref(), Some(&[9; 7][..]));
        drop(borrowed);
        assert_eq!(taken(), 0);
    }

    #[test]
    fn beyond_the_bound_a_file_is_read() {
        let dir = directory();
        let opener = TableOpener::of(Arc::clone(&dir), 2 * MIB);
        let handles = [1, 2].map(|number| {
            let mut file = dir.create(&name::value(FileNumber(number))).unwrap();
            file.append(&vec![9; 1 << 19]).unwrap();
            let handle = ValueHandle::new(number, &opener);
            handle.bytes.store(1 << 19, Ordering::Relaxed);
            handle
        });
        opener.mapping.note(MIB / 4, 1);
        let [first, second] = &handles;
        assert!(first.prefix(1 << 19).is_some());
        assert!(second.prefix(1 << 19).is_none());
        assert_eq!(opener.mapping.value_bytes.load(Ordering::Relaxed), MIB / 2);
    }
}
