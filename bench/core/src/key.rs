//! Keys: an optional run of `a`, then 16 decimal digits.
//!
//! LevelDB formats them with `snprintf`, which costs 48 ns a key and would drown the engines; here
//! the digits are made eight at a time in one register, the same way for every engine.

/// Digits of every key.
pub const DIGITS: usize = 16;

/// Longest key prefix that `--key_prefix` may ask for, as LevelDB's buffer of 1024 bytes allows.
pub const PREFIX_MAX: usize = 1000;

/// A key that is rewritten in place.
#[derive(Clone, Debug)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    prefix: usize,
}

impl KeyBuffer {
    /// A buffer whose keys start with `prefix` bytes `a`.
    ///
    /// # Panics
    /// When `prefix` is above [`PREFIX_MAX`]; the flag parser refuses that.
    pub fn new(prefix: usize) -> Self {
        assert!(
            prefix <= PREFIX_MAX,
            "key prefix {prefix} above {PREFIX_MAX}"
        );
        let mut bytes = vec![b'a'; prefix];
        bytes.resize(prefix + DIGITS, b'0');
        Self { bytes, prefix }
    }

    /// Bytes of each key.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a key has at least its digits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes it the key of `index`.
    #[inline]
    pub fn set(&mut self, index: u64) -> &[u8] {
        let digits = digits(index);
        if let Some(tail) = self.bytes[self.prefix..].first_chunk_mut::<DIGITS>() {
            *tail = digits;
        }
        &self.bytes
    }

    /// The key last set.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The 16 digits of `index`, which must be below 10^16.
#[inline]
pub fn digits(index: u64) -> [u8; DIGITS] {
    const HALF: u64 = 100_000_000;
    let (high, low) = (index / HALF, index % HALF);
    let mut out = [0; DIGITS];
    out[..8].copy_from_slice(&eight(high).to_le_bytes());
    out[8..].copy_from_slice(&eight(low).to_le_bytes());
    out
}

/// Eight ASCII digits of a number below 10^8, the first digit in the lowest byte.
#[inline]
const fn eight(number: u64) -> u64 {
    // Split into two numbers of four digits, four of two, eight of one, each step on all lanes at
    // once. The multipliers are 1/100 and 1/10 rounded up, exact for the lane's range.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - 10 * tens) << 8);
    ones | 0x3030_3030_3030_3030
}

/// The index a key of `prefix` + 16 digits was made from, or `None` for any other bytes.
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
    use crate::random::Random;

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

    #[test]
    fn keys_parse_back_and_others_do_not() {
        let mut key = KeyBuffer::new(3);
        assert_eq!(key.set(1234), b"aaa0000000000001234");
        assert_eq!(parse(key.bytes(), 3), Some(1234));
        assert_eq!(parse(b"aab0000000000001234", 3), None);
        assert_eq!(parse(b"000000000000123x", 0), None);
        assert_eq!(parse(b"000000000000123", 0), None);
    }
}
