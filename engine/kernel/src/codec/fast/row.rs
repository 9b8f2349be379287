//! Fast path of the decoder: rows of values, or of a long value's sequences, that have the same
//! [shape](super::shape).
//!
//! It benefits columns of records with fixed fields, and values half of which repeats. The first
//! sequence of a row is decoded in full; each of the others is only compared with it and copied
//! with two moves, which takes half of the instructions.

#![allow(
    unsafe_code,
    reason = "copies inside reserved room, of parts whose positions a shape has checked"
)]

use std::ops::Range;

use super::runs::{Copies, Runs, Words};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::runs::{Ends, Wide};
use super::shape::Shape;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::cpu::{Level, level};
use crate::prefetch::prefetch_span;

/// Prefetch distance in a long value or a row of values. The hardware prefetcher stops at each 4
/// KiB page.
pub(in crate::codec) const BYTES_AHEAD: usize = 2048;

/// Progress of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::codec) struct Done {
    /// Number of bytes read from the source.
    pub(in crate::codec) read: usize,
    /// Number of bytes written.
    pub(in crate::codec) written: usize,
}

/// Rows of sequences within a long value.
#[derive(Debug, Default)]
pub(in crate::codec) struct Rows {
    /// The shape of the last row, if the sequence before this one followed it directly.
    last: Option<Shape>,
    is_one: bool,
}

impl Rows {
    /// Returns whether a row may follow: this sequence starts like the last one, or the last one
    /// interrupted a row.
    #[inline]
    pub(in crate::codec) fn may_go_on(&self, begins_alike: bool) -> bool {
        begins_alike || self.is_one
    }

    /// Decodes the sequences after `src[stored]`, which represents `stands` bytes, into `room` of
    /// `to`, as far as they fit and have the shape of the row before that sequence, or else the
    /// shape of that sequence. (Most rows continue after one sequence of another shape, caused by a
    /// byte that happens to be equal.) Deliberately not inlined: text has few rows, and keeping a
    /// shape in the decoder's loop used up registers.
    ///
    /// # Safety
    ///
    /// The room is writable and does not overlap `src`. The processor has the instructions of `R`.
    /// (`stands` need not be correct: it is compared with the sequence.)
    #[inline(never)]
    pub(in crate::codec) unsafe fn go_on<R: Runs>(
        &mut self,
        src: &[u8],
        stored: Range<usize>,
        stands: usize,
        to: *mut u8,
        room: Range<usize>,
    ) -> Done {
        let (sequence, rest) = (&src[stored.clone()], &src[stored.end..]);
        let goes_on = |row: &Shape| {
            let next = rest.get(..row.stored_len);
            next.is_some_and(|next| row.is_of(next))
        };
        self.last = self.last.take().filter(goes_on).or_else(|| {
            let alike = rest.first().is_some_and(|next| *next == sequence[0]);
            alike.then(|| Shape::of(sequence, stands)).flatten()
        });
        self.is_one = self.last.is_some();
        let Some(shape) = &self.last else {
            return Done::default();
        };
        // SAFETY: the room starts there.
        let to = unsafe { to.add(room.start) };
        // SAFETY: the caller promises the same.
        unsafe { decode_runs::<R>(rest, shape, to, room.len()) }
    }
}

/// Decodes the values of this shape at the start of `src` to `to`, up to the first value of another
/// shape, and as many as fit in `room` bytes.
///
/// # Safety
///
/// `room` bytes are writable at `to` and do not overlap `src`.
pub(in crate::codec) unsafe fn decode(src: &[u8], shape: &Shape, to: *mut u8, room: usize) -> Done {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level() >= Level::Avx2 {
        // SAFETY: the level just read means that this processor has AVX2; the caller promises the
        // rest.
        return unsafe { decode_runs::<Wide<true>>(src, shape, to, room) };
    }
    // SAFETY: every processor can copy words; the caller promises the rest.
    unsafe { decode_runs::<Words>(src, shape, to, room) }
}

/// Like [`decode`], but with copies of one kind, or with copies for runs of the shape's lengths.
///
/// # Safety
///
/// Same as for [`decode`]; in addition, the processor has the instructions of `R`.
#[inline]
pub(in crate::codec) unsafe fn decode_runs<R: Runs>(
    src: &[u8],
    shape: &Shape,
    to: *mut u8,
    room: usize,
) -> Done {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if R::VECTORS {
        let row = match (pair_of(shape.literals), pair_of(shape.len)) {
            (Some(16), Some(16)) => decode_vectors::<R, Ends<16>, Ends<16>>,
            (Some(16), Some(_)) => decode_vectors::<R, Ends<16>, Ends<32>>,
            (Some(_), Some(16)) => decode_vectors::<R, Ends<32>, Ends<16>>,
            (Some(_), Some(_)) => decode_vectors::<R, Ends<32>, Ends<32>>,
            _ => decode_vectors::<R, R, R>,
        };
        // SAFETY: the runs have the lengths that were just checked; the caller promises the rest,
        // and `R` has vectors.
        return unsafe { row(src, shape, to, room) };
    }
    // SAFETY: the caller promises the same; such runs may have any length.
    unsafe { decode_by::<R, R, R>(src, shape, to, room) }
}

/// Returns the size of the two moves, from both ends, that copy a run of this length.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn pair_of(run: usize) -> Option<usize> {
    match run {
        16..=32 => Some(16),
        33..=64 => Some(32),
        _ => None,
    }
}

/// Calls [`decode_by`] with vectors. Never inlined, because in the decoder's loop its registers
/// would be reloaded from the stack for each value.
///
/// # Safety
///
/// Same as for [`decode_by`]; in addition, the processor has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn decode_vectors<R: Runs, L: Copies, M: Copies>(
    src: &[u8],
    shape: &Shape,
    to: *mut u8,
    room: usize,
) -> Done {
    // SAFETY: the caller promises the same.
    unsafe { decode_by::<R, L, M>(src, shape, to, room) }
}

/// Like [`decode`], but prefetches like `R`, copies literals with `L` and copies matches with `M`.
///
/// # Safety
///
/// Same as for [`decode`]; the processor has the instructions of both, and they copy runs of the
/// shape's lengths.
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
#[inline(always)]
unsafe fn decode_by<R: Runs, L: Copies, M: Copies>(
    src: &[u8],
    shape: &Shape,
    to: *mut u8,
    room: usize,
) -> Done {
    let raw_len = shape.literals + shape.len;
    let (mut rest, mut written) = (src, 0);
    while room - written >= raw_len
        && let Some((value, behind)) = rest.split_at_checked(shape.stored_len)
        && shape.is_of(value)
    {
        if R::AHEAD {
            // Prefetches also after the last value: if the values are a page's, a scan reads the
            // next page's values.
            prefetch_span(value.as_ptr().wrapping_add(BYTES_AHEAD), 1);
        }
        // SAFETY: `written <= room`.
        let to = unsafe { to.add(written) };
        // SAFETY: `raw_len` bytes of the room are left and do not overlap `src`.
        unsafe { copy_parts::<L, M>(value, shape, to) };
        written += raw_len;
        rest = behind;
    }
    let read = src.len() - rest.len();
    Done { read, written }
}

/// Decodes a value of this shape to `to`.
///
/// # Safety
///
/// The value has the shape. Its decoded form fits at `to` and does not overlap `value`. `L` and `M`
/// are as for [`decode_by`].
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
#[inline(always)]
unsafe fn copy_parts<L: Copies, M: Copies>(value: &[u8], shape: &Shape, to: *mut u8) {
    debug_assert!(shape.is_of(value));
    // SAFETY: the literals lie within a value of this shape, and so does the match, which is part
    // of them.
    let from = unsafe { value.as_ptr().add(shape.literals_at) };
    // SAFETY: as above.
    let again = unsafe { value.as_ptr().add(shape.match_at) };
    // SAFETY: a value of this shape represents its literals followed by the match.
    let behind = unsafe { to.add(shape.literals) };
    // SAFETY: as above; the room does not overlap the value.
    unsafe { L::copy_exact(from, to, shape.literals) };
    // SAFETY: as above.
    unsafe { M::copy_exact(again, behind, shape.len) };
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "lengths fit the fields of a sequence"
)]
mod tests {
    use super::Words;
    use crate::codec::decode::decode_long_by_words;
    use crate::codec::fast::shape::Shape;
    use crate::codec::tests::Random;
    use crate::codec::{decode, decode_each, twin};

    /// Appends a sequence of random literals whose match has `len` bytes and starts `offset` bytes
    /// earlier.
    fn push_sequence(
        random: &mut Random,
        literals: usize,
        offset: u16,
        len: usize,
        to: &mut Vec<u8>,
    ) {
        to.push((literals.min(15) << 4 | (len - 4).min(15)) as u8);
        to.extend(literals.checked_sub(15).map(|more| more as u8));
        to.extend((0..literals).map(|_| random.byte()));
        to.extend(offset.to_le_bytes());
        to.extend((len - 4).checked_sub(15).map(|more| more as u8));
    }

    /// Returns the lengths of a sequence: literals, and a match within them that may start and end
    /// anywhere.
    fn lengths(random: &mut Random) -> (usize, u16, usize) {
        let literals = 4 + random.below(100);
        let offset = 4 + random.below(literals - 3);
        (literals, offset as u16, 4 + random.below(offset - 3))
    }

    /// Decodes each value of a row with the twin.
    fn each_by_twin(row: &[u8], stored_len: usize, raw_len: usize) -> Option<Vec<u8>> {
        let values = row.chunks(stored_len);
        let values: Option<Vec<_>> = values.map(|value| twin::decode(value, raw_len)).collect();
        Some(values?.concat())
    }

    fn check_row(row: &[u8], stored_len: usize, raw_len: usize) {
        let mut out = vec![7];
        let verdict = decode_each(row, stored_len, raw_len, &mut out);
        let expected = each_by_twin(row, stored_len, raw_len);
        assert_eq!(verdict.is_some(), expected.is_some());
        assert_eq!(out[1..], expected.unwrap_or_default());
        let Some(shape) = Shape::of(&row[..stored_len], raw_len) else {
            return;
        };
        let room = || vec![0; row.len() / stored_len * raw_len];
        let (mut wide, mut by_words) = (room(), room());
        let len = wide.len();
        // SAFETY: there is room for all values.
        let alike = unsafe { super::decode(row, &shape, wide.as_mut_ptr(), len) };
        // SAFETY: as above; every processor can copy words.
        let words = unsafe { super::decode_runs::<Words>(row, &shape, by_words.as_mut_ptr(), len) };
        assert_eq!((alike, &wide), (words, &by_words));
        let front = each_by_twin(&row[..alike.read], stored_len, raw_len);
        assert_eq!(wide[..alike.written], front.unwrap());
        assert!(wide[alike.written..].iter().all(|&byte| byte == 0));
        // If the room ends earlier, nothing after the last value that fits is touched.
        let cut = alike.written.saturating_sub(1);
        wide.fill(0);
        // SAFETY: there is room for more than `cut` bytes.
        let fewer = unsafe { super::decode(row, &shape, wide.as_mut_ptr(), cut) };
        assert_eq!(fewer.written, cut / raw_len * raw_len);
        assert!(wide[fewer.written..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn rows_of_one_shape_with_others_between() {
        let mut random = Random::new(31);
        for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
            let (literals, offset, len) = lengths(&mut random);
            let mut row = Vec::new();
            let count = 1 + random.below(20);
            for _ in 0..count {
                // A match of the same length, but from another position within the literals.
                let other = len as u16 + random.below(literals + 1 - len) as u16;
                let offset = if random.below(6) == 0 { other } else { offset };
                push_sequence(&mut random, literals, offset, len, &mut row);
            }
            let (stored_len, raw_len) = (row.len() / count, literals + len);
            let shape = Shape::of(&row[..stored_len], raw_len).unwrap();
            assert_eq!((shape.literals, shape.len), (literals, len));
            assert!(each_by_twin(&row, stored_len, raw_len).is_some());
            check_row(&row, stored_len, raw_len);
            for _ in 0..if cfg!(miri) { 2 } else { 10 } {
                let at = random.below(row.len());
                let before = std::mem::replace(&mut row[at], random.byte());
                check_row(&row, stored_len, raw_len);
                row[at] = before;
            }
            check_row(&row, stored_len, raw_len + 1);
        }
    }

    #[test]
    fn long_values_whose_sequences_are_alike() {
        let check = |src: &[u8], raw_len: usize| {
            let mut out = Vec::new();
            let verdict = decode(src, raw_len, &mut out);
            let expected = twin::decode(src, raw_len);
            assert_eq!(verdict.is_some(), expected.is_some());
            assert_eq!(decode_long_by_words(src, raw_len), expected);
            assert_eq!(out, expected.unwrap_or_default());
        };
        let mut random = Random::new(32);
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let (mut src, mut raw_len) = (Vec::new(), 0);
            while raw_len < 1_000 {
                let (literals, offset, len) = lengths(&mut random);
                for _ in 0..random.below(9) {
                    push_sequence(&mut random, literals, offset, len, &mut src);
                    raw_len += literals + len;
                    // A different sequence in between, after which the row continues.
                    if random.below(5) == 0 {
                        let (literals, offset, len) = lengths(&mut random);
                        push_sequence(&mut random, literals, offset, len, &mut src);
                        raw_len += literals + len;
                    }
                }
            }
            assert!(twin::decode(&src, raw_len).is_some());
            check(&src, raw_len);
            for wrong in [raw_len - 1, raw_len + 1, raw_len + 200, 500] {
                check(&src, wrong);
            }
            for _ in 0..if cfg!(miri) { 3 } else { 40 } {
                let at = random.below(src.len());
                let before = std::mem::replace(&mut src[at], random.byte());
                check(&src, raw_len);
                src[at] = before;
                check(&src[..at], raw_len);
            }
        }
    }
}
