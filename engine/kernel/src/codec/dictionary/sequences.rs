//! The sequences of a value being encoded. They are collected first, because all matches are stored
//! before all literals.

use super::matcher::{Matcher, Padded};
use super::{LENGTH_BITS, MATCH_BYTES_MAX, RUN, RUN_BYTES, SEQUENCES_MAX, head_len};

/// Number of bytes that are copied at once; some of them may not be needed.
const COPY_BYTES: usize = 16;
/// Number of sequences that one match may need after the preceding runs: one for literals, one for
/// the match.
pub(super) const SEQUENCES_LEFT: usize = 2;

/// The sequences of the value being encoded, in the order of the stored form.
#[derive(Clone, Debug)]
pub(in crate::codec) struct Sequences {
    src: Padded,
    count: usize,
    matches: Box<[[u8; 2]; SEQUENCES_MAX]>,
    /// Literal counts, at most 15 each.
    lengths: Box<[u8; SEQUENCES_MAX + 1]>,
    /// All literals, followed by room for a copy that is too long.
    literals: Vec<u8>,
    literals_len: usize,
}

impl Default for Sequences {
    fn default() -> Self {
        Sequences {
            src: Padded::default(),
            count: 0,
            matches: Box::new([[0; 2]; SEQUENCES_MAX]),
            lengths: Box::new([0; SEQUENCES_MAX + 1]),
            literals: Vec::new(),
            literals_len: 0,
        }
    }
}

impl Sequences {
    /// Appends a value as sequences if they are shorter than the value. Returns whether they are.
    #[inline]
    pub(super) fn encode(&mut self, matcher: &Matcher, value: &[u8], out: &mut Vec<u8>) -> bool {
        self.src.set(value);
        self.collect(matcher);
        let shorter = head_len(self.count) + self.literals_len < value.len();
        if shorter {
            self.write(out);
        }
        shorter
    }

    /// Finds the sequences of the value.
    #[inline]
    fn collect(&mut self, matcher: &Matcher) {
        let wanted = self.src.len() + COPY_BYTES;
        if self.literals.len() < wanted {
            self.literals.resize(wanted, 0);
        }
        (self.count, self.literals_len) = (0, 0);
        // Number of sequences that the runs before one match may need.
        let left = SEQUENCES_LEFT + self.src.len() / (RUN_BYTES * (MATCH_BYTES_MAX - 1));
        let mut anchor = 0;
        while let Some(found) = matcher.find(&self.src, anchor) {
            let literals = found.at - anchor;
            self.take(anchor, literals);
            let few = if literals < RUN_BYTES {
                literals
            } else {
                self.push_runs(literals)
            };
            self.push(few, found.from, found.len - 1);
            anchor = found.at + found.len;
            if self.count + left > SEQUENCES_MAX {
                break;
            }
        }
        self.take(anchor, self.src.len() - anchor);
    }

    /// Appends `len` literals from `at`.
    #[inline]
    fn take(&mut self, at: usize, len: usize) {
        let from = self.src.from(at);
        let to = &mut self.literals[self.literals_len..];
        match (from.first_chunk(), to.first_chunk_mut()) {
            (Some(from), Some(to)) if len <= COPY_BYTES => {
                let (from, to): (&[u8; COPY_BYTES], &mut [u8; COPY_BYTES]) = (from, to);
                *to = *from;
            }
            _ => to[..len].copy_from_slice(&from[..len]),
        }
        self.literals_len += len;
    }

    /// Records literals as runs, after the remainder that does not fill a run. Returns the number
    /// of literals that are not yet recorded.
    #[cold]
    fn push_runs(&mut self, mut literals: usize) -> usize {
        while literals >= RUN_BYTES {
            let few = literals % RUN_BYTES;
            let runs = (literals / RUN_BYTES).min(MATCH_BYTES_MAX - 1);
            self.push(few, RUN, runs);
            literals -= few + RUN_BYTES * runs;
        }
        literals
    }

    #[inline]
    fn push(&mut self, literals: usize, place: usize, low: usize) {
        debug_assert!(literals < RUN_BYTES && place <= RUN && low < MATCH_BYTES_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "11 and 5 bits, and a number below 16"
        )]
        let (matched, literals) = ((place << LENGTH_BITS | low) as u16, literals as u8);
        self.matches[self.count] = matched.to_le_bytes();
        self.lengths[self.count] = literals;
        self.count += 1;
    }

    /// Appends the encoded value.
    #[inline]
    fn write(&mut self, out: &mut Vec<u8>) {
        out.reserve(head_len(self.count) + self.literals_len);
        out.push(u8::try_from(self.count).expect("at most 254"));
        out.extend_from_slice(self.matches[..self.count].as_flattened());
        // The last length may have no partner in its byte.
        self.lengths[self.count] = 0;
        let (pairs, _) = self.lengths[..self.count.next_multiple_of(2)].as_chunks();
        out.extend(pairs.iter().map(|[first, second]| first | second << 4));
        out.extend_from_slice(&self.literals[..self.literals_len]);
    }
}
