//! Which store a directory belongs to.

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::evidence::{Evidence, OtherStore, evidence, other_store};
use cairndb_format::name;
use cairndb_leveldb::FileName;

use crate::recovery::other_stores::refusal;

/// The store that a directory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// There is no `CURRENT`.
    None,
    /// This one, or one that cannot be identified: opening the directory gives the reason.
    Ours,
    /// LevelDB.
    LevelDb,
}

/// Returns the owner of a directory.
///
/// # Errors
/// `InvalidArgument` if it is RocksDB; errors of reading `CURRENT`.
pub(crate) fn owner(dir: &dyn Dir) -> Result<Owner> {
    let number = match cairndb_leveldb::read_current(dir) {
        Ok(number) => FileNumber(number),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Owner::None),
        Err(error) if error.kind() == ErrorKind::Corruption && has_tables(dir)? => {
            return Err(error.file(name::CURRENT));
        }
        Err(error) if error.kind() == ErrorKind::Corruption => return Ok(Owner::Ours),
        Err(error) => return Err(error),
    };
    match other_store(dir, number) {
        Some(OtherStore::LevelDb) => Ok(Owner::LevelDb),
        Some(OtherStore::RocksDb) => Err(refusal(OtherStore::RocksDb, number)),
        // LevelDB's manifest may be damaged, missing, or named with fewer digits.
        None if has_tables(dir)? && !is_ours(dir, number)? => Ok(Owner::LevelDb),
        None => Ok(Owner::Ours),
    }
}

/// Returns whether the directory has tables of LevelDB's.
fn has_tables(dir: &dyn Dir) -> Result<bool> {
    let is_table = |name: &String| {
        let kind = FileName::parse(name);
        matches!(kind, Some(FileName::Table(_) | FileName::OldTable(_)))
    };
    Ok(dir.list()?.iter().any(is_table))
}

fn is_ours(dir: &dyn Dir, manifest: FileNumber) -> Result<bool> {
    match evidence(dir, &name::manifest(manifest)) {
        Ok(evidence) => Ok(evidence == Evidence::Ours),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the error for a directory without a database.
#[cold]
pub(crate) fn nothing_here(dir: &dyn Dir) -> Error {
    let message = "the directory holds no LevelDB database: it has no CURRENT; choose another one, \
        or restore CURRENT from a backup";
    Error::new(ErrorKind::NotFound, message).path(dir.path())
}
