//! How a table of LevelDB is read.

/// One table to be read.
#[derive(Clone, Debug)]
pub(super) struct LevelTable {
    pub(super) file: String,
    pub(super) bytes: u64,
    pub(super) smallest: Option<Vec<u8>>,
    pub(super) largest: Option<Vec<u8>>,
}
