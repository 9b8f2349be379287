//! The functions of `cairndb.h`: what CairnDB has and LevelDB lacks.
//!
//! The header is generated from the files of this folder by cbindgen; the test `header` compares.
//! So every comment on a public item here is also read by C programmers. The preamble of the
//! header, with the rules for all functions, is in `cbindgen.toml`.

// In the order of the header, in separate groups so that rustfmt keeps it. The version comes first,
// from this file.
pub mod error;

pub mod handles;

pub mod order;

pub mod merge_operator;

pub mod options;

pub mod database;

pub mod read;

pub mod batch;

pub mod iter;

pub mod keyspace;

pub mod changes;

pub mod figures;

pub mod offline;

pub mod repair;

pub mod watch;

use std::ffi::{c_char, c_int};

/// First number of the version that this header belongs to.
pub const CAIRNDB_VERSION_MAJOR: c_int = 0;
/// Second number of the version that this header belongs to.
pub const CAIRNDB_VERSION_MINOR: c_int = 1;
/// Third number of the version that this header belongs to.
pub const CAIRNDB_VERSION_PATCH: c_int = 0;

/// The version as a string that ends with a NUL byte.
const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Returns the version of the library in use, such as "0.1.0". The header's version is in the
/// macros `CAIRNDB_VERSION_MAJOR`, `CAIRNDB_VERSION_MINOR` and `CAIRNDB_VERSION_PATCH`.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_version() -> *const c_char {
    TEXT.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macros_are_the_version_of_the_package() {
        let macros = [
            CAIRNDB_VERSION_MAJOR,
            CAIRNDB_VERSION_MINOR,
            CAIRNDB_VERSION_PATCH,
        ];
        let package = env!("CARGO_PKG_VERSION").split('.');
        let package: Vec<c_int> = package.map(|number| number.parse().unwrap()).collect();
        assert_eq!(package, macros);
    }
}
