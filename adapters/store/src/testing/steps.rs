//! What the cases share: the macro that collects them, and short forms of common steps.

use crate::error::{ErrorKind, Result};
use crate::read::Read;
use crate::scan::Scan;
use crate::store::Store;

/// Defines checks and collects them in `list`.
macro_rules! checks {
    ($(fn $name:ident($store:ident) $body:block)*) => {
        $(fn $name($store: &dyn $crate::store::Store) -> $crate::error::Result<()> {
            $body
            Ok(())
        })*
        pub(super) fn list() -> Vec<$crate::testing::case::Case> {
            vec![$($crate::testing::case::Case {
                name: stringify!($name).to_owned(),
                run: Box::new($name),
            }),*]
        }
    };
}
pub(super) use checks;

/// Sets each key to the text after it.
pub(super) fn fill(store: &dyn Store, entries: &[(&str, &str)]) -> Result<()> {
    for (key, value) in entries {
        store.put(key.as_bytes(), value.as_bytes())?;
    }
    Ok(())
}

/// Returns the value of `key` as text, or `-` if there is none.
pub(super) fn text(reader: &(impl Read + ?Sized), key: &str) -> Result<String> {
    let value = reader.get(key.as_bytes())?;
    Ok(value.map_or("-".to_owned(), |value| {
        String::from_utf8_lossy(&value).into_owned()
    }))
}

/// Returns what a scan yields, as `key=value` joined by spaces.
pub(super) fn listed(reader: &(impl Read + ?Sized), scan: &Scan) -> Result<String> {
    let mut found = Vec::new();
    for entry in reader.scan(scan)? {
        let (key, value) = entry?;
        found.push(format!("{}={}", key.escape_ascii(), value.escape_ascii()));
    }
    Ok(found.join(" "))
}

/// Returns the kind of error of a call that must fail.
pub(super) fn refused<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("the call must fail"),
        Err(error) => error.kind(),
    }
}
