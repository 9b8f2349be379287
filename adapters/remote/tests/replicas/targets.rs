//! The targets: a CairnDB database, a SQLite database, and any store with transactions.

mod cairn;
mod sqlite;
mod store;

use std::path::Path;

use crate::replica::{Target, Trouble};

pub(crate) use sqlite::has_sqlite;

/// The target that is a CairnDB database.
pub(crate) const CAIRN: &str = "cairn";
/// The target that is a SQLite database.
pub(crate) const SQLITE: &str = "sqlite";

/// The key of the state. No keyspace has a name with this byte.
const STATE: &[u8] = b"\xffstate";

/// Opens a target, in `dir` or at the URL that `name` is otherwise, runs `then` and closes it.
pub(crate) fn with<T>(
    name: &str,
    dir: &Path,
    then: impl FnOnce(&mut dyn Target) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    match name {
        CAIRN => cairn::with(&dir.join("target"), then),
        SQLITE => sqlite::with(&dir.join("target"), then),
        url => store::with(url, then),
    }
}
