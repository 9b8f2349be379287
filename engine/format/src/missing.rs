//! A missing file that the database needs, as an error.
//!
//! Environments return `NotFound` for any name. For a path this means that there is no database,
//! and a program may create one. For a file that a manifest names it means that the database is
//! damaged. So code that opens, links or syncs such a file passes the result through [`needed`].

use cairndb_base::{Error, ErrorKind, Result};

use crate::name::FileKind;

/// Returns the result of an operation on `name`, a file that the database needs.
///
/// # Errors
/// The errors of the operation; `Corruption` with file and offset 0 if the file does not exist.
pub fn needed<T>(name: &str, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing(name),
        _ => error,
    })
}

#[cold]
fn missing(name: &str) -> Error {
    let message = match FileKind::parse(name) {
        Some(FileKind::Table(_)) => "a table that the database needs is missing",
        Some(FileKind::Value(_)) => "a value file that the database needs is missing",
        Some(FileKind::Manifest(_)) => "the manifest that CURRENT names is missing",
        Some(FileKind::Log(_)) => "a log segment that the database needs is missing",
        _ => "a file that the database needs is missing",
    };
    Error::corruption(message).file(name).offset(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_damage_and_other_errors_stay() {
        let absent = || Error::new(ErrorKind::NotFound, "the file does not exist").file("x");
        let error = needed::<()>("000007.tbl", Err(absent())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corruption: a table that the database needs is missing (file 000007.tbl, offset 0)"
        );
        let refused = Error::new(ErrorKind::Io, "open the file");
        let error = needed::<()>("000007.tbl", Err(refused)).unwrap_err();
        assert_eq!(error.to_string(), "i/o error: open the file");
        assert_eq!(needed("000007.tbl", Ok(3)).expect("a success stays"), 3);
    }
}
