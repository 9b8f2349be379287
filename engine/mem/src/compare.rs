//! Comparison of two keys whose heads are equal, in bytewise order.
//!
//! The comparison is inlined and works on whole words, which is faster here than a call to the C
//! library's `memcmp`.

use std::cmp::Ordering;

const WORD: usize = size_of::<u64>();

/// Compares two keys as unsigned bytes, shorter keys first, like `a.cmp(b)`.
#[inline]
pub(crate) fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let shared = a.len().min(b.len());
    if shared < WORD {
        // Not `a.cmp(b)`, which would call `memcmp`.
        let differing = a.iter().zip(b).find(|(a, b)| a != b);
        return differing.map_or(a.len().cmp(&b.len()), |(a, b)| a.cmp(b));
    }
    let mut at = 0;
    loop {
        let words = (word_at(a, at), word_at(b, at));
        if words.0 != words.1 {
            return words.0.cmp(&words.1);
        }
        if at + WORD == shared {
            return a.len().cmp(&b.len());
        }
        // The last step overlaps the previous one: comparing equal bytes twice is harmless.
        at = (at + WORD).min(shared - WORD);
    }
}

/// Returns the eight bytes at `at` as a number with the same order.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes[at..].first_chunk::<WORD>();
    u64::from_le_bytes(*word.expect("the caller stays within both keys")).swap_bytes()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_slices_of_every_length() {
        let longest = if cfg!(miri) { 18 } else { 40u8 };
        let base: Vec<u8> = (0..longest).map(|i| i.wrapping_mul(7)).collect();
        for len in 0..base.len() {
            let a = &base[..len];
            for other in 0..base.len() {
                assert_eq!(compare_keys(a, &base[..other]), a.cmp(&base[..other]));
            }
            for at in 0..len {
                for byte in [0, 0x7f, 0x80, 0xff] {
                    let mut changed = a.to_vec();
                    changed[at] = byte;
                    assert_eq!(compare_keys(a, &changed), a.cmp(&changed[..]));
                    assert_eq!(compare_keys(&changed, a), changed[..].cmp(a));
                }
            }
        }
    }
}
