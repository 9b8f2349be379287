//! Scans that borrow pages, with values stored in every way, forwards and backwards.

use std::sync::Arc;

use cairndb_base::Kind;

use super::support::{Entry, FILE, Reach, Rng, build, classic_value, open_with, row_value};
use crate::table::{Compression, PageWindow, Table, TableCursor, TableOptions};

const ENTRIES: usize = 2000;

type KeyOf = fn(usize) -> String;

fn put(key: Vec<u8>, value: Vec<u8>) -> Entry {
    Entry {
        key,
        seq: 0,
        kind: Kind::Put,
        value,
    }
}

fn entries(mut value: impl FnMut(usize) -> Vec<u8>) -> Vec<Entry> {
    let entry = |number: usize| put(format!("{number:08}").into_bytes(), value(number));
    (0..ENTRIES).map(entry).collect()
}

/// Goes through the table as a user's cursor does, with a window if there is one. Returns the
/// entries and how many of them came from a window.
fn scan(table: &Arc<Table>, forward: bool) -> (Vec<Entry>, usize) {
    let mut cursor = table.cursor();
    if forward {
        cursor.first().unwrap();
    } else {
        cursor.last().unwrap();
    }
    let mut window = PageWindow::default();
    let (mut found, mut borrowed) = (Vec::new(), 0);
    let mut show = |key: &[u8], value: &[u8]| {
        found.push(put(key.to_vec(), value.to_vec()));
    };
    while cursor.valid() {
        cursor.load_value().unwrap();
        if cursor.borrow_window(&mut window, usize::MAX, forward) {
            loop {
                show(window.key(), window.value());
                borrowed += 1;
                let goes = if forward {
                    window.step_forward()
                } else {
                    window.step_backward()
                };
                if !goes {
                    break;
                }
            }
            cursor.return_window(&mut window);
        } else {
            show(cursor.key(), cursor.loaded());
        }
        if forward {
            cursor.next().unwrap();
        } else {
            cursor.prev().unwrap();
        }
    }
    (found, borrowed)
}

/// Scans a table of these values in both directions, reached in every way.
fn check(what: &str, compression: Compression, borrows: bool, value: impl FnMut(usize) -> Vec<u8>) {
    check_model(what, compression, borrows, entries(value));
}

fn check_model(what: &str, compression: Compression, borrows: bool, mut model: Vec<Entry>) {
    let options = TableOptions {
        compression,
        ..TableOptions::new(FILE)
    };
    let (bytes, summary) = build(&model, options.clone());
    for reach in [Reach::Mapped, Reach::Cached, Reach::Unmapped] {
        let table = open_with(bytes.clone(), &options.order, summary.checksum, reach).unwrap();
        for forward in [true, false] {
            let (found, borrowed) = scan(&table, forward);
            assert!(found == model, "{what}, {reach:?}, forward {forward}");
            assert_eq!(borrowed == ENTRIES, borrows, "{what}: {borrowed} borrowed");
            model.reverse();
        }
    }
}

/// Takes one or a few steps, in a window if one is borrowed. Returns the position reached, counted
/// from `at`.
fn wander(
    cursor: &mut TableCursor,
    window: &mut PageWindow,
    at: usize,
    steps: usize,
    forward: bool,
) -> usize {
    cursor.load_value().unwrap();
    if !cursor.borrow_window(window, steps, forward) {
        if forward {
            cursor.next().unwrap();
            return at + 1;
        }
        cursor.prev().unwrap();
        return at.wrapping_sub(1);
    }
    let mut gone = 0;
    while gone < steps
        && if forward {
            window.step_forward()
        } else {
            window.step_backward()
        }
    {
        gone += 1;
    }
    assert!((1..=steps).contains(&gone) && window.gone() == gone);
    cursor.return_window(window);
    if forward { at + gone } else { at - gone }
}

/// Entries decoded ahead are still correct when a scan turns or jumps away and comes back.
#[test]
fn scans_that_begin_with_a_seek_turn_as_they_like() {
    let mut rng = Rng(7);
    let models = [
        ("alike", entries(|_| classic_value(&mut rng))),
        (
            "of several lengths",
            entries(|n| n.to_string().repeat(n % 9).into_bytes()),
        ),
        ("in groups", entries(|n| n.to_le_bytes().to_vec())),
        ("of records", entries(|n| row_value(n, &mut rng))),
        ("none", entries(|_| Vec::new())),
        (
            "with long keys",
            (0..ENTRIES)
                .map(|n| {
                    put(
                        format!("{}{n:05}", "p".repeat(3 * 1024)).into_bytes(),
                        vec![7; n % 50],
                    )
                })
                .collect(),
        ),
    ];
    for (what, model) in models {
        let options = TableOptions::new(FILE);
        let (bytes, summary) = build(&model, options.clone());
        for reach in [Reach::Mapped, Reach::Unmapped] {
            let table = open_with(bytes.clone(), &options.order, summary.checksum, reach).unwrap();
            let (mut cursor, mut window) = (table.cursor(), PageWindow::default());
            let mut at = ENTRIES;
            for _ in 0..2000 {
                if at >= ENTRIES {
                    assert!(!cursor.valid());
                    at = rng.below(ENTRIES);
                    cursor.seek(&model[at].key, 0).unwrap();
                }
                let forward = rng.below(2) == 0;
                for _ in 0..rng.below(6) {
                    let steps = 1 + rng.below(40);
                    at = wander(&mut cursor, &mut window, at, steps, forward);
                    let Some(entry) = model.get(at) else { break };
                    assert_eq!(cursor.key(), entry.key, "{what}");
                    if rng.below(2) == 0 {
                        assert_eq!(cursor.value().unwrap(), entry.value, "{what}");
                    }
                }
                if at < ENTRIES && rng.below(20) == 0 {
                    at = rng.below(ENTRIES);
                    cursor.seek_for_prev(&model[at].key, 0).unwrap();
                }
            }
        }
    }
}

/// Tests windows of a few entries, with a turn after each.
#[test]
fn a_cursor_goes_on_where_a_window_ended() {
    let model = entries(|n| n.to_string().repeat(9).into_bytes());
    for compression in [Compression::None, Compression::default()] {
        let options = TableOptions {
            compression,
            ..TableOptions::new(FILE)
        };
        let (bytes, summary) = build(&model, options.clone());
        let table = open_with(bytes, &options.order, summary.checksum, Reach::Mapped).unwrap();
        let (mut cursor, mut window) = (table.cursor(), PageWindow::default());
        cursor.first().unwrap();
        let (mut at, mut windows) = (0, 0);
        while cursor.valid() {
            cursor.load_value().unwrap();
            if cursor.borrow_window(&mut window, 1 + at % 5, true) {
                while window.step_forward() {
                    at += 1;
                }
                assert_eq!(window.key(), model[at].key);
                cursor.return_window(&mut window);
                windows += 1;
            }
            assert_eq!(cursor.key(), model[at].key);
            assert_eq!(cursor.value().unwrap(), model[at].value);
            if at > 0 {
                cursor.prev().unwrap();
                assert_eq!(cursor.key(), model[at - 1].key);
                cursor.load_value().unwrap();
                if cursor.borrow_window(&mut window, 2, false) {
                    assert_eq!(window.value(), model[at - 1].value);
                    assert!(window.step_backward());
                    assert_eq!(window.value(), model[at - 2].value);
                    cursor.return_window(&mut window);
                    cursor.next().unwrap();
                }
                cursor.next().unwrap();
                assert_eq!(cursor.value().unwrap(), model[at].value);
            }
            at += 1;
            cursor.next().unwrap();
        }
        assert_eq!(at, ENTRIES);
        assert!(windows > ENTRIES / 8, "{windows}");
        cursor.seek(&model[777].key, 0).unwrap();
        assert_eq!(cursor.value().unwrap(), model[777].value);
    }
}

#[test]
fn pages_are_lent_however_their_values_are_stored() {
    let mut rng = Rng(1);
    check("raw, of one length", Compression::None, true, |_| {
        rng.bytes(40)
    });
    check("raw, of several lengths", Compression::None, true, |n| {
        rng.bytes(n % 90)
    });
    check("raw and long", Compression::None, true, |_| rng.bytes(1900));
    check("empty", Compression::default(), true, |_| Vec::new());
    check("encoded alone", Compression::default(), true, |_| {
        classic_value(&mut rng)
    });
    check(
        "encoded and not",
        Compression::default(),
        true,
        |n| match n % 3 {
            0 => classic_value(&mut rng),
            _ => rng.bytes(100),
        },
    );
    check("sharing structure", Compression::default(), true, |n| {
        row_value(n, &mut rng)
    });
    check("one to a page", Compression::None, false, |_| {
        rng.bytes(5000)
    });
}

#[test]
fn pages_are_lent_whatever_their_keys_are() {
    let shapes: &[(&str, KeyOf)] = &[
        ("of 40 bytes", |n| format!("{n:040}")),
        ("of 40 bytes, little in common", |n| {
            format!("{n:08}{n:032}")
        }),
        ("of several lengths", |n| format!("user{}/{n}", n % 37)),
        ("begun by others", |n| {
            "k".repeat(n / 16) + &"l".repeat(n % 16)
        }),
        ("with a long prefix", |n| {
            format!("{}{n:05}", "prefix/".repeat(8))
        }),
        ("with a long prefix, and tails", |n| {
            format!("{}{n:05}{}", "prefix/".repeat(8), "tail".repeat(n % 5))
        }),
        ("that end alike", |n| format!("{n:05}/name")),
        ("with a long ending", |n| {
            format!("{n:05}{}", "/ending".repeat(8))
        }),
        ("with a long prefix, and an ending", |n| {
            format!("{}{n:05}/name", "prefix/".repeat(8))
        }),
        ("too many bytes together", |n| {
            format!("{}{n:05}", "p".repeat(1000))
        }),
        ("too many bytes together, in their ending", |n| {
            format!("{n:05}{}", "x".repeat(3000))
        }),
        ("one to a page", |n| format!("{n:05}").repeat(600)),
    ];
    for &(what, key) in shapes {
        let mut model: Vec<Entry> = (0..ENTRIES)
            .map(|n| put(key(n).into_bytes(), n.to_string().repeat(5).into_bytes()))
            .collect();
        model.sort_by(|a, b| a.key.cmp(&b.key));
        let borrows = !what.starts_with("one to a page");
        check_model(what, Compression::default(), borrows, model);
    }
}

/// Returns the number of steps in one direction, counted one by one, while `before` holds and the
/// page continues.
fn count_steps(cursor: &TableCursor, bound: &[u8], forward: bool) -> usize {
    let mut other = cursor.clone();
    let mut go = || {
        if forward {
            other.next().unwrap();
            other.key() < bound
        } else {
            other.prev().unwrap();
            other.key() > bound
        }
    };
    (0..cursor.page().steps(forward))
        .take_while(|_| go())
        .count()
}

/// Checks the steps from every entry, for bounds on and between the keys.
fn check_steps(what: &str, entries: &[Entry]) {
    let options = TableOptions::new(FILE);
    let (bytes, summary) = build(entries, options.clone());
    let table = open_with(bytes, &options.order, summary.checksum, Reach::Mapped).unwrap();
    for forward in [true, false] {
        let (mut cursor, mut counted) = (table.cursor(), 0);
        if forward {
            cursor.first().unwrap();
        } else {
            cursor.last().unwrap();
        }
        while cursor.valid() {
            let at = String::from_utf8(cursor.key().to_vec()).unwrap();
            let number: usize = at[..6].parse().unwrap();
            for away in [0, 1, 2, 7, 8, 9, 16, 17, 40, 90] {
                let bound = if forward {
                    number + away
                } else {
                    number.saturating_sub(away)
                };
                for bound in [format!("{bound:06}"), format!("{bound:06}xxx")] {
                    let steps = cursor.page().steps_before(bound.as_bytes(), forward);
                    let exact = count_steps(&cursor, bound.as_bytes(), forward);
                    let few = steps == 0 && exact <= 4;
                    assert!(
                        steps == exact || few,
                        "{what}: {at} {bound}: {steps}, {exact}"
                    );
                    counted += usize::from(steps > 0);
                }
            }
            if forward {
                cursor.next().unwrap();
            } else {
                cursor.prev().unwrap();
            }
        }
        assert!(counted > 1000, "{what}: {counted}");
    }
}

#[test]
fn steps_before_a_bound_stay_before_it_and_are_told_where_they_are_many() {
    // Sequence numbers of the versions of a key, newest first.
    type Versions = fn(usize) -> Vec<u64>;
    let rows: [(&str, Versions, usize); 6] = [
        ("one version, numbers elided", |_| vec![0], 0),
        ("keys that end alike", |_| vec![0], 1),
        ("keys with tails", |_| vec![0], 12),
        ("one version, all of one number", |_| vec![5], 0),
        (
            "two versions of some",
            |n| [&[9, 4][..], &[7]][n % 3 % 2].to_vec(),
            3,
        ),
        (
            "a key over several pages",
            |n| match n {
                200 => (0..700).rev().collect(),
                _ => [&[9, 0][..], &[0]][n % 5 % 2].to_vec(),
            },
            0,
        ),
    ];
    for (what, versions, tail) in rows {
        let mut entries = Vec::new();
        for number in 0..400 {
            let tail = match tail {
                1 => 3,
                tails => number % (tails + 1),
            };
            let key = format!("{:06}{}", 2 * number, "x".repeat(tail));
            for seq in versions(number) {
                let value = format!("a value of {number}").into_bytes();
                entries.push(Entry {
                    seq,
                    ..put(key.clone().into_bytes(), value)
                });
            }
        }
        check_steps(what, &entries);
    }
}

/// Returns whether some page begins with the oldest version of the key that ends the previous page,
/// and all its entries are plain.
fn goes_on_plainly(bytes: &[u8]) -> bool {
    bytes.chunks(4096).any(|page| {
        let plain = page[12] == 0 && page[13] == Kind::Put as u8 && page[24..32] == [0; 8];
        page[4] == 1 && page[5] & 1 != 0 && plain
    })
}

#[test]
fn what_a_page_goes_on_with_is_not_lent_backwards() {
    let mut met = 0;
    for twice in 40..140 {
        let mut rng = Rng(twice as u64);
        let mut model = entries(|_| rng.bytes(50));
        model.truncate(300);
        let mut newer = model[twice].clone();
        newer.seq = 5;
        model.insert(twice, newer);
        let key = model[twice].key.clone();
        let (bytes, summary) = build(&model, TableOptions::new(FILE));
        if !goes_on_plainly(&bytes) {
            continue;
        }
        met += 1;
        let order = cairndb_base::Order::Bytewise;
        let table = open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
        let mut cursor = table.cursor();
        let mut window = PageWindow::default();
        let (mut borrowed, mut own) = (0, 0);
        cursor.last().unwrap();
        while cursor.valid() {
            cursor.load_value().unwrap();
            if cursor.borrow_window(&mut window, usize::MAX, false) {
                while window.step_backward() {
                    assert_ne!(window.key(), key, "a version that a newer one hides");
                    borrowed += 1;
                }
                cursor.return_window(&mut window);
            }
            own += usize::from(cursor.key() == key);
            cursor.prev().unwrap();
        }
        assert!(
            borrowed > 100 && own == 2,
            "{borrowed} borrowed, {own} of the key"
        );
    }
    assert!(met > 0, "no page went on so");
}
