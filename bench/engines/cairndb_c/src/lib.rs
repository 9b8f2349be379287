//! CairnDB through its own C interface, `cairndb.h`.
//!
//! Beside the row of `cairndb`, the row shows what the interface costs a C program: a call through
//! a pointer, the check of a handle, and a copy into the program's buffer. The library is the one
//! that `clients/capi/install.sh` installs, or the one in the folder of this program.

mod store;
mod sys;

use std::path::{Path, PathBuf};

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use store::{Session, Store};
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct CairnC {
    api: Api,
}

/// Returns the library that was built into the folder of this program, if there is one.
pub fn beside_this_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.with_file_name("libcairndb_capi.so");
    beside.exists().then_some(beside)
}

impl CairnC {
    /// Loads the library at `path`, the one beside this program, or the installed one.
    ///
    /// # Errors
    /// If there is none, or if it lacks a symbol; the error names the symbol.
    pub fn load(path: Option<&Path>) -> Result<Self, Fault> {
        let beside = beside_this_program();
        Ok(Self {
            api: Api::load(path.or(beside.as_deref()))?,
        })
    }
}

impl<'e> Engine for &'e CairnC {
    type Store = Store<'e>;

    fn name(&self) -> &'static str {
        "cairndb-c"
    }

    fn title(&self) -> &'static str {
        "CairnDB in C"
    }

    fn version(&self) -> String {
        self.api.version_text()
    }

    fn library(&self) -> Option<Library> {
        Some(self.api.library())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: true,
            merge: false,
            snapshot: true,
            reverse: true,
            seek: true,
            compact: true,
            flush: true,
            sync: true,
            sync_later: false,
            stores: true,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<Store<'e>, Fault> {
        Store::open(&self.api, dir, settings)
    }
}
