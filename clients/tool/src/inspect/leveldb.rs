//! LevelDB's files: what `tables`, `log` and `manifest` print of them.

pub(super) mod log;
pub(super) mod manifest;
pub(super) mod tables;
