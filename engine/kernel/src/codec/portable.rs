//! Safe twin of the codec, with the simplest data structures.

use super::token::{
    COVER, COVER_MODULUS, HALF_MAX, HASH_BITS, HASH_BITS_SHORT, HASHED_BYTES_LONG, MATCH_BYTES_MIN,
    MEDIUM_BYTES_MAX, RAW_BYTES_MAX, RAW_BYTES_MIN, SHORT_BYTES_MAX, SKIP_SHIFT, hash, hash_long,
    literal_half, match_half,
};

/// Returns the encoded form of `src` if it is shorter, like [`super::Encoder::encode`] with a new
/// table.
pub fn encode(src: &[u8]) -> Option<Vec<u8>> {
    if !(RAW_BYTES_MIN..=RAW_BYTES_MAX).contains(&src.len()) {
        return None;
    }
    let long = src.len() > MEDIUM_BYTES_MAX;
    let hashed = if long {
        HASHED_BYTES_LONG
    } else {
        MATCH_BYTES_MIN
    };
    let slot = |at: usize| slot_of(src, at, long);
    let mut table: Vec<Option<usize>> = vec![None; 1 << HASH_BITS];
    let mut out = Vec::new();
    let (mut anchor, mut at, mut tries) = (0, 0, 1usize << SKIP_SHIFT);
    while at + hashed <= src.len() {
        if src.len() <= SHORT_BYTES_MAX && !COVER.contains(&(at % COVER_MODULUS)) {
            at += 1;
            continue;
        }
        let earlier = table[slot(at)].replace(at);
        let Some(from) = earlier.filter(|&from| from < at && four(src, from) == four(src, at))
        else {
            if src.len() > SHORT_BYTES_MAX {
                at += tries >> SKIP_SHIFT;
                tries += 1;
            } else {
                at += 1;
            }
            continue;
        };
        let offset = at - from;
        let ahead = (at..src.len())
            .take_while(|&i| src[i] == src[i - offset])
            .count();
        let back = (anchor.max(offset)..at)
            .rev()
            .take_while(|&i| src[i] == src[i - offset])
            .count();
        put_sequence(
            &mut out,
            &src[anchor..at - back],
            Some((offset, back + ahead)),
        );
        anchor = at + ahead;
        if anchor - 2 + hashed <= src.len() {
            table[slot(anchor - 2)] = Some(anchor - 2);
        }
        (at, tries) = (anchor, 1 << SKIP_SHIFT);
    }
    if anchor < src.len() {
        put_sequence(&mut out, &src[anchor..], None);
    }
    (out.len() < src.len()).then_some(out)
}

/// Returns the table slot of position `at` of a value.
fn slot_of(src: &[u8], at: usize, long: bool) -> usize {
    let bytes = u32::from_le_bytes(four(src, at));
    if long {
        hash_long(u64::from(bytes) | u64::from(src[at + 4]) << 32)
    } else if src.len() <= SHORT_BYTES_MAX {
        hash::<HASH_BITS_SHORT>(bytes)
    } else {
        hash::<HASH_BITS>(bytes)
    }
}

fn four(src: &[u8], at: usize) -> [u8; 4] {
    [src[at], src[at + 1], src[at + 2], src[at + 3]]
}

fn put_sequence(out: &mut Vec<u8>, literals: &[u8], matched: Option<(usize, usize)>) {
    let more = matched.map_or(0, |(_, len)| len - MATCH_BYTES_MIN);
    let half = |len: usize| u8::try_from(len.min(HALF_MAX)).expect("at most 15");
    out.push(half(literals.len()) << 4 | half(more));
    put_extension(out, literals.len());
    out.extend_from_slice(literals);
    if let Some((offset, _)) = matched {
        let offset = u16::try_from(offset).expect("a value has at most 64 Ki bytes");
        out.extend_from_slice(&offset.to_le_bytes());
        put_extension(out, more);
    }
}

fn put_extension(out: &mut Vec<u8>, len: usize) {
    let Some(rest) = len.checked_sub(HALF_MAX) else {
        return;
    };
    out.resize(out.len() + rest / 255, 255);
    out.push(u8::try_from(rest % 255).expect("a remainder of 255"));
}

/// Decodes `src` to `raw_len` bytes, like [`super::decode`].
pub fn decode(src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = src;
    while let Some((&token, behind)) = rest.split_first() {
        rest = behind;
        let literals = take_len(&mut rest, literal_half(token), raw_len)?;
        out.extend_from_slice(rest.split_off(..literals)?);
        if rest.is_empty() {
            return (match_half(token) == 0 && out.len() == raw_len).then_some(out);
        }
        let (&[low, high], behind) = rest.split_first_chunk()?;
        rest = behind;
        let offset = usize::from(u16::from_le_bytes([low, high]));
        let len = take_len(&mut rest, match_half(token), raw_len)? + MATCH_BYTES_MIN;
        let from = out.len().checked_sub(offset).filter(|_| offset > 0)?;
        if out.len() + len > raw_len {
            return None;
        }
        for at in from..from + len {
            out.push(out[at]);
        }
    }
    (out.len() == raw_len).then_some(out)
}

/// Returns the length that a token half and the extension bytes at the start of `rest` represent,
/// or `None` if they are cut short or exceed `limit`.
fn take_len(rest: &mut &[u8], half: usize, limit: usize) -> Option<usize> {
    let mut len = half;
    if len == HALF_MAX {
        loop {
            let &byte = rest.split_off_first()?;
            len += usize::from(byte);
            if len > limit.saturating_add(HALF_MAX) {
                return None;
            }
            if byte < u8::MAX {
                break;
            }
        }
    }
    Some(len)
}
