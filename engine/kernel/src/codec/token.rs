//! Constants and helpers that encoder, decoder and their portable twins share: limits, hashes, the
//! halves of a token.

/// Maximum length of a value that is encoded: the farthest match then lies 65,535 bytes back.
pub const RAW_BYTES_MAX: usize = 1 << 16;

/// Minimum match length: a match of three bytes would cost as much as it saves.
pub(super) const MATCH_BYTES_MIN: usize = 4;

/// Minimum length of a value that can shrink: one literal and a match of five bytes encode to four
/// bytes.
pub(super) const RAW_BYTES_MIN: usize = 6;

/// The value of a token half that announces extension bytes.
pub(super) const HALF_MAX: usize = 15;

/// After 2^`SKIP_SHIFT` positions without a match the search strides two bytes, after twice as many
/// three, and so on: incompressible values cost little. With 6, repetitive values encode more
/// slowly, and text, code and records are hardly smaller.
pub(super) const SKIP_SHIFT: u32 = 5;

/// Number of bits of a position's hash. In a large table few positions share a slot by chance; with
/// 12 bits, values of 1,000 and 4,000 bytes took considerably longer.
pub(super) const HASH_BITS: u32 = 14;

/// Number of hash bits for long values, which would fill any table. A table of 16 KiB leaves room
/// in the L1 cache for the earlier positions that it refers to.
pub(super) const HASH_BITS_LONG: u32 = 12;

/// Number of hash bits for short values, which then touch only a small part of the table.
pub(super) const HASH_BITS_SHORT: u32 = 10;

/// Number of bytes that are hashed at a position of a long value. Most four-byte matches cannot be
/// extended and are not worth a sequence; with five bytes, long text is smaller and faster to
/// encode. Shorter values would become larger.
pub(super) const HASHED_BYTES_LONG: usize = 5;

/// Maximum length of a value that does not count as long.
pub(super) const MEDIUM_BYTES_MAX: usize = 16 << 10;

/// Maximum length of a value that counts as short: its positions fill a quarter of the smaller
/// table.
pub(super) const SHORT_BYTES_MAX: usize = 256;

/// Positions of a short value that are entered and tested: those with these remainders modulo
/// [`COVER_MODULUS`]. Every remainder is the difference of two of them.
pub(super) const COVER: [usize; 3] = [0, 1, 3];

/// Modulus of [`COVER`].
pub(super) const COVER_MODULUS: usize = 7;

const _: () = assert!(
    COVER[COVER.len() - 1] + MATCH_BYTES_MIN <= 8,
    "one load must cover a whole block"
);

const _: () = {
    let mut difference = 0;
    while difference < COVER_MODULUS {
        let mut pairs = 0;
        let mut i = 0;
        while i < COVER.len() * COVER.len() {
            let (from, to) = (COVER[i / COVER.len()], COVER[i % COVER.len()]);
            pairs += ((to + COVER_MODULUS - from) % COVER_MODULUS == difference) as usize;
            i += 1;
        }
        assert!(pairs > 0, "the cover has no pair of this distance");
        difference += 1;
    }
};

/// Spreads four bytes over `BITS` bits (Fibonacci hashing by 2^32 / golden ratio).
#[inline]
pub(super) fn hash<const BITS: u32>(bytes: u32) -> usize {
    (bytes.wrapping_mul(2_654_435_761) >> (32 - BITS)) as usize
}

/// Spreads the first [`HASHED_BYTES_LONG`] bytes of `word` over [`HASH_BITS_LONG`] bits.
#[inline]
pub(super) fn hash_long(word: u64) -> usize {
    const UNASKED_BITS: u32 = 24;
    const _: () = assert!(UNASKED_BITS as usize == 64 - 8 * HASHED_BYTES_LONG);
    let spread = (word << UNASKED_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (spread >> (64 - HASH_BITS_LONG)) as usize
}

/// Minimum length of a match that is always found in a short value: seven positions of four bytes.
#[cfg(test)]
pub(super) const COVERED_BYTES_MIN: usize = COVER_MODULUS - 1 + MATCH_BYTES_MIN;

/// Returns the high half of a token, the number of literals.
#[inline]
pub(super) fn literal_half(token: u8) -> usize {
    usize::from(token >> 4)
}

/// Returns the low half of a token, the match length minus the minimum.
#[inline]
pub(super) fn match_half(token: u8) -> usize {
    usize::from(token & 0x0f)
}

/// Returns the maximum number of bytes that `encoded_len` encoded bytes can represent: an extension
/// byte represents 255.
#[inline]
pub const fn raw_len_max(encoded_len: usize) -> usize {
    encoded_len.saturating_mul(255)
}
