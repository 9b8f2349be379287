//! The module `cairndb._cairndb`: what the Python package has in Rust.
//!
//! The Python files in `python/cairndb` add what need not be fast: the mapping protocol, the views,
//! `asyncio`. Here are the calls that a program makes a million times a second, and everything that
//! must release the interpreter's lock.
//!
//! Rules for every call:
//!
//! 1. It checks that the process is the one that opened the database (`Handle::db`).
//! 2. It detaches from the interpreter before it calls the store (`detached`): the call
//!    may wait for a disk, and may wait for a comparator written in Python on another thread.
//!    One that may take long is `watched`, so that a signal ends it.
//! 3. It never waits for a lock while it is attached, except through `MutexExt::lock_py_attached`,
//!    which detaches.
//!    An iterator has no lock but the interpreter's, except during a fetch (`scan::turn`).
//! 4. A panic in the store becomes an exception.
//!
//! Each class has the name of the public one that derives from it, because messages of `PyO3` name
//! the class whose method was called.
//!
//! One extension module serves every version of Python from 3.9 on, because it uses the stable
//! interface of 3.9 only; `values::view` is the exception, and explains itself.

// Neither signatures nor constructors are called from Rust, and `#[pymethods]` takes its arguments
// by value.
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "the signatures are Python's"
)]

mod arguments;
mod batch;
mod boundary;
mod callbacks;
mod errors;
mod handle;
mod offline;
mod options;
mod plyvel;
mod reader;
mod scan;
mod snapshot;
mod store;
mod values;

use pyo3::pymodule;

/// The parts of `cairndb` that are written in Rust. Import `cairndb`, not this module.
#[pymodule(gil_used = true)]
mod _cairndb {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::handle::{close_all, open_databases};
    #[pymodule_export]
    use crate::offline::{destroy, exchange, repair, upgrade_leveldb, verify};
    #[pymodule_export]
    use crate::plyvel::{PlyvelIterator, PlyvelRawIterator};
    #[pymodule_export]
    use crate::reader::Range;
    #[pymodule_export]
    use crate::reader::Reader;
    #[pymodule_export]
    use crate::scan::Scan;
    #[pymodule_export]
    use crate::scan::changes::Feed;
    #[pymodule_export]
    use crate::scan::diff::Differences;
    #[pymodule_export]
    use crate::snapshot::SnapshotReader;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::store::transaction::{PySavepoint, TransactionStore};
    #[pymodule_export]
    use crate::store::writer::Writer;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
