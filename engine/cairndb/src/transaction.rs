//! Optimistic transactions.
//!
//! A transaction reads a snapshot and its own writes, which it keeps in a batch. It takes no lock.
//! When it is committed, the keys and ranges that it depends on are checked under the commit lock,
//! and the batch is written if nobody has written to them since the snapshot. The order of commits
//! is then a serial order with the same results.
//!
//! * `options`: isolation
//! * `own_writes`: the batch, and an index of its keys that is made when they are read
//! * `read_set`: keys and ranges that must not have changed
//! * `commit`: the check, and the write
//! * `handle`, `cursor`, `iter`: the public types
//! * `keyspaces`: calls for any keyspace
//! * `folder`: folds own operands
//! * `retry`: `Db::transact` and `Db::compare_and_set`
//! * `ends`, `retain`: other calls that read and write as one step

mod commit;
pub(crate) mod cursor;
mod ends;
mod folder;
pub(crate) mod handle;
pub(crate) mod iter;
mod keyspaces;
pub(crate) mod options;
pub(crate) mod own_writes;
mod pop;
mod popped;
mod range_deletion;
mod read_set;
mod retain;
mod retry;
