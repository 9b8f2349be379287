//! Engines in reports: their titles, the order of rows, and the folders of their adapters.

/// The store of this project.
pub(crate) const OURS: &str = "cairndb";
/// The store of this project, through its C library.
pub(crate) const OURS_IN_C: &str = "cairndb-c";
/// The store of this project, in another build.
pub(crate) const OURS_AGAINST: &str = "cairndb-against";
/// The engine that stores nothing.
pub(crate) const HARNESS: &str = "null";
/// The engine that shows what the disk and the system calls cost.
pub(crate) const BARE: &str = "disk";
/// The store that the page of 2011 was about, and that ratios refer to.
pub(crate) const REFERENCE: &str = "leveldb";

/// Mark after the name of a row that merges with a read and a put.
pub(crate) const BY_HAND: &str = "\u{2020}";

/// Name in the records, title, and folder of the adapter below `bench/engines`, in the order of
/// rows.
const KNOWN: [[&str; 3]; 17] = [
    [OURS, "CairnDB", "cairndb"],
    [OURS_IN_C, "CairnDB (C)", "cairndb_c"],
    [OURS_AGAINST, "CairnDB, the other build", "cairndb"],
    [REFERENCE, "LevelDB", "leveldb"],
    ["rocksdb", "RocksDB", "rocksdb"],
    ["kyoto_treedb", "Kyoto TreeDB", "kyoto"],
    ["sqlite3", "SQLite3", "sqlite3"],
    ["wiredtiger_btree", "WiredTiger B-tree", "wiredtiger"],
    ["wiredtiger_lsm", "WiredTiger LSM", "wiredtiger"],
    ["lmdb", "LMDB", "lmdb"],
    ["mdbx", "libmdbx", "../peers/mdbx"],
    ["redb", "redb", "redb"],
    ["fjall", "fjall", "../peers/fjall"],
    ["tidesdb", "TidesDB", "../peers/tidesdb"],
    ["bftree", "Bf-Tree", "../peers/bftree"],
    [BARE, "Disk", "disk"],
    [HARNESS, "null", "null"],
];

/// Returns the position of an engine among the rows; unknown engines come last.
pub(crate) fn index(engine: &str) -> usize {
    let found = KNOWN.iter().position(|known| known[0] == engine);
    found.unwrap_or(KNOWN.len())
}

/// Returns the title of an engine; an unknown engine keeps its own name.
pub(crate) fn title(engine: &str) -> &str {
    KNOWN.get(index(engine)).map_or(engine, |known| known[1])
}

/// Returns the folder of the adapter's source, if the engine has one.
pub(crate) fn source(engine: &str) -> Option<String> {
    let known = KNOWN.get(index(engine))?;
    Some(match known[2].strip_prefix("../") {
        Some(other) => format!("bench/{other}"),
        None => format!("bench/engines/{}", known[2]),
    })
}

/// Returns whether the engine is a store: neither the harness nor the bare loop.
pub(crate) fn is_store(engine: &str) -> bool {
    ![HARNESS, BARE].contains(&engine)
}

/// Returns whether the engine is this project's store, through either interface or in another
/// build.
pub(crate) fn is_ours(engine: &str) -> bool {
    [OURS, OURS_IN_C, OURS_AGAINST].contains(&engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_engine_keeps_its_own_name() {
        assert_eq!(title("a<b"), "a<b");
        assert_eq!(source("a<b"), None);
        assert_eq!(title("sqlite3"), "SQLite3");
    }
}
