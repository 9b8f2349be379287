//! Comparing two keys whose heads tie, in bytewise order.
//!
//! Word by word, inlined, rather than by the C library's `memcmp` behind a call: for keys whose
//! heads all tied a random insert into 3,000 entries, then a skip list's, took 106 ns instead of 127.

use std::cmp::Ordering;

const WORD: usize = size_of::<u64>();

/// Orders two keys unsigned byte by byte, the shorter first: what `a.cmp(b)` does.
#[inline]
pub(crate) fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let shared = a.len().min(b.len());
    if shared < WORD {
        // Not `a.cmp(b)`, which is that call.
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
        // The last step overlaps the one before: equal bytes do no harm.
        at = (at + WORD).min(shared - WORD);
    }
}

/// The eight bytes at `at` as a number that orders like them.
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
