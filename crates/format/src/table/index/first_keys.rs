//! The first keys of a table's pages while it is written, as far as its fence will need them.
//!
//! What the fence leaves out, the bytes common to all keys of a table or to all units of one head, is known only when the
//! last key is. So of each first key is kept how many bytes it shares with the one before, and a few behind those that it
//! shares with its neighbours: enough to tell it from them, as a rule, some thirty bytes a page and eighty at most.
//!
//! Invariants: keys come in bytewise order. [`FirstKeys::walk`] gives of each key its beginning, `KEPT_BYTES` longer than what
//! is common to all keys, or all of it.

use crate::table::page::bits::{common_prefix, low32};

/// Bytes kept behind those that a key shares with its neighbours: a head and a tie head.
pub(crate) const KEPT_BYTES: usize = 16;
/// Of bytes that a key shares with the next and not with the one before it, as many are kept as leave so many a key, of all
/// keys together: else long keys would make what a builder holds grow as its table does. (A bound for each key lost: the first
/// of a group of long names is rare, and without it nothing is known of the others.)
const BYTES_A_KEY: usize = 64;
/// And at least so many.
const SHARED_BYTES_MIN: usize = 48;
/// What the buffer for the last key shrinks to behind a longer one.
const LAST_BYTES_MAX: usize = 4 << 10;

/// One key, next to the one before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Bytes shared with the key before.
    shared: u32,
    /// Bytes kept behind those.
    kept: u32,
    /// Whether these are all there are.
    whole: bool,
}

/// What [`FirstKeys::walk`] gives of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstKey<'k> {
    /// How it begins.
    pub(crate) start: &'k [u8],
    /// Whether that is all of it.
    pub(crate) whole: bool,
    /// Bytes it shares with the key before; 0 for the first.
    pub(crate) shared: usize,
}

/// First keys of pages, front-coded.
#[derive(Debug, Default)]
pub(crate) struct FirstKeys {
    smallest: Vec<u8>,
    /// All keys but the first and the last, which nothing follows yet.
    steps: Vec<Step>,
    bytes: Vec<u8>,
    last: Vec<u8>,
    /// Bytes that the last shares with the one before it.
    last_shared: usize,
    count: usize,
}

impl FirstKeys {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.bytes.capacity()
            + self.smallest.capacity()
            + self.last.capacity()
    }

    /// The first of all; empty before there is one.
    pub(crate) fn smallest(&self) -> &[u8] {
        &self.smallest
    }

    /// Adds the first key of the next page, which is not before the one before.
    pub(crate) fn add(&mut self, key: &[u8]) {
        if self.count == 0 {
            self.smallest = key.to_vec();
        } else {
            let shared = common_prefix(&self.last, key);
            if self.count > 1 {
                let step = self.step_of_last(shared);
                let from = self.last_shared;
                let own = &self.last[from..from + step.kept as usize];
                self.bytes.extend_from_slice(own);
                self.steps.push(step);
            }
            self.last_shared = shared;
        }
        self.last.clear();
        self.last.shrink_to(LAST_BYTES_MAX);
        self.last.extend_from_slice(key);
        self.count += 1;
    }

    /// What to keep of the last key, which shares `next` bytes with the one behind it.
    fn step_of_last(&self, next: usize) -> Step {
        let own = self.last.len() - self.last_shared;
        let room = (BYTES_A_KEY * self.count).saturating_sub(self.bytes.len());
        let shared = next
            .saturating_sub(self.last_shared)
            .min(room.max(SHARED_BYTES_MIN));
        let kept = own.min(shared + KEPT_BYTES);
        Step {
            shared: low32(self.last_shared),
            kept: low32(kept),
            whole: kept == own,
        }
    }

    /// Gives each key in turn, as far as it is kept.
    pub(crate) fn walk(&self, mut each: impl FnMut(FirstKey<'_>)) {
        if self.count == 0 {
            return;
        }
        each(FirstKey {
            start: &self.smallest,
            whole: true,
            shared: 0,
        });
        let mut start = self.smallest.clone();
        let mut bytes = &self.bytes[..];
        for step in &self.steps {
            let (own, rest) = bytes.split_at(step.kept as usize);
            bytes = rest;
            let shared = step.shared as usize;
            // Of the key before less may be kept than this one shares with it: then no more is known of this one.
            let known = shared <= start.len();
            start.truncate(shared);
            if known {
                start.extend_from_slice(own);
            }
            each(FirstKey {
                start: &start,
                whole: known && step.whole,
                shared,
            });
        }
        if self.count > 1 {
            each(FirstKey {
                start: &self.last,
                whole: true,
                shared: self.last_shared,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keys: &[Vec<u8>]) {
        let mut first_keys = FirstKeys::default();
        for key in keys {
            first_keys.add(key);
        }
        let common = common_prefix(&keys[0], &keys[keys.len() - 1]);
        let mut at = 0;
        first_keys.walk(|first| {
            let key = &keys[at];
            let shared = at
                .checked_sub(1)
                .map_or(0, |before| common_prefix(&keys[before], key));
            assert_eq!(first.shared, shared, "{at}");
            assert!(key.starts_with(first.start), "{at}");
            assert!(!first.whole || first.start == key, "{at}");
            assert!(
                first.whole || first.start.len() >= common + KEPT_BYTES,
                "{at}"
            );
            at += 1;
        });
        assert_eq!(at, keys.len());
        assert_eq!(first_keys.smallest(), keys[0]);
    }

    #[test]
    fn keys_begin_as_they_did() {
        let short: Vec<Vec<u8>> = (0..500)
            .map(|n| format!("stone/{:05}/{}", n / 7, "x".repeat(n % 7 * 9)).into_bytes())
            .collect();
        check(&short);
        check(&short[..1]);
        check(&short[..2]);
        check(&[Vec::new(), Vec::new(), vec![0], vec![0; 20]]);
        // Pairs that have more in common than is kept of either.
        let mut long: Vec<Vec<u8>> = (0..400_usize)
            .map(|n| {
                let mut key = format!("way/{:04}", n / 3).into_bytes();
                key.extend(vec![b'y'; n / 3 * 11 % 900]);
                key.extend(format!("{n:04}").into_bytes());
                key
            })
            .collect();
        long.sort();
        check(&long);
    }

    #[test]
    fn what_is_held_does_not_grow_with_the_keys() {
        let mut first_keys = FirstKeys::default();
        for pair in 0..500_u32 {
            for twin in 0..2_u8 {
                let mut key = pair.swap_bytes().to_le_bytes().to_vec();
                key.extend(vec![b'z'; 5_000]);
                key.push(twin);
                first_keys.add(&key);
            }
        }
        let held = first_keys.memory_bytes();
        assert!(held < 1_000 * 160 + 2 * 5_005, "{held}");
    }
}
