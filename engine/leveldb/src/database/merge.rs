//! A cursor over several sorted sources as if they were one, both ways.
//!
//! The sources that stand on an entry form a heap. Going forwards the smallest internal key is on
//! top and every other source stands after it; going backwards it is the reverse. Turning round
//! places the other sources anew. Of equal internal keys, which only damaged databases have, the
//! one of the first source comes first.

use std::cmp::Ordering;

use cairndb_base::{Order, Result};

use super::source::SortedSource;
use crate::internal_key;

/// Where the other sources stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forwards,
    Backwards,
}

/// A position in the merged entries.
#[derive(Debug)]
pub(crate) struct MergingCursor {
    sources: Vec<Box<dyn SortedSource>>,
    /// Indices of the sources that stand on an entry.
    heap: Vec<usize>,
    order: Order,
    direction: Direction,
}

impl MergingCursor {
    pub(crate) fn new(sources: Vec<Box<dyn SortedSource>>, order: Order) -> MergingCursor {
        MergingCursor {
            sources,
            heap: Vec::new(),
            order,
            direction: Direction::Forwards,
        }
    }

    fn top(&self) -> Option<&dyn SortedSource> {
        self.heap.first().map(|top| &*self.sources[*top])
    }

    /// Moves every source, then builds the heap. After an error the cursor stands on no entry.
    fn place(
        &mut self,
        direction: Direction,
        mut place: impl FnMut(usize, &mut dyn SortedSource) -> Result<()>,
    ) -> Result<()> {
        self.heap.clear();
        self.direction = direction;
        for (index, source) in self.sources.iter_mut().enumerate() {
            place(index, &mut **source)?;
        }
        self.heap
            .extend((0..self.sources.len()).filter(|index| self.sources[*index].valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        Ok(())
    }

    /// Whether source `a` belongs above source `b`.
    fn is_above(&self, a: usize, b: usize) -> bool {
        let entry = |index: usize| (self.sources[index].key(), self.sources[index].tag());
        let order = internal_key::compare(&self.order, entry(a), entry(b)).then(a.cmp(&b));
        order
            == match self.direction {
                Direction::Forwards => Ordering::Less,
                Direction::Backwards => Ordering::Greater,
            }
    }

    fn sift_down(&mut self, from: usize) {
        let mut at = from;
        loop {
            let mut best = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_above(self.heap[child], self.heap[best]) {
                    best = child;
                }
            }
            if best == at {
                return;
            }
            self.heap.swap(at, best);
            at = best;
        }
    }

    /// Moves the source on top by one step.
    fn step_top(&mut self, step: impl Fn(&mut dyn SortedSource) -> Result<()>) -> Result<()> {
        let Some(top) = self.heap.first().copied() else {
            return Ok(());
        };
        if let Err(error) = step(&mut *self.sources[top]) {
            self.heap.clear();
            return Err(error);
        }
        if !self.sources[top].valid() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Places the other sources as the direction demands, and steps from the current entry.
    fn turn(&mut self, direction: Direction) -> Result<()> {
        let Some(top) = self.heap.first().copied() else {
            return Ok(());
        };
        let (key, tag) = (self.sources[top].key().to_vec(), self.sources[top].tag());
        let order = self.order.clone();
        self.place(direction, |index, source| {
            if index == top {
                return match direction {
                    Direction::Forwards => source.next(),
                    Direction::Backwards => source.prev(),
                };
            }
            source.seek(&key, tag)?;
            let found = (source.key(), source.tag());
            let equal = source.valid() && internal_key::compare(&order, found, (&key, tag)).is_eq();
            // An equal entry of a source before this one comes before the current entry.
            let stands_before = equal && index < top;
            match direction {
                Direction::Forwards if stands_before => source.next(),
                Direction::Backwards if stands_before => Ok(()),
                Direction::Forwards => Ok(()),
                Direction::Backwards if source.valid() => source.prev(),
                Direction::Backwards => source.seek_to_last(),
            }
        })
    }
}

impl SortedSource for MergingCursor {
    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    fn key(&self) -> &[u8] {
        self.top().map_or(&[], SortedSource::key)
    }

    fn tag(&self) -> u64 {
        self.top().map_or(0, SortedSource::tag)
    }

    fn value(&self) -> &[u8] {
        self.top().map_or(&[], SortedSource::value)
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.place(Direction::Forwards, |_, source| source.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.place(Direction::Backwards, |_, source| source.seek_to_last())
    }

    fn seek(&mut self, key: &[u8], tag: u64) -> Result<()> {
        self.place(Direction::Forwards, |_, source| source.seek(key, tag))
    }

    fn next(&mut self) -> Result<()> {
        match self.direction {
            Direction::Forwards => self.step_top(|source| source.next()),
            Direction::Backwards => self.turn(Direction::Forwards),
        }
    }

    fn prev(&mut self) -> Result<()> {
        match self.direction {
            Direction::Backwards => self.step_top(|source| source.prev()),
            Direction::Forwards => self.turn(Direction::Backwards),
        }
    }
}
