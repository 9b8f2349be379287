//! The sequences of a value: collected first, as all that copies stands before all literals.

#![allow(
    unsafe_code,
    reason = "copies few literals at once, into room that it has checked"
)]

use super::matcher::Matcher;
use super::{LENGTH_BITS, MATCH_BYTES_MAX, RUN, RUN_BYTES, SEQUENCES_MAX, head_len};
use crate::codec::copy;

/// Bytes that are copied at once, whatever part of them is wanted.
const COPY_BYTES: usize = 16;
/// Sequences that one match may need, if the runs before it do: one for literals, one for itself.
pub(super) const SEQUENCES_LEFT: usize = 2;

/// The sequences of the value being encoded: a count of literals, from where, and what follows them.
#[derive(Clone, Debug, Default)]
pub(in crate::codec) struct Sequences {
    list: Vec<Sequence>,
    literals: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// Where its literals begin, those of a run among them.
    at: u32,
    /// At most 15.
    literals: u8,
    matched: u16,
}

impl Sequences {
    /// Finds the sequences of a value; says whether they are shorter than it.
    #[inline]
    pub(super) fn collect(&mut self, matcher: &Matcher, src: &[u8]) -> bool {
        self.list.clear();
        self.literals = 0;
        let mut anchor = 0;
        while let Some(found) = matcher.find(src, anchor) {
            let mut literals = found.at - anchor;
            self.literals += literals;
            while literals > 15 {
                let few = literals % RUN_BYTES;
                let runs = (literals / RUN_BYTES).min(MATCH_BYTES_MAX - 1);
                self.push(anchor, few, RUN, runs);
                anchor += few + RUN_BYTES * runs;
                literals -= few + RUN_BYTES * runs;
            }
            self.push(anchor, literals, found.from, found.len - 1);
            anchor = found.at + found.len;
            // The next match may need runs of literals before it.
            let runs = src.len() / (RUN_BYTES * (MATCH_BYTES_MAX - 1));
            if self.list.len() + SEQUENCES_LEFT + runs > SEQUENCES_MAX {
                break;
            }
        }
        self.literals += src.len() - anchor;
        head_len(self.list.len()) + self.literals < src.len()
    }

    #[inline]
    fn push(&mut self, at: usize, literals: usize, place: usize, low: usize) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a value has 64 Ki bytes, a dictionary 2047"
        )]
        self.list.push(Sequence {
            at: at as u32,
            literals: literals as u8,
            matched: (place << LENGTH_BITS | low) as u16,
        });
    }

    /// Appends the encoded value.
    #[inline]
    pub(super) fn write(&self, src: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(count) = u8::try_from(self.list.len()) else {
            return false;
        };
        let start = out.len();
        let head = head_len(count.into());
        out.resize(start + head, 0);
        out[start] = count;
        let (matches, lengths) = out[start + 1..].split_at_mut(2 * self.list.len());
        let (pairs, _) = matches.as_chunks_mut();
        for (slot, sequence) in pairs.iter_mut().zip(&self.list) {
            *slot = sequence.matched.to_le_bytes();
        }
        for (slot, pair) in lengths.iter_mut().zip(self.list.chunks(2)) {
            let second = pair.get(1).map_or(0, |sequence| sequence.literals);
            *slot = pair[0].literals | second << 4;
        }
        out.reserve(self.literals + COPY_BYTES);
        let mut at = 0;
        for sequence in &self.list {
            let start = sequence.at as usize;
            let place = usize::from(sequence.matched >> LENGTH_BITS);
            let low = usize::from(sequence.matched) % MATCH_BYTES_MAX;
            let literals = usize::from(sequence.literals);
            if place == RUN {
                at = start + literals + RUN_BYTES * low;
                out.extend_from_slice(&src[start..at]);
            } else {
                append_few(&src[start..], literals, out);
                at = start + literals + low + 1;
            }
        }
        out.extend_from_slice(&src[at..]);
        true
    }
}

/// Appends the first `len` bytes, mostly few.
#[inline]
fn append_few(from: &[u8], len: usize, out: &mut Vec<u8>) {
    let spare = out.spare_capacity_mut();
    if from.len() < COPY_BYTES || len > COPY_BYTES || spare.len() < COPY_BYTES {
        return out.extend_from_slice(&from[..len]);
    }
    // SAFETY: both sides have 16 bytes, checked just above.
    unsafe { copy::copy_16(from.as_ptr(), spare.as_mut_ptr().cast()) };
    // SAFETY: `len <= 16` bytes of the spare capacity have been written.
    unsafe { out.set_len(out.len() + len) };
}
