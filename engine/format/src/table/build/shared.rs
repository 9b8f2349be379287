//! The dictionary of a table under construction, and which received values are encoded against the
//! same one.

use std::sync::Arc;

use cairndb_kernel::codec::{Dictionary, Matcher};

/// Number of other tables' dictionaries that are remembered: a compaction has a few sources, and
/// equal dictionaries are usually one object.
const MET_MAX: usize = 16;

/// The dictionary in use.
#[derive(Debug)]
pub(super) struct SharedDictionary {
    dictionary: Arc<Dictionary>,
    pub(super) matcher: Matcher,
    /// Whether it was made from this table's own values.
    pub(super) trained: bool,
    /// Dictionaries that values were received with, and whether their bytes are the same. Holding
    /// them ensures that none is mistaken for another that was freed.
    met: Vec<(Arc<Dictionary>, bool)>,
}

impl SharedDictionary {
    pub(super) fn new(dictionary: Arc<Dictionary>, trained: bool) -> SharedDictionary {
        SharedDictionary {
            matcher: Matcher::new(dictionary.bytes()),
            dictionary,
            trained,
            met: Vec::new(),
        }
    }

    pub(super) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// Returns whether values encoded against `other` can be copied verbatim.
    #[inline]
    pub(super) fn is(&mut self, other: &Arc<Dictionary>) -> bool {
        Arc::ptr_eq(&self.dictionary, other) || self.has_bytes_of(other)
    }

    fn has_bytes_of(&mut self, other: &Arc<Dictionary>) -> bool {
        let known = self.met.iter().find(|(met, _)| Arc::ptr_eq(met, other));
        if let Some((_, same)) = known {
            return *same;
        }
        let same = self.dictionary == *other;
        if self.met.len() == MET_MAX {
            self.met.remove(0);
        }
        self.met.push((Arc::clone(other), same));
        same
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.matcher.memory_bytes()
            + self.dictionary.memory_bytes()
            + self.met.capacity() * size_of::<(Arc<Dictionary>, bool)>()
    }
}
