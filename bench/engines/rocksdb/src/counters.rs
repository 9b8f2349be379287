//! RocksDB's own counters: property names and statistics.

/// Counters of `--statistics` that add up to all bytes written: log, flushes, compactions.
const WRITTEN: &[&str] = &[
    "rocksdb.wal.bytes",
    "rocksdb.flush.write.bytes",
    "rocksdb.compact.write.bytes",
];

/// Returns RocksDB's name for a property given LevelDB's name.
pub(crate) fn property_name(name: &str) -> String {
    name.strip_prefix("leveldb.")
        .map_or_else(|| name.to_owned(), |rest| format!("rocksdb.{rest}"))
}

/// Returns the bytes written according to the statistics text; `None` if a counter is missing.
pub(crate) fn bytes_written(statistics: &str) -> Option<u64> {
    WRITTEN.iter().map(|name| counter(statistics, name)).sum()
}

/// Returns the number in `NAME COUNT : 12`.
fn counter(statistics: &str, name: &str) -> Option<u64> {
    let rest = statistics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(" COUNT : "))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_the_sum_of_three_counters() {
        let text = "rocksdb.wal.synced COUNT : 9\nrocksdb.wal.bytes COUNT : 100\n\
            rocksdb.flush.write.bytes COUNT : 20\nrocksdb.compact.write.bytes COUNT : 3\n\
            rocksdb.db.get.micros P50 : 0.0 P95 : 0.0 COUNT : 0 SUM : 0\n";
        assert_eq!(bytes_written(text), Some(123));
        assert_eq!(bytes_written("rocksdb.wal.bytes COUNT : 100\n"), None);
    }

    #[test]
    fn properties_are_known_by_levels_names() {
        assert_eq!(property_name("leveldb.stats"), "rocksdb.stats");
        assert_eq!(property_name("rocksdb.levelstats"), "rocksdb.levelstats");
    }
}
