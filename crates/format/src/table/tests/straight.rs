//! That usual tables are read straight: else nothing would show whose the model's answers are.

use cairndb_base::{Kind, Order, SEQ_MAX};

use super::support::*;
use crate::table::straight::Straight;
use crate::table::{GetHints, TableOptions};

/// How many of the keys are answered straight, once their pages have been checked.
fn answered(entries: &[Entry]) -> usize {
    let (bytes, summary) = build(entries, TableOptions::new(FILE));
    let table = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped).unwrap();
    let mapping = table.pages.mapping().expect("mapped");
    let hints = GetHints { skip_filter: true };
    let mut value = Vec::new();
    for entry in entries {
        let found = table.get(&entry.key, 0, SEQ_MAX, hints, &mut value);
        assert!(found.unwrap().is_some() && value == entry.value);
    }
    let mut answered = 0;
    for entry in entries {
        let found = table.straight_get(mapping, &entry.key, None, SEQ_MAX, &mut value);
        if let Straight::Answer(found) = found.unwrap() {
            let found = found.expect("it is there");
            assert_eq!((found.seq(), found.kind()), (entry.seq, entry.kind));
            assert!(value == entry.value && !found.goes_on());
            answered += 1;
        }
    }
    answered
}

fn entries(key: impl Fn(u64) -> Vec<u8>, value: impl Fn(u64, &mut Rng) -> Vec<u8>) -> Vec<Entry> {
    let mut rng = Rng(23);
    let entry = |number| Entry {
        key: key(number),
        seq: 5,
        kind: Kind::Put,
        value: value(number, &mut rng),
    };
    (0..6_000).map(entry).collect()
}

#[test]
fn usual_tables_are_read_straight() {
    let digits = |number: u64| format!("{number:016}").into_bytes();
    let padded = |number: u64| [number.swap_bytes().to_le_bytes(), [0; 8]].concat();
    let tables = [
        entries(digits, |_, rng| classic_value(rng)),
        entries(padded, |_, rng| classic_value(rng)),
        entries(digits, |number, rng| row_value(number as usize, rng)),
        entries(digits, |number, rng| rng.bytes(number as usize % 90)),
    ];
    for (at, entries) in tables.iter().enumerate() {
        // The first key of a page has the head that the fence has of it, and other pages may begin with that.
        let answered = answered(entries);
        assert!(answered > entries.len() * 9 / 10, "{at}: {answered}");
    }
}

#[test]
fn what_is_not_usual_is_left_to_the_general_way() {
    let operands = |number: u64| {
        let kind = if number.is_multiple_of(50) {
            Kind::Merge
        } else {
            Kind::Put
        };
        (format!("{number:016}").into_bytes(), kind)
    };
    let tailed = |number: u64| {
        (
            format!("{number:07}/tail of {}", number * 7919).into_bytes(),
            Kind::Put,
        )
    };
    let shapes: [&dyn Fn(u64) -> (Vec<u8>, Kind); 2] = [&operands, &tailed];
    for shape in shapes {
        let entries: Vec<Entry> = (0..6_000)
            .map(|number| {
                let (key, kind) = shape(number);
                let value = vec![7; 60];
                let seq = number % 3;
                Entry {
                    key,
                    seq,
                    kind,
                    value,
                }
            })
            .collect();
        assert_eq!(answered(&entries), 0);
    }
}
