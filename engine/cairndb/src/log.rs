//! Files to which a commit appends: log segments, value files, the end of the manifest.

pub(crate) mod commit;
pub(crate) mod manifest;
pub(crate) mod payload;
pub(crate) mod segments;
pub(crate) mod values;
