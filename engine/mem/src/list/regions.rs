//! List values that stayed in the log: their regions, which the list keeps alive, and the check
//! that the values are unchanged.

use std::sync::Arc;

use cairndb_base::{Error, Result};
use cairndb_env::LogRegion;

use super::List;
use crate::node::NodeRef;

impl List {
    /// Keeps a region alive as long as the list.
    pub(crate) fn keep(&self, region: &Arc<dyn LogRegion>) {
        self.regions.lock().push(Arc::clone(region));
    }

    /// Returns an error for a node whose value differs from what was written.
    #[inline]
    pub(crate) fn check(&self, node: NodeRef<'_>) -> Result<()> {
        if node.is_whole() {
            return Ok(());
        }
        Err(self.damaged(node.value()))
    }

    #[cold]
    fn damaged(&self, value: &[u8]) -> Error {
        let error = Error::corruption("a value in the log differs from what was written");
        match self.place_of(value) {
            Some((file, offset)) => error.file(file).offset(offset),
            None => error,
        }
    }

    /// Returns the file and offset of a value that stayed in the log.
    fn place_of(&self, value: &[u8]) -> Option<(String, u64)> {
        let regions = self.regions.lock();
        let mut places = regions.iter().filter_map(|region| region.place_of(value));
        places
            .next()
            .map(|(file, offset)| (file.to_owned(), offset))
    }
}
