//! The contents of a file in memory.

use std::sync::Arc;

use cairndb_base::Result;

use crate::file::FileSync;
use crate::implement::{OneRegion, SharedHeap};
use crate::sync::Mutex;

/// Bytes shared with their mappings: a write copies them first if they are shared.
#[derive(Debug, Default)]
pub(super) struct MemFile {
    pub(super) bytes: Mutex<Arc<Vec<u8>>>,
    pub(super) region: Mutex<OneRegion>,
    /// Contents of a file of shared words, which has no bytes.
    pub(super) shared: Mutex<Option<SharedHeap>>,
}

impl MemFile {
    pub(super) fn len(&self) -> u64 {
        self.bytes.lock().len() as u64
    }
}

impl FileSync for MemFile {
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
