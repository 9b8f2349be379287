//! Key heads: the eight bytes behind the memtable's prefix, as one number that orders like the key.
//!
//! Invariant: for keys `a < b` bytewise, `head(a) <= head(b)`. Equal heads say nothing, so every
//! tie is settled by the full keys. A hint that fits badly costs speed, never order.

use cairndb_base::Order;

/// Bytes of a key that a head holds.
pub(crate) const HEAD_BYTES: usize = size_of::<u64>();

/// How heads are taken in one memtable.
#[derive(Debug)]
pub(crate) struct HeadRule {
    prefix: Vec<u8>,
    bytewise: bool,
}

impl HeadRule {
    /// Heads behind `prefix`, for an order that compares bytewise; always 0 for any other.
    pub(crate) fn new(order: &Order, prefix: Vec<u8>) -> HeadRule {
        HeadRule {
            prefix,
            bytewise: order.is_bytewise(),
        }
    }

    /// The prefix that heads are taken behind.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The head of `key`.
    #[inline]
    pub(crate) fn head(&self, key: &[u8]) -> u64 {
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

/// Whether `key` begins with `prefix`; the first eight bytes are compared without a call.
#[inline]
fn starts_with(key: &[u8], prefix: &[u8]) -> bool {
    match (
        key.split_first_chunk::<8>(),
        prefix.split_first_chunk::<8>(),
    ) {
        (Some((first, rest)), Some((wanted, more))) => {
            first == wanted && (more.is_empty() || rest.starts_with(more))
        }
        _ => key.starts_with(prefix),
    }
}

/// The first eight bytes as a big-endian number, missing ones 0.
#[inline]
fn head_of(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<HEAD_BYTES>() {
        return u64::from_le_bytes(*first).swap_bytes();
    }
    let mut padded = [0u8; HEAD_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(padded).swap_bytes()
}

#[cfg(test)]
#[cfg(not(loom))]
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
                    keys.push([vec![a, b], vec![b; 12]].concat());
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
