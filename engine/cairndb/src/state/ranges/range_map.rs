//! A map from keys to the newest deletion that covers them: ranges that ascend and do not overlap.
//!
//! The map is persistent: adding a deletion copies the few ranges around its ends and shares all
//! others, so each reader keeps the map of its moment. A deletion replaces whatever it covers,
//! because it is newer; one within another range splits that. So `n` deletions make at most
//! `2n - 1` ranges, and far fewer if they overlap.
//!
//! Rejected: fragments that list every deletion which covers them, as in RocksDB and Pebble. Ten
//! thousand ranges that overlap would have millions of list entries, built anew after each write.

use std::sync::Arc;

use cairndb_base::{Error, Order, Result, SeqNo};

/// Maximum number of ranges that are copied together.
const CHUNK: usize = 64;

/// A range of keys that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deleted {
    pub(crate) start: Arc<[u8]>,
    /// First key that is kept; `None` if there is none.
    pub(crate) end: Option<Arc<[u8]>>,
    /// Sequence number of the newest deletion of these keys.
    pub(crate) seq: SeqNo,
}

impl Deleted {
    pub(crate) fn new(start: &[u8], end: &[u8], seq: SeqNo) -> Deleted {
        Deleted {
            start: start.into(),
            end: (!end.is_empty()).then(|| end.into()),
            seq,
        }
    }

    /// Returns whether `key`, which is not before the range, is in it.
    #[inline]
    pub(crate) fn reaches(&self, order: &Order, key: &[u8]) -> bool {
        self.end
            .as_ref()
            .is_none_or(|end| order.compare(key, end).is_lt())
    }
}

/// Deleted ranges, in key order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeMap {
    /// No chunk is empty. `None` without ranges, so that a cursor allocates nothing for them.
    chunks: Option<Arc<Chunks>>,
}

type Chunks = Vec<Arc<[Deleted]>>;

/// The surroundings of a key in a [`RangeMap`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around<'m> {
    /// The last range that starts at or before the key.
    pub(crate) before: Option<&'m Deleted>,
    /// The first range that starts after the key.
    pub(crate) after: Option<&'m Deleted>,
}

impl RangeMap {
    /// The map without ranges.
    pub(crate) const EMPTY: RangeMap = RangeMap { chunks: None };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_none()
    }

    fn chunks(&self) -> &[Arc<[Deleted]>] {
        self.chunks.as_ref().map_or(&[], |chunks| chunks)
    }

    fn from_chunks(chunks: Chunks) -> RangeMap {
        RangeMap {
            chunks: (!chunks.is_empty()).then(|| Arc::new(chunks)),
        }
    }

    /// Returns whether both are one map.
    pub(crate) fn is(&self, other: &RangeMap) -> bool {
        match (&self.chunks, &other.chunks) {
            (Some(chunks), Some(others)) => Arc::ptr_eq(chunks, others),
            (chunks, others) => chunks.is_none() && others.is_none(),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Deleted> {
        self.chunks().iter().flat_map(|chunk| chunk.iter())
    }

    /// Returns the map of these ranges, which ascend and do not overlap.
    pub(crate) fn of(ranges: Vec<Deleted>) -> RangeMap {
        RangeMap::from_chunks(ranges.chunks(CHUNK).map(Arc::from).collect())
    }

    /// Returns the number of chunks whose first range starts at or before `key`.
    #[inline]
    fn chunks_until(&self, order: &Order, key: &[u8]) -> usize {
        let before = |chunk: &Arc<[Deleted]>| order.compare(&chunk[0].start, key).is_le();
        self.chunks().partition_point(before)
    }

    /// Returns the ranges next to `key`. Costs two binary searches.
    #[inline]
    pub(crate) fn around(&self, order: &Order, key: &[u8]) -> Around<'_> {
        let next = self.chunks_until(order, key);
        let next_chunk = self.chunks().get(next).and_then(|chunk| chunk.first());
        let Some(chunk) = next.checked_sub(1).and_then(|at| self.chunks().get(at)) else {
            return Around {
                before: None,
                after: next_chunk,
            };
        };
        let at = chunk.partition_point(|range| order.compare(&range.start, key).is_le());
        Around {
            before: at.checked_sub(1).and_then(|at| chunk.get(at)),
            after: chunk.get(at).or(next_chunk),
        }
    }

    /// Iterates over the ranges that start after `key`.
    pub(crate) fn from<'m>(
        &'m self,
        order: &Order,
        key: &[u8],
    ) -> impl Iterator<Item = &'m Deleted> {
        let chunk = self.chunks_until(order, key).saturating_sub(1);
        let ranges = self.chunks()[chunk.min(self.chunks().len())..].iter();
        let ranges = ranges.flat_map(|chunk| chunk.iter());
        let before = |range: &&Deleted| order.compare(&range.start, key).is_le();
        let skipped = ranges.clone().take_while(before).count();
        ranges.skip(skipped)
    }

    /// Returns the range that `key` is in.
    #[inline]
    pub(crate) fn covering(&self, order: &Order, key: &[u8]) -> Option<&Deleted> {
        let before = self.around(order, key).before;
        before.filter(|range| range.reaches(order, key))
    }

    /// Adds `new`, which is newer than every range in the map and not empty. Costs a copy of the
    /// ranges in the chunks of its ends and, if the map is shared, of the list of chunks.
    pub(crate) fn add(&mut self, order: &Order, new: Deleted) {
        let first = self.chunks_until(order, &new.start).saturating_sub(1);
        let until = match &new.end {
            Some(end) => self.chunks_until(order, end),
            None => self.chunks().len(),
        };
        // The chunk in which the range ends; it may be the one in which it starts.
        let last = until.saturating_sub(1).max(first);
        let chunk_at = |at: usize| self.chunks().get(at).map_or(&[][..], |chunk| chunk);
        let mut ranges = Vec::with_capacity(2 * CHUNK + 1);
        let starts_before = |it: &Deleted| order.compare(&it.start, &new.start).is_lt();
        let chunk = chunk_at(first);
        ranges.extend_from_slice(&chunk[..chunk.partition_point(starts_before)]);
        if let Some(before) = ranges.last_mut().filter(|it| it.reaches(order, &new.start)) {
            before.end = Some(Arc::clone(&new.start));
        }
        let end = new.end.clone();
        ranges.push(new);
        if let Some(end) = end {
            let (chunk, at) = (chunk_at(last), ranges.len());
            let ends_before = |it: &Deleted| !it.reaches(order, &end);
            ranges.extend_from_slice(&chunk[chunk.partition_point(ends_before)..]);
            let after = ranges.get_mut(at);
            if let Some(after) = after.filter(|it| order.compare(&it.start, &end).is_lt()) {
                after.start = end;
            }
        }
        let pieces = ranges.len().div_ceil(CHUNK);
        let size = ranges.len().div_ceil(pieces);
        let mut ranges = ranges.into_iter();
        let made = (0..pieces).map(|_| ranges.by_ref().take(size).collect());
        let chunks = Arc::make_mut(self.chunks.get_or_insert_default());
        chunks.splice(first..(last + 1).min(chunks.len()), made);
    }

    /// Like [`RangeMap::add`], for a range that was read from a file.
    ///
    /// # Errors
    /// `Corruption` if the range is empty.
    pub(crate) fn add_read(&mut self, order: &Order, read: Deleted) -> Result<()> {
        if read.reaches(order, &read.start) {
            self.add(order, read);
            return Ok(());
        }
        Err(Error::corruption("a deleted range ends before it starts"))
    }

    /// Returns the number of bytes in memory, as if no key were shared.
    pub(crate) fn memory_bytes(&self) -> usize {
        let key_bytes = |key: &Arc<[u8]>| key.len() + 2 * size_of::<usize>();
        let bytes = |range: &Deleted| {
            size_of::<Deleted>() + key_bytes(&range.start) + range.end.as_ref().map_or(0, key_bytes)
        };
        self.iter().map(bytes).sum()
    }

    /// Returns the map without the ranges for which `ended` is true.
    #[must_use]
    pub(crate) fn without(&self, ended: impl Fn(&Deleted) -> bool) -> RangeMap {
        if !self.iter().any(&ended) {
            return self.clone();
        }
        RangeMap::of(self.iter().filter(|range| !ended(range)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use cairndb_env::random::Random;

    use super::*;

    /// Compares with an array of the newest deletion of each key, and every earlier map with the
    /// array of its moment.
    #[test]
    fn every_moment_has_its_own_map() {
        let order = Order::Bytewise;
        let key = |n: usize| vec![u8::try_from(n).unwrap()];
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let wide = 1 + random.index(200);
            let mut moments = vec![(RangeMap::default(), vec![0; 256])];
            for seq in 1..300 {
                let from = random.index(255);
                let to = (from + 1 + random.index(wide)).min(256);
                let end = if to == 256 { Vec::new() } else { key(to) };
                let (mut map, mut array) = moments.last().unwrap().clone();
                map.add(&order, Deleted::new(&key(from), &end, seq));
                array[from..to].fill(seq);
                moments.push((map, array));
            }
            for (map, array) in &moments {
                for (n, seq) in array.iter().enumerate() {
                    let found = map.covering(&order, &key(n)).map_or(0, |range| range.seq);
                    assert_eq!(found, *seq, "key {n}, seed {seed}");
                    let after = map.around(&order, &key(n)).after;
                    let starts = map.iter().find(|range| range.start[0] as usize > n);
                    assert_eq!(after, starts, "key {n}, seed {seed}");
                }
                let ranges: Vec<_> = map.iter().collect();
                for pair in ranges.windows(2) {
                    let end = pair[0].end.as_ref().expect("only the last has none");
                    assert!(pair[0].start < *end && *end <= pair[1].start, "seed {seed}");
                }
                assert!(
                    map.chunks()
                        .iter()
                        .all(|it| (1..=CHUNK).contains(&it.len()))
                );
            }
            let (map, array) = moments.pop().unwrap();
            let newer = map.without(|range| range.seq < 250);
            for (n, seq) in array.iter().enumerate() {
                let found = newer.covering(&order, &key(n)).map_or(0, |range| range.seq);
                assert_eq!(found, if *seq < 250 { 0 } else { *seq }, "key {n}");
            }
        }
    }
}
