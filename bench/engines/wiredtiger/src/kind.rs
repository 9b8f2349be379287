//! The data structure of the table.

/// One of WiredTiger's two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// A B+ tree.
    Btree,
    /// A log-structured merge tree of B+ trees.
    Lsm,
}
