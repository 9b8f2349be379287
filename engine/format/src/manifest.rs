//! The manifest: the sequence of version edits that defines which files make up the database.
//!
//! The engine creates one with a base (the whole state at that moment), points `CURRENT` at it, and
//! appends an edit for every change of the file set. Opening reads the one that `CURRENT` names.
//! Layout: `docs/format/manifest.md`, `docs/format/directory.md`.
//!
//! 1. The base is durable before `CURRENT` names the file, so damage within it is always an error.
//! 2. Each record stores how much of the file was known to be durable when it was written. Bad
//!    bytes that a later record states to be durable are damage; any others are a torn tail, which
//!    is cut off.
//! 3. Encoding is deterministic: equal edits give equal bytes.

mod codec;
mod current;
mod deleted_range;
mod edit;
mod fields;
mod frame;
mod header;
mod history;
mod keyspace_record;
mod reader;
mod salvage;
mod table_record;
mod writer;

pub(crate) use current::parse as parse_current;
pub use current::{install_current, prepare_current, read_current};
pub use edit::{
    CleanClose, DeletedRange, HiddenVersions, Incarnation, KeptSegment, KeyspaceEvent,
    KeyspaceRecord, Lease, SegmentRecord, TableRecord, VersionEdit,
};
pub(crate) use header::is_marked;
pub use header::{HEADER_BYTES, ManifestHeader};
pub use reader::{EDITS_MAX, Manifest, ManifestReader, TABLES_MAX, Tail, read_manifest};
pub use salvage::{FoundEdit, ManifestSalvage};
pub use writer::{ManifestSyncer, ManifestWriter};

#[cfg(test)]
mod tests;
