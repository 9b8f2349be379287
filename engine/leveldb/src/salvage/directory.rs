//! Whether a directory holds LevelDB's files, however damaged, with `CURRENT` or without.

use cairndb_base::Result;
use cairndb_env::Dir;

use super::manifest::ManifestSalvage;
use crate::batch::WriteBatch;
use crate::log::{LogReader, LogStep};
use crate::name::FileName;

/// Returns whether the directory holds LevelDB's files: a table, a readable manifest, or a readable
/// log.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{NewDatabase, WriteOptions, is_leveldb};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// assert!(!is_leveldb(&*dir)?);
/// NewDatabase::create(&dir, WriteOptions::default())?.finish()?;
/// dir.unlink("CURRENT")?;
/// assert!(is_leveldb(&*dir)?);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
///
/// # Errors
/// Errors of listing the directory.
pub fn is_leveldb(dir: &dyn Dir) -> Result<bool> {
    let names = dir.list()?;
    let mut known = names.iter().filter(|found| match FileName::parse(found) {
        Some(FileName::Table(_) | FileName::OldTable(_)) => true,
        Some(FileName::Manifest(number)) => ManifestSalvage::read(dir, number).is_ok(),
        Some(FileName::Log(_)) => has_batch(dir, found),
        _ => false,
    });
    Ok(known.next().is_some())
}

/// Returns whether the file holds an intact batch.
fn has_batch(dir: &dyn Dir, found: &str) -> bool {
    if !matches!(dir.size_of(found), Ok(Some(_))) {
        return false;
    }
    let Ok(file) = dir.open_read(found) else {
        return false;
    };
    let mut reader = LogReader::new(file, found);
    loop {
        match reader.advance() {
            Ok(LogStep::Record { .. }) => {
                if WriteBatch::decode(reader.payload()).is_ok() {
                    return true;
                }
            }
            Ok(LogStep::Damage { .. }) => {}
            Ok(LogStep::End) | Err(_) => return false,
        }
    }
}
