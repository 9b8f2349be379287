//! Cursors over a part of the keys: every move beside a cursor over a sorted list.

use std::ops::Bound;

use cairndb::env::random::Random;
use cairndb::{ErrorKind, Iter, RangeCursor};

use crate::{fails, keys, mem_db, reverse, stepped};

/// What a move is expected to do, over the keys of the part in order.
struct Expected {
    keys: Vec<Vec<u8>>,
    at: Option<usize>,
    reverse: bool,
}

impl Expected {
    /// Returns whether `a` comes before `b`.
    fn before(&self, a: &[u8], b: &[u8]) -> bool {
        if self.reverse { a > b } else { a < b }
    }

    fn step(&mut self, choice: usize, key: &[u8]) {
        let first = self.keys.iter().position(|at| !self.before(at, key));
        let last = self.keys.iter().rposition(|at| !self.before(key, at));
        self.at = match choice {
            0 => first,
            1 => last,
            2 => (!self.keys.is_empty()).then_some(0),
            3 => self.keys.len().checked_sub(1),
            4 => self.at.map(|at| at + 1).filter(|at| *at < self.keys.len()),
            _ => self.at.and_then(|at| at.checked_sub(1)),
        };
    }
}

fn step(cursor: &mut RangeCursor, choice: usize, key: &[u8]) -> cairndb::Result<()> {
    match choice {
        0 => cursor.seek(key),
        1 => cursor.seek_for_prev(key),
        2 => cursor.seek_to_first(),
        3 => cursor.seek_to_last(),
        4 => cursor.next(),
        _ => cursor.prev(),
    }
}

fn any_key(random: &mut Random) -> Vec<u8> {
    let letters = [b'a', b'b', 0xff];
    let len = random.index(4);
    (0..len).map(|_| letters[random.index(3)]).collect()
}

fn any_bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.index(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(any_key(random)),
        _ => Bound::Excluded(any_key(random)),
    }
}

/// Moves a cursor at random, and checks each position.
fn check(mut cursor: RangeCursor, mut expected: Expected, random: &mut Random, what: &str) {
    assert!(!cursor.valid(), "{what}: valid before it was positioned");
    for _ in 0..60 {
        let (choice, key) = (random.index(6), any_key(random));
        step(&mut cursor, choice, &key).unwrap();
        expected.step(choice, &key);
        let found = cursor.valid().then(|| cursor.key().to_vec());
        let wanted = expected.at.map(|at| expected.keys[at].clone());
        assert_eq!(found, wanted, "{what}: move {choice} with {key:?}");
        assert_eq!(cursor.value(), wanted.as_deref().unwrap_or_default());
    }
}

fn compare(reversed: bool) {
    let seed = std::env::var("CAIRN_SEED").map_or(7, |text| text.parse().unwrap());
    eprintln!("CAIRN_SEED={seed} replays");
    let mut random = Random::new(seed);
    let mut options = stepped();
    if reversed {
        options = options.comparator(reverse());
    }
    let db = options.open("/db").unwrap();
    for n in 0..60 {
        let key = any_key(&mut random);
        db.put(&key, &key).unwrap();
        if n == 30 {
            db.flush().unwrap();
        }
    }
    for _ in 0..200 {
        let (from, to) = (any_bound(&mut random), any_bound(&mut random));
        let what = format!("{from:?}..{to:?}");
        let part = |entries: Iter| Expected {
            keys: keys(entries),
            at: None,
            reverse: reversed,
        };
        let expected = part(db.range((from.as_ref(), to.as_ref())));
        check(db.cursor().within((from, to)), expected, &mut random, &what);
        let prefix = any_key(&mut random);
        let cursor = db.cursor().with_prefix(&prefix);
        let expected = part(db.prefix(&prefix));
        check(cursor, expected, &mut random, &format!("{prefix:?}*"));
    }
}

#[test]
fn range_cursors_move_within_their_range() {
    compare(false);
}

#[test]
fn range_cursors_move_within_their_range_in_a_custom_order() {
    compare(true);
}

#[test]
fn a_range_cursor_reports_a_closed_database() {
    let (db, _) = mem_db();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"2").unwrap();
    let mut inside = db.cursor().within(..=b"a");
    let mut outside = db.cursor().within(..=b"a");
    inside.seek_to_first().unwrap();
    outside.seek(b"b").unwrap();
    assert!(inside.valid() && !outside.valid());
    db.close().unwrap();
    for cursor in [&mut inside, &mut outside] {
        fails(cursor.next(), ErrorKind::Closed);
        fails(cursor.prev(), ErrorKind::Closed);
        assert!(!cursor.valid() && cursor.key().is_empty());
    }
}
