//! Repair: reads a damaged directory and writes what is intact into a new one.
//!
//! 1. `survey.rs` lists the source: which file is which, also if names were swapped. `described.rs`
//!    is what the manifest describes, as far as its edits are intact; `choose.rs` picks one.
//! 2. `tables.rs` decides which tables are read and how old each is relative to the others.
//!    `tables/chain.rs` reads the entries of tables that share no key, page by page.
//! 3. `log/segments.rs` decides which log segments are read, `log.rs` reads them, `log/runs.rs`
//!    sorts their entries.
//! 4. `merge.rs` merges all sources by key, the newest first; `fold.rs` decides what each key
//!    holds; `ranges.rs` finds the deletion of its range; `values.rs` reads large values;
//!    `target.rs` writes the new database, which needs no range.
//! 5. `keyspaces.rs` is what is known of keyspaces: steps 2 to 4 are done by section.
//! 6. `report.rs` is the report, `findings.rs` collects it. `own.rs` is our own directory as an
//!    input, `run.rs` one repair from start to finish.
//!
//! With the Cargo feature `leveldb`, `leveldb.rs` reads LevelDB's directories; what follows the
//! merge is the same.
//!
//! Invariants:
//! 1. Nothing in the source is created, written, locked exclusively or removed.
//! 2. Every entry whose bytes are intact is kept or listed; every byte that is not intact is
//!    listed.
//! 3. Within a key, the order of versions is that of the manifest's runs. Where it is not known,
//!    the report says so.
//! 4. Memory is bounded by the budget, one log segment, one page per table read at a time, one
//!    value, and the deleted ranges.
//!
//! Threads: one, the caller's.

#![forbid(unsafe_code)]

mod choose;
mod described;
mod findings;
mod keyspaces;
#[cfg(feature = "leveldb")]
mod leveldb;
mod log;
mod merge;
mod own;
mod ranges;
mod report;
mod run;
mod survey;
mod tables;
mod target;
mod values;

pub use report::{Doubt, DoubtKind, HarmlessDamage, Kept, KeySpan, Loss, RepairReport, Unnamed};
pub use run::{Settings, repair};
