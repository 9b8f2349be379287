//! Round trips, hostile bytes, buffer edges, and agreement with the twins and with LZ4.

#![expect(
    clippy::cast_possible_truncation,
    reason = "generators truncate numbers to bytes"
)]

use proptest::prelude::*;

use super::token::{COVERED_BYTES_MIN, MEDIUM_BYTES_MAX, RAW_BYTES_MAX, SHORT_BYTES_MAX};
use super::{Encoder, decode, decode_each, decode_into, decode_until, twin};

/// A small generator (xorshift64*) whose seed identifies a failing case.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    /// Returns the classic value of `db_bench`: the first half is random printable bytes, which the
    /// second half repeats.
    pub(super) fn classic(&mut self, len: usize) -> Vec<u8> {
        let half: Vec<u8> = (0..len / 2).map(|_| b' ' + self.below(95) as u8).collect();
        half.iter().copied().cycle().take(len).collect()
    }

    /// Returns runs of literals from a small alphabet, and repetitions at short and long distances.
    pub(super) fn mixed(&mut self, len: usize) -> Vec<u8> {
        let alphabet = 1 + self.below(60);
        let mut value = Vec::with_capacity(len);
        while value.len() < len {
            let run = 1 + self.below(40);
            if value.is_empty() || self.below(3) == 0 {
                value.extend((0..run).map(|_| self.below(alphabet) as u8));
            } else {
                let reach = 1 << self.below(16);
                let offset = 1 + self.below(value.len().min(reach));
                for _ in 0..run {
                    value.push(value[value.len() - offset]);
                }
            }
        }
        value.truncate(len);
        value
    }
}

/// Encodes with a used encoder and compares the result with a new one and with the twin.
fn encode(encoder: &mut Encoder, value: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut by_words) = (b"kept".to_vec(), b"kept".to_vec());
    let shorter = encoder.by_words().encode(value, &mut by_words);
    assert_eq!(encoder.encode(value, &mut out), shorter);
    assert_eq!(out, by_words, "words differ");
    assert_eq!(&out[..4], b"kept");
    assert_eq!(shorter, out.len() > 4);
    let stored = out.split_off(4);
    assert!(stored.len() < value.len().max(1));
    let fresh = twin::encode(value);
    assert_eq!(shorter.then_some(&stored), fresh.as_ref(), "twin differs");
    fresh
}

/// Decodes `src` with all decoders, checks that they agree, and returns the bytes.
fn decode_all(src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let expected = twin::decode(src, raw_len);
    let mut appended = b"kept".to_vec();
    let verdict = decode(src, raw_len, &mut appended);
    assert_eq!(&appended[..4], b"kept");
    let decoded = verdict.map(|()| &appended[4..]);
    assert_eq!(decoded, expected.as_deref(), "{src:?} {raw_len}");
    let is_restored = expected.is_some() || appended.len() == 4;
    assert!(is_restored, "out must be restored");
    // A boxed slice ends where its allocation ends.
    let mut exact = vec![0xaa; raw_len].into_boxed_slice();
    let decoded = decode_into(src, &mut exact).map(|()| &*exact);
    assert_eq!(decoded, expected.as_deref(), "{src:?} {raw_len}");
    let twice = [src, src].concat().into_boxed_slice();
    let mut appended = b"kept".to_vec();
    let verdict = decode_each(&twice, src.len(), raw_len, &mut appended);
    assert_eq!(&appended[..4], b"kept");
    let both = expected.as_ref().map(|raw| raw.repeat(2));
    // An empty source cannot contain two values.
    let both = both.filter(|_| !src.is_empty());
    let decoded = verdict.map(|()| &appended[4..]);
    assert_eq!(decoded, both.as_deref(), "{src:?} {raw_len} twice");
    assert!(both.is_some() || appended.len() == 4);
    decode_parts(src, raw_len, expected.as_deref());
    expected
}

/// Decodes parts of `src`. If `src` is malformed, a part before the flaw may still be returned.
fn decode_parts(src: &[u8], raw_len: usize, expected: Option<&[u8]>) {
    let around = raw_len.saturating_sub(1)..=raw_len + 1;
    for wanted in around.chain([0, 1, raw_len / 3]) {
        let mut appended = b"kept".to_vec();
        let verdict = decode_until(src, raw_len, wanted, &mut appended);
        assert_eq!(&appended[..4], b"kept");
        let len = if verdict.is_some() { wanted } else { 0 };
        assert_eq!(appended.len(), 4 + len, "{src:?} {wanted} of {raw_len}");
        if let Some(raw) = expected {
            let part = raw.get(..wanted);
            assert_eq!(verdict.map(|()| &appended[4..]), part, "{src:?} {wanted}");
        }
        assert!(verdict.is_none() || wanted <= raw_len);
    }
}

fn round_trip(encoder: &mut Encoder, value: &[u8]) -> Option<Vec<u8>> {
    let stored = encode(encoder, value)?.into_boxed_slice();
    assert_eq!(decode_all(&stored, value.len()).as_deref(), Some(value));
    Some(stored.into_vec())
}

#[test]
fn classic_values_take_55_bytes() {
    let mut random = Random::new(1);
    let mut encoder = Encoder::new();
    for _ in 0..if cfg!(miri) { 20 } else { 5000 } {
        let stored = round_trip(&mut encoder, &random.classic(100));
        assert_eq!(stored.map(|stored| stored.len()), Some(55));
    }
}

#[test]
fn every_short_value_of_two_letters() {
    let mut encoder = Encoder::new();
    for len in 0..=if cfg!(miri) { 6 } else { 14 } {
        for pattern in 0..1u32 << len {
            let value: Vec<u8> = (0..len).map(|bit| (pattern >> bit & 1) as u8).collect();
            round_trip(&mut encoder, &value);
        }
    }
}

#[test]
fn every_period_and_length() {
    let mut encoder = Encoder::new();
    let (periods, lengths) = if cfg!(miri) { (18, 30) } else { (80, 400) };
    for period in 1..periods {
        for len in 0..lengths {
            let value: Vec<u8> = (0..len).map(|i: usize| (i % period * 7) as u8).collect();
            let shrinks = round_trip(&mut encoder, &value).is_some();
            assert!(shrinks || len < period + 8, "{len} of period {period}");
        }
    }
}

/// Tests one repetition as short as the cover allows, at any position and distance. Two runs with
/// the same hash may hide it; among twenty values that is rare.
#[test]
fn a_repetition_is_found_at_every_distance() {
    let mut random = Random::new(7);
    let mut encoder = Encoder::new();
    let distances = COVERED_BYTES_MIN..if cfg!(miri) { 14 } else { 70 };
    for (start, distance) in (0..14).flat_map(|start| distances.clone().map(move |d| (start, d))) {
        let len = start + distance + COVERED_BYTES_MIN + random.below(9);
        assert!(len <= SHORT_BYTES_MAX);
        let found = (0..20).filter(|_| {
            let mut value = random.bytes(len);
            value.copy_within(start..start + COVERED_BYTES_MIN, start + distance);
            round_trip(&mut encoder, &value).is_some()
        });
        let found = found.count();
        assert!(found >= 15, "{start} {distance}: {found} of 20");
    }
}

#[test]
fn mixed_values_of_every_size() {
    let mut encoder = Encoder::new();
    for seed in 0..if cfg!(miri) { 30 } else { 4000 } {
        let mut random = Random::new(seed);
        let len_max = 1 << (4 + random.below(if cfg!(miri) { 5 } else { 13 }));
        let len = random.below(len_max + 1);
        round_trip(&mut encoder, &random.mixed(len));
    }
}

#[test]
fn sizes_at_the_limits() {
    let mut encoder = Encoder::new();
    let farthest = |len: usize| {
        let mut value = Random::new(9).classic(2 * len);
        value.truncate(len);
        value[len - 12..].copy_from_slice(b"at both ends");
        value[..12].copy_from_slice(b"at both ends");
        value
    };
    if !cfg!(miri) {
        round_trip(&mut encoder, &farthest(RAW_BYTES_MAX));
        round_trip(&mut encoder, &vec![9; RAW_BYTES_MAX]).expect("a repeated byte shrinks");
    }
    // The longest value of a class, and the shortest of the next class.
    for len in [SHORT_BYTES_MAX, MEDIUM_BYTES_MAX] {
        for len in [len, len + 1] {
            round_trip(&mut encoder, &farthest(len));
            let value = Random::new(9).classic(100).repeat(len.div_ceil(100));
            round_trip(&mut encoder, &value[..len]).expect("a repetitive value shrinks");
        }
    }
    assert!(encode(&mut encoder, &vec![9; RAW_BYTES_MAX + 1]).is_none());
    assert!(encode(&mut encoder, b"").is_none());
    assert!(encode(&mut encoder, b"aaaaa").is_none());
    assert!(encode(&mut encoder, b"aaaaaa").is_some());
}

#[test]
fn decoding_twice_appends() {
    let value = Random::new(3).classic(100);
    let stored = encode(&mut Encoder::new(), &value).expect("shrinks");
    let mut out = Vec::new();
    for _ in 0..100 {
        decode(&stored, 100, &mut out).expect("just stored");
    }
    assert_eq!(out, value.repeat(100));
}

/// Tests literals and matches of every length: across one extension byte, whole vectors, short and
/// longer values.
#[test]
fn a_repetition_behind_literals_of_every_length() {
    let mut random = Random::new(11);
    let mut encoder = Encoder::new();
    for literals in 10..if cfg!(miri) { 30 } else { 300 } {
        for repeated in [10, 19, 20, literals] {
            let mut value = random.bytes(literals);
            value.extend_from_within(..repeated.min(literals));
            round_trip(&mut encoder, &value);
        }
    }
}

/// If one value does not decode, or is cut short, none is decoded.
#[test]
fn values_one_behind_the_other_decode_all_or_not_at_all() {
    let mut encoder = Encoder::new();
    let values: Vec<Vec<u8>> = (0..20).map(|seed| Random::new(seed).classic(100)).collect();
    let stored = |value: &Vec<u8>| encode(&mut encoder, value).expect("shrinks");
    let stored: Vec<u8> = values.iter().flat_map(stored).collect();
    let mut out = b"kept".to_vec();
    assert!(decode_each(&stored, 55, 100, &mut out).is_some());
    assert_eq!(out, [b"kept".to_vec(), values.concat()].concat());
    assert!(decode_each(&[], 55, 100, &mut out).is_some());
    out.truncate(4);
    for (stored, stored_len, raw_len) in [
        (&stored[..], 0, 100),
        (&stored, 54, 100),
        (&stored, 55, 99),
        (&stored, 55, 101),
        (&stored, 55, usize::MAX),
        (&stored[..stored.len() - 1], 55, 100),
        (&[&stored[..], &[0xff; 55]].concat(), 55, 100),
    ] {
        assert!(decode_each(stored, stored_len, raw_len, &mut out).is_none());
        assert_eq!(out, b"kept", "{stored_len} {raw_len}");
    }
}

#[test]
fn the_table_survives_running_out_of_base_values() {
    let mut encoder = Encoder::new();
    encoder.skip_ahead();
    let (seeds, len) = if cfg!(miri) { (30, 50) } else { (200, 3000) };
    for seed in 0..seeds {
        round_trip(&mut encoder, &Random::new(seed).mixed(len));
    }
}

#[test]
fn hostile_lengths_are_refused_without_allocating() {
    let mut out = Vec::new();
    for raw_len in [256, 1 << 20, usize::MAX / 2, usize::MAX] {
        assert!(decode(&[0x1f], raw_len, &mut out).is_none());
    }
    assert_eq!(out.capacity(), 0);
}

#[test]
fn malformed_sequences_one_by_one() {
    for (src, raw_len) in [
        (&[][..], 1),                 // no input for one byte
        (&[0x10], 1),                 // literals missing
        (&[0x10, 1], 0),              // more than requested
        (&[0x10, 1], 2),              // less than requested
        (&[0x11, 1], 1),              // a match without an offset
        (&[0x10, 1, 1], 5),           // half an offset
        (&[0x10, 1, 0, 0], 5),        // offset zero
        (&[0x10, 1, 2, 0], 5),        // offset before the start
        (&[0x00, 1, 0], 4),           // match without any output
        (&[0x1f, 1, 1, 0], 20),       // extension missing
        (&[0x1f, 1, 1, 0, 255], 275), // extension cut short
        (&[0x1f, 1, 1, 0, 1], 20),    // match one longer than requested
        (&[0xf0], 15),                // literal extension missing
        (&[0xf0, 255, 255], 15),      // literal extension cut short
        (&[0xf0, 0, 1, 2, 3], 15),    // literals cut short
        (&[0x10, 1, 1, 0, 0x10], 6),  // second sequence cut short
    ] {
        assert_eq!(decode_all(src, raw_len), None, "{src:?}");
    }
    assert_eq!(decode_all(&[], 0), Some(vec![]));
    assert_eq!(decode_all(&[0], 0), Some(vec![]));
    assert_eq!(decode_all(&[0x10, 7], 1), Some(vec![7]));
    assert_eq!(decode_all(&[0x10, 7, 1, 0], 5), Some(vec![7; 5]));
    assert_eq!(decode_all(&[0x1f, 7, 1, 0, 0], 20), Some(vec![7; 20]));
}

/// Tests every truncation and 50 mutations of 4,000 values of up to 160 bytes.
#[test]
fn truncated_and_mutated_streams() {
    let mut encoder = Encoder::new();
    let mut streams = 0;
    let mut accepted = 0;
    for seed in 0..if cfg!(miri) { 8 } else { 4000 } {
        let mut random = Random::new(seed);
        let len = 20 + random.below(140);
        let value = match seed % 2 {
            0 => random.classic(len),
            _ => random.mixed(len),
        };
        let Some(stored) = round_trip(&mut encoder, &value) else {
            continue;
        };
        for cut in 0..stored.len() {
            let decoded = decode_all(&stored[..cut], len);
            assert_eq!(decoded, None, "seed {seed} cut {cut}");
        }
        for wrong in [0, 1, len - 1, len + 1, len + 64, 2 * len] {
            let decoded = decode_all(&stored, wrong);
            assert_eq!(decoded, None, "seed {seed} length {wrong}");
        }
        for _ in 0..if cfg!(miri) { 10 } else { 100 } {
            let mut mutated = stored.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(mutated.len());
                match random.below(4) {
                    0 => mutated[at] ^= 1 << random.below(8),
                    1 => mutated[at] = random.byte(),
                    2 => mutated.insert(at, random.byte()),
                    _ if mutated.len() > 1 => drop(mutated.remove(at)),
                    _ => mutated[at] = 0xff,
                }
            }
            streams += 1;
            accepted += usize::from(decode_all(&mutated.into_boxed_slice(), len).is_some());
        }
    }
    // Many mutations hit literals only and stay well-formed; both verdicts must have occurred.
    let both = accepted > 0 && accepted < streams;
    assert!(both, "{accepted} of {streams}");
    assert!(cfg!(miri) || streams >= 200_000, "{streams} streams");
}

/// LZ4's blocks obey stricter end rules, so each of them must decode here; and if one of our stored
/// values happens to obey the end rules, LZ4 must decode it to the value, too.
#[test]
fn lz4_blocks_decode() {
    for seed in 0..if cfg!(miri) { 5 } else { 3000 } {
        let mut random = Random::new(seed);
        let len = random.below(if cfg!(miri) { 200 } else { 5000 });
        let value = random.mixed(len);
        let block = lz4_flex::block::compress(&value).into_boxed_slice();
        assert_eq!(decode_all(&block, len), Some(value), "seed {seed}");
    }
}

/// The reverse also holds: thirteen literals at the end satisfy LZ4's end rules.
#[test]
fn encoded_values_with_a_literal_tail_are_lz4_blocks() {
    let mut encoder = Encoder::new();
    let mut compared = 0;
    for seed in 0..if cfg!(miri) { 5 } else { 3000 } {
        let mut random = Random::new(seed);
        let len = random.below(if cfg!(miri) { 200 } else { 5000 });
        let mut value = random.mixed(len);
        value.extend(200..213);
        if let Some(stored) = encode(&mut encoder, &value) {
            let raw = lz4_flex::block::decompress(&stored, value.len()).expect("an LZ4 block");
            assert_eq!(raw, value, "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared > 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 20_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_value_round_trips(
        value in proptest::collection::vec(0..6u8, 0..400),
        before in proptest::collection::vec(0..6u8, 0..400),
    ) {
        let mut encoder = Encoder::new();
        round_trip(&mut encoder, &before);
        round_trip(&mut encoder, &value);
    }

    #[test]
    fn any_bytes_decode_alike(
        src in proptest::collection::vec(prop_oneof![any::<u8>(), 0..20u8], 0..200),
        raw_len in 0..600usize,
    ) {
        decode_all(&src.into_boxed_slice(), raw_len);
    }
}
