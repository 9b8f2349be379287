//! Properties and their numbers: space, memory, stalls, statistics.

use std::ffi::c_char;
use std::ptr::null_mut;

use cairndb::{Error, Result};

use crate::bytes::text;
use crate::face::error::{cairndb_error, outcome_in};
use crate::face::handles::cairndb_db;
use crate::handle::{Handle, with_shared};
use crate::memory::copy_text;
use crate::objects::Database;

/// Stores the property `name` in `*value`, as a string that the caller frees with `free`, or NULL
/// if there is none of this name.
///
/// Names that begin with "cairndb." are JSON; LevelDB's names are those of "leveldb/c.h".
/// docs/guide/properties.md lists the names and defines every field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_property(
    db: *const cairndb_db,
    name: *const c_char,
    value: *mut *mut c_char,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the property's name") };
    let found = with_shared(Handle::of(db), |database: &Database| {
        Ok(database.0.property(name?))
    });
    let found = found.map(|found| found.map_or(null_mut(), |found| copy_text(&found)));
    // SAFETY: the header requires NULL or the address of a string.
    unsafe { outcome_in(value, null_mut(), found) }
}

/// Stores one number of a JSON property in `*value`: "total" of "cairndb.memory", for example.
/// Fields of an object in it are named with a dot: "memtable.count" of "cairndb.stalls".
/// `INVALID_ARGUMENT` if there is no such number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_figure(
    db: *const cairndb_db,
    property: *const c_char,
    field: *const c_char,
    value: *mut u64,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let property = unsafe { text(property, "the property's name") };
    // SAFETY: as above.
    let field = unsafe { text(field, "the field's name") };
    let found = with_shared(Handle::of(db), |database: &Database| {
        let (property, field) = (property?, field?);
        number_in(database.0.property(property).as_deref(), field)
    });
    // SAFETY: the header requires NULL or the address of a number.
    unsafe { outcome_in(value, 0, found) }
}

/// Returns the number of `field` in the JSON of a property, which holds only objects and numbers.
fn number_in(json: Option<&str>, field: &str) -> Result<u64> {
    let found = json.and_then(|json| {
        let mut rest = json;
        for part in field.split('.') {
            let (_, after) = rest.split_once(&format!("\"{part}\":"))?;
            rest = after;
        }
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..digits].parse().ok()
    });
    found.ok_or_else(|| Error::invalid("there is no such number").found(field))
}

#[cfg(test)]
mod tests {
    use super::number_in;

    #[test]
    fn numbers_are_found_by_their_names() {
        let json =
            r#"{"log":{"count":3,"total_ns":40},"space":{"count":5},"total":18446744073709551615}"#;
        let number = |field| number_in(Some(json), field).ok();
        assert_eq!(number("log.count"), Some(3));
        assert_eq!(number("space.count"), Some(5));
        assert_eq!(number("total"), Some(u64::MAX));
        assert_eq!(number("log"), None);
        assert_eq!(number("nothing"), None);
        assert_eq!(number_in(None, "total").ok(), None);
    }
}
