//! From memory to the disk: log, manifest, value files, and the syncs that make them durable.

pub(crate) mod dead_files;
pub(crate) mod disk;
pub(crate) mod group_sync;
pub(crate) mod intervals;
pub(crate) mod keeping;
pub(crate) mod log;
pub(crate) mod manifests;
mod outside;
pub(crate) mod persist;
pub(crate) mod reserve;
pub(crate) mod value_files;
