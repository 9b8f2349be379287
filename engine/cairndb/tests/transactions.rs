//! Tests of transactions: what conflicts, what a transaction sees, and whether histories of many
//! threads can be put into one order.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_SEED` | seed of the first random list and of the histories, 1 by default |
//! | `CAIRN_LISTS` | number of random lists, 300 by default |
//! | `CAIRN_TRANSACTIONS` | number of transactions of each history, 100,000 by default |

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking, and say what they ran"
)]

#[path = "transactions/calls.rs"]
mod calls;
#[path = "transactions/checker.rs"]
mod checker;
#[path = "transactions/conflicts.rs"]
mod conflicts;
#[path = "transactions/history.rs"]
mod history;
#[path = "transactions/lists.rs"]
mod lists;
#[path = "transactions/oracle.rs"]
mod oracle;
#[path = "transactions/pops.rs"]
mod pops;
#[path = "transactions/semantics.rs"]
mod semantics;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use cairndb::env::{Background, MemEnv};
use cairndb::{Append, Db, Error, ErrorKind, Options, Result, Value};
use cairndb_env::testing::setting::setting;

/// What a database should contain.
type Contents = BTreeMap<Vec<u8>, Vec<u8>>;
type Entry = (Vec<u8>, Vec<u8>);

/// Returns a copy of an entry.
fn owned(entry: Option<(Value, Value)>) -> Option<Entry> {
    entry.map(|(key, value)| (key.into_vec(), value.into_vec()))
}

/// Returns all that an iterator yields.
#[track_caller]
fn entries<C: FromIterator<Entry>>(iter: impl Iterator<Item = Result<(Value, Value)>>) -> C {
    iter.filter_map(|entry| owned(Some(entry.unwrap())))
        .collect()
}

/// Returns the error of a call, which must be of this kind.
#[track_caller]
fn fails<T: Debug>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error
}

/// Returns options with an in-memory environment whose background work is stepped, and operands
/// that are appended.
fn options() -> Options {
    Options::new()
        .env(MemEnv::new(Background::Stepped))
        .create_if_missing(true)
        .memory_budget(256 << 10)
        .merge_operator(Arc::new(Append))
}

fn database() -> Db {
    options().open("/db").unwrap()
}

/// Returns the number in an environment variable, or `default`.
fn variable(name: &str, default: u64) -> u64 {
    setting(name).unwrap_or(default)
}
