//! State of a database at a point in time, and the settings it was opened with.
//!
//! Plain data and small shared records. The only I/O here opens and reads tables and value files.

pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod files;
pub(crate) mod fold_limits;
pub(crate) mod following;
pub(crate) mod health;
pub(crate) mod keyspaces;
pub(crate) mod lineage;
pub(crate) mod memtables;
pub(crate) mod merge_operator;
pub(crate) mod options;
pub(crate) mod ranges;
pub(crate) mod reserve;
pub(crate) mod sections;
pub(crate) mod snapshots;
pub(crate) mod squeezes;
pub(crate) mod stats;
pub(crate) mod version;
