//! Copies the large values of a replayed log into new value files.
//!
//! The operating system may continue to return a value that it will never write: a failed sync
//! leaves such pages in its cache, and syncing the file again proves nothing. Therefore recovery
//! trusts only values that it has synced itself. It copies the values of replayed pointers into new
//! files, just as it turns replayed records into new tables. If the disk has run out of space for
//! the copies twice, recovery removes them and syncs the old files in place, because that is better
//! than not opening at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_base::{FileNumber, Result};
use cairndb_env::{Dir, FileSync};
use cairndb_files::{create_unused, is_taken};
use cairndb_format::missing::needed;
use cairndb_format::name;
use cairndb_format::value_file::{Pointer, ValueWriter};

use crate::read::value_ref::read_pointer_unmapped;
use crate::recovery::recovered::Recovered;
use crate::state::files::opener::TableOpener;
use crate::state::files::value_handle::ValueHandle;
use crate::state::sections::StoredKey;
use crate::state::version::Values;

/// Treatment of large values in one attempt to open the database, and the progress of that attempt.
#[derive(Debug, Default)]
pub(crate) struct LargeValues {
    stay: bool,
    copied: AtomicBool,
    freed: AtomicBool,
}

impl LargeValues {
    /// Returns the treatment that leaves large values in their files.
    pub(crate) fn in_place() -> LargeValues {
        LargeValues {
            stay: true,
            ..LargeValues::default()
        }
    }

    pub(crate) fn stay(&self) -> bool {
        self.stay
    }

    /// Records that the attempt has begun to copy.
    pub(crate) fn note_copy(&self) {
        self.copied.store(true, Ordering::Relaxed);
    }

    /// Records that the attempt has removed unneeded files.
    pub(crate) fn note_freed(&self) {
        self.freed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the attempt has removed files.
    pub(crate) fn freed(&self) -> bool {
        self.freed.load(Ordering::Relaxed)
    }

    /// Returns whether another attempt may find more space: this one began to copy, and its copies
    /// have been removed, or it freed space.
    pub(crate) fn may_try_again(&self) -> bool {
        self.copied.load(Ordering::Relaxed) || self.freed()
    }
}

/// New locations of large values.
#[derive(Debug)]
pub(crate) struct ValueCopier {
    open: Option<(u64, ValueWriter)>,
    /// Length at which a file is closed.
    file_bytes: u64,
    /// Files created since the last sync.
    syncs: Vec<Arc<dyn FileSync>>,
    /// Old files with values that stay in place.
    in_place: BTreeSet<u64>,
}

impl ValueCopier {
    pub(crate) fn new(file_bytes: u64) -> ValueCopier {
        ValueCopier {
            open: None,
            file_bytes,
            syncs: Vec::new(),
            in_place: BTreeSet::new(),
        }
    }

    /// Leaves the value of an encoded pointer in its file.
    pub(crate) fn leave(&mut self, encoded: &[u8]) -> Result<Vec<u8>> {
        self.in_place.insert(Pointer::decode(encoded)?.file.0);
        Ok(encoded.to_vec())
    }

    /// Copies the value of an encoded pointer and returns the new encoded pointer.
    pub(crate) fn take(
        &mut self,
        dir: &dyn Dir,
        recovered: &mut Recovered,
        opener: &Arc<TableOpener>,
        key: StoredKey<'_>,
        encoded: &[u8],
    ) -> Result<Vec<u8>> {
        let old = Pointer::decode(encoded)?;
        let moved = self.copy(dir, recovered, opener, key, encoded)?;
        recovered.add_dead(old.file.0, u64::from(old.len));
        Ok(moved.encode().to_vec())
    }

    fn copy(
        &mut self,
        dir: &dyn Dir,
        recovered: &mut Recovered,
        opener: &Arc<TableOpener>,
        key: StoredKey<'_>,
        encoded: &[u8],
    ) -> Result<Pointer> {
        let mut value = Vec::new();
        let values = Arc::clone(&recovered.version.values);
        let order = &opener.orders[key.section];
        read_pointer_unmapped(order, &values, key.bytes, encoded, &mut value)?;
        if self
            .open
            .as_ref()
            .is_none_or(|(_, writer)| writer.bytes() >= self.file_bytes)
        {
            let (next, made) = (&mut recovered.next_file, &mut recovered.made);
            let (FileNumber(number), writer) = create_unused(
                || {
                    *next += 1;
                    *next - 1
                },
                |number| {
                    let created = ValueWriter::create(dir, number);
                    if !created.as_ref().is_err_and(is_taken) {
                        made.push(number.0);
                    }
                    created
                },
            )?;
            // Sync first, so that only one descriptor is open at a time.
            for full in self.syncs.drain(..) {
                full.sync()?;
            }
            self.syncs.push(writer.syncer());
            let mut values = (*recovered.version.values).clone();
            self.end_open(&values);
            values.insert(number, Arc::new(ValueHandle::begun(number, opener)));
            recovered.version.values = Arc::new(values);
            self.open = Some((number, writer));
        }
        let (number, writer) = self.open.as_mut().expect("a file was begun above");
        let moved = writer.append(opener.orders[key.section].hash(key.bytes), &[&value])?;
        if let Some(handle) = recovered.version.values.get(number) {
            handle.bytes.store(writer.bytes(), Ordering::Relaxed);
        }
        Ok(moved)
    }

    /// Records that no more values will be appended to the current file.
    fn end_open(&self, values: &Values) {
        let filled = self.open.as_ref().map(|(number, _)| *number);
        if let Some(handle) = filled.and_then(|number| values.get(&number)) {
            handle.end();
        }
    }

    /// Makes all values durable.
    pub(crate) fn sync(&self, dir: &dyn Dir, values: &Values) -> Result<()> {
        self.end_open(values);
        self.syncs.iter().try_for_each(|file| file.sync())?;
        let mut in_place = self.in_place.iter();
        in_place.try_for_each(|file| {
            let named = name::value(FileNumber(*file));
            needed(&named, dir.sync_file(&named))
        })
    }
}
