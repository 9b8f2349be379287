//! Reads large values of the source through their pointers.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, FileNumber, Order, Result};
use cairndb_env::{Dir, ReadFile};
use cairndb_format::name;
use cairndb_format::value_file::{Pointer, read_value};

/// Number of value files that are open at a time.
const OPEN_MAX: usize = 64;

/// The value files of the source.
pub(super) struct SourceValues {
    dir: Arc<dyn Dir>,
    order: Order,
    files: BTreeMap<u64, String>,
    open: BTreeMap<u64, Arc<dyn ReadFile>>,
}

impl SourceValues {
    pub(super) fn new(
        dir: &Arc<dyn Dir>,
        order: &Order,
        files: BTreeMap<u64, String>,
    ) -> SourceValues {
        SourceValues {
            dir: Arc::clone(dir),
            order: order.clone(),
            files,
            open: BTreeMap::new(),
        }
    }

    /// Replaces the contents of `out` with the value to which an encoded pointer of `key` refers.
    ///
    /// # Errors
    /// `Corruption`, with file and offset, if the value is lost; `FormatTooNew`.
    pub(super) fn read(&mut self, key: &[u8], encoded: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let pointer = Pointer::decode(encoded)?;
        let named = name::value(pointer.file);
        let place = |error: Error| error.file(named.clone()).offset(pointer.offset);
        let file = self.file(pointer.file).map_err(place)?;
        let size = file.size();
        if pointer.end().is_none_or(|end| end > size) {
            return Err(place(Error::corruption("value file ends before the value")));
        }
        read_value(&*file, pointer.file, &pointer, self.order.hash(key), out)
    }

    fn file(&mut self, number: FileNumber) -> Result<Arc<dyn ReadFile>> {
        if let Some(file) = self.open.get(&number.0) {
            return Ok(Arc::clone(file));
        }
        let named = self.files.get(&number.0);
        let named = named.ok_or_else(|| Error::corruption("value file is missing"))?;
        let file = self.dir.open_read(named)?;
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        self.open.insert(number.0, Arc::clone(&file));
        Ok(file)
    }
}
