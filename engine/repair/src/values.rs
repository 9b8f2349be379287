//! Reads large values of the source through their pointers.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Order, Result};
use cairndb_env::{Dir, ReadFile};
use cairndb_format::name;
use cairndb_format::value_file::{Pointer, read_value};

/// Number of value files that are open at a time.
const OPEN_MAX: usize = 64;

/// The value files of the source.
pub(super) struct SourceValues {
    dir: Arc<dyn Dir>,
    /// Names of the files that may be a value file, by its number.
    files: BTreeMap<u64, Vec<String>>,
    open: BTreeMap<String, Arc<dyn ReadFile>>,
}

impl SourceValues {
    pub(super) fn new(dir: &Arc<dyn Dir>, files: BTreeMap<u64, Vec<String>>) -> SourceValues {
        SourceValues {
            dir: Arc::clone(dir),
            files,
            open: BTreeMap::new(),
        }
    }

    /// Replaces the contents of `out` with the value to which an encoded pointer of `key` refers.
    ///
    /// # Errors
    /// `Corruption`, with file and offset, if the value is lost; `FormatTooNew`.
    pub(super) fn read(
        &mut self,
        order: &Order,
        key: &[u8],
        encoded: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let pointer = Pointer::decode(encoded)?;
        let named = name::value(pointer.file);
        let place = |error: Error| error.file(named.clone()).offset(pointer.offset);
        let missing = || place(Error::corruption("value file is missing"));
        let candidates = self.files.get(&pointer.file.0).cloned();
        let mut failure = None;
        for candidate in candidates.unwrap_or_default() {
            let read = self.file(&candidate).and_then(|file| {
                if pointer.end().is_none_or(|end| end > file.size()) {
                    return Err(Error::corruption("value file ends before the value"));
                }
                read_value(&*file, pointer.file, &pointer, order.hash(key), out)
            });
            match read {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(place(error)),
                Err(error) => _ = failure.get_or_insert_with(|| place(error)),
            }
        }
        Err(failure.unwrap_or_else(missing))
    }

    fn file(&mut self, found: &str) -> Result<Arc<dyn ReadFile>> {
        if let Some(file) = self.open.get(found) {
            return Ok(Arc::clone(file));
        }
        let file = self.dir.open_read(found)?;
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        self.open.insert(found.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}
