//! Files to which a commit appends: log segments, value files, the end of the manifest.

pub(crate) mod commit;
pub(crate) mod history;
pub(crate) mod manifest;
pub(crate) mod payload;
pub(crate) mod segment_file;
pub(crate) mod segments;
pub(crate) mod values;
