//! Flags of RocksDB's program that mean nothing here. Scripts that set them go on working.

/// Flags that take a value.
pub(super) const VALUED: &[&str] = &["level0_file_num_compaction_trigger"];

/// Switches.
pub(super) const SWITCHES: &[&str] = &["disable_wal"];
