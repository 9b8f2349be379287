//! The table of keys and values, in the form that suits their size.
//!
//! `WITHOUT ROWID` is one tree of whole entries: a scan walks it leaf by leaf, a write touches one
//! page. It suits entries that fit in the part of a page that SQLite allows an entry of such a
//! tree. The rest of a longer entry is stored on overflow pages and has to be fetched for every key
//! comparison. Longer entries are better stored in the 2011 table, whose values are in a separate
//! tree by row number and whose index contains only keys; the variant `seed` uses it for every
//! entry.

use bench_core::workload::settings::{Settings, Variant};

const WITHOUT_ROWID: &str =
    "CREATE TABLE IF NOT EXISTS test (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID";
const WITH_ROWID: &str =
    "CREATE TABLE IF NOT EXISTS test (key BLOB, value BLOB, PRIMARY KEY (key))";
/// The query for the form of the existing table.
pub(crate) const FORM: &str = "SELECT CASE WHEN sql LIKE '%WITHOUT ROWID' THEN 'without rowid' \
    ELSE 'with rowid' END FROM sqlite_master WHERE name = 'test'";

/// Number of bytes of a record in addition to its key and value: lengths and types.
const RECORD_BYTES: u64 = 8;

/// Returns the maximum part of an entry that is stored in a page of a tree of whole entries
/// (SQLite's file format, 1.6).
const fn local_max(page: u64) -> u64 {
    (page.saturating_sub(12) * 64 / 255).saturating_sub(23)
}

/// Page size in bytes in the 2011 document.
const PAGE_BYTES_2011: u64 = 1024;
/// SQLite's default page size in bytes. With the smaller one, values of 100,000 bytes take more
/// than twice as long to write and to read.
const PAGE_BYTES_OWN: u64 = 4096;

const fn is_old(settings: &Settings) -> bool {
    matches!(settings.variant, Variant::Seed)
}

/// Returns whether an entry of a tree of whole entries fits in a page.
const fn fits(settings: &Settings, page: u64) -> bool {
    let entry = (settings.key_bytes + settings.value_bytes) as u64 + RECORD_BYTES;
    entry <= local_max(page)
}

/// Returns the default page size of a new database: that of 2011 for entries that fit in it.
pub(crate) const fn page(settings: &Settings) -> u64 {
    if is_old(settings) || fits(settings, PAGE_BYTES_2011) {
        PAGE_BYTES_2011
    } else {
        PAGE_BYTES_OWN
    }
}

/// Returns the statement that creates the table if it does not exist.
pub(crate) const fn create(settings: &Settings, page: u64) -> &'static str {
    if !is_old(settings) && fits(settings, page) {
        WITHOUT_ROWID
    } else {
        WITH_ROWID
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::workload::settings::Memory;

    #[test]
    fn entries_that_fit_a_page_have_no_row_number() {
        let settings = |value_bytes| Settings {
            value_bytes,
            ..Settings::plain(Memory::split(4 << 20, false))
        };
        assert_eq!(local_max(1024), 230);
        assert_eq!(create(&settings(100), 1024), WITHOUT_ROWID);
        assert_eq!(create(&settings(206), 1024), WITHOUT_ROWID);
        assert_eq!(create(&settings(207), 1024), WITH_ROWID);
        assert_eq!(create(&settings(400), 4096), WITHOUT_ROWID);
        assert_eq!(create(&settings(100_000), 65_536), WITH_ROWID);
        let seed = |value_bytes| Settings {
            variant: Variant::Seed,
            ..settings(value_bytes)
        };
        assert_eq!(create(&seed(100), 1024), WITH_ROWID);
        let pages = [100, 206, 207, 100_000].map(|bytes| page(&settings(bytes)));
        assert_eq!(pages, [1024, 1024, 4096, 4096]);
        assert_eq!(page(&seed(100_000)), 1024);
    }
}
