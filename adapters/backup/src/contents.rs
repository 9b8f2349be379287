//! Number and hash of what a database holds, by which two can be compared.

use cairndb::{Db, Iter};
use cairndb_base::Result;

use crate::hex::to_hex;

/// What a database holds. Equal contents have equal hashes, whatever the files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// Number of entries of all keyspaces.
    pub entries: u64,
    /// BLAKE3 hash of names, keys and values, in hexadecimal digits.
    pub hash: String,
}

impl Contents {
    /// Reads everything that a database holds.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of(db: &Db) -> Result<Contents> {
        let snapshot = db.snapshot();
        let mut hasher = blake3::Hasher::new();
        let mut entries = add(&mut hasher, "", snapshot.iter())?;
        for name in db.keyspaces() {
            let keyspace = db.keyspace(&name)?;
            entries += add(&mut hasher, &name, snapshot.range_in(&keyspace, ..)?)?;
        }
        Ok(Contents {
            entries,
            hash: to_hex(hasher.finalize().as_bytes()),
        })
    }
}

fn add(hasher: &mut blake3::Hasher, name: &str, iter: Iter) -> Result<u64> {
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(name.as_bytes());
    let mut entries = 0;
    let mut lending = iter.lending();
    while let Some((key, value)) = lending.next()? {
        part(key);
        part(value);
        entries += 1;
    }
    part(&u64::to_le_bytes(entries));
    Ok(entries)
}
