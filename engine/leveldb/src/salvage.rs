//! Salvage: what is intact in the files of a damaged database.
//!
//! [`TableSalvage`] reads the blocks of a table, with its index or without. [`ManifestSalvage`] is
//! what a manifest describes as far as its edits are intact. Logs need no more than
//! [`LogReader::salvaging`](crate::LogReader::salvaging), which goes on after damage. Sequence
//! numbers order all entries of a database, so a table can be read without knowing its level.

mod anchor;
mod blocks;
mod directory;
mod ends;
mod manifest;
mod table;

pub use directory::is_leveldb;
pub use manifest::ManifestSalvage;
pub use table::{SalvagedBlock, TableSalvage, TableStep};

#[cfg(test)]
mod tests;
