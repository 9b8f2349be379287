//! The C library: LevelDB's interface to the letter, and CairnDB's own beside it.
//!
//! `include/leveldb/c.h` declares the 68 functions of LevelDB 1.23, which `leveldb/` implements;
//! `include/cairndb.h` declares what LevelDB lacks, which `face/` implements. The headers state
//! the rules for callers.
//!
//! A call passes three layers:
//!
//! 1. A function with a C signature turns pointers and lengths into slices (`bytes.rs`) and handles
//!    into references (`handle.rs`).
//! 2. The public interface of `cairndb` does the work, inside `catch_unwind`.
//! 3. The result becomes memory of the C allocator (`memory.rs`), and an error becomes a message
//!    (`errors.rs`) or, for functions that cannot report one, the thread's last error
//!    (`boundary.rs`).
//!
//! Invariants:
//! 1. No panic crosses the boundary: it becomes an error and poisons the handle.
//! 2. A database, keyspace, iterator, comparison, feed, snapshot or batch is never reached through
//!    a pointer of the caller, but through a slot and a generation, so that a wrong handle is an
//!    error.
//! 3. Memory that a caller frees comes from `malloc`.
//!
//! Threads: databases, keyspaces and snapshots may be used by all threads at once; an iterator,
//! a comparison, a feed or a batch by one at a time. Everything else is the caller's to
//! synchronise, as in LevelDB.

#![allow(
    unsafe_code,
    reason = "foreign functions are the purpose of this crate"
)]
#![allow(
    non_camel_case_types,
    reason = "types and functions have the names that C programs use"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "one rule for all functions, stated in the headers: pointers are valid for their \
              lengths, strings end with a NUL byte, and objects other than handles are live"
)]
#![allow(
    clippy::too_many_arguments,
    reason = "a key or a value takes two parameters in C"
)]
#![allow(
    clippy::similar_names,
    reason = "the parameters have the names of LevelDB's header"
)]

mod boundary;
mod bytes;
mod callbacks;
mod errors;
pub mod face;
mod handle;
pub mod leveldb;
mod memory;
mod objects;
mod source;
