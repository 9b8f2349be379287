//! Bounds of a table: its smallest and largest key, or short keys outside of them.
//!
//! The manifest, the meta block and an open table hold the bounds of every table. Whole keys of up
//! to 64 MiB there would take more space than the rest of them together. So in the bytewise order a
//! long key is replaced: the smallest by its first bytes, the largest by the shortest key after all
//! that begin like it.
//!
//! Invariants:
//! 1. The lower bound is not after the first key, the upper one not before the last.
//! 2. Bounds of neighbouring tables do not touch if the second is within limits that begin after
//!    the upper bound of the first.
//! 3. Bounds within the limits of a compaction's inputs touch no table outside of them.
//!
//! The upper bound is the separator of LevelDB's index blocks, applied to whole tables.

use crate::table::page::bits::common_prefix;

/// Length up to which a key is its own bound. Shorter bounds would make more tables wait for a cut;
/// longer ones take more memory for each open table.
pub const BOUND_BYTES: usize = 512;
/// The same at an end where nothing is known of the next table: at the ends of a flush. Keys of a
/// load in ascending order, of which the next flush has the following ones, then do not touch.
const END_BOUND_BYTES: usize = 1024;

/// Keys that the bounds of a table must not pass. By default there are none.
///
/// ```
/// use cairndb_format::table::BoundLimits;
///
/// let limits = BoundLimits {
///     after: Some(b"apple".to_vec()),
///     ..BoundLimits::default()
/// };
/// assert!(limits.before.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundLimits {
    /// A key before both bounds.
    pub after: Option<Vec<u8>>,
    /// A key that is not after the lower bound.
    pub from: Option<Vec<u8>>,
    /// A key that is not before the upper bound.
    pub to: Option<Vec<u8>>,
    /// A key after both bounds.
    pub before: Option<Vec<u8>>,
}

impl BoundLimits {
    /// Returns the lower bound of a table that begins with `first`.
    pub(crate) fn lower(&self, first: &[u8]) -> Vec<u8> {
        let after = self.after.as_deref();
        debug_assert!(after.is_none_or(|after| after < first));
        let bound = &first[..lower_len(first, after)];
        bound.max(self.from.as_deref().unwrap_or_default()).to_vec()
    }

    /// Returns the upper bound of a table that ends with `last`.
    pub(crate) fn upper(&self, last: &[u8]) -> Vec<u8> {
        let before = self.before.as_deref();
        debug_assert!(before.is_none_or(|before| last < before));
        let bound = successor(last, kept_before(last, before));
        match &self.to {
            Some(to) if *to < bound => to.clone(),
            _ => bound,
        }
    }
}

/// Returns whether bounds of at most 512 bytes separate a table that ends with `last` from one that
/// begins with `next`.
///
/// ```
/// use cairndb_format::table::are_separable;
///
/// assert!(are_separable(b"apple", b"pear"));
/// let [first, second] = [b"1", b"2"].map(|end| [&[b'k'; 600][..], end].concat());
/// assert!(!are_separable(&first, &second));
/// ```
pub fn are_separable(last: &[u8], next: &[u8]) -> bool {
    if last.len().max(next.len()) <= BOUND_BYTES {
        return true;
    }
    let upper = kept_before(last, Some(next));
    let lower = (common_prefix(last, next) + 1).min(next.len());
    upper.max(lower) <= BOUND_BYTES
}

/// Returns the number of bytes of `first` that the lower bound keeps to be after `after`.
fn lower_len(first: &[u8], after: Option<&[u8]>) -> usize {
    let kept = after.map_or(END_BOUND_BYTES, |after| {
        (common_prefix(after, first) + 1).max(BOUND_BYTES)
    });
    kept.min(first.len())
}

/// Returns the number of bytes of `last` that its successor must keep to be before `before`; all if
/// it cannot be shortened.
fn kept_before(last: &[u8], before: Option<&[u8]>) -> usize {
    let Some(before) = before else {
        return END_BOUND_BYTES.min(last.len());
    };
    // The byte that differs stays as it is; a later one is incremented.
    let differs = common_prefix(last, before);
    let later = last.iter().skip(differs + 1);
    let increments = later.take_while(|byte| **byte == u8::MAX).count() + differs + 1;
    (increments + 1).max(BOUND_BYTES).min(last.len())
}

/// Returns the smallest key of at most `kept` bytes that is after every key that begins with the
/// first `kept` bytes of `key`; the key itself if that is no longer, or if there is none.
fn successor(key: &[u8], kept: usize) -> Vec<u8> {
    let start = &key[..kept];
    let last = start.iter().rposition(|byte| *byte != u8::MAX);
    match last {
        Some(last) if kept < key.len() => {
            let mut bound = start[..=last].to_vec();
            bound[last] += 1;
            bound
        }
        _ => key.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::support::Rng;

    /// Returns a key made of few long pieces, so that many keys share long prefixes.
    fn key(rng: &mut Rng) -> Vec<u8> {
        let mut key = Vec::new();
        for _ in 0..rng.below(5) {
            let byte = [0, b'a', 0xfe, 0xff][rng.below(4)];
            let len = [1, 2, 255, 511, 512, 513, 900][rng.below(7)];
            key.extend(vec![byte; len]);
        }
        key
    }

    /// Cuts sorted keys into tables where short bounds suffice, and after `forced` keys. Returns
    /// the bounds of each.
    fn cut(keys: &[Vec<u8>], limits: &BoundLimits, forced: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut tables = Vec::new();
        let mut limits = limits.clone();
        let end = limits.before.take();
        let mut first = 0;
        for at in 0..keys.len() {
            let next = keys.get(at + 1);
            let joined = at + 1 - first < forced;
            if joined && next.is_some_and(|next| !are_separable(&keys[at], next)) {
                continue;
            }
            limits.before = next.cloned().or_else(|| end.clone());
            let (low, high) = (limits.lower(&keys[first]), limits.upper(&keys[at]));
            assert!(low <= keys[first] && keys[at] <= high);
            limits.after = Some(high.clone());
            tables.push((low, high));
            first = at + 1;
        }
        tables
    }

    /// The keys of a table and its bounds.
    type Keyed = (Vec<Vec<u8>>, Vec<u8>, Vec<u8>);

    #[test]
    fn bounds_of_neighbours_do_not_touch() {
        let mut rng = Rng(46);
        let mut joined = 0;
        for round in 0..2_000 {
            let mut keys: Vec<_> = (0..2 + rng.below(12)).map(|_| key(&mut rng)).collect();
            keys.sort();
            keys.dedup();
            let forced = [2, 5, usize::MAX][round % 3];
            let tables = cut(&keys, &BoundLimits::default(), forced);
            for pair in tables.windows(2) {
                assert!(pair[0].1 < pair[1].0, "round {round}: {pair:?}");
            }
            joined += keys.len() - tables.len();
            if forced < usize::MAX {
                continue;
            }
            for (at, (low, high)) in tables.iter().enumerate() {
                let most = |end| if end { END_BOUND_BYTES } else { BOUND_BYTES };
                let (first, last) = (at == 0, at + 1 == tables.len());
                // Only a key that begins with so many bytes of 0xff is kept whole, at the end.
                let whole = last && high[..].starts_with(&[0xff; END_BOUND_BYTES]);
                assert!(low.len() <= most(first) && (high.len() <= most(last) || whole));
            }
        }
        assert!(joined > 100, "{joined}");
    }

    /// Tables are compacted in groups, again and again: the output of a group must not touch the
    /// tables beside it, whatever it was cut from.
    #[test]
    fn bounds_of_a_compaction_stay_within_its_inputs() {
        let mut rng = Rng(47);
        for round in 0..1_000 {
            let mut keys: Vec<_> = (0..2 + rng.below(20)).map(|_| key(&mut rng)).collect();
            keys.sort();
            keys.dedup();
            // Tables of an older version have whole keys as bounds, and may be cut anywhere.
            let mut tables: Vec<Keyed> = keys
                .chunks(1 + rng.below(4))
                .map(|part| (part.to_vec(), part[0].clone(), part[part.len() - 1].clone()))
                .collect();
            for _ in 0..6 {
                let from = rng.below(tables.len());
                let to = from + 1 + rng.below(tables.len() - from);
                let kept = |key: &Vec<u8>| key.len() % 7 != round % 7;
                let inputs: Vec<Vec<u8>> = tables[from..to]
                    .iter()
                    .flat_map(|table| table.0.clone())
                    .filter(kept)
                    .collect();
                let limits = BoundLimits {
                    from: Some(tables[from].1.clone()),
                    to: Some(tables[to - 1].2.clone()),
                    ..BoundLimits::default()
                };
                let mut rest = &inputs[..];
                let mut output = Vec::new();
                for (low, high) in cut(&inputs, &limits, 1 + round % 9) {
                    let count = rest.partition_point(|key| *key <= high);
                    output.push((rest[..count].to_vec(), low, high));
                    rest = &rest[count..];
                }
                assert!(rest.is_empty());
                tables.splice(from..to, output);
                if tables.is_empty() {
                    break;
                }
                for pair in tables.windows(2) {
                    assert!(pair[0].2 < pair[1].1, "round {round}");
                }
            }
        }
    }

    /// The next flush of a load in ascending order begins after the bound of the one before.
    #[test]
    fn ends_of_flushes_do_not_touch() {
        let key = |end: &[u8]| [&[b'k'; 700][..], end].concat();
        let limits = BoundLimits::default();
        assert!(limits.upper(&key(b"4")) < limits.lower(&key(b"5")));
        assert_eq!(limits.upper(&key(b"4").repeat(2)).len(), END_BOUND_BYTES);
    }

    #[test]
    fn a_range_end_is_respected() {
        let long = |end: &[u8]| [&[b'k'; 700][..], end].concat();
        let limits = BoundLimits {
            before: Some(long(b"5")),
            ..BoundLimits::default()
        };
        let high = limits.upper(&long(b"4"));
        assert!(long(b"4") <= high && high < long(b"5"));
        // Nothing shorter lies between these.
        let last = long(&[b'4', 0xff, 0xff]);
        assert_eq!(limits.upper(&last), last);
    }
}
