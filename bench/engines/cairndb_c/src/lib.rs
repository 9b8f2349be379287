//! CairnDB through its own C interface, `cairndb.h`.
//!
//! Beside the row of `cairndb`, the row shows what the interface costs a C program: a call through
//! a pointer, the check of a handle, and a copy into the program's buffer. The library is the one
//! that `clients/capi/install.sh` installs, or the one in the folder of this program.

mod store;
mod sys;

use std::path::PathBuf;

use bench_core::engine::Capabilities;

pub use store::{Session, Store};
use sys::Api;

engine_capi::engine! {
    CairnC, Store, "cairndb-c", "CairnDB in C", Capabilities {
        merge: false,
        sync_later: false,
        ..Capabilities::ALL
    };
}

/// Returns the library that was built into the folder of this program, if there is one.
pub fn beside_this_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.with_file_name("libcairndb_capi.so");
    beside.exists().then_some(beside)
}
