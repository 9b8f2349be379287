//! State of a database at one moment, and the settings it was opened with.
//!
//! Plain data and small shared records. The only I/O here opens and reads tables and value files.

pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod dictionaries;
pub(crate) mod files;
pub(crate) mod fold_limits;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod idle;
pub(crate) mod mapped_values;
pub(crate) mod merge_operator;
pub(crate) mod new_files;
pub(crate) mod opener;
pub(crate) mod options;
pub(crate) mod reaper;
pub(crate) mod reserve;
pub(crate) mod snapshots;
pub(crate) mod squeezes;
pub(crate) mod stats;
pub(crate) mod value_handle;
pub(crate) mod version;
