//! Round trips against dictionaries, agreement with the twin, and hostile bytes.

use super::decode::BEHIND;
use super::*;
use crate::codec::tests::Random;
use crate::codec::{Encoder, RAW_BYTES_MAX, twin};

/// Encodes with a used encoder, and decodes with both decoders.
fn round_trip(encoder: &mut Encoder, matcher: &Matcher, value: &[u8]) -> Option<Vec<u8>> {
    let mut stored = Vec::new();
    let shorter = encoder.encode_with(matcher, value, &mut stored);
    let expected = twin::encode_with(matcher.bytes(), value);
    assert_eq!(shorter.then_some(&stored), expected.as_ref());
    let stored = expected?;
    assert!(stored.len() < value.len());
    let decoded = decode_all(matcher.bytes(), &stored, value.len());
    assert_eq!(decoded.as_deref(), Some(value));
    Some(stored)
}

/// Decodes with both decoders, from allocations that end where the bytes do, and with other bytes
/// after them.
fn decode_all(dictionary: &[u8], src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let expected = twin::decode_with(dictionary, src, raw_len);
    let dictionary = Dictionary::new(dictionary);
    let exact = Box::<[u8]>::from(src);
    let amid = [b"before", src, &[0xb5; BEHIND]].concat();
    for (bytes, start) in [(exact, 0), (amid.into_boxed_slice(), 6)] {
        let (span, mut out) = (start..start + src.len(), b"kept".to_vec());
        let verdict = decode_with(&dictionary, &bytes, span, raw_len, &mut out);
        assert_eq!(&out[..4], b"kept");
        let decoded = verdict.map(|()| &out[4..]);
        assert_eq!(decoded, expected.as_deref(), "{src:?} {raw_len}");
        assert!(expected.is_some() || out.len() == 4, "out must be restored");
    }
    expected
}

#[test]
fn values_of_every_size_against_dictionaries_of_every_size() {
    let mut encoder = Encoder::new();
    for seed in 0..if cfg!(miri) { 10 } else { 2000 } {
        let mut random = Random::new(seed);
        let most = [0, 3, 8, 100, 1000, 2048][random.below(6)];
        let len = random.below(most + 1);
        let text = random.mixed(len);
        let matcher = Matcher::new(&text);
        for _ in 0..4 {
            let mut value = Vec::new();
            let most = [10, 100, 300, 5000][random.below(4)];
            let wanted = random.below(most);
            while value.len() < wanted {
                let run = 1 + random.below(40);
                if random.below(2) == 0 && !text.is_empty() {
                    let at = random.below(text.len());
                    value.extend_from_slice(&text[at..(at + run).min(text.len())]);
                } else {
                    value.extend(random.mixed(run));
                }
            }
            round_trip(&mut encoder, &matcher, &value);
        }
    }
}

#[test]
fn records_that_share_structure_are_small_alone() {
    let record = |number: usize| format!("{{\"id\":{number},\"city\":\"Bergen\",\"open\":true}}");
    let matcher = Matcher::new(record(1_000_000).as_bytes());
    let mut encoder = Encoder::new();
    for number in [2_345_678, 98_765_432] {
        let value = record(number);
        // The value alone does not shrink.
        assert!(twin::encode(value.as_bytes()).is_none());
        let stored = round_trip(&mut encoder, &matcher, value.as_bytes());
        assert!(stored.is_some_and(|stored| stored.len() < 19));
    }
}

#[test]
fn values_that_repeat_themselves_are_encoded_plain() {
    let mut random = Random::new(5);
    let matcher = Matcher::new(b"nothing that they have");
    for len in [40, 1000, 5000, RAW_BYTES_MAX] {
        let value = random.classic(len);
        let stored = round_trip(&mut Encoder::new(), &matcher, &value).expect("shrinks");
        assert_eq!(stored[0], PLAIN);
        assert!(stored.len() < len * 2 / 3 + 16);
    }
    let matcher = Matcher::new(&[7; DICTIONARY_BYTES_MAX + 1]);
    let stored = round_trip(&mut Encoder::new(), &matcher, &[7; 100]).expect("shrinks");
    // The dictionary is too long for match positions.
    assert_eq!(stored[0], PLAIN);
}

#[test]
fn runs_of_literals_of_every_length() {
    let mut random = Random::new(6);
    let matcher = Matcher::new(b"a part of the dictionary");
    let near = if cfg!(miri) { 12..20 } else { 0..100 };
    for len in near.chain([494, 495, 496, 497, 511, 512, 513, 950]) {
        if cfg!(miri) && len > 500 {
            break;
        }
        let mut value: Vec<u8> = (0..len).map(|_| random.byte() | 128).collect();
        value.extend_from_slice(b"part of the dictionary");
        value.extend((0..len % 40).map(|_| random.byte() | 128));
        let stored = round_trip(&mut Encoder::new(), &matcher, &value).expect("shrinks");
        assert_ne!(stored[0], PLAIN);
    }
}

#[test]
fn a_value_of_more_matches_than_are_counted_ends_in_literals() {
    let mut random = Random::new(7);
    let matcher = Matcher::new(b"word");
    for words in [253, 254, 255, 400] {
        let mut value = Vec::new();
        for _ in 0..words {
            value.extend_from_slice(b"word");
            value.extend([random.byte() | 128, random.byte() | 128]);
        }
        round_trip(&mut Encoder::new(), &matcher, &value).expect("shrinks");
    }
}

/// The maximum number of sequences: dense matches first, then matches that each need a run of
/// literals.
#[test]
fn the_longest_value_has_room_for_all_its_sequences() {
    let mut random = Random::new(8);
    let matcher = Matcher::new(b"word");
    for dense in [100, 119, 120, 121, 140, 253] {
        let mut value = Vec::new();
        for word in 0..2 * dense {
            value.extend_from_slice(b"word");
            let gap = if word < dense { 2 } else { 500 };
            value.extend((0..gap).map(|_| random.byte() | 128));
        }
        value.truncate(RAW_BYTES_MAX);
        // A value that does not shrink enough is stored in another form, which the twin determines.
        round_trip(&mut Encoder::new(), &matcher, &value);
        let text = vec![b'w'; DICTIONARY_BYTES_MAX];
        round_trip(&mut Encoder::new(), &Matcher::new(&text), &value);
    }
}

#[test]
fn malformed_values_one_by_one() {
    let dictionary = b"0123456789";
    // One match, the number of literals before it, and literals.
    let one = |place: u16, low: u16, rest: &[u8]| {
        [&[1], &(place << 5 | low).to_le_bytes()[..], rest].concat()
    };
    let good: [(Vec<u8>, &[u8]); 6] = [
        (one(6, 3, &[0]), b"6789"),
        (one(6, 3, b"\x01xy"), b"x6789y"),
        (vec![0], b""),
        (vec![0, 9], &[9]),
        (vec![PLAIN], b""),
        (vec![PLAIN, 0x10, 7], &[7]),
    ];
    for (src, raw) in good {
        let decoded = decode_all(dictionary, &src, raw.len());
        assert_eq!(decoded.as_deref(), Some(raw), "{src:?}");
    }
    assert_eq!(decode_all(&[], &one(6, 3, &[0]), 4), None, "no dictionary");
    let run = [&[1, 0xe1, 0xff, 0][..], &[7; 16]].concat();
    assert_eq!(decode_all(&[], &run, 16), None, "no dictionary, a run");
    let bad = [
        (one(6, 3, &[]), 4),               // no length
        (one(6, 3, &[])[..2].to_vec(), 4), // half a match
        (one(6, 3, &[1]), 5),              // no literal
        (one(6, 3, &[0, 1]), 4),           // one more
        (one(7, 3, &[0]), 4),              // across its end
        (one(2046, 31, &[0]), 32),         // after its end
        (one(2047, 0, &[0]), 0),           // an empty run
        (one(2047, 1, &[0, 1, 2]), 2),     // a run cut short
        (vec![], 0),                       // empty input
    ];
    for (src, raw_len) in bad {
        assert_eq!(decode_all(dictionary, &src, raw_len), None, "{src:?}");
    }
}

#[test]
fn spans_outside_of_the_bytes_and_hostile_lengths_are_refused() {
    let dictionary = Dictionary::new(b"0123456789");
    let mut out = Vec::new();
    for (span, raw_len) in [(0..3, 1), (3..4, 1), (0..2, usize::MAX), (0..2, 1 << 20)] {
        assert!(decode_with(&dictionary, &[0, 9], span, raw_len, &mut out).is_none());
    }
    assert_eq!(out.capacity(), 0, "nothing was allocated");
}

#[test]
fn hostile_bytes_are_decoded_alike() {
    let mut random = Random::new(3);
    let mut accepted = 0;
    for _ in 0..if cfg!(miri) { 50 } else { 50_000 } {
        let len = random.below(2100);
        let dictionary = random.mixed(len);
        let count = random.below(20);
        let mut src = random.bytes(head_len(count));
        src[0] = u8::try_from(count).expect("less than 20");
        let literals = random.below(150);
        src.extend(random.bytes(literals));
        // The length that the value would have, and another.
        let words = src[1..=2 * count].chunks(2);
        let words = words.map(|word| u16::from_le_bytes([word[0], word[1]]));
        let matches = words.filter(|word| usize::from(word >> LENGTH_BITS) < RUN);
        let lengths = matches.map(|word| usize::from(word % 32) + 1);
        let raw_len = literals + lengths.sum::<usize>();
        accepted += usize::from(decode_all(&dictionary, &src, raw_len).is_some());
        decode_all(&dictionary, &src, random.below(200));
    }
    assert!(cfg!(miri) || accepted > 1000, "{accepted}");
}

#[test]
fn truncated_and_mutated_values() {
    let mut encoder = Encoder::new();
    for seed in 0..if cfg!(miri) { 4 } else { 1000 } {
        let mut random = Random::new(seed);
        let text = random.mixed(1500);
        let matcher = Matcher::new(&text);
        let mut value = Vec::new();
        while value.len() < 120 {
            let at = random.below(text.len() - 40);
            value.extend_from_slice(&text[at..at + 4 + random.below(36)]);
            value.extend((0..random.below(20)).map(|_| random.byte()));
        }
        let Some(stored) = round_trip(&mut encoder, &matcher, &value) else {
            continue;
        };
        for cut in 0..stored.len() {
            let decoded = decode_all(&text, &stored[..cut], value.len());
            assert_eq!(decoded, None, "seed {seed}");
        }
        for _ in 0..if cfg!(miri) { 10 } else { 100 } {
            let mut mutated = stored.clone();
            let at = random.below(mutated.len());
            mutated[at] = random.byte();
            decode_all(&text, &mutated, value.len());
        }
    }
}

#[test]
fn parts_are_what_is_copied() {
    let matcher = Matcher::new(b"____alpha____beta____gamma");
    let value = b"alpha1gamma2alpha3alphabeta";
    let mut parts = Vec::new();
    let bytes = matcher.parts(value, &mut Padded::default(), |at, from, len| {
        assert_eq!(value[at..at + len], matcher.bytes()[from..from + len]);
        parts.push(&value[at..at + len]);
    });
    assert_eq!(parts.join(&b" "[..]), b"alpha gamma alpha alpha beta");
    let mut stored = Vec::new();
    assert!(Encoder::new().encode_with(&matcher, value, &mut stored));
    assert_eq!(bytes, stored.len());
}

/// Returns a value of `count` sequences with matches anywhere within a dictionary of `len` bytes,
/// and its decoded form.
#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers fit the types that store them"
)]
fn sequences(random: &mut Random, count: usize, len: usize) -> (Vec<u8>, usize) {
    let mut stored = vec![0; head_len(count)];
    stored[0] = count as u8;
    let mut raw_len = 0;
    for index in 0..count {
        let few = random.below(RUN_BYTES);
        stored[1 + 2 * count + index / 2] |= (few << (4 * (index % 2))) as u8;
        let match_len = 1 + random.below(MATCH_BYTES_MAX.min(len));
        // Often a match that ends where the dictionary does.
        let place = (len - match_len).min(random.below(2 * len));
        let word = (place << LENGTH_BITS | (match_len - 1)) as u16;
        stored[1 + 2 * index..3 + 2 * index].copy_from_slice(&word.to_le_bytes());
        stored.extend((0..few).map(|_| random.byte()));
        raw_len += few + match_len;
    }
    let rest = random.below(20);
    stored.extend((0..rest).map(|_| random.byte()));
    (stored, raw_len + rest)
}

#[test]
fn as_many_sequences_as_are_looked_at_together_and_more() {
    let mut random = Random::new(40);
    for turn in 0..if cfg!(miri) { 30 } else { 6000 } {
        let (count, len) = (1 + turn % 20, 1 + random.below(DICTIONARY_BYTES_MAX));
        let words = random.bytes(len);
        let (mut stored, raw_len) = sequences(&mut random, count, len);
        let decoded = decode_all(&words, &stored, raw_len);
        assert!(decoded.is_some(), "{count} of {len}");
        // The last match may end after a dictionary that is one byte shorter; a missing or extra
        // literal makes the length wrong by one.
        let shorter = decode_all(&words[..len - 1], &stored, raw_len);
        assert!(shorter.is_none_or(|raw| raw.len() == raw_len));
        assert_eq!(decode_all(&words, &stored, raw_len - 1), None);
        let cut = &stored[..stored.len() - 1];
        assert_eq!(decode_all(&words, cut, raw_len), None);
        stored.push(7);
        assert_eq!(decode_all(&words, &stored, raw_len), None);
        for _ in 0..4 {
            let at = 1 + random.below(head_len(count) - 1);
            stored[at] = random.byte();
            decode_all(&words, &stored, raw_len + 1);
        }
    }
}
