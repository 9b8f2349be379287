//! Values: pieces of a pool of 1 MiB, cut one after the other, as LevelDB's generator cuts them.
//!
//! The pool is made of 100-byte pieces, each a random printable string repeated until it fills the
//! piece, so that a compressor shrinks it to the ratio asked for. Every value is therefore named by
//! its *ordinal*: value `i` starts at byte `i * value_bytes`, and after the last that fits comes the
//! first again. That is what lets the model remember a value in a few bits.

use crate::random::Random;

const POOL_BYTES: usize = 1 << 20;
const PIECE_BYTES: usize = 100;
const POOL_SEED: u32 = 301;

/// Largest value the pool can serve: LevelDB demands that a value is shorter than the pool.
pub const VALUE_BYTES_MAX: usize = POOL_BYTES - 1;

/// The bytes all values are cut from.
#[derive(Clone, Debug)]
pub struct Pool {
    bytes: Vec<u8>,
}

impl Pool {
    /// The pool for a compression ratio in `0 < ratio <= 1`.
    pub fn new(ratio: f64) -> Self {
        let mut random = Random::new(POOL_SEED);
        let mut bytes = Vec::with_capacity(POOL_BYTES + PIECE_BYTES);
        let raw_bytes = raw_bytes(ratio);
        let mut raw = Vec::with_capacity(raw_bytes);
        while bytes.len() < POOL_BYTES {
            raw.clear();
            raw.extend((0..raw_bytes).map(|_| printable(&mut random)));
            let end = bytes.len() + PIECE_BYTES;
            while bytes.len() < end {
                bytes.extend_from_slice(&raw);
            }
            bytes.truncate(end);
        }
        Self { bytes }
    }

    /// The whole pool.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many distinct values of this size there are.
    ///
    /// # Panics
    /// When `value_bytes` is above [`VALUE_BYTES_MAX`]; the flag parser refuses that.
    pub fn count(&self, value_bytes: usize) -> usize {
        assert!(
            value_bytes <= VALUE_BYTES_MAX,
            "value of {value_bytes} bytes"
        );
        self.bytes.len().checked_div(value_bytes).unwrap_or(1)
    }

    /// Value `ordinal` of `value_bytes` bytes.
    #[inline]
    pub fn value(&self, ordinal: usize, value_bytes: usize) -> &[u8] {
        &self.bytes[ordinal * value_bytes..(ordinal + 1) * value_bytes]
    }
}

/// How much of each piece is random.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a ratio of at most 1 of 100 bytes, cut as LevelDB cuts it"
)]
fn raw_bytes(ratio: f64) -> usize {
    ((PIECE_BYTES as f64 * ratio) as usize).clamp(1, PIECE_BYTES)
}

/// One of the 95 printable characters.
fn printable(random: &mut Random) -> u8 {
    let [low, ..] = random.uniform(95).to_le_bytes();
    b' ' + low
}

/// Hands out the values of one writer in their order.
#[derive(Clone, Debug)]
pub struct ValueStream<'p> {
    pool: &'p Pool,
    value_bytes: usize,
    count: usize,
    next: usize,
}

impl<'p> ValueStream<'p> {
    /// A stream that starts at the first value.
    pub fn new(pool: &'p Pool, value_bytes: usize) -> Self {
        Self {
            pool,
            value_bytes,
            count: pool.count(value_bytes),
            next: 0,
        }
    }

    /// The next value and its ordinal.
    #[inline]
    pub fn draw(&mut self) -> (usize, &'p [u8]) {
        let ordinal = self.next;
        self.next = if ordinal + 1 == self.count {
            0
        } else {
            ordinal + 1
        };
        (ordinal, self.pool.value(ordinal, self.value_bytes))
    }
}

#[cfg(test)]
mod tests;
