//! Directories of other stores, which use some of the same file names.

use cairndb_base::{Error, FileNumber};
use cairndb_format::evidence::OtherStore;
use cairndb_format::name;

/// Returns the error of opening a directory whose manifest `number` was written by `store`.
#[cold]
pub(crate) fn refusal(store: OtherStore, number: FileNumber) -> Error {
    let message = match store {
        OtherStore::LevelDb => {
            "the directory holds a LevelDB database; open it with Options::upgrade_leveldb (feature \
             leveldb) to convert it, or choose another directory"
        }
        OtherStore::RocksDb => {
            "the directory holds a RocksDB database, which cannot be converted; copy its entries \
             through RocksDB's interface, or choose another directory"
        }
    };
    Error::invalid(message).file(name::manifest(number))
}
