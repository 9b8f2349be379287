//! Directories of other stores, which use some of the same file names.

use cairndb_base::Error;
use cairndb_env::Dir;
use cairndb_format::evidence::OtherStore;
use cairndb_format::manifest::read_current;
use cairndb_format::name;

/// Returns the error of opening the directory, which holds a database of `store`.
#[cold]
pub fn refusal(dir: &dyn Dir, store: OtherStore) -> Error {
    let (file, is_missing) = match read_current(dir) {
        Ok(None) => (name::CURRENT.to_owned(), true),
        Ok(Some(number)) => {
            let manifest = name::manifest(number);
            let is_missing = matches!(dir.size_of(&manifest), Ok(None));
            (manifest, is_missing)
        }
        Err(error) => return error,
    };
    let error = match store {
        OtherStore::LevelDb if is_missing => Error::corruption(
            "the directory holds a LevelDB database, of which this file is missing; restore it \
             from a copy, or keep what the other files hold with `repair`",
        ),
        OtherStore::LevelDb => Error::invalid(
            "the directory holds a LevelDB database; open it with Options::upgrade_leveldb \
             (feature leveldb) to convert it, or choose another directory",
        ),
        OtherStore::RocksDb => Error::invalid(
            "the directory holds a RocksDB database, which cannot be converted; copy its entries \
             through RocksDB's interface, or choose another directory",
        ),
    };
    error.file(file)
}
