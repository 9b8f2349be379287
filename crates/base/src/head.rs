//! Key heads: eight bytes of a key, behind a prefix that many keys share, as one number that orders like
//! the key. A comparison of two numbers settles most comparisons of keys.
//!
//! Invariant: for keys `a < b` bytewise, `head(a) <= head(b)`. Equal heads say nothing, so every
//! tie is settled by the full keys. A hint that fits badly costs speed, never order.

use crate::comparator::Order;

/// Bytes of a key that a head holds.
pub const HEAD_BYTES: usize = size_of::<u64>();

/// How the heads of some keys are taken.
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
    /// Heads behind `prefix`, for an order that compares bytewise; always 0 for any other.
    pub fn new(order: &Order, prefix: Vec<u8>) -> HeadRule {
        HeadRule {
            prefix,
            bytewise: order.is_bytewise(),
        }
    }

    /// The prefix that heads are taken behind.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The head of `key`.
    #[inline]
    pub fn head(&self, key: &[u8]) -> u64 {
        if !self.bytewise {
            return 0;
        }
        // Not only faster: comparing no bytes at an empty vector's dangling address costs the C
        // library's masked vector loads a suppressed fault, 80 ns.
        if self.prefix.is_empty() {
            return head_of(key);
        }
        let prefix = self.prefix.as_slice();
        if starts_with(key, prefix) {
            head_of(&key[prefix.len()..])
        } else if key < prefix {
            0
        } else {
            u64::MAX
        }
    }
}

/// Whether `key` begins with `prefix`. The short prefixes that keys have are compared in two words that
/// may overlap, without a call.
#[inline]
fn starts_with(key: &[u8], prefix: &[u8]) -> bool {
    let Some(key) = key.get(..prefix.len()) else {
        return false;
    };
    match prefix.len() {
        8..=16 => key.first_chunk::<8>() == prefix.first_chunk() && ends_alike::<8>(key, prefix),
        4..8 => key.first_chunk::<4>() == prefix.first_chunk() && ends_alike::<4>(key, prefix),
        0..4 => key.iter().zip(prefix).all(|(a, b)| a == b),
        _ => key == prefix,
    }
}

#[inline]
fn ends_alike<const BYTES: usize>(a: &[u8], b: &[u8]) -> bool {
    a.last_chunk::<BYTES>() == b.last_chunk()
}

/// The first eight bytes as a big-endian number, missing ones 0.
#[inline]
pub fn head_of(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<HEAD_BYTES>() {
        return u64::from_le_bytes(*first).swap_bytes();
    }
    let mut padded = [0u8; HEAD_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(padded).swap_bytes()
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
}
