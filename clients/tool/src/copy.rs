//! `copy`: the entries of one store into another, in the order of their keys.
//!
//! Entries are read page by page and written in batches within the limits of the target. After
//! every so many bytes, what was written is made durable and the last key is saved in a file. After
//! a kill, the same command continues after that key. At the end, both stores are read side by side
//! and compared.
//!
//! 1. A saved key never claims entries that the target lost: it is saved after a sync.
//! 2. Entries after the saved key may be in the target. They are read again and compared with the
//!    source. What differs is replaced or deleted only if `--overwrite` was passed: it may be
//!    somebody's data, and ends the copy otherwise.
//! 3. Memory is bounded by a page of each store, a batch, and the longest entry.
//!
//! Threads: those of the stores.

mod batches;
mod copier;
mod lockstep;
mod pace;
mod run;
mod state;
mod verify;

pub(crate) use run::copy;
