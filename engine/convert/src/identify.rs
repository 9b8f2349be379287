//! Which store a directory belongs to.

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Dir;
use cairndb_files::refusal;
use cairndb_format::evidence::{OtherStore, other_store_in};
use cairndb_format::missing::needed;
use cairndb_leveldb::FileName;

/// The store that a directory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
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
/// `InvalidArgument` if it is RocksDB; `Corruption` if `CURRENT` is damaged, or if it or the
/// manifest that it names is missing; the errors of reading the files.
pub fn owner(dir: &dyn Dir) -> Result<Owner> {
    let store = other_store_in(dir)?;
    // LevelDB reads names with fewer digits, too.
    let named = match cairndb_leveldb::read_current(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        named => Some(FileName::Manifest(named?).to_string()),
    };
    match (store, named) {
        (Some(OtherStore::RocksDb), _) => Err(refusal(dir, OtherStore::RocksDb)),
        (Some(OtherStore::LevelDb), None) => Err(refusal(dir, OtherStore::LevelDb)),
        (Some(OtherStore::LevelDb), Some(_)) => Ok(Owner::LevelDb),
        (None, None) => Ok(Owner::None),
        (None, Some(manifest)) => {
            needed(&manifest, dir.open_read(&manifest))?;
            Ok(Owner::Ours)
        }
    }
}

/// Returns the error for a directory without a database.
#[cold]
pub(crate) fn nothing_here(dir: &dyn Dir) -> Error {
    let message = "the directory holds no LevelDB database: it has no CURRENT; choose another one";
    Error::new(ErrorKind::NotFound, message).path(dir.path())
}
