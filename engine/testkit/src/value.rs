//! Self-describing values: an invented, mixed or misplaced value can be detected from its own
//! bytes.
//!
//! A value is a sequence of chunks, one for the put and one for each operand appended to it. A
//! chunk is `id u64 | key hash u64 | length u32 | checksum u32 | filler`, little-endian. The
//! checksum covers everything else. The filler follows from the id and compresses to about half.

use cairndb_base::hash64;

use crate::{Check, Violation};

/// Length of a chunk without its filler, which is the minimum length of a value.
pub const HEAD_BYTES: usize = 24;

/// Returns the chunk of write `id` to `key`, with a length of `len` or [`HEAD_BYTES`], whichever is
/// greater.
pub fn chunk(id: u64, key: &[u8], len: usize) -> Vec<u8> {
    let filler = u32::try_from(len.saturating_sub(HEAD_BYTES)).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(len.max(HEAD_BYTES));
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&hash64(key).to_le_bytes());
    bytes.extend_from_slice(&filler.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    let noise = id.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    let pattern = noise.iter().chain(b"cairndb ").copied().cycle();
    bytes.extend(pattern.take(filler as usize));
    let sum = checksum(&bytes).to_le_bytes();
    bytes[20..HEAD_BYTES].copy_from_slice(&sum);
    bytes
}

/// Returns the ids of the chunks in `value`, which was found under `key`.
///
/// # Errors
/// A violation if any byte differs from what a write to this key stored.
pub fn ids(key: &[u8], value: &[u8]) -> Check<Vec<u64>> {
    let wrong = |what: &str, at: usize| {
        let key = key.escape_ascii();
        Violation::new(format!("the value of {key} {what} at byte {at}"))
    };
    let mut ids = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let at = value.len() - rest.len();
        let number = |from: usize, to: usize| {
            let bytes = rest.get(from..to)?.iter().rev();
            Some(bytes.fold(0u64, |number, &byte| number << 8 | u64::from(byte)))
        };
        let head = (number(0, 8), number(8, 16), number(16, 20), number(20, 24));
        let (Some(id), Some(hash), Some(filler), Some(sum)) = head else {
            return Err(wrong("ends within a chunk's head", at));
        };
        if hash != hash64(key) {
            return Err(wrong("belongs to another key", at));
        }
        let end = usize::try_from(filler).map_or(usize::MAX, |filler| HEAD_BYTES + filler);
        let Some(chunk) = rest.get(..end) else {
            return Err(wrong("ends within a chunk", at));
        };
        if u64::from(checksum(chunk)) != sum {
            return Err(wrong("is damaged", at));
        }
        ids.push(id);
        rest = &rest[end..];
    }
    if ids.is_empty() {
        return Err(wrong("is empty", 0));
    }
    Ok(ids)
}

/// Returns the checksum of all bytes of a chunk except those of the checksum itself.
fn checksum(chunk: &[u8]) -> u32 {
    let head = hash64(&chunk[..20]);
    let all = head ^ hash64(&chunk[HEAD_BYTES..]).rotate_left(1);
    u32::try_from(all >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read_back_and_damage_is_detected() {
        let mut value = chunk(7, b"key", 100);
        assert_eq!(value.len(), 100);
        value.extend(chunk(9, b"key", 0));
        assert_eq!(ids(b"key", &value), Ok(vec![7, 9]));
        assert!(ids(b"other", &value).is_err());
        assert!(ids(b"key", b"").is_err());
        for at in 0..value.len() {
            assert!(ids(b"key", &value[..at]).is_err() || at == 100);
            let mut damaged = value.clone();
            damaged[at] ^= 4;
            assert_ne!(ids(b"key", &damaged), Ok(vec![7, 9]), "byte {at}");
        }
    }
}
