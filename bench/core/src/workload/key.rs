//! Keys: the mapping between the index of an entry and its key.
//!
//! LevelDB's keys are an optional run of `a`, then 16 decimal digits. Its program formats them with
//! `snprintf`, which would dominate the cost of a fast engine. Here the digits are computed eight
//! at a time in one register, and a key that follows the previous one is incremented, in the same
//! way for every engine. RocksDB's keys are the index as eight big-endian bytes, padded with `0`.
//! Scattered keys are random bytes. A data file provides its own keys, which are sorted.
//!
//! Invariant: of two keys of one layout, the one with the smaller index sorts first.

mod file_keys;
mod scattered;

use std::fmt::Write as _;
use std::sync::Arc;

pub use file_keys::KeyList;
pub use scattered::Scattered;

/// Number of digits of every key.
pub const DIGITS: usize = 16;

/// Maximum length of `--key_prefix`, limited by LevelDB's buffer of 1024 bytes.
pub const PREFIX_MAX: usize = 1000;

/// Number of bytes of RocksDB's keys that contain the index.
const INDEX_BYTES: usize = 8;

/// The layout of keys made from indexes.
#[derive(Clone, Debug)]
pub enum Layout {
    /// LevelDB's layout: `prefix` bytes `a`, then 16 digits.
    Decimal {
        /// Number of bytes before the digits.
        prefix: usize,
    },
    /// RocksDB's layout: the big-endian index, then `0` up to the key length.
    BigEndian {
        /// Key size in bytes, at least 8.
        bytes: usize,
    },
    /// Random bytes.
    Scattered(Scattered),
    /// The keys of a data file.
    Listed(Arc<KeyList>),
}

/// The part of the keys that alone determines their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The first sixteen bytes.
    Head,
    /// The last sixteen bytes.
    Tail,
    /// No part of sixteen bytes.
    None,
}

impl Layout {
    /// Returns the layout of `keys` random keys of `bytes` bytes, at least 16.
    pub const fn scattered(bytes: usize, keys: u64) -> Self {
        Self::Scattered(Scattered::new(bytes, keys))
    }

    /// Returns a key that can be set to any index.
    ///
    /// # Panics
    /// If the prefix is longer than [`PREFIX_MAX`] or the key shorter than eight bytes; the flag
    /// parser rejects both.
    pub fn buffer(&self) -> KeyBuffer {
        let bytes = match self {
            Self::Decimal { prefix } => {
                assert!(
                    *prefix <= PREFIX_MAX,
                    "key prefix {prefix} above {PREFIX_MAX}"
                );
                let mut bytes = vec![b'a'; *prefix];
                bytes.resize(prefix + DIGITS, b'0');
                bytes
            }
            Self::BigEndian { bytes } => {
                assert!(*bytes >= INDEX_BYTES, "keys of {bytes} bytes");
                let mut key = vec![0; INDEX_BYTES];
                key.resize(*bytes, b'0');
                key
            }
            Self::Scattered(scattered) => vec![0; scattered.bytes()],
            Self::Listed(_) => Vec::new(),
        };
        KeyBuffer {
            bytes,
            layout: self.clone(),
            last: 0,
        }
    }

    /// Returns the index that a key was made from, or `None` for any other bytes.
    pub fn index_of(&self, key: &[u8]) -> Option<u64> {
        match self {
            Self::Decimal { prefix } => parse(key, *prefix),
            Self::BigEndian { bytes } => {
                let (index, rest) = key.split_first_chunk::<INDEX_BYTES>()?;
                let is_filled = rest.iter().all(|&byte| byte == b'0');
                (key.len() == *bytes && is_filled).then(|| u64::from_le_bytes(*index).swap_bytes())
            }
            Self::Scattered(scattered) => scattered.index_of(key),
            Self::Listed(list) => list.index_of(key),
        }
    }

    /// Returns the maximum number of keys, if it is limited.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Listed(list) => Some(list.len() as u64),
            Self::Decimal { .. } | Self::BigEndian { .. } | Self::Scattered(_) => None,
        }
    }

    /// Returns the size in bytes of the key of `index`.
    pub fn key_bytes(&self, index: u64) -> usize {
        match self {
            Self::Decimal { prefix } => prefix + DIGITS,
            Self::BigEndian { bytes } => *bytes,
            Self::Scattered(scattered) => scattered.bytes(),
            Self::Listed(list) => list.key(index).len(),
        }
    }

    /// Returns the part of the keys that alone determines their order.
    pub const fn rank(&self) -> Rank {
        match self {
            Self::Decimal { .. } => Rank::Tail,
            Self::BigEndian { bytes } if *bytes == DIGITS => Rank::Tail,
            Self::Scattered(_) => Rank::Head,
            Self::BigEndian { .. } | Self::Listed(_) => Rank::None,
        }
    }

    /// Returns the key of `index` as text for a message.
    pub fn show(&self, index: u64) -> String {
        show(self.buffer().set(index))
    }
}

/// Returns a key as text for a message: unchanged if it is printable, otherwise in hexadecimal.
pub fn show(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => key.iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}

/// A key that is rewritten in place.
#[derive(Clone, Debug)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    layout: Layout,
    /// The index of the key last set, if the key consists of digits.
    last: u64,
}

impl KeyBuffer {
    /// Returns the size in bytes of the key last set.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether no key or an empty key was set.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sets the key to that of `index`.
    #[inline]
    pub fn set(&mut self, index: u64) -> &[u8] {
        match &self.layout {
            Layout::Decimal { prefix } => {
                let follows = index == self.last.wrapping_add(1);
                self.last = index;
                if let Some(tail) = self.bytes[*prefix..].first_chunk_mut::<DIGITS>() {
                    // Of ten consecutive keys, nine differ from the previous one in one digit. All
                    // eight bytes are stored: an engine's load after a narrower store would stall.
                    match tail.last_chunk_mut::<8>() {
                        Some(low @ [.., b'0'..=b'8']) if follows => {
                            *low = (u64::from_le_bytes(*low) + (1 << 56)).to_le_bytes();
                        }
                        _ => *tail = digits(index),
                    }
                }
            }
            Layout::BigEndian { .. } => {
                if let Some(head) = self.bytes.first_chunk_mut::<INDEX_BYTES>() {
                    *head = index.swap_bytes().to_le_bytes();
                }
            }
            Layout::Scattered(scattered) => scattered.set(&mut self.bytes, index),
            Layout::Listed(list) => {
                self.bytes.clear();
                self.bytes.extend_from_slice(list.key(index));
            }
        }
        &self.bytes
    }

    /// Returns the key last set.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Turns the key last set into one that the run never writes: like LevelDB, by cutting off the
    /// last digit. Keys of a file, which may be prefixes of each other, get an extra byte.
    pub fn missing(&mut self) -> &[u8] {
        if matches!(self.layout, Layout::Listed(_)) {
            self.bytes.push(b'.');
            &self.bytes
        } else {
            &self.bytes[..self.bytes.len() - 1]
        }
    }
}

/// Returns the 16 digits of `index`, which must be below 10^16.
#[inline]
pub fn digits(index: u64) -> [u8; DIGITS] {
    const HALF: u64 = 100_000_000;
    let mut out = [b'0'; DIGITS];
    let mut low = index;
    // Usual runs have fewer keys than this, so the first half of their digits is zeros.
    if index >= HALF {
        out[..8].copy_from_slice(&eight(index / HALF).to_le_bytes());
        low = index % HALF;
    }
    out[8..].copy_from_slice(&eight(low).to_le_bytes());
    out
}

/// Returns the eight ASCII digits of a number below 10^8, the first digit in the lowest byte.
#[inline]
const fn eight(number: u64) -> u64 {
    // The number is split into two numbers of four digits, then four of two, then eight of one,
    // each step on all lanes at once. The multipliers are 1/100 and 1/10 rounded up, exact for the
    // lane's range.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - 10 * tens) << 8);
    ones | 0x3030_3030_3030_3030
}

/// Returns the index that a key of `prefix` + 16 digits was made from, or `None` for any other
/// bytes.
pub fn parse(key: &[u8], prefix: usize) -> Option<u64> {
    if key.len() != prefix + DIGITS || key[..prefix].iter().any(|&byte| byte != b'a') {
        return None;
    }
    key[prefix..].iter().try_fold(0u64, |index, byte| {
        byte.is_ascii_digit()
            .then(|| index * 10 + u64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::random::Random;

    #[test]
    fn digits_are_zero_padded_decimals() {
        let mut random = Random::new(77);
        let fixed = [
            0,
            1,
            9,
            10,
            99,
            100,
            9_999,
            10_000,
            99_999_999,
            100_000_000,
            9_999_999_999_999_999,
        ];
        let drawn = (0..200_000)
            .map(|_| u64::from(random.next()) * u64::from(random.next()) % 10u64.pow(16));
        for index in fixed
            .into_iter()
            .chain(drawn.collect::<Vec<_>>())
            .chain(0..20_000)
        {
            assert_eq!(digits(index).as_slice(), format!("{index:016}").as_bytes());
        }
    }

    /// Consecutive keys are incremented in place, wherever they start and whatever comes between.
    #[test]
    fn keys_in_any_order_are_those_made_anew() {
        let layout = Layout::Decimal { prefix: 2 };
        let mut key = layout.buffer();
        let up = (1..=120).chain([119, 120, 120, 121, 0, 1, 2]);
        let far = 999_999_990..1_000_000_020;
        let most = 10_u64.pow(16) - 1;
        for index in up.chain(far).chain([most - 1, most, 0, 1, 9, 10, 11]) {
            assert_eq!(key.set(index), layout.buffer().set(index), "{index}");
            assert_eq!(key.bytes()[2..], digits(index));
            let copy = key.clone();
            assert_eq!(key.missing(), &copy.bytes()[..17]);
        }
    }

    #[test]
    fn keys_parse_back_and_others_do_not() {
        let layout = Layout::Decimal { prefix: 3 };
        let mut key = layout.buffer();
        assert_eq!(key.set(1234), b"aaa0000000000001234");
        assert_eq!(layout.index_of(key.bytes()), Some(1234));
        assert_eq!(layout.index_of(b"aab0000000000001234"), None);
        assert_eq!(key.missing(), b"aaa000000000000123");
        assert_eq!(parse(b"000000000000123x", 0), None);
        assert_eq!(parse(b"000000000000123", 0), None);
    }

    #[test]
    fn rocks_keys_are_eight_bytes_and_zeros() {
        let layout = Layout::BigEndian { bytes: 16 };
        let mut key = layout.buffer();
        assert_eq!(key.set(0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(layout.index_of(key.bytes()), Some(0x0102));
        assert_eq!(layout.index_of(b"\0\0\0\0\0\0\x01\x020000000x"), None);
        assert_eq!(layout.index_of(b"\0\0\0\0\0\0\x01\x02"), None);
        assert_eq!(layout.show(1), "00000000000000013030303030303030");
        let mut last = layout.buffer();
        assert!(layout.buffer().set(255) < last.set(256));
    }
}
