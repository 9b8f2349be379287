//! The options that every command opens with.
//!
//! No file is mapped, so that a file that shrinks cannot kill the process, and every page is
//! verified at every access.

use std::path::Path;

use cairndb::Options;

use crate::orders;

/// Returns the options that every command opens with.
pub(crate) fn options() -> Options {
    Options::new().mapped(false).verify_always(true)
}

/// Returns the options with which the database at `path` opens: with its comparator, if that is a
/// known one.
pub(crate) fn options_for(path: &Path) -> Options {
    let custom = orders::of_database(path).into_iter();
    let options = custom.fold(options(), Options::comparator);
    let mut kept = orders::of_keyspaces(path);
    let comparators = kept.comparators.drain(..);
    let options = comparators.fold(options, Options::register_comparator);
    kept.operators
        .drain(..)
        .fold(options, Options::register_merge_operator)
}
