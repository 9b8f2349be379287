//! Output of the encoder: tokens, literals, offsets and extension bytes.

#![allow(unsafe_code, reason = "writes whose room is checked once per sequence")]

use super::fast::lanes::Lanes;
use super::token::{HALF_MAX, MATCH_BYTES_MIN, SHORT_BYTES_MAX};

/// The target of encoded bytes: spare capacity with a fixed bound.
pub(super) struct Sink {
    /// `room` and [`super::fast::lanes::SLACK_BYTES`] writable bytes, of which the first `len` are
    /// initialised.
    to: *mut u8,
    len: usize,
    room: usize,
}

impl Sink {
    /// # Safety
    ///
    /// `room` and [`super::fast::lanes::SLACK_BYTES`] bytes are writable at `to` as long as the
    /// sink is used.
    #[inline]
    pub(super) unsafe fn new(to: *mut u8, room: usize) -> Sink {
        Sink { to, len: 0, room }
    }

    /// Returns the number of bytes written so far, at most the room.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Writes one sequence; returns `None` and writes nothing if it does not fit.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of the lanes.
    #[inline]
    pub(super) unsafe fn sequence<const SHORT: bool, L: Lanes>(
        &mut self,
        literals: &[u8],
        matched: Option<(u16, usize)>,
    ) -> Option<()> {
        let more = matched.map_or(0, |(_, len)| len - MATCH_BYTES_MIN);
        let tail = if matched.is_some() {
            2 + extension_len::<SHORT>(more)
        } else {
            0
        };
        let bytes = 1 + extension_len::<SHORT>(literals.len()) + literals.len() + tail;
        if bytes > self.room - self.len {
            return None;
        }
        let end = self.len + bytes;
        self.byte(half(literals.len()) << 4 | half(more));
        self.extension::<SHORT>(literals.len());
        // SAFETY: `len < end <= room`, because the token and extension bytes were counted in
        // `bytes`.
        let to = unsafe { self.to.add(self.len) };
        // SAFETY: `bytes` includes the literals, `room - len` covers `bytes`, and `SLACK_BYTES`
        // more bytes follow the room. The spare capacity of the output and the value are different
        // allocations. The caller promises the instructions.
        unsafe { L::copy(literals, to) };
        self.len += literals.len();
        if let Some((offset, _)) = matched {
            let [low, high] = offset.to_le_bytes();
            self.byte(low);
            self.byte(high);
            self.extension::<SHORT>(more);
        }
        debug_assert_eq!(self.len, end);
        Some(())
    }

    /// Writes one of the bytes that `sequence` has counted.
    #[inline]
    fn byte(&mut self, byte: u8) {
        debug_assert!(self.len < self.room);
        // SAFETY: `sequence` checked the room for all its bytes, of which this is one.
        let to = unsafe { self.to.add(self.len) };
        // SAFETY: as above: the address lies within the room.
        unsafe { to.write(byte) };
        self.len += 1;
    }

    /// Writes the extension bytes of a length, if it needs any.
    #[inline]
    fn extension<const SHORT: bool>(&mut self, len: usize) {
        let Some(mut rest) = len.checked_sub(HALF_MAX) else {
            return;
        };
        while !SHORT && let Some(less) = rest.checked_sub(255) {
            self.byte(255);
            rest = less;
        }
        debug_assert!(rest < 255);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the loop leaves less than 255, and a short value has no more"
        )]
        self.byte(rest as u8);
    }
}

const _: () = assert!(SHORT_BYTES_MAX < HALF_MAX + 255, "one extension byte");

/// Returns the number of extension bytes that a length needs; at most one in a short value.
#[inline]
fn extension_len<const SHORT: bool>(len: usize) -> usize {
    if len < HALF_MAX {
        0
    } else if SHORT {
        1
    } else {
        1 + (len - HALF_MAX) / 255
    }
}

/// Returns the token half of a length.
#[expect(clippy::cast_possible_truncation, reason = "at most 15")]
#[inline]
fn half(len: usize) -> u8 {
    len.min(HALF_MAX) as u8
}
