//! Keyspaces in contents: one map holds the keys of all of them.
//!
//! A key of the default keyspace stands for itself. Other keys begin with the *entry* of their
//! keyspace, which is in the contents while the keyspace exists.

use std::collections::BTreeMap;

use cairndb::{Append, Db, Error, Iter, Keyspace, KeyspaceOptions, MergeOperator, Snapshot};

use crate::setup::Reverse;
use crate::{Check, value};

/// The contents of a database: for each key, the ids of the chunks of its value. The entry of a
/// keyspace has none.
pub type Contents = BTreeMap<Vec<u8>, Vec<u64>>;

/// The names of the keyspaces of workloads, by number.
pub const NAMES: [&str; 3] = ["", "plain", "ordered"];

/// Returns the options of the keyspace `name`.
pub fn options(name: &str) -> KeyspaceOptions {
    let options = KeyspaceOptions::new().merge_operator(Append.name());
    if name == NAMES[2] {
        options.comparator(cairndb::Comparator::name(&Reverse))
    } else {
        options
    }
}

/// Returns the entry of the keyspace `name`; nothing for the default one.
pub fn entry(name: &str) -> Vec<u8> {
    if name.is_empty() {
        return Vec::new();
    }
    [b"\0", name.as_bytes(), b"\0"].concat()
}

/// Returns `key` of the keyspace `name` as it stands in contents.
pub fn place(name: &str, key: &[u8]) -> Vec<u8> {
    [&entry(name), key].concat()
}

/// Returns the entry of the keyspace to which a key in contents belongs, if it is not the default
/// one.
pub fn entry_of(place: &[u8]) -> Option<&[u8]> {
    let name = place.strip_prefix(b"\0")?;
    let end = name.iter().position(|byte| *byte == 0)?;
    place.get(..end + 2)
}

/// Removes the keyspace with this entry and all of its keys from `contents`.
pub fn remove(contents: &mut Contents, entry: &[u8]) {
    contents.retain(|place, _| !place.starts_with(entry));
}

/// Removes a key, and all after it in its keyspace, from `contents`.
pub fn remove_from<T>(contents: &mut BTreeMap<Vec<u8>, T>, first: &[u8]) {
    let space = entry_of(first).unwrap_or_default();
    let reverse = space == entry(NAMES[2]);
    contents.retain(|place, _| {
        let other = entry_of(place).unwrap_or_default() != space || *place == space;
        other || place.as_slice() != first && (place.as_slice() < first) != reverse
    });
}

/// Returns the keyspaces of `db` but the default one.
///
/// # Errors
/// Returns the engine's errors.
pub fn named(db: &Db) -> Result<Vec<Keyspace>, Error> {
    let names = db.keyspaces();
    names.iter().map(|name| db.keyspace(name)).collect()
}

/// Adds everything that `iter` yields to `contents`, as keys of `name`. Returns the engine's error
/// if it fails.
///
/// # Errors
/// A violation if a value was never written.
pub fn collect(contents: &mut Contents, name: &str, iter: Iter) -> Check<Option<Error>> {
    if !name.is_empty() {
        contents.insert(entry(name), Vec::new());
    }
    for found in iter {
        match found {
            Ok((key, value)) => {
                let place = place(name, &key);
                let ids = value::ids(&place, &value)?;
                contents.insert(place, ids);
            }
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

/// Reads all keyspaces with forward scans, through `snapshot` if it is given. Returns the engine's
/// error if one fails.
///
/// # Errors
/// A violation if a value was never written.
pub fn read(db: &Db, snapshot: Option<&Snapshot>) -> Check<Result<Contents, Error>> {
    let mut contents = Contents::new();
    let default = snapshot.map_or_else(|| db.iter(), Snapshot::iter);
    let mut failed = collect(&mut contents, "", default)?;
    let spaces = match named(db) {
        Ok(spaces) => spaces,
        Err(error) => return Ok(Err(error)),
    };
    for space in &spaces {
        let iter = match snapshot {
            None => Ok(space.iter()),
            Some(snapshot) => snapshot.range_in(space, ..),
        };
        let iter = match iter {
            Ok(iter) => iter,
            Err(error) => return Ok(Err(error)),
        };
        failed = collect(&mut contents, space.name(), iter)?.or(failed);
    }
    Ok(failed.map_or(Ok(contents), Err))
}
