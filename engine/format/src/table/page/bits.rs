//! Small integer helpers: widths, lossless narrowing, heads of keys.
//!
//! A head is a number made of the first bytes of a key's suffix, big-endian, so that numbers sort
//! as the bytes do. Heads are stored little-endian in the smallest width that holds their range.

use std::cmp::Ordering;

use cairndb_base::head::head_behind;

/// Returns `value` as `u8`; callers guarantee that it fits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the mask keeps what fits")]
pub(crate) fn low8(value: usize) -> u8 {
    debug_assert!(u8::try_from(value).is_ok());
    (value & 0xff) as u8
}

/// Returns `value` as `u16`; callers guarantee that it is bounded by a page's size.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the mask keeps what fits")]
pub(crate) fn low16(value: usize) -> u16 {
    debug_assert!(u16::try_from(value).is_ok());
    (value & 0xffff) as u16
}

/// Returns `value` as `u32`; callers guarantee that it is bounded by the limits on keys, values and
/// files.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the mask keeps what fits")]
pub(crate) fn low32(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    (value & 0xffff_ffff) as u32
}

/// Returns the bytes per item (0, 1, 2, 4 or 8) for numbers up to `range`.
#[inline]
pub(crate) fn width_of(range: u64) -> usize {
    const WIDTHS: [u8; 9] = [0, 1, 2, 4, 4, 8, 8, 8, 8];
    let bytes = (64 - range.leading_zeros()).div_ceil(8) as usize;
    usize::from(WIDTHS[bytes])
}

/// Returns the `bytes` (0 to 8) bytes of `key` from `at` on as a number, padded with zeros.
#[inline]
pub(crate) fn head_of(key: &[u8], at: usize, bytes: usize) -> u64 {
    if bytes == 0 {
        return 0;
    }
    head_behind(key, at) >> (64 - 8 * bytes)
}

/// Returns eight bytes, the first `bytes` of which are those of `head`.
#[inline]
pub(crate) fn head_bytes(head: u64, bytes: usize) -> [u8; 8] {
    if bytes == 0 {
        return [0; 8];
    }
    (head << (64 - 8 * bytes)).swap_bytes().to_le_bytes()
}

/// Compares two keys bytewise, eight bytes at a time; a builder compares every entry.
#[inline]
pub(crate) fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (x, y) in a_words.iter().zip(b_words) {
        if x != y {
            let number = |word: &[u8; 8]| u64::from_le_bytes(*word).swap_bytes();
            return number(x).cmp(&number(y));
        }
    }
    if a_words.len() == b_words.len() {
        return a_rest.cmp(b_rest);
    }
    let words = 8 * a_words.len().min(b_words.len());
    a[words..].cmp(&b[words..])
}

/// Returns the length of the common prefix of two keys.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Returns the length of the common suffix of two keys.
#[inline]
pub(crate) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(x, y)| x == y).count()
}

/// Reads item `index` of a column of `width`-byte numbers at `at`; 0 outside the page, which
/// parsing has ruled out.
#[inline]
pub(crate) fn load(bytes: &[u8], at: u32, width: u8, index: usize) -> u64 {
    let at = at as usize + index * usize::from(width);
    let Some(rest) = bytes.get(at..) else {
        return 0;
    };
    match width {
        0 => 0,
        1 => rest.first().map_or(0, |byte| u64::from(*byte)),
        2 => rest
            .first_chunk()
            .map_or(0, |chunk| u64::from(u16::from_le_bytes(*chunk))),
        4 => rest
            .first_chunk()
            .map_or(0, |chunk| u64::from(u32::from_le_bytes(*chunk))),
        _ => rest
            .first_chunk()
            .map_or(0, |chunk| u64::from_le_bytes(*chunk)),
    }
}

/// Returns item `index` of a `u16` column at `at`.
#[inline]
pub(crate) fn load16(bytes: &[u8], at: u32, index: usize) -> usize {
    let at = at as usize + 2 * index;
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |chunk| usize::from(u16::from_le_bytes(*chunk)))
}

/// Returns the start and end of item `index` of a `u16` column of ends at `at`.
#[inline]
pub(crate) fn load_span(bytes: &[u8], at: u32, index: usize) -> (usize, usize) {
    if index == 0 {
        return (0, load16(bytes, at, 0));
    }
    let at = at as usize + 2 * index - 2;
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or((0, 0), |chunk| {
            let pair = u32::from_le_bytes(*chunk);
            ((pair & 0xffff) as usize, (pair >> 16) as usize)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_hold_their_ranges() {
        for (range, width) in [
            (0, 0),
            (1, 1),
            (255, 1),
            (256, 2),
            (65535, 2),
            (65536, 4),
            (u64::from(u32::MAX), 4),
            (1 << 32, 8),
            (u64::MAX, 8),
        ] {
            assert_eq!(width_of(range), width, "range {range}");
        }
    }

    #[test]
    fn heads_order_as_bytes_do_and_spell_them_back() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"a", b"ab", b"abcdefgh", b"abcdefghi"];
        for bytes in 0..=8 {
            for pair in keys.windows(2) {
                assert!(head_of(pair[0], 0, bytes) <= head_of(pair[1], 0, bytes));
            }
            for at in 0..9 {
                let head = head_of(b"abcdefghi", at, bytes);
                assert_eq!(head, head_of(&b"abcdefghi"[at..], 0, bytes), "at {at}");
            }
            let head = head_of(b"abcdefgh", 0, bytes);
            assert_eq!(&head_bytes(head, bytes)[..bytes], &b"abcdefgh"[..bytes]);
        }
    }

    #[test]
    fn keys_compare_as_slices_do() {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for len in [0, 1, 7, 8, 9, 15, 16, 17, 30] {
            for at in [0, 3, 7, 8, 12, 20] {
                for byte in [0, 1, 0x80, 0xff] {
                    let mut key = vec![7; len];
                    if let Some(slot) = key.get_mut(at) {
                        *slot = byte;
                    }
                    keys.push(key);
                }
            }
        }
        for a in &keys {
            for b in &keys {
                assert_eq!(compare_keys(a, b), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn columns_outside_the_page_read_as_zero() {
        let bytes = [1u8, 2, 3, 4];
        assert_eq!(load(&bytes, 0, 2, 1), 0x0403);
        assert_eq!(load(&bytes, 0, 8, 0), 0);
        assert_eq!(load(&bytes, 9, 1, 0), 0);
        assert_eq!(load_span(&bytes, 0, 1), (0x0201, 0x0403));
        assert_eq!(load_span(&bytes, 0, 2), (0, 0));
    }
}
