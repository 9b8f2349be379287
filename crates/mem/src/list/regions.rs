//! Values of a list that stayed in the log: their regions, kept alive as long as the list, and the
//! check that they are what was written.

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

    /// Returns an error for a node whose value is not what was written.
    #[inline]
    pub(crate) fn check(&self, node: NodeRef<'_>) -> Result<()> {
        if node.is_whole() {
            return Ok(());
        }
        Err(self.damaged(node.value()))
    }

    #[cold]
    fn damaged(&self, value: &[u8]) -> Error {
        let error = Error::corruption("a value in the log is not what was written there");
        match self.place_of(value) {
            Some((file, offset)) => error.file(file).offset(offset),
            None => error,
        }
    }

    /// File and offset of a value that stayed in the log.
    fn place_of(&self, value: &[u8]) -> Option<(String, u64)> {
        let regions = self.regions.lock();
        let mut places = regions.iter().filter_map(|region| region.place_of(value));
        places
            .next()
            .map(|(file, offset)| (file.to_owned(), offset))
    }
}
