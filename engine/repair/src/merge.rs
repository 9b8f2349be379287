//! Merges the sources by key, newest version first.
//!
//! A binary heap of the sources' indices, ordered by key, then age, then sequence number: a source
//! is moved by one, then sinks to its place.

pub(super) mod fold;
pub(super) mod source;

use std::cmp::Ordering;

use cairndb_base::{Order, Result};

use crate::findings::Findings;
use crate::merge::source::MergeSource;

/// All sources, at their next entries.
pub(super) struct Merge {
    order: Order,
    sources: Vec<MergeSource>,
    /// Indices of the sources that have an entry; a source comes before its children.
    heap: Vec<usize>,
}

impl Merge {
    pub(super) fn new(order: &Order, sources: Vec<MergeSource>) -> Merge {
        let heap = (0..sources.len()).filter(|index| sources[*index].valid());
        let mut merge = Merge {
            order: order.clone(),
            heap: heap.collect(),
            sources,
        };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sink(place);
        }
        merge
    }

    /// Returns the source of the next entry.
    pub(super) fn next(&mut self) -> Option<&mut MergeSource> {
        let index = *self.heap.first()?;
        self.sources.get_mut(index)
    }

    /// Goes to the entry after the next one.
    ///
    /// # Errors
    /// The errors of [`MergeSource::advance`].
    pub(super) fn advance(&mut self, findings: &mut Findings) -> Result<()> {
        let Some(index) = self.heap.first().copied() else {
            return Ok(());
        };
        self.sources[index].advance(findings)?;
        if !self.sources[index].valid() {
            self.heap.swap_remove(0);
        }
        self.sink(0);
        Ok(())
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let mut first = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.compare(child, first).is_lt() {
                    first = child;
                }
            }
            if first == place {
                return;
            }
            self.heap.swap(first, place);
            place = first;
        }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = (&self.sources[self.heap[a]], &self.sources[self.heap[b]]);
        self.order
            .compare(a.key(), b.key())
            .then_with(|| a.age().cmp(&b.age()))
            .then_with(|| b.seq().cmp(&a.seq()))
    }
}
