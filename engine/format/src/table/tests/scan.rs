//! Scans that borrow pages, with values stored in every way, forwards and backwards.

use std::sync::Arc;

use cairndb_base::{Kind, Order};

use super::model::options;
use super::support::*;
use crate::table::{Compression, PageWindow, Table, TableCursor, TableOptions};

const ENTRIES: usize = 2000;

type KeyOf = fn(usize) -> String;

fn entries(value: impl FnMut(usize) -> Vec<u8>) -> Vec<Entry> {
    puts(ENTRIES, |number| format!("{number:08}"), value)
}

/// Goes through the table as a user's cursor does, with a window if there is one. Returns the
/// entries and how many of them came from a window.
fn scan(table: &Arc<Table>, forward: bool) -> (Vec<Entry>, usize) {
    let mut cursor = table.cursor();
    begin(&mut cursor, forward).unwrap();
    let mut window = PageWindow::default();
    let (mut found, mut borrowed) = (Vec::new(), 0);
    let mut show = |key: &[u8], value: &[u8]| found.push(put(key, value));
    while cursor.valid() {
        cursor.load_value().unwrap();
        if cursor.borrow_window(&mut window, usize::MAX, forward) {
            loop {
                show(window.key(), window.value());
                borrowed += 1;
                if !go_in(&mut window, forward) {
                    break;
                }
            }
            cursor.return_window(&mut window);
        } else {
            show(cursor.key(), cursor.loaded());
        }
        go(&mut cursor, forward).unwrap();
    }
    (found, borrowed)
}

/// Scans a table of these values in both directions, reached in every way.
fn check(what: &str, compression: Compression, borrows: bool, value: impl FnMut(usize) -> Vec<u8>) {
    check_model(what, compression, borrows, entries(value));
}

fn check_model(what: &str, compression: Compression, borrows: bool, mut model: Vec<Entry>) {
    let options = options(&Order::Bytewise, compression);
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
    let mut gone = 1;
    if cursor.borrow_window(window, steps, forward) {
        gone = (0..steps).take_while(|_| go_in(window, forward)).count();
        assert!(gone > 0 && window.gone() == gone);
        cursor.return_window(window);
    } else {
        go(cursor, forward).unwrap();
    }
    if forward {
        at + gone
    } else {
        at.wrapping_sub(gone)
    }
}

/// Entries decoded ahead are still correct when a scan turns or jumps away and comes back.
#[test]
fn scans_that_begin_with_a_seek_turn_as_they_like() {
    let mut rng = Rng(7);
    let long_key = |n| format!("{}{n:05}", "p".repeat(3 * 1024));
    let several = |n: usize| n.to_string().repeat(n % 9).into_bytes();
    let models = [
        ("alike", entries(|_| classic_value(&mut rng))),
        ("of several lengths", entries(several)),
        ("in groups", entries(|n| n.to_le_bytes().to_vec())),
        ("of records", entries(|n| row_value(n, &mut rng))),
        ("none", entries(|_| Vec::new())),
        (
            "with long keys",
            puts(ENTRIES, long_key, |n| vec![7; n % 50]),
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
        let table = built(&model, options(&Order::Bytewise, compression));
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
    let (raw, encoded) = (Compression::None, Compression::default());
    check("of one length", raw, true, |_| rng.bytes(40));
    check("of several lengths", raw, true, |n| rng.bytes(n % 90));
    check("long", raw, true, |_| rng.bytes(1900));
    check("one to a page", raw, false, |_| rng.bytes(5000));
    check("empty", encoded, true, |_| Vec::new());
    check("alone", encoded, true, |_| classic_value(&mut rng));
    check("sharing structure", encoded, true, |n| {
        row_value(n, &mut rng)
    });
    check("encoded and not", encoded, true, |n| match n % 3 {
        0 => classic_value(&mut rng),
        _ => rng.bytes(100),
    });
}

#[test]
fn pages_are_lent_whatever_their_keys_are() {
    let shapes: [KeyOf; 12] = [
        |n| format!("{n:040}"),
        |n| format!("{n:08}{n:032}"),
        |n| format!("user{}/{n}", n % 37),
        // Begun by others.
        |n| "k".repeat(n / 16) + &"l".repeat(n % 16),
        |n| format!("{}{n:05}", "prefix/".repeat(8)),
        |n| format!("{}{n:05}{}", "prefix/".repeat(8), "tail".repeat(n % 5)),
        |n| format!("{n:05}/name"),
        |n| format!("{n:05}{}", "/ending".repeat(8)),
        |n| format!("{}{n:05}/name", "prefix/".repeat(8)),
        // Too many bytes together, in their prefix and in their ending.
        |n| format!("{}{n:05}", "p".repeat(1000)),
        |n| format!("{n:05}{}", "x".repeat(3000)),
        // One to a page.
        |n| format!("{n:05}").repeat(600),
    ];
    for (shape, key) in shapes.into_iter().enumerate() {
        let mut model = puts(ENTRIES, key, |n| n.to_string().repeat(5).into_bytes());
        model.sort_by(|a, b| a.key.cmp(&b.key));
        check_model(
            &format!("keys {shape}"),
            Compression::default(),
            shape < 11,
            model,
        );
    }
}

/// Returns the number of steps in one direction, counted one by one, while `before` holds and the
/// page continues.
fn count_steps(cursor: &TableCursor, bound: &[u8], forward: bool) -> usize {
    let mut other = cursor.clone();
    let mut stays = || {
        go(&mut other, forward).unwrap();
        other.key() != bound && (other.key() < bound) == forward
    };
    let steps = 0..cursor.page().steps(forward);
    steps.take_while(|_| stays()).count()
}

/// Checks the steps from every entry, for bounds on and between the keys.
fn check_steps(what: &str, entries: &[Entry]) {
    let table = built(entries, TableOptions::new(FILE));
    for forward in [true, false] {
        let (mut cursor, mut counted) = (table.cursor(), 0);
        begin(&mut cursor, forward).unwrap();
        while cursor.valid() {
            let at = String::from_utf8(cursor.key().to_vec()).unwrap();
            let number: usize = at[..6].parse().unwrap();
            for away in [0, 1, 2, 7, 8, 9, 16, 17, 40, 90] {
                let bounds = [number.saturating_sub(away), number + away];
                let bound = bounds[usize::from(forward)];
                for bound in [format!("{bound:06}"), format!("{bound:06}xxx")] {
                    let steps = cursor.page().steps_before(bound.as_bytes(), forward);
                    let exact = count_steps(&cursor, bound.as_bytes(), forward);
                    let is_right = steps == exact || steps == 0 && exact <= 4;
                    assert!(is_right, "{what}: {at} {bound}: {steps}, {exact}");
                    counted += usize::from(steps > 0);
                }
            }
            go(&mut cursor, forward).unwrap();
        }
        assert!(counted > 1000, "{what}: {counted}");
    }
}

#[test]
fn steps_before_a_bound_stay_before_it_and_are_told_where_they_are_many() {
    // Sequence numbers of the versions of a key, newest first.
    type Versions = fn(usize) -> Vec<u64>;
    let several_pages: Versions = |n| match n {
        200 => (0..700).rev().collect(),
        _ => [&[9, 0][..], &[0]][n % 5 % 2].to_vec(),
    };
    let rows: [(&str, Versions, usize); 6] = [
        ("one version, numbers elided", |_| vec![0], 0),
        ("keys that end alike", |_| vec![0], 1),
        ("keys with tails", |_| vec![0], 12),
        ("one version, all of one number", |_| vec![5], 0),
        (
            "two versions",
            |n| [&[9, 4][..], &[7]][n % 3 % 2].to_vec(),
            3,
        ),
        ("a key over several pages", several_pages, 0),
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
                let only = put(&key[..], format!("a value of {number}"));
                entries.push(Entry { seq, ..only });
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
        let order = Order::Bytewise;
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
        assert!(borrowed > 100 && own == 2, "{borrowed}, {own} of the key");
    }
    assert!(met > 0, "no page went on so");
}
