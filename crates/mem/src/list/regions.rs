//! Log regions of a list's values: they live as long as the list and give the file of a value.

use std::sync::Arc;

use cairndb_env::LogRegion;

use super::List;

impl List {
    /// Keeps a region alive as long as the list.
    pub(crate) fn keep(&self, region: &Arc<dyn LogRegion>) {
        self.regions.lock().push(Arc::clone(region));
    }

    /// Returns the file and offset of a value that stayed in the log.
    pub(crate) fn place_of(&self, value: &[u8]) -> Option<(String, u64)> {
        let regions = self.regions.lock();
        let mut places = regions.iter().filter_map(|region| region.place_of(value));
        places
            .next()
            .map(|(file, offset)| (file.to_owned(), offset))
    }
}
