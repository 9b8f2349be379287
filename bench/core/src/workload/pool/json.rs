//! JSON records: each has the same fields in the same order, and nothing repeats within a record.
//!
//! A store that compresses each value alone gains little; one that compresses across values gains
//! much. Each record is padded with random text to exactly the requested length.

use super::set::{POOL_BYTES, POOL_SEED, ValueSet};
use crate::workload::random::Random;

/// The contents of a field.
#[derive(Clone, Copy)]
enum FieldKind {
    /// One of these words, quoted.
    Word(&'static [&'static str]),
    /// A number of random digits, the first of which is not 0.
    Digits(usize),
    /// A number of random letters and digits, quoted.
    Name(usize),
}

/// The fields in order; a record takes as many as fit.
#[rustfmt::skip]
const FIELDS: &[(&str, FieldKind)] = &[
    ("id", FieldKind::Digits(7)),
    ("user", FieldKind::Name(8)),
    ("city", FieldKind::Word(&[
        "Athens", "Bergen", "Cusco", "Dakar", "Essen", "Fes", "Ghent", "Hanoi", "Izmir",
        "Jena", "Kyoto", "Lima", "Minsk", "Nice", "Oslo", "Porto",
    ])),
    ("state", FieldKind::Word(&["new", "paid", "packed", "sent", "returned", "lost"])),
    ("created", FieldKind::Digits(10)),
    ("amount", FieldKind::Digits(5)),
    ("currency", FieldKind::Word(&["CHF", "EUR", "GBP", "JPY", "SEK", "USD"])),
    ("session", FieldKind::Name(24)),
    ("agent", FieldKind::Word(&["terminal", "browser", "phone", "kiosk"])),
    ("latency", FieldKind::Digits(3)),
];

/// The last field, which is padded.
const TEXT: &[u8] = b"\"text\":\"";
const END: &[u8] = b"\"}";

/// Returns as many records of this length as the classic pool has values, at least one.
pub(super) fn records(value_bytes: usize) -> ValueSet {
    let mut random = Random::new(POOL_SEED);
    let count = POOL_BYTES.checked_div(value_bytes).unwrap_or(1).max(1);
    let mut bytes = Vec::with_capacity(count * value_bytes);
    for _ in 0..count {
        let start = bytes.len();
        record(&mut random, value_bytes, &mut bytes);
        debug_assert_eq!(bytes.len(), start + value_bytes, "of the requested length");
    }
    ValueSet::equal(bytes.into(), value_bytes)
}

/// Adds one record of exactly `length` bytes.
fn record(random: &mut Random, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    if length < 1 + TEXT.len() + END.len() {
        // Too short for an object: write a JSON number, or nothing.
        digits(random, length, out);
        return;
    }
    out.push(b'{');
    for (name, kind) in FIELDS {
        let start = out.len();
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        kind.write(random, out);
        out.push(b',');
        if out.len() + TEXT.len() + END.len() > end {
            out.truncate(start);
            break;
        }
    }
    out.extend_from_slice(TEXT);
    let fill = end - END.len() - out.len();
    letters(random, fill, out);
    out.extend_from_slice(END);
}

impl FieldKind {
    fn write(self, random: &mut Random, out: &mut Vec<u8>) {
        match self {
            Self::Digits(count) => digits(random, count, out),
            Self::Name(count) => {
                out.push(b'"');
                letters(random, count, out);
                out.push(b'"');
            }
            Self::Word(words) => {
                let at = random.uniform(u32::try_from(words.len()).unwrap_or(1)) as usize;
                out.push(b'"');
                out.extend_from_slice(words[at].as_bytes());
                out.push(b'"');
            }
        }
    }
}

fn digits(random: &mut Random, count: usize, out: &mut Vec<u8>) {
    for at in 0..count {
        let digit = if at == 0 {
            1 + random.uniform(9)
        } else {
            random.uniform(10)
        };
        let [low, ..] = digit.to_le_bytes();
        out.push(b'0' + low);
    }
}

fn letters(random: &mut Random, count: usize, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    out.extend((0..count).map(|_| LETTERS[random.uniform(62) as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_json_of_the_length_asked_for_and_differ() {
        for length in [1, 11, 12, 40, 100, 400, 1000, 100_000] {
            let set = records(length);
            assert_eq!(set.longest(), length);
            for ordinal in 0..set.count().min(300) {
                let value = set.value(ordinal);
                assert_eq!(value.len(), length);
                let parsed: serde_json::Value = serde_json::from_slice(value).expect("JSON");
                assert!(parsed.is_object() || parsed.is_number(), "{parsed}");
            }
            if length >= 40 {
                assert_ne!(set.value(0), set.value(1), "{length}");
            }
        }
        assert_eq!(records(0).value(0), b"");
    }

    #[test]
    fn structure_is_shared_across_records_and_not_within_one() {
        let set = records(400);
        let alone = |value: &[u8]| lz4_flex::block::compress(value).len();
        let first = alone(set.value(0));
        assert!(first > 380, "one alone shrinks to {first} of 400");
        let many: Vec<u8> = (0..100).flat_map(|at| set.value(at).to_vec()).collect();
        let together = alone(&many) / 100;
        assert!(together < 330, "a hundred shrink to {together} of 400 each");
    }
}
