//! Round trips against dictionaries, agreement with the twin, and hostile bytes.

use super::*;
use crate::codec::tests::Random;
use crate::codec::{decode, decode_with, twin};

/// Encodes with an encoder that has seen other values, and decodes with both decoders.
fn round_trip(encoder: &mut Encoder, dictionary: &Dictionary, value: &[u8]) -> Option<Vec<u8>> {
    let mut stored = Vec::new();
    let shorter = encoder.encode_with(dictionary, value, &mut stored);
    let expected = twin::encode_with(dictionary.bytes(), value);
    assert_eq!(
        shorter.then_some(&stored),
        expected.as_ref(),
        "twin differs"
    );
    let stored = expected?;
    assert!(stored.len() < value.len());
    assert_eq!(
        decode_all(dictionary.bytes(), &stored, value.len()).as_deref(),
        Some(value)
    );
    Some(stored)
}

/// Both decoders, from allocations that end where the bytes do.
fn decode_all(dictionary: &[u8], src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let (dictionary, src) = (Box::<[u8]>::from(dictionary), Box::<[u8]>::from(src));
    let expected = twin::decode_with(&dictionary, &src, raw_len);
    let mut out = b"kept".to_vec();
    let verdict = decode_with(&dictionary, &src, raw_len, &mut out);
    assert_eq!(&out[..4], b"kept");
    assert_eq!(
        verdict.map(|()| &out[4..]),
        expected.as_deref(),
        "{src:?} {raw_len}"
    );
    assert!(expected.is_some() || out.len() == 4, "out must be restored");
    expected
}

#[test]
fn values_of_every_size_against_dictionaries_of_every_size() {
    let mut encoder = Encoder::new();
    for seed in 0..if cfg!(miri) { 10 } else { 2000 } {
        let mut random = Random::new(seed);
        let most = [0, 3, 8, 100, 4000, 12_000][random.below(6)];
        let len = random.below(most + 1);
        let text = random.mixed(len);
        let dictionary = Dictionary::new(&text);
        assert!(dictionary.bytes().len() <= DICTIONARY_BYTES_MAX);
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
            round_trip(&mut encoder, &dictionary, &value);
        }
    }
}

#[test]
fn records_that_share_structure_are_small_alone() {
    let record = |number: usize| format!("{{\"id\":{number},\"city\":\"Bergen\",\"open\":true}}");
    let dictionary = Dictionary::new(record(1_000_000).as_bytes());
    let mut encoder = Encoder::new();
    for number in [2_345_678, 98_765_432] {
        let value = record(number);
        assert!(twin::encode(value.as_bytes()).is_none(), "nothing within");
        let stored = round_trip(&mut encoder, &dictionary, value.as_bytes());
        assert!(stored.is_some_and(|stored| stored.len() < 20));
    }
}

#[test]
fn a_value_too_long_to_reach_the_dictionary_is_encoded_without() {
    let dictionary = Dictionary::new(&[7; 1000]);
    let value = vec![7; RAW_BYTES_MAX - 999];
    let stored = round_trip(&mut Encoder::new(), &dictionary, &value).expect("shrinks");
    let mut out = Vec::new();
    assert!(decode(&stored, value.len(), &mut out).is_some());
    let longest = vec![7; RAW_BYTES_MAX - 1000];
    assert!(round_trip(&mut Encoder::new(), &dictionary, &longest).is_some());
    let short = vec![7; 20];
    round_trip(&mut Encoder::new(), &dictionary, &short).expect("shrinks");
}

#[test]
fn offsets_before_the_dictionary_or_across_its_end_are_refused() {
    let dictionary = b"0123456789";
    // No literals; a match of four from ten back: the first four bytes.
    assert_eq!(
        decode_all(dictionary, &[0, 10, 0], 4).as_deref(),
        Some(&b"0123"[..])
    );
    assert_eq!(decode_all(dictionary, &[0, 11, 0], 4), None, "before it");
    assert_eq!(
        decode_all(dictionary, &[0, 4, 0], 4).as_deref(),
        Some(&b"6789"[..])
    );
    assert_eq!(
        decode_all(dictionary, &[0, 3, 0], 4),
        None,
        "across its end"
    );
    assert_eq!(decode_all(&[], &[0, 1, 0], 4), None, "there is none");
}

#[test]
fn hostile_bytes_are_decoded_alike() {
    let mut random = Random::new(3);
    for _ in 0..if cfg!(miri) { 50 } else { 50_000 } {
        let len = random.below(60);
        let dictionary = random.mixed(len);
        let len = random.below(40);
        let src: Vec<u8> = (0..len).map(|_| random.byte() % 90).collect();
        decode_all(&dictionary, &src, random.below(200));
        parts_used(&src, dictionary.len(), |start, end| {
            assert!(start < end && end <= dictionary.len());
        });
    }
}

#[test]
fn parts_used_are_what_was_copied() {
    let dictionary = Dictionary::new(b"____alpha____beta____gamma");
    let mut stored = Vec::new();
    let value = b"alpha1gamma2alpha3alpha";
    assert!(Encoder::new().encode_with(&dictionary, value, &mut stored));
    let mut parts = Vec::new();
    parts_used(&stored, dictionary.bytes().len(), |start, end| {
        parts.push(&dictionary.bytes()[start..end]);
    });
    assert_eq!(parts, [b"alpha", b"gamma"], "later ones lie in the value");
}
