//! The writes of each writer, chosen so that any part of them determines the rest.
//!
//! Write `n` has the first kind that applies:
//!
//! | `n` is a multiple of | write |
//! |---|---|
//! | 17 | merge: adds one to the tally |
//! | 13 | delete: slot `n % SLOTS` |
//! | 5 or 7 | batch: slot; 5: mirrors, and sets or clears the flag; 7: adds one to the counter |
//! | any | put: slot |
//!
//! Values start with `n`. At multiples of 97 they are large and go to value files. The contents of
//! a writer's keys after write `n` depend only on `n`. So a reader that reads all of them at one
//! moment can determine that moment, and can check that nothing is torn, missing, late or foreign.

use std::collections::BTreeMap;

use cairndb::{Db, Durability, WriteBatch, WriteOptions};

/// Number of slots of each writer.
pub(crate) const SLOTS: u64 = 200;
pub(crate) const MIRRORS: u64 = 4;
/// Length of a large value.
const LARGE: usize = 9_000;

/// The entries of a writer at one moment.
pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The moments that match the entries read: after any of the writes `first` to `last`. There are
/// several if a write changed nothing, for example if it deleted an absent key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Merge,
    Delete,
    Batch,
    Put,
}

fn kind(n: u64) -> Write {
    match n {
        _ if n.is_multiple_of(17) => Write::Merge,
        _ if n.is_multiple_of(13) => Write::Delete,
        _ if n.is_multiple_of(5) || n.is_multiple_of(7) => Write::Batch,
        _ => Write::Put,
    }
}

/// Returns a key, which starts with the number of its writer, followed by the kind of key.
fn key(writer: u8, kind: u8, index: u64) -> Vec<u8> {
    [&[writer, kind][..], &index.to_be_bytes()].concat()
}

pub(crate) fn slot(writer: u8, n: u64) -> Vec<u8> {
    key(writer, b's', n % SLOTS)
}

pub(crate) fn mirror(writer: u8, n: u64) -> Vec<u8> {
    key(writer, b'm', n % MIRRORS)
}

pub(crate) fn counter(writer: u8) -> Vec<u8> {
    key(writer, b'c', 0)
}

fn tally(writer: u8) -> Vec<u8> {
    key(writer, b't', 0)
}

fn flag(writer: u8) -> Vec<u8> {
    key(writer, b'f', 0)
}

/// Returns all keys that a writer may ever have.
pub(crate) fn all_keys(writer: u8) -> Vec<Vec<u8>> {
    let slots = (0..SLOTS).map(|n| slot(writer, n));
    let mirrors = (0..MIRRORS).map(|n| mirror(writer, n));
    let others = [counter(writer), tally(writer), flag(writer)];
    slots.chain(mirrors).chain(others).collect()
}

fn value(writer: u8, n: u64) -> Vec<u8> {
    let mut value = n.to_le_bytes().to_vec();
    let fill = writer.wrapping_add(n.to_le_bytes()[0]);
    value.resize(if n.is_multiple_of(97) { LARGE } else { 60 }, fill);
    value
}

/// Returns the number at the start of a value.
pub(crate) fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(
        *value
            .first_chunk()
            .expect("a value must start with its number"),
    )
}

fn durability(n: u64) -> Durability {
    match n % 64 {
        0 => Durability::Sync,
        1..6 => Durability::None,
        _ => Durability::Os,
    }
}

/// Executes write `n`.
pub(crate) fn write(db: &Db, writer: u8, n: u64) -> cairndb::Result<()> {
    let options = WriteOptions::new().durability(durability(n));
    match kind(n) {
        Write::Merge => db.merge(&tally(writer), &1u64.to_le_bytes()),
        Write::Delete => db.delete_with(&slot(writer, n), &options),
        Write::Put => db.put_with(&slot(writer, n), &value(writer, n), &options),
        Write::Batch => db.write_with(&batch(writer, n), &options),
    }
}

fn batch(writer: u8, n: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let value = value(writer, n);
    batch.put(&slot(writer, n), &value);
    if n.is_multiple_of(5) {
        for index in 0..MIRRORS {
            batch.put(&mirror(writer, index), &value);
        }
        if n.is_multiple_of(15) {
            batch.delete(&flag(writer));
        } else {
            batch.put(&flag(writer), &value);
        }
    }
    if n.is_multiple_of(7) {
        batch.merge(&counter(writer), &1u64.to_le_bytes());
    }
    batch
}

/// Returns the last batch up to `last` that is a multiple of 5.
fn last_mirrored(last: u64) -> Option<u64> {
    let fives = (1..=last / 5).rev().map(|fifth| fifth * 5);
    fives.into_iter().find(|n| kind(*n) == Write::Batch)
}

/// Returns the number of batches up to `last` that are multiples of 7.
pub(crate) fn counted(last: u64) -> u64 {
    last / 7 - last / (7 * 13) - last / (7 * 17) + last / (7 * 13 * 17)
}

/// Returns the contents of slot `class` after write `last`.
fn in_slot(writer: u8, class: u64, last: u64) -> Option<Vec<u8>> {
    let mut n = last.checked_sub((last + SLOTS - class) % SLOTS)?;
    while n > 0 {
        match kind(n) {
            Write::Merge => n = n.saturating_sub(SLOTS),
            Write::Delete => return None,
            Write::Put | Write::Batch => return Some(value(writer, n)),
        }
    }
    None
}

/// Returns all entries of a writer after write `last`.
fn expected(writer: u8, last: u64) -> Entries {
    let mut all = Entries::new();
    for class in 0..SLOTS {
        if let Some(value) = in_slot(writer, class, last) {
            all.insert(slot(writer, class), value);
        }
    }
    if let Some(n) = last_mirrored(last) {
        for index in 0..MIRRORS {
            all.insert(mirror(writer, index), value(writer, n));
        }
        if !n.is_multiple_of(15) {
            all.insert(flag(writer), value(writer, n));
        }
    }
    for (key, count) in [(counter(writer), counted(last)), (tally(writer), last / 17)] {
        if count > 0 {
            all.insert(key, count.to_le_bytes().to_vec());
        }
    }
    all
}

/// Determines the moments that match `found`, all entries of one writer.
pub(crate) fn moment(writer: u8, found: &Entries) -> Result<Moment, String> {
    let slots = found.iter().filter(|(key, _)| key[1] == b's');
    let newest = slots.map(|(_, value)| number(value)).max().unwrap_or(0);
    // Later writes may have left no number in a slot.
    let silent = |n: &u64| matches!(kind(*n), Write::Merge | Write::Delete);
    let later = (newest + 1..).take_while(silent);
    let fits: Vec<u64> = std::iter::once(newest)
        .chain(later)
        .filter(|last| expected(writer, *last) == *found)
        .collect();
    match (fits.first(), fits.last()) {
        (Some(&first), Some(&last)) => Ok(Moment { first, last }),
        _ => Err(difference(writer, newest, found)),
    }
}

/// Describes the first entry that differs from the state after write `last`.
fn difference(writer: u8, last: u64, found: &Entries) -> String {
    let wanted = expected(writer, last);
    let keys = wanted.keys().chain(found.keys());
    let mut wrong = keys.filter(|key| found.get(*key) != wanted.get(*key));
    let say = |value: Option<&Vec<u8>>| {
        value.map_or_else(
            || "nothing".to_owned(),
            |value| format!("{} in {} bytes", number(value), value.len()),
        )
    };
    match wrong.next() {
        Some(key) => format!(
            "writer {writer} is at {last}, but {} holds {} and not {}",
            key.escape_ascii(),
            say(found.get(key)),
            say(wanted.get(key))
        ),
        None => format!("writer {writer} is at {last}, as expected"),
    }
}

/// Returns the lowest number that a slot may hold after `seen` was read from another slot.
pub(crate) fn least_after(seen: u64, class: u64) -> Option<u64> {
    let n = seen.checked_sub((seen + SLOTS - class) % SLOTS)?;
    (n > 0 && matches!(kind(n), Write::Put | Write::Batch)).then_some(n)
}

#[test]
fn a_moment_is_determined_by_its_entries() {
    for last in (0..60).chain(400..700).chain(3_000..3_030) {
        let found = moment(1, &expected(1, last)).expect("the entries fit a moment");
        assert!(
            found.first <= last && last <= found.last,
            "{last} {found:?}"
        );
        assert!(found.last - found.first < 3, "{last} {found:?}");
    }
}

#[test]
fn a_torn_late_or_foreign_entry_is_detected() {
    let whole = expected(1, 1_004);
    for key in whole.keys() {
        let mut torn = whole.clone();
        torn.remove(key);
        assert!(moment(1, &torn).is_err(), "{}", key.escape_ascii());
        let mut late = whole.clone();
        if let Some(value) = expected(1, 600)
            .get(key)
            .filter(|then| *then != &whole[key])
        {
            late.insert(key.clone(), value.clone());
            assert!(moment(1, &late).is_err(), "{}", key.escape_ascii());
        }
    }
    assert!(moment(2, &whole).is_err());
}
