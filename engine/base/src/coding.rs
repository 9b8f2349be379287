//! Integer encodings used on disk: little-endian fixed width, and LEB128.
//!
//! Writers append to a `Vec`. Readers take a slice and an offset and never index past its end, so
//! malformed input yields `None`, never a panic. Widths are always explicit, so these functions
//! cannot write a platform-sized integer to a file.

use crate::limits::KEYSPACE_BYTES;

/// Maximum length of an encoded `u64`: ceil(64 / 7) bytes.
pub const VARINT64_BYTES_MAX: usize = 10;

/// Appends `value` as a LEB128 varint (1 to 10 bytes).
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Returns the number of bytes that [`put_varint`] would append.
#[inline]
pub const fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Writes `value` as a varint at the start of `out` and returns its length, or `None` if it does
/// not fit.
#[inline]
pub fn write_varint(out: &mut [u8], mut value: u64) -> Option<usize> {
    let mut at = 0;
    loop {
        let byte = out.get_mut(at)?;
        at += 1;
        if value < 0x80 {
            *byte = (value & 0x7f) as u8;
            return Some(at);
        }
        *byte = (value & 0x7f) as u8 | 0x80;
        value >>= 7;
    }
}

/// Reads a varint at `*at` and moves `*at` past it; `None` on truncation or overflow.
#[inline]
pub fn get_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    get_varint_slow(bytes, at)
}

fn get_varint_slow(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for index in 0..VARINT64_BYTES_MAX {
        let byte = *bytes.get(at.checked_add(index)?)?;
        let bits = u64::from(byte & 0x7f);
        if index == VARINT64_BYTES_MAX - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            *at += index + 1;
            return Some(value);
        }
    }
    None
}

/// Appends a length-prefixed byte string.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a length-prefixed byte string; `None` if it does not lie within `bytes`.
#[inline]
pub fn get_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let len = usize::try_from(get_varint(bytes, at)?).ok()?;
    let end = at.checked_add(len)?;
    let found = bytes.get(*at..end)?;
    *at = end;
    Some(found)
}

/// Reads a little-endian `u16` at `at`.
#[inline]
pub fn get_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u16::from_le_bytes)
}

/// Reads a little-endian `u32` at `at`.
#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes)
}

/// Reads a little-endian `u64` at `at`.
#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u64::from_le_bytes)
}

/// Returns the number of a keyspace as the start of its stored keys: big-endian, so that bytewise
/// order is the order of numbers.
#[inline]
pub fn keyspace_prefix(number: u32) -> [u8; KEYSPACE_BYTES] {
    number.swap_bytes().to_le_bytes()
}

/// Splits a stored key into the number of its keyspace and the user's key; `None` if it is too
/// short.
#[inline]
pub fn split_keyspace(key: &[u8]) -> Option<(u32, &[u8])> {
    let (number, key) = key.split_first_chunk()?;
    Some((u32::from_le_bytes(*number).swap_bytes(), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_width() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                assert_eq!(out.len(), varint_len(value));
                let mut at = 0;
                assert_eq!(get_varint(&out, &mut at), Some(value));
                assert_eq!(at, out.len());
                let mut fixed = [0u8; VARINT64_BYTES_MAX];
                assert_eq!(write_varint(&mut fixed, value), Some(out.len()));
                assert_eq!(&fixed[..out.len()], &out[..]);
            }
        }
    }

    #[test]
    fn truncated_and_overlong_varints_are_refused() {
        let mut at = 0;
        assert_eq!(get_varint(&[], &mut at), None);
        assert_eq!(get_varint(&[0x80], &mut at), None);
        assert_eq!(get_varint(&[0xff; 11], &mut at), None);
        assert_eq!(at, 0);
        let mut short = [0u8; 1];
        assert_eq!(write_varint(&mut short, 300), None);
    }

    #[test]
    fn numbers_of_keyspaces_sort_as_bytes() {
        let numbers = [1, 2, 255, 256, 1 << 31, u32::MAX];
        assert!(numbers.map(keyspace_prefix).is_sorted());
        for number in numbers {
            let key = [&keyspace_prefix(number)[..], b"k"].concat();
            assert_eq!(split_keyspace(&key), Some((number, &b"k"[..])));
            assert_eq!(split_keyspace(&key[..3]), None);
        }
    }

    #[test]
    fn byte_strings_never_reach_past_the_end() {
        let mut out = Vec::new();
        put_bytes(&mut out, b"stone");
        let mut at = 0;
        assert_eq!(get_bytes(&out, &mut at), Some(&b"stone"[..]));
        at = 0;
        assert_eq!(get_bytes(&out[..4], &mut at), None);
        assert_eq!(get_u64(&out, 0), None);
        assert_eq!(get_u16(&out, 0), Some(u16::from_le_bytes([5, b's'])));
    }
}
