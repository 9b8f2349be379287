//! The functions of `leveldb/c.h`, as of LevelDB 1.23: 68, in the files of this folder.
//!
//! The header has the rules of each function. What LevelDB leaves undefined is an error here where
//! a handle is involved.

pub mod batch;
pub mod database;
pub mod iterator;
pub mod objects;
pub mod offline;
pub mod options;
pub mod snapshot;
mod translate;

use std::marker::{PhantomData, PhantomPinned};

/// A type that C programs know only by name. Never constructed.
type Opaque = PhantomData<(*mut u8, PhantomPinned)>;

/// The handle of an open database. A number, never an address.
#[repr(C)]
#[derive(Debug)]
pub struct leveldb_t {
    _opaque: Opaque,
}

/// The handle of an iterator. A number, never an address.
#[repr(C)]
#[derive(Debug)]
pub struct leveldb_iterator_t {
    _opaque: Opaque,
}

/// The handle of a snapshot. A number, never an address.
#[repr(C)]
#[derive(Debug)]
pub struct leveldb_snapshot_t {
    _opaque: Opaque,
}

/// The handle of a batch. A number, never an address.
#[repr(C)]
#[derive(Debug)]
pub struct leveldb_writebatch_t {
    _opaque: Opaque,
}

/// A logger. No function makes one, so a pointer to one is ignored.
#[repr(C)]
#[derive(Debug)]
pub struct leveldb_logger_t {
    _opaque: Opaque,
}
