//! The cases, one file for each part of the contract.

mod batches;
mod compares;
mod ends;
mod points;
mod scans;
mod snapshots;
mod transactions;

use crate::error::{ErrorKind, Result};
use crate::read::Read;
use crate::scan::Scan;
use crate::store::Store;
use crate::testing::Case;

/// Defines checks and collects them in `list`.
macro_rules! checks {
    ($(fn $name:ident($store:ident) $body:block)*) => {
        $(fn $name($store: &dyn $crate::store::Store) -> $crate::error::Result<()> {
            $body
            Ok(())
        })*
        pub(super) fn list() -> Vec<$crate::testing::Case> {
            vec![$($crate::testing::Case {
                name: stringify!($name).to_owned(),
                run: Box::new($name),
            }),*]
        }
    };
}
use checks;

pub(super) fn all() -> Vec<Case> {
    let parts = [
        points::list(),
        batches::list(),
        scans::list(),
        snapshots::list(),
        compares::list(),
        transactions::list(),
        ends::list(),
    ];
    parts.into_iter().flatten().collect()
}

/// Sets each key to the text after it.
fn fill(store: &dyn Store, entries: &[(&str, &str)]) -> Result<()> {
    for (key, value) in entries {
        store.put(key.as_bytes(), value.as_bytes())?;
    }
    Ok(())
}

/// Returns the value of `key` as text, or `-` if there is none.
fn text(reader: &(impl Read + ?Sized), key: &str) -> Result<String> {
    let value = reader.get(key.as_bytes())?;
    Ok(value.map_or("-".to_owned(), |value| {
        String::from_utf8_lossy(&value).into_owned()
    }))
}

/// Returns what a scan yields, as `key=value` joined by spaces.
fn listed(reader: &(impl Read + ?Sized), scan: &Scan) -> Result<String> {
    let mut found = Vec::new();
    for entry in reader.scan(scan)? {
        let (key, value) = entry?;
        found.push(format!("{}={}", key.escape_ascii(), value.escape_ascii()));
    }
    Ok(found.join(" "))
}

/// Returns the kind of error of a call that must fail.
fn refused<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("the call must fail"),
        Err(error) => error.kind(),
    }
}
