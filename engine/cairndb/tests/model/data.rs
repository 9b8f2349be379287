//! Keys and values, generated from small numbers, so that an operation can be printed in a few
//! words.

use std::sync::Arc;

use cairndb::env::random::Random;

/// The shape of the keys of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyShape {
    /// Sixteen decimal digits.
    Digits,
    /// Up to 24 random bytes.
    Random,
    /// A common prefix of this length, then digits. A few keys have another prefix.
    Prefixed(u16),
    /// Big-endian numbers without leading zeros, including the empty key.
    Short,
    /// Eight common bytes, then tails of up to forty bytes.
    Tails,
    /// Up to 10 KB.
    Long,
    /// Each key is a prefix of the next.
    Nested,
    /// Strings of 0x00, 0x01, 0xfe and 0xff.
    Edges,
    /// Letters in upper and lower case.
    Letters,
    /// A few pieces about as long as a table's bound, and a number somewhere between their bytes.
    Pieces,
}

fn mixed(number: u64) -> u64 {
    Random::new(number).next_u64()
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn small(number: u64, below: u64) -> usize {
    usize::try_from(number % below).expect("small")
}

impl KeyShape {
    pub(crate) fn draw(random: &mut Random) -> KeyShape {
        match random.index(12) {
            0 | 1 => KeyShape::Digits,
            2 => KeyShape::Random,
            3 => KeyShape::Prefixed(20),
            4 => KeyShape::Prefixed(900),
            5 => KeyShape::Short,
            6 => KeyShape::Tails,
            7 => KeyShape::Long,
            8 => KeyShape::Nested,
            9 => KeyShape::Edges,
            10 => KeyShape::Letters,
            _ => KeyShape::Pieces,
        }
    }

    /// Returns the maximum number of different keys in a list of this shape.
    pub(crate) fn count_max(self) -> u32 {
        match self {
            KeyShape::Long | KeyShape::Nested | KeyShape::Pieces => 300,
            KeyShape::Prefixed(900) => 2_000,
            _ => u32::MAX,
        }
    }

    fn key(self, id: u32) -> Vec<u8> {
        let number = u64::from(id);
        let hash = mixed(number);
        match self {
            KeyShape::Digits => format!("{id:016}").into_bytes(),
            KeyShape::Random => noise(hash, small(hash, 25)),
            KeyShape::Prefixed(len) => {
                let letter = if hash.is_multiple_of(50) { b'q' } else { b'p' };
                let mut key = vec![letter; usize::from(len)];
                key.extend_from_slice(format!("{id:05}").as_bytes());
                key
            }
            KeyShape::Short => {
                let bytes = id.to_be_bytes();
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                bytes[zeros..].to_vec()
            }
            KeyShape::Tails => {
                let mut key = b"sameHead".to_vec();
                key.extend_from_slice(&noise(hash, 3));
                key.extend_from_slice(&vec![b't'; small(hash >> 32, 30)]);
                key.extend_from_slice(&id.to_be_bytes());
                key
            }
            KeyShape::Long => {
                let len = match hash % 10 {
                    0 => 10_000,
                    1 => 4_000 + small(hash >> 8, 200),
                    _ => small(hash >> 8, 600),
                };
                let mut key = vec![b'l'; len];
                key.extend_from_slice(&id.to_be_bytes());
                key
            }
            KeyShape::Nested => vec![b'n'; small(number, 300)],
            KeyShape::Edges => {
                let bytes = [0x00, 0x01, 0xfe, 0xff];
                let byte = |at| bytes[small(hash >> (8 + 2 * at), 4)];
                (0..hash % 11).map(byte).collect()
            }
            KeyShape::Pieces => {
                let piece = |at: usize| {
                    let byte = [0x00, b'p', 0xfe, 0xff][small(hash >> (8 * at), 4)];
                    let len = [1, 255, 511, 512, 513][small(hash >> (8 * at + 2), 5)];
                    vec![byte; len]
                };
                let pieces = (0..=small(hash >> 40, 3)).map(piece);
                let mut key = pieces.collect::<Vec<_>>().concat();
                let at = small(hash >> 48, key.len() as u64 + 1);
                key.splice(at..at, id.to_be_bytes());
                key
            }
            KeyShape::Letters => {
                let noise = noise(mixed(number / 2), 1 + small(hash, 5));
                let letter = |byte: &u8| b"aAbBcCxX"[usize::from(byte % 8)];
                noise.iter().map(letter).collect()
            }
        }
    }

    /// Returns the keys of a list, followed by as many others that are close to them.
    pub(crate) fn keys(self, count: u32) -> Vec<Arc<[u8]>> {
        let mut keys: Vec<Arc<[u8]>> = (0..count).map(|id| self.key(id).into()).collect();
        for id in 0..count {
            let mut key = self.key(id);
            match id % 4 {
                0 => key.push(0),
                1 => drop(key.pop()),
                2 => {
                    if let Some(last) = key.last_mut() {
                        *last = last.wrapping_add(1);
                    }
                }
                _ => key = self.key(count + id),
            }
            keys.push(key.into());
        }
        keys
    }
}

/// Seed and length of a value to be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueSpec {
    pub(crate) seed: u32,
    pub(crate) len: u32,
}

/// A value is a record if its seed modulo `RECORD_ONE_OF` equals this number.
const RECORD_SEED: u32 = 5;
const RECORD_ONE_OF: u32 = 16;

impl ValueSpec {
    /// Returns the bytes of the value. Half of them are repeated, so that the value compresses, or
    /// the value is a record that resembles others.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let len = self.len as usize;
        if self.seed % RECORD_ONE_OF == RECORD_SEED {
            return self.record(len);
        }
        let mut bytes = noise(u64::from(self.seed), len.div_ceil(2));
        if self.seed.is_multiple_of(3) {
            bytes.extend_from_within(..len / 2);
        } else {
            bytes.resize(len, b'v');
        }
        bytes
    }

    fn record(self, len: usize) -> Vec<u8> {
        let mut random = Random::new(u64::from(self.seed));
        let mut bytes = Vec::with_capacity(len + 64);
        while bytes.len() < len {
            let fields = [
                ("city", "Trondheim"),
                ("state", "shipped"),
                ("currency", "NOK"),
            ];
            let (name, text) = fields[random.index(fields.len())];
            let own = random.next_u64();
            let record = format!("{{\"number\":{own},\"{name}\":\"{text}\"}}");
            bytes.extend_from_slice(record.as_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

/// The lengths of the values of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueMix {
    /// Counters of at most eight bytes.
    Counters,
    /// Up to forty bytes.
    Small,
    /// A hundred bytes, sometimes zero.
    Classic,
    /// Like `Classic`, but the values resemble one another.
    Records,
    /// Up to a thousand bytes.
    Medium,
    /// Up to slightly more than a page, sometimes long enough for a value file.
    Pages,
    /// Lengths around the threshold of value files and up to 100 KB, among small values.
    Large,
}

impl ValueMix {
    pub(crate) fn draw(random: &mut Random, counters: bool) -> ValueMix {
        if counters {
            return ValueMix::Counters;
        }
        match random.below(12) {
            0..3 => ValueMix::Small,
            3..6 => ValueMix::Classic,
            6 => ValueMix::Records,
            7..9 => ValueMix::Medium,
            9 | 10 => ValueMix::Pages,
            _ => ValueMix::Large,
        }
    }

    /// Draws one value.
    pub(crate) fn value(self, random: &mut Random) -> ValueSpec {
        let chance = random.below(1000);
        let len = match self {
            ValueMix::Counters => random.below(9),
            ValueMix::Small => random.below(41),
            ValueMix::Classic | ValueMix::Records if chance < 20 => 0,
            ValueMix::Classic | ValueMix::Records => 100,
            ValueMix::Medium => random.below(1000),
            ValueMix::Pages if chance < 20 => 4_050 + random.below(100),
            ValueMix::Pages if chance < 25 => 8_190 + random.below(4),
            ValueMix::Pages => random.below(300) * random.below(13),
            ValueMix::Large if chance < 20 => 8_190 + random.below(4),
            ValueMix::Large if chance < 30 => random.below(100_001),
            ValueMix::Large => random.below(200),
        };
        let mut seed = u32::try_from(random.below(1 << 32)).expect("below 2^32");
        if self == ValueMix::Records {
            seed = seed / RECORD_ONE_OF * RECORD_ONE_OF + RECORD_SEED;
        }
        ValueSpec {
            seed,
            len: u32::try_from(len).expect("below 2^17"),
        }
    }
}
