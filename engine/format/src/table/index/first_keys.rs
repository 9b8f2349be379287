//! The first keys of a table's units while it is written, as far as the fence index will need them.
//!
//! The bytes that the fence leaves out, common to all keys of a table or to all units of one head,
//! are only known when the last key is. So for each first key this keeps how many bytes it shares
//! with the key before, and a few bytes after those that it shares with its neighbours: enough to
//! distinguish them, usually some thirty bytes per page and at most eighty.
//!
//! Invariants: keys come in bytewise order. [`FirstKeys::walk`] returns the start of each key,
//! `KEPT_BYTES` longer than the bytes common to all keys, or the whole key.

use crate::table::page::bits::{common_prefix, low32};

/// Number of bytes kept after those that a key shares with its neighbours: a head and a tie head.
pub(crate) const KEPT_BYTES: usize = 16;
/// Maximum average, over all keys, of the bytes kept that a key shares with the next but not with
/// the previous key. Without this bound, long keys would make the builder's memory grow with its
/// table. (Rejected: a bound per key, because the first key of a group of long names is rare, and
/// without it nothing is known about the others.)
const BYTES_A_KEY: usize = 64;
/// Minimum number of shared bytes that are kept.
const SHARED_BYTES_MIN: usize = 48;
/// The buffer for the last key shrinks to this after a longer one.
const LAST_BYTES_MAX: usize = 4 << 10;

/// One key, relative to the one before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Number of bytes shared with the previous key.
    shared: u32,
    /// Number of bytes kept after those.
    kept: u32,
    /// Whether these are all bytes of the key.
    whole: bool,
}

/// A key as [`FirstKeys::walk`] passes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstKey<'k> {
    /// Start of the key.
    pub(crate) start: &'k [u8],
    /// Whether `start` is the whole key.
    pub(crate) whole: bool,
    /// Number of bytes that the key shares with the previous one; 0 for the first.
    pub(crate) shared: usize,
}

/// First keys of pages, front-coded.
#[derive(Debug, Default)]
pub(crate) struct FirstKeys {
    smallest: Vec<u8>,
    /// All keys except the first and the last, whose successor is not known yet.
    steps: Vec<Step>,
    bytes: Vec<u8>,
    last: Vec<u8>,
    /// Number of bytes that the last key shares with the one before it.
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

    /// Returns the smallest key; empty if there is none yet.
    pub(crate) fn smallest(&self) -> &[u8] {
        &self.smallest
    }

    /// Adds the first key of the next page, which does not sort before the last one.
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

    /// Returns what to keep of the last key, which shares `next` bytes with its successor.
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

    /// Calls `each` with every key in turn, as far as it is kept.
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
            // If fewer bytes of the key before are kept than this one shares with it, no more is
            // known about this one.
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
        // Pairs that share more bytes than are kept of either.
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
