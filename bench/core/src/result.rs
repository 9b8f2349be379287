//! Results: records, the lines of LevelDB and RocksDB, statistics over rounds.

pub mod civil_date;
pub mod outline;
pub mod output;
pub mod record;
pub mod result_line;
pub mod sparse;
pub mod spread;
pub mod standing;
