//! Safe twin of the dictionary form, with the simplest data structures.

use super::encode::ONCE_BYTES_MAX;
use super::matcher::{HASH_BITS, WAYS};
use super::sequences::SEQUENCES_LEFT;
use super::{
    DICTIONARY_BYTES_MAX, LENGTH_BITS, MATCH_BYTES_MAX, PLAIN, RUN, RUN_BYTES, SEQUENCES_MAX,
    head_len,
};
use crate::codec::portable;
use crate::codec::token::{MATCH_BYTES_MIN, RAW_BYTES_MAX, RAW_BYTES_MIN, SKIP_SHIFT, hash};

/// Returns the encoded form of `src` against `dictionary` if it is shorter, like
/// [`Encoder::encode_with`](crate::codec::Encoder::encode_with).
pub fn encode_with(dictionary: &[u8], src: &[u8]) -> Option<Vec<u8>> {
    if !(RAW_BYTES_MIN..=RAW_BYTES_MAX).contains(&src.len()) {
        return None;
    }
    let fitting = dictionary.len() <= DICTIONARY_BYTES_MAX;
    let against = fitting.then(|| encode(dictionary, src));
    let against = against.filter(|encoded| encoded.len() < src.len());
    if src.len() <= ONCE_BYTES_MAX && against.is_some() {
        return against;
    }
    let plain = portable::encode(src).map(|plain| [&[PLAIN], &plain[..]].concat());
    let plain = plain.filter(|plain| plain.len() < src.len());
    match (against, plain) {
        (Some(against), Some(plain)) if plain.len() < against.len() => Some(plain),
        (Some(against), _) => Some(against),
        (None, plain) => plain,
    }
}

fn encode(dictionary: &[u8], src: &[u8]) -> Vec<u8> {
    // Literals, then the position and length bits of the match or run that follows them.
    let mut sequences: Vec<(&[u8], usize, usize)> = Vec::new();
    let mut anchor = 0;
    while let Some((at, from, len)) = find(dictionary, src, anchor) {
        let mut literals = &src[anchor..at];
        while literals.len() >= RUN_BYTES {
            let runs = (literals.len() / RUN_BYTES).min(MATCH_BYTES_MAX - 1);
            let (run, rest) = literals.split_at(literals.len() % RUN_BYTES + runs * RUN_BYTES);
            sequences.push((run, RUN, runs));
            literals = rest;
        }
        sequences.push((literals, from, len - 1));
        anchor = at + len;
        if sequences.len() + SEQUENCES_LEFT + src.len() / 496 > SEQUENCES_MAX {
            break;
        }
    }
    let mut out = vec![0; head_len(sequences.len())];
    out[0] = u8::try_from(sequences.len()).expect("at most 254");
    for (index, (literals, place, low)) in sequences.iter().enumerate() {
        let word = u16::try_from((place << LENGTH_BITS) + low).expect("11 and 5 bits");
        out[1 + 2 * index..3 + 2 * index].copy_from_slice(&word.to_le_bytes());
        let few = u8::try_from(literals.len() % RUN_BYTES).expect("less than 16");
        out[1 + 2 * sequences.len() + index / 2] |= few << (4 * (index % 2));
    }
    out.extend(sequences.iter().flat_map(|(literals, _, _)| *literals));
    out.extend_from_slice(&src[anchor..]);
    out
}

/// Returns the longest match at the first position at or after `anchor` that has one: its start in
/// `src`, its position in the dictionary, and its length.
fn find(dictionary: &[u8], src: &[u8], anchor: usize) -> Option<(usize, usize, usize)> {
    let slot = |four: &[u8]| {
        let four: [u8; 4] = four.try_into().expect("four bytes");
        hash::<HASH_BITS>(u32::from_le_bytes(four))
    };
    let (mut at, mut tries) = (anchor, 1usize << SKIP_SHIFT);
    while at + MATCH_BYTES_MIN <= src.len() {
        let four = &src[at..at + MATCH_BYTES_MIN];
        let places = (0..dictionary.len().saturating_sub(MATCH_BYTES_MIN - 1)).rev();
        let places = places.filter(|from| slot(&dictionary[*from..from + 4]) == slot(four));
        let mut longest = None;
        for from in places.take(WAYS) {
            let ahead = pairs(&dictionary[from..], &src[at..]).min(MATCH_BYTES_MAX);
            if ahead < MATCH_BYTES_MIN {
                continue;
            }
            let before: Vec<u8> = dictionary[..from].iter().rev().copied().collect();
            let literals: Vec<u8> = src[anchor..at].iter().rev().copied().collect();
            let back = pairs(&before, &literals).min(MATCH_BYTES_MAX - ahead);
            if longest.is_none_or(|(_, _, len)| back + ahead > len) {
                longest = Some((at - back, from - back, back + ahead));
            }
        }
        if longest.is_some() {
            return longest;
        }
        at += tries >> SKIP_SHIFT;
        tries += 1;
    }
    None
}

/// Returns the number of equal bytes at the start of both.
fn pairs(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Decodes `src` to `raw_len` bytes, like [`decode_with`](crate::codec::decode_with).
pub fn decode_with(dictionary: &[u8], src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let dictionary = &dictionary[dictionary.len().saturating_sub(DICTIONARY_BYTES_MAX)..];
    let (&count, rest) = src.split_first()?;
    if count == PLAIN {
        return portable::decode(rest, raw_len);
    }
    let count = usize::from(count);
    if dictionary.is_empty() && count > 0 {
        return None;
    }
    let (matches, rest) = rest.split_at_checked(2 * count)?;
    let (lengths, mut literals) = rest.split_at_checked(count.div_ceil(2))?;
    let mut out = Vec::new();
    for (index, word) in matches.chunks(2).enumerate() {
        let word = usize::from(u16::from_le_bytes([word[0], word[1]]));
        let few = lengths[index / 2] >> (4 * (index % 2)) & 15;
        out.extend_from_slice(literals.split_off(..usize::from(few))?);
        let (place, low) = (word >> LENGTH_BITS, word % MATCH_BYTES_MAX);
        if place < RUN {
            out.extend_from_slice(dictionary.get(place..=place + low)?);
        } else if low > 0 {
            out.extend_from_slice(literals.split_off(..low * RUN_BYTES)?);
        } else {
            return None;
        }
    }
    out.extend_from_slice(literals);
    (out.len() == raw_len).then_some(out)
}
