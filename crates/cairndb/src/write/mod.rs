//! Band c: what a commit touches - log segments, the value file, the manifest's tail.

pub(crate) mod commit;
pub(crate) mod manifest;
pub(crate) mod segments;
pub(crate) mod values;
