//! Calls of the engine, each for the default keyspace and for others.

use std::ops::{Bound, Range};

use cairndb::{BatchEntry, Db, Error, Keyspace, WriteBatch, WriteOptions};

use crate::history::Change;
use crate::spaces::{self, NAMES};
use crate::value;
use crate::workload::{self, Step};

/// Returns whether the keyspaces are there that a step needs.
pub(crate) fn can(db: &Db, step: &Step) -> bool {
    let exists = |space: usize| space == 0 || db.keyspaces().contains(&NAMES[space].into());
    match step {
        Step::One(number, ..) => exists(workload::space(*number)),
        Step::Batch(entries, _) => {
            let mut numbers = entries.iter().map(|(number, _)| *number);
            numbers.any(|number| exists(workload::space(number)))
        }
        Step::Compact(range) => exists(workload::space(range.start)),
        Step::Create(space) => !exists(*space),
        Step::Drop(space) => exists(*space),
        _ => true,
    }
}

/// Compacts a range of keys in the keyspace of its first key, or everything.
pub(crate) fn compact(db: &Db, range: &Range<u8>) -> Result<(), Error> {
    if *range == workload::ALL_KEYS {
        db.compact_range(..)?;
        return spaces::named(db)?
            .iter()
            .try_for_each(|space| space.compact_range(..));
    }
    let mut keys = [workload::key(range.start), workload::key(range.end)];
    keys.sort_unstable();
    match workload::space(range.start) {
        0 => db.compact_range(&keys[0]..=&keys[1]),
        2 => db.keyspace(NAMES[2])?.compact_range(&keys[1]..=&keys[0]),
        space => db
            .keyspace(NAMES[space])?
            .compact_range(&keys[0]..=&keys[1]),
    }
}

/// Adds a change to a batch. The value names the key's place.
pub(crate) fn add(
    batch: &mut WriteBatch,
    space: Option<&Keyspace>,
    key: &[u8],
    (place, change): (&[u8], Change),
) {
    match (change, space) {
        (Change::Put { id, len }, None) => batch.put(key, &value::chunk(id, place, len)),
        (Change::Put { id, len }, Some(space)) => {
            batch.put_in(space, key, &value::chunk(id, place, len));
        }
        (Change::Merge { id, len }, None) => batch.merge(key, &value::chunk(id, place, len)),
        (Change::Merge { id, len }, Some(space)) => {
            batch.merge_in(space, key, &value::chunk(id, place, len));
        }
        (_, None) => batch.delete(key),
        (_, Some(space)) => batch.delete_in(space, key),
    }
}

/// Adds the deletion of the keys from the first to before the second.
pub(crate) fn add_range(batch: &mut WriteBatch, space: Option<&Keyspace>, ends: &[Vec<u8>; 2]) {
    let [first, last] = ends;
    match space {
        None => batch.delete_range(first..last),
        Some(space) => batch.delete_range_in(space, first..last),
    }
}

/// Writes a batch of one entry with the call for single entries; a merge as a batch.
pub(crate) fn one(db: &Db, batch: &WriteBatch, options: WriteOptions) -> Result<(), Error> {
    let Some((name, entry)) = batch.iter_with_keyspaces().next() else {
        return Ok(());
    };
    let space = name.map(|name| db.keyspace(name)).transpose()?;
    match (entry, &space) {
        (BatchEntry::Put { key, value }, None) => db.put_with(key, value, &options),
        (BatchEntry::Put { key, value }, Some(space)) => space.put_with(key, value, &options),
        (BatchEntry::Delete { key }, None) => db.delete_with(key, &options),
        (BatchEntry::Delete { key }, Some(space)) => space.delete_with(key, &options),
        _ => db.write_with(batch, &options),
    }
}

/// Writes `batch` through a transaction, which reads back each of its writes.
pub(crate) fn as_transaction(
    db: &Db,
    batch: &WriteBatch,
    options: WriteOptions,
) -> Result<(), Error> {
    let transaction = db.transaction();
    for (name, entry) in batch.iter_with_keyspaces() {
        let space = name.map(|name| db.keyspace(name)).transpose()?;
        let get = |key| match &space {
            None => transaction.get(key),
            Some(space) => transaction.get_in(space, key),
        };
        match (entry, &space) {
            (BatchEntry::Put { key, value }, None) => transaction.put(key, value)?,
            (BatchEntry::Put { key, value }, Some(space)) => {
                transaction.put_in(space, key, value)?;
            }
            (BatchEntry::Delete { key }, None) => transaction.delete(key)?,
            (BatchEntry::Delete { key }, Some(space)) => transaction.delete_in(space, key)?,
            (BatchEntry::Merge { key, operand }, None) => transaction.merge(key, operand)?,
            (BatchEntry::Merge { key, operand }, Some(space)) => {
                transaction.merge_in(space, key, operand)?;
            }
            (BatchEntry::DeleteRange { from, to }, space) => {
                let range = (
                    Bound::Included(from),
                    to.map_or(Bound::Unbounded, Bound::Excluded),
                );
                match space {
                    None => transaction.delete_range(range)?,
                    Some(space) => transaction.delete_range_in(space, range)?,
                }
            }
            _ => unreachable!("a batch has no other entries"),
        }
        match entry {
            BatchEntry::Put { key, value } => assert_eq!(get(key)?.as_deref(), Some(value)),
            BatchEntry::Delete { key } => assert!(get(key)?.is_none()),
            BatchEntry::DeleteRange { from, to } if to != Some(from) => {
                assert!(get(from)?.is_none());
            }
            BatchEntry::Merge { key, .. } => assert!(get(key)?.is_some()),
            _ => {}
        }
    }
    transaction.commit_with(&options)
}
