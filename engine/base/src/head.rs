//! Key heads: the eight key bytes after a common prefix, as one number that sorts like the key.
//! Comparing two numbers decides most key comparisons.
//!
//! Invariant: for keys `a < b` bytewise, `head(a) <= head(b)`. If the heads are equal, the full
//! keys must be compared. An unsuitable prefix costs speed but never changes the order.

use crate::comparator::Order;

/// Number of key bytes that a head holds.
pub const HEAD_BYTES: usize = size_of::<u64>();

/// Rule for taking heads: the prefix to skip, and whether the order has heads.
///
/// ```
/// use cairndb_base::{HeadRule, Order};
/// let rule = HeadRule::new(&Order::Bytewise, b"user/".to_vec());
/// assert!(rule.head(b"user/0001") < rule.head(b"user/0002"));
/// assert!(rule.head(b"group/9") <= rule.head(b"user/0001"));
/// ```
#[derive(Clone, Debug)]
pub struct HeadRule {
    prefix: Vec<u8>,
    bytewise: bool,
}

impl HeadRule {
    /// Returns the rule for heads after `prefix` if `order` is bytewise. Under any other order,
    /// heads are always 0.
    pub fn new(order: &Order, prefix: Vec<u8>) -> HeadRule {
        HeadRule {
            prefix,
            bytewise: order.is_bytewise(),
        }
    }

    /// Returns the prefix after which heads are taken.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns the head of `key`.
    #[expect(
        clippy::inline_always,
        reason = "called for each insert; a real call would save all registers"
    )]
    #[inline(always)]
    pub fn head(&self, key: &[u8]) -> u64 {
        if !self.bytewise {
            return 0;
        }
        // Also avoids a suppressed fault: the C library's masked vector loads incur one when they
        // compare zero bytes at an empty vector's dangling address.
        if self.prefix.is_empty() {
            return head_of(key);
        }
        let prefix = self.prefix.as_slice();
        if behind_prefix(key, prefix).is_some() {
            head_behind(key, prefix.len())
        } else if key < prefix {
            0
        } else {
            u64::MAX
        }
    }
}

/// Returns the rest of `key` after `prefix`, if `key` starts with it. Prefixes are usually short.
/// These are compared as two words that may overlap, because a call to `memcmp` would cost more
/// than the rest of a search.
#[inline]
pub fn behind_prefix<'k>(key: &'k [u8], prefix: &[u8]) -> Option<&'k [u8]> {
    let (front, rest) = key.split_at_checked(prefix.len())?;
    let same = match prefix.len() {
        0 => true,
        8..=16 => {
            front.first_chunk::<8>() == prefix.first_chunk() && ends_alike::<8>(front, prefix)
        }
        4..8 => front.first_chunk::<4>() == prefix.first_chunk() && ends_alike::<4>(front, prefix),
        1..4 => front.iter().zip(prefix).all(|(a, b)| a == b),
        _ => front == prefix,
    };
    same.then_some(rest)
}

#[inline]
fn ends_alike<const BYTES: usize>(a: &[u8], b: &[u8]) -> bool {
    a.last_chunk::<BYTES>() == b.last_chunk()
}

/// Returns the first eight bytes as a big-endian number, padded with zeros.
#[inline]
pub fn head_of(bytes: &[u8]) -> u64 {
    head_behind(bytes, 0)
}

/// Returns the eight bytes of `key` from `at` on as a big-endian number, padded with zeros.
#[inline]
pub fn head_behind(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or_default();
    if let Some(first) = rest.first_chunk::<HEAD_BYTES>() {
        u64::from_le_bytes(*first).swap_bytes()
    } else if rest.is_empty() {
        0
    } else if let Some(last) = key.last_chunk::<HEAD_BYTES>() {
        // One load reads the last eight bytes of the key; a shift drops those before `at`. Copying
        // the bytes into a zeroed buffer first would make the load span two recent stores and wait
        // for both.
        u64::from_le_bytes(*last).swap_bytes() << (64 - 8 * rest.len())
    } else {
        rest.iter()
            .rev()
            .fold(0, |number, byte| number >> 8 | u64::from(*byte) << 56)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_never_contradict_the_order() {
        let keys: Vec<Vec<u8>> = {
            let mut keys = vec![vec![]];
            for a in [0u8, 1, b'k', 0xfe, 0xff] {
                for b in [0u8, b'k', 0xff] {
                    keys.push(vec![a]);
                    keys.push(vec![a, b]);
                    keys.push(vec![a, b, 0]);
                    keys.push([vec![a, b], vec![b; 3]].concat());
                    keys.push([vec![a, b], vec![b; 12]].concat());
                    keys.push([vec![a, b], vec![b; 12], vec![a; 9]].concat());
                }
            }
            keys.sort();
            keys
        };
        for prefix in &keys {
            let rule = HeadRule::new(&Order::Bytewise, prefix.clone());
            for pair in keys.windows(2) {
                assert!(
                    rule.head(&pair[0]) <= rule.head(&pair[1]),
                    "{prefix:?} {pair:?}"
                );
            }
        }
    }

    #[test]
    fn prefixes_of_every_length_are_told_apart() {
        let key: Vec<u8> = (0..40).collect();
        for len in 0..=40 {
            assert_eq!(behind_prefix(&key, &key[..len]), Some(&key[len..]));
            for at in 0..len {
                let mut other = key[..len].to_vec();
                other[at] ^= 0x80;
                assert_eq!(behind_prefix(&key, &other), None, "{len} {at}");
            }
        }
        assert_eq!(behind_prefix(&key[..3], &key[..4]), None);
    }

    #[test]
    fn heads_of_short_rests_are_those_of_padded_ones() {
        let key: Vec<u8> = (1..=20).collect();
        for len in 0..=key.len() {
            for at in 0..=len + 1 {
                let rest = key[..len].get(at..).unwrap_or_default();
                let mut padded = rest.to_vec();
                padded.resize(padded.len().max(8), 0);
                assert_eq!(head_behind(&key[..len], at), head_of(&padded), "{len} {at}");
            }
        }
    }
}
