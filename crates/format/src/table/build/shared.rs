//! The dictionary of a table under construction, and which values come encoded against the same.

use std::sync::Arc;

use cairndb_kernel::codec::{Dictionary, Matcher};

/// Other tables' dictionaries that are remembered: a merge has a few sources, and those that are the
/// same are usually one.
const MET_MAX: usize = 16;

/// What values are encoded against.
#[derive(Debug)]
pub(super) struct Shared {
    dictionary: Arc<Dictionary>,
    pub(super) matcher: Matcher,
    /// Made from this table's own values.
    pub(super) trained: bool,
    /// Dictionaries that values came with, and whether their bytes are these. They are held so that none
    /// can be mistaken for another that was freed.
    met: Vec<(Arc<Dictionary>, bool)>,
}

impl Shared {
    pub(super) fn new(dictionary: Arc<Dictionary>, trained: bool) -> Shared {
        Shared {
            matcher: Matcher::new(dictionary.bytes()),
            dictionary,
            trained,
            met: Vec::new(),
        }
    }

    pub(super) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// Whether what is encoded against `other` can be copied.
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
