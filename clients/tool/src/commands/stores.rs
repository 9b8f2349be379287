//! `get`, `put`, `delete` and `scan` on the store of a URL.

use cairndb_store::{Batch, CallOptions, Durability, Scan, Value};

use crate::failure::Result;
use crate::range::Range;
use crate::store::{Access, open};

/// What messages call the URL.
const ROLE: &str = "the URL of --store";

/// Returns the value of a key, and the name of the store.
pub(super) fn get(url: &str, key: &[u8]) -> Result<(Option<Value>, String)> {
    let opened = open(ROLE, url, Access::Read)?;
    let value = opened.store.get(key).map_err(opened.failure())?;
    opened.close()?;
    Ok((value, opened.name))
}

/// Visits the entries of a range until `visit` returns false.
pub(super) fn walk(
    url: &str,
    range: &Range,
    is_backward: bool,
    limit: u64,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    let opened = open(ROLE, url, Access::Read)?;
    let mut scan = Scan::range(range.bounds()).limit(limit);
    if is_backward {
        scan = scan.reverse();
    }
    for entry in opened.scan(&scan)? {
        let (key, value) = entry.map_err(opened.failure())?;
        if !visit(&key, &value)? {
            break;
        }
    }
    opened.close()
}

/// Applies a batch, which survives power loss once the command has ended, as far as the engine is
/// configured so.
pub(super) fn write(url: &str, access: Access, batch: &Batch) -> Result<()> {
    let opened = open(ROLE, url, access)?;
    let durable = CallOptions::new().durability(Durability::Sync);
    let written = opened.store.write_with(batch, &durable);
    written.map_err(opened.failure())?;
    opened.close()
}
