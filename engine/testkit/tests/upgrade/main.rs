//! Conversion of LevelDB directories on simulated disks: killed before each operation, in every
//! state that the crash may leave, and with every operation failing in every way.
//!
//! Whatever happens, the directory opens as LevelDB's or as ours, with the same entries, and a
//! further attempt completes the conversion.
//!
//! `CAIRN_STATES` scales the tests, in percent of a push check; `CAIRN_SEED` is the first seed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bad_input;
mod crashes;
mod faults;
mod fixture;
mod kill;
mod plain;
