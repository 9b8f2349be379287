//! Merging iterator: merges sorted sources into one stream of entries, forward or backward.
//!
//! The current source is kept outside a small binary heap of the others. A step within one source
//! therefore costs one comparison with the heap's top. It costs none when no other source is left,
//! or within a page of a table up to the position of the top's key.
//!
//! Of equal keys the newest source comes first (last when going backward). Sources are ordered
//! newest first, and for one key all entries of a newer source are newer, so sequence numbers are
//! not compared across sources; tables may have elided them.
//!
//! Most comparisons are of two numbers: each source's entry in the heap holds the head of its
//! current key, taken when the source was moved. Whole keys are compared only if the heads are
//! equal.
//!
//! The alternative is a loser tree. It makes one comparison per level while one source continues,
//! as in an idle database, and it is built from all sources before the first entry. Readers
//! therefore use the heap; jobs, which see every entry and go one way, use [a loser
//! tree](crate::jobs::inputs).

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb_base::{HeadRule, Kind, Order, Result, SeqNo};
use cairndb_format::table::PageWindow;
use cairndb_mem::Memtable;

use crate::read::hints::tombstone_spans::KeyBound;
use crate::read::source::MergeSource;

/// Direction of an iterator, and of the cursor that steps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// A positioned source and the head of its current key.
#[derive(Clone, Copy, Debug)]
struct HeapEntry {
    head: u64,
    source: usize,
}

/// Origin of the heads.
#[derive(Debug)]
enum Heads {
    /// Taken from the entries: memtables with one prefix hint keep comparable heads.
    Kept,
    /// Computed from the keys.
    Taken(HeadRule),
}

impl Heads {
    /// Returns `Kept` if all sources are memtables whose entries keep heads after one prefix.
    #[cold]
    fn of(sources: &[MergeSource], order: &Order) -> Heads {
        let hint = sources.first().and_then(MergeSource::hint);
        if hint.is_some() && sources.iter().all(|source| source.hint() == hint) {
            return Heads::Kept;
        }
        Heads::Taken(HeadRule::new(order, shared_prefix(sources).to_vec()))
    }
}

/// A merging iterator over sources, newest first; by default over none.
#[derive(Debug)]
pub(crate) struct MergingIter {
    sources: Vec<MergeSource>,
    order: Order,
    /// `None` until there are two sources to compare: a seek in an idle database needs none.
    heads: Option<Heads>,
    /// Binary heap of the valid sources other than `current`.
    heap: Vec<HeapEntry>,
    current: Option<usize>,
    direction: Direction,
    /// Whether no other source has the current key.
    ahead: bool,
    /// Number of steps that certainly stay before every other source: within a page, up to the
    /// position of the nearest key of another source.
    free: usize,
}

impl Default for MergingIter {
    #[inline]
    fn default() -> MergingIter {
        MergingIter::new(Vec::new(), Order::Bytewise)
    }
}

impl MergingIter {
    pub(crate) fn new(sources: Vec<MergeSource>, order: Order) -> MergingIter {
        MergingIter {
            sources,
            order,
            heads: None,
            heap: Vec::new(),
            current: None,
            direction: Direction::Forward,
            ahead: false,
            free: 0,
        }
    }

    /// Leaves all sources unpositioned, so that they hold no page. The iterator must be positioned
    /// before any other call.
    pub(crate) fn release(&mut self) {
        self.current = None;
        for source in &mut self.sources {
            source.release();
        }
    }

    /// Returns whether `memtable` is the newest source.
    pub(crate) fn begins_with(&self, memtable: &Arc<Memtable>) -> bool {
        let newest = self.sources.first();
        newest.is_some_and(|source| source.is(memtable))
    }

    /// Returns the number of heap bytes that the iterator owns.
    pub(crate) fn memory_bytes(&self) -> usize {
        let own = self.sources.capacity() * size_of::<MergeSource>()
            + self.heap.capacity() * size_of::<HeapEntry>();
        let held = self.sources.iter().map(MergeSource::memory_bytes);
        own + held.sum::<usize>()
    }

    #[inline]
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    #[inline]
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the source of the current entry.
    #[inline]
    pub(crate) fn source(&self) -> Option<&MergeSource> {
        self.current.map(|index| &self.sources[index])
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.source().map_or(&[], MergeSource::key)
    }

    #[inline]
    pub(crate) fn seq(&self) -> SeqNo {
        self.source().map_or(0, MergeSource::seq)
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.source().map_or(Kind::Delete, MergeSource::kind)
    }

    #[inline]
    pub(crate) fn load_value(&mut self) -> Result<()> {
        match self.current {
            Some(index) => self.sources[index].load_value(),
            None => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.source().map_or(&[], MergeSource::value)
    }

    /// Returns whether the current entry is the only one of its key in all sources.
    #[inline]
    pub(crate) fn alone(&self) -> bool {
        self.ahead && self.source().is_some_and(MergeSource::unique)
    }

    /// Fills `window` with the current entry and those that follow it without a comparison, up to
    /// `end`. Returns whether it did. [`MergingIter::take_back`] must then be called first.
    #[inline]
    pub(crate) fn lend(&mut self, window: &mut PageWindow, end: Option<&[u8]>) -> bool {
        let Some(index) = self.current.filter(|_| self.ahead) else {
            return false;
        };
        let mut steps = if self.heap.is_empty() {
            usize::MAX
        } else {
            self.free
        };
        let forward = self.direction == Direction::Forward;
        if let Some(end) = end {
            steps = steps.min(self.sources[index].steps_before(end, forward));
        }
        self.sources[index].lend(window, steps, forward)
    }

    /// Moves to the position that `window`, filled by `lend`, has reached.
    pub(crate) fn take_back(&mut self, window: &mut PageWindow) {
        let gone = window.gone();
        if let Some(index) = self.current {
            self.sources[index].take_back(window);
        }
        self.free = self.free.saturating_sub(gone);
    }

    /// Returns the heap entry of a source.
    #[inline]
    fn place(&self, source: usize) -> HeapEntry {
        let at = &self.sources[source];
        let head = match &self.heads {
            Some(Heads::Taken(rule)) => rule.head(at.key()),
            _ => at.kept_head().unwrap_or_default(),
        };
        HeapEntry { head, source }
    }

    /// Returns whether `a` comes before `b` in the current direction.
    #[inline]
    fn before(&self, a: HeapEntry, b: HeapEntry) -> bool {
        let forward = self.direction == Direction::Forward;
        if a.head != b.head {
            return (a.head < b.head) == forward;
        }
        match self.compare_keys(a, b) {
            Ordering::Equal => (a.source < b.source) == forward,
            keys => keys.is_lt() == forward,
        }
    }

    /// Compares the keys of two sources whose heads are equal.
    fn compare_keys(&self, a: HeapEntry, b: HeapEntry) -> Ordering {
        let (a, b) = (&self.sources[a.source], &self.sources[b.source]);
        self.order.compare(a.key(), b.key())
    }

    /// Stores `place` at `at` or at its position below. The place stays in registers and is stored
    /// once: loading it as a whole right after storing its halves would stall.
    fn sift_down(&mut self, mut at: usize, place: HeapEntry) {
        loop {
            let left = 2 * at + 1;
            let Some(&on_left) = self.heap.get(left) else {
                break;
            };
            let (child, below) = match self.heap.get(left + 1) {
                Some(&on_right) if self.before(on_right, on_left) => (left + 1, on_right),
                _ => (left, on_left),
            };
            if !self.before(below, place) {
                break;
            }
            self.heap[at] = below;
            at = child;
        }
        self.heap[at] = place;
    }

    fn rebuild(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        let mut valid = (0..self.sources.len()).filter(|&index| self.sources[index].valid());
        let (first, second) = (valid.next(), valid.next());
        if second.is_none() {
            self.current = first;
            self.free = 0;
            self.ahead = true;
            return;
        }
        if self.heads.is_none() {
            self.heads = Some(Heads::of(&self.sources, &self.order));
        }
        self.heap.reserve(self.sources.len());
        for index in 0..self.sources.len() {
            if self.sources[index].valid() {
                let place = self.place(index);
                self.heap.push(place);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at, self.heap[at]);
        }
        self.pop_current(false);
    }

    /// Makes the nearest of the other sources current. `reached` is true if the previous source has
    /// ended, false after a seek.
    fn pop_current(&mut self, reached: bool) {
        self.free = 0;
        if self.heap.is_empty() {
            self.current = None;
            return;
        }
        let current = self.heap.swap_remove(0);
        if let Some(&last) = self.heap.first() {
            self.sift_down(0, last);
        }
        self.make_current(current, reached);
    }

    /// Makes the source of `place` current and compares it with the heap's top. Steps within its
    /// page are computed only if it was `reached` from another source or starts a page.
    fn make_current(&mut self, place: HeapEntry, reached: bool) {
        self.current = Some(place.source);
        self.free = 0;
        let Some(&top) = self.heap.first() else {
            self.ahead = true;
            return;
        };
        self.ahead = place.head != top.head || self.compare_keys(place, top).is_ne();
        if self.ahead {
            let forward = self.direction == Direction::Forward;
            let source = &self.sources[place.source];
            // A source that stays current computed its steps when it entered this page or was
            // reached; after a seek no step may follow.
            if reached || source.begins_stretch(forward) {
                self.free = source.steps_before(self.sources[top.source].key(), forward);
            }
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        for source in &mut self.sources {
            source.first()?;
        }
        self.rebuild(Direction::Forward);
        Ok(())
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        for source in &mut self.sources {
            source.last()?;
        }
        self.rebuild(Direction::Backward);
        Ok(())
    }

    /// Seeks to the first entry at or after `(key, seq)`; continues forward.
    pub(crate) fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let asks = self.sources.len() > 1;
        let mut sources = self.sources.iter_mut();
        sources.try_for_each(|source| source.begin_seek(key, asks))?;
        for source in &mut self.sources {
            source.end_seek(key, seq)?;
        }
        self.rebuild(Direction::Forward);
        Ok(())
    }

    /// Positions each source at its first entry from `start(source, older)` on in `direction`,
    /// where `older` is the number of older sources; continues in that direction. Forward, versions
    /// of a start key that are newer than `seq` are passed over.
    pub(crate) fn start<'a>(
        &mut self,
        direction: Direction,
        seq: SeqNo,
        start: impl Fn(&MergeSource, usize) -> KeyBound<'a>,
    ) -> Result<()> {
        for (older, source) in self.sources.iter_mut().rev().enumerate() {
            match (start(source, older), direction) {
                (KeyBound::First, Direction::Forward) => source.first()?,
                (KeyBound::At(key), Direction::Forward) => source.seek(key, seq)?,
                (KeyBound::At(key), Direction::Backward) => source.seek_for_prev(key, 0)?,
                (KeyBound::End, Direction::Backward) => source.last()?,
                (KeyBound::First | KeyBound::End, _) => source.leave(),
            }
        }
        self.rebuild(direction);
        Ok(())
    }

    /// Seeks to the last entry at or before `(key, seq)`; continues backward.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        for source in &mut self.sources {
            source.seek_for_prev(key, seq)?;
        }
        self.rebuild(Direction::Backward);
        Ok(())
    }

    /// Reverses the direction and takes one step in the new one. The iterator must have been
    /// positioned.
    ///
    /// This needs no search: every source is on its nearest entry that has not been passed, or past
    /// its end, so the entry in the new direction is one step away.
    pub(crate) fn turn(&mut self) -> Result<()> {
        let direction = match self.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        for source in &mut self.sources {
            match (direction, source.valid()) {
                (Direction::Forward, true) => source.next()?,
                (Direction::Forward, false) => source.first()?,
                (Direction::Backward, true) => source.prev()?,
                (Direction::Backward, false) => source.last()?,
            }
        }
        self.rebuild(direction);
        Ok(())
    }

    /// Moves to the next entry in the current direction.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<()> {
        let Some(index) = self.current else {
            return Ok(());
        };
        let source = &mut self.sources[index];
        match self.direction {
            Direction::Forward => source.next()?,
            Direction::Backward => source.prev()?,
        }
        if self.free > 0 {
            self.free -= 1;
        } else if self.heap.is_empty() {
            if !self.sources[index].valid() {
                self.current = None;
            }
        } else {
            self.reorder(index);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn current_source(&self) -> Option<usize> {
        self.current
    }

    /// Moves the current source, which is at a version of `key`, past its entries before `(key,
    /// seq)` in the current direction.
    pub(crate) fn pass(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let backward = self.direction == Direction::Backward;
        self.replace(|source| {
            if backward {
                source.seek_for_prev(key, seq)
            } else {
                source.seek(key, seq)
            }
        })
    }

    /// Moves the current source to the newest version of `key` visible at `seq`. The source is at
    /// that version or an older one, and the direction is backward.
    pub(crate) fn go_within(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.replace(|source| source.seek(key, seq))
    }

    /// Repositions the current source.
    pub(crate) fn replace(
        &mut self,
        place: impl FnOnce(&mut MergeSource) -> Result<()>,
    ) -> Result<()> {
        let Some(index) = self.current else {
            return Ok(());
        };
        self.free = 0;
        place(&mut self.sources[index])?;
        if !self.heap.is_empty() {
            self.reorder(index);
        } else if !self.sources[index].valid() {
            self.current = None;
        }
        Ok(())
    }

    fn reorder(&mut self, index: usize) {
        if self.sources[index].valid() {
            let place = self.place(index);
            let top = self.heap[0];
            if self.before(top, place) {
                self.sift_down(0, place);
                self.make_current(top, true);
            } else {
                self.make_current(place, false);
            }
        } else {
            self.pop_current(true);
        }
    }
}

/// Returns the common prefix of all sources, as far as runs determine it; memtables count only if
/// there is no run. A prefix that some keys lack costs comparisons, never the order.
fn shared_prefix(sources: &[MergeSource]) -> &[u8] {
    let runs = sources
        .iter()
        .any(|source| matches!(source, MergeSource::Run(_)));
    let counted = sources
        .iter()
        .filter(|source| !runs || matches!(source, MergeSource::Run(_)));
    let shared = |a: &'_ [u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    counted
        .map(MergeSource::prefix)
        .reduce(|a, b| &a[..shared(a, b)])
        .unwrap_or_default()
}
