//! Checks of batches before anything is sent.

use cairndb_store::{Batch, Limits, OwnWrites, Result};

/// Checks the lengths of keys that are read.
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
pub(crate) fn check_keys(keys: &[&[u8]], limits: &Limits) -> Result<()> {
    keys.iter().try_for_each(|key| limits.check_key(key))
}

/// Returns the last write of each key in `batch`, if it is within `limits`.
pub(crate) fn last_writes(batch: &Batch, limits: &Limits) -> Result<OwnWrites> {
    batch.check()?;
    let mut own = OwnWrites::default();
    for write in batch.iter() {
        limits.check_entry(write.key(), write.value().unwrap_or_default())?;
        own.set(write.key(), write.value());
    }
    limits.check_size(own.len(), own.bytes())?;
    Ok(own)
}
