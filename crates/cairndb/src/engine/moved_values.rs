//! The large values of a replayed log, written anew.
//!
//! A value that no sync of this boot has covered may be one that the system keeps showing although
//! it will never write it: that is what a failed sync leaves behind, and syncing the file again
//! proves nothing. So recovery copies the values behind replayed pointers into new files, as it
//! turns replayed records into new tables. Only where the disk has no room for that are the old
//! files synced in place: better than not to open at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, FileSync};
use cairndb_format::name;
use cairndb_format::value_file::{Pointer, ValueWriter};

use crate::engine::recovered::Recovered;
use crate::read::fold::read_pointer;
use crate::state::version::{TableOpener, ValueHandle};
use crate::write::values::VALUE_FILE_BYTES;

/// Where the values of replayed pointers went.
#[derive(Debug, Default)]
pub(crate) struct MovedValues {
    open: Option<(u64, ValueWriter)>,
    /// Every file begun.
    syncs: Vec<Arc<dyn FileSync>>,
    /// Old files that hold values which found no room elsewhere.
    in_place: BTreeSet<u64>,
}

impl MovedValues {
    /// Copies the value behind an encoded pointer; the encoded pointer to use from now on.
    pub(crate) fn take(
        &mut self,
        dir: &dyn Dir,
        recovered: &mut Recovered,
        opener: &Arc<TableOpener>,
        key: &[u8],
        encoded: &[u8],
    ) -> Result<Vec<u8>> {
        let old = Pointer::decode(encoded)?;
        if self.in_place.is_empty() {
            match self.copy(dir, recovered, opener, key, encoded) {
                Ok(moved) => {
                    recovered.add_dead(old.file.0, u64::from(old.len));
                    return Ok(moved.encode().to_vec());
                }
                Err(error) if error.kind() == ErrorKind::NoSpace => self.open = None,
                Err(error) => return Err(error),
            }
        }
        self.in_place.insert(old.file.0);
        Ok(encoded.to_vec())
    }

    fn copy(
        &mut self,
        dir: &dyn Dir,
        recovered: &mut Recovered,
        opener: &Arc<TableOpener>,
        key: &[u8],
        encoded: &[u8],
    ) -> Result<Pointer> {
        let mut value = Vec::new();
        let values = Arc::clone(&recovered.version.values);
        read_pointer(&opener.order, &values, key, encoded, &mut value)?;
        if self
            .open
            .as_ref()
            .is_none_or(|(_, writer)| writer.bytes() >= VALUE_FILE_BYTES)
        {
            let number = recovered.next_file;
            recovered.next_file += 1;
            let writer = ValueWriter::create(dir, FileNumber(number))?;
            self.syncs.push(writer.syncer());
            let mut values = (*recovered.version.values).clone();
            values.insert(number, Arc::new(ValueHandle::begun(number, opener)));
            recovered.version.values = Arc::new(values);
            self.open = Some((number, writer));
        }
        let (number, writer) = self.open.as_mut().expect("a file was begun above");
        let moved = writer.append(opener.order.hash(key), &[&value])?;
        if let Some(handle) = recovered.version.values.get(number) {
            handle.bytes.store(writer.bytes(), Ordering::Relaxed);
        }
        Ok(moved)
    }

    /// Makes all values durable.
    pub(crate) fn sync(&self, dir: &dyn Dir) -> Result<()> {
        self.syncs.iter().try_for_each(|file| file.sync())?;
        let mut in_place = self.in_place.iter();
        in_place.try_for_each(|file| dir.sync_file(&name::value(FileNumber(*file))))
    }
}
