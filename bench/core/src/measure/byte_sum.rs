//! Folding of every byte read into one number.
//!
//! A fold is the wrapping sum of the bytes taken as little-endian words of eight, the last word
//! overlapping the one before if the length is not a multiple of eight, plus the length times an
//! odd constant. A changed byte or a changed length always changes the fold. It is cheap and the
//! same for every engine.

const LENGTH: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX: u64 = 0xff51_afd7_ed55_8ccd;

/// Length in bytes from which [`fold`] sums blocks.
const LONG: usize = 1024;

/// Returns the fold of some bytes.
#[inline]
pub fn fold(bytes: &[u8]) -> u64 {
    let length = (bytes.len() as u64).wrapping_mul(LENGTH);
    let Some(tail) = bytes.last_chunk::<8>() else {
        return length.wrapping_add(short(bytes));
    };
    let (mut sum, mut bytes) = (length, bytes);
    if bytes.len() >= LONG {
        let (blocks, rest) = bytes.as_chunks::<64>();
        sum = sum.wrapping_add(sum_of_blocks(blocks));
        bytes = rest;
    }
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = sum.wrapping_add(u64::from_le_bytes(*word));
    }
    if rest.is_empty() {
        sum
    } else {
        sum.wrapping_add(u64::from_le_bytes(*tail))
    }
}

/// Returns the fold of a key: like [`fold`], but without its loops for the sixteen bytes that
/// nearly every key has. In a scan, those loops were a fifth of the harness overhead per step.
#[inline]
pub fn fold_key(key: &[u8]) -> u64 {
    let ([high, low], []) = key.as_chunks::<8>() else {
        return fold(key);
    };
    let length = const { LENGTH.wrapping_mul(16) };
    length
        .wrapping_add(u64::from_le_bytes(*high))
        .wrapping_add(u64::from_le_bytes(*low))
}

/// Returns the wrapping sum of the words in `blocks`.
///
/// With one sum for each word of a block and not inlined, because the loop over single words took
/// up to a tenth of the time of a read of 100,000 bytes more, depending on where a build put it.
#[inline(never)]
fn sum_of_blocks(blocks: &[[u8; 64]]) -> u64 {
    let mut sums = [0u64; 8];
    for block in blocks {
        for (sum, word) in sums.iter_mut().zip(block.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Returns fewer than eight bytes as one word.
fn short(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| (word << 8) | u64::from(byte))
}

/// Returns one number for an entry: key and value are bound to each other, so two swapped values do
/// not cancel out in a sum over a scan.
///
/// The value is multiplied by an odd hash of the key: any change of the value is detected, and a
/// swap changes the sum by the product of two differences. Rejected: exclusive-or instead of the
/// product, because it misses swaps between keys that differ in one digit.
#[inline]
pub const fn bind(key: u64, value: u64) -> u64 {
    let hash = (key ^ (key >> 32)).wrapping_mul(MIX);
    value.wrapping_mul((hash ^ (hash >> 29)) | 1)
}

/// The sums of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanSum {
    /// Entries.
    pub entries: u64,
    /// Sum of [`bind`] over the entries.
    pub total: u64,
    /// Number of entries that did not follow the previous one in key order.
    pub disorders: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_and_length_is_seen() {
        for len in (0..=140usize).chain([1023, 1024, 1031, 1100]) {
            let mut bytes: Vec<u8> = (0..len)
                .map(|i| b' ' + u8::try_from(i * 7 % 95).expect("small"))
                .collect();
            let whole = fold(&bytes);
            let last = (len >= 8 && len % 8 > 0).then(|| bytes[len - 8..].to_vec());
            let words = bytes.chunks_exact(8).chain(last.as_deref());
            let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight")));
            let sum = words.fold((len as u64).wrapping_mul(LENGTH), u64::wrapping_add);
            assert!(len < 8 || whole == sum, "{len} bytes");
            for at in 0..len {
                assert_ne!(fold(&bytes[..at]), whole, "cut to {at} of {len}");
                for flip in [1, 0x10, 0x80, 0xff] {
                    bytes[at] ^= flip;
                    assert_ne!(fold(&bytes), whole, "byte {at} of {len} by {flip:#x}");
                    bytes[at] ^= flip;
                }
            }
        }
    }

    #[test]
    fn a_key_is_folded_as_any_bytes_are() {
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(151)).collect();
        for len in 0..=bytes.len() {
            assert_eq!(fold_key(&bytes[..len]), fold(&bytes[..len]), "{len}");
        }
    }

    #[test]
    fn bound_values_that_change_places_are_seen() {
        let pool = crate::workload::pool::Pool::new(0.5, 100);
        let set = pool.set(crate::workload::definition::Values::Flag);
        let key = |index: u64| fold(&crate::workload::key::digits(index));
        let value = |ordinal: usize| fold(set.value(ordinal % 10_486));
        for index in 0..200_000u64 {
            let far = index * 7919 % 100_003 + 200_000;
            let at = usize::try_from(index).expect("small");
            let (x, y) = (value(at), value(at + 1));
            for (a, b) in [(key(index), key(index + 1)), (key(index), key(far))] {
                let straight = bind(a, x).wrapping_add(bind(b, y));
                assert_ne!(straight, bind(a, y).wrapping_add(bind(b, x)), "{index}");
            }
        }
    }
}
