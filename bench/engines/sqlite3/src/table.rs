//! The table of keys and values, in the form that suits their size.
//!
//! `WITHOUT ROWID` is one tree of whole entries: a scan walks it leaf by leaf, a write touches one
//! page. It suits entries that fit the part of a page which SQLite allows an entry of such a tree:
//! of a longer one the rest lies elsewhere and has to be fetched for every comparison of keys.
//! Those are better off in the table of 2011, whose values lie in a tree of their own, under row
//! numbers, and whose index holds nothing but keys; the variant `seed` takes it for every entry.

use bench_core::workload::settings::{Settings, Variant};

const WITHOUT_ROWID: &str =
    "CREATE TABLE IF NOT EXISTS test (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID";
const WITH_ROWID: &str =
    "CREATE TABLE IF NOT EXISTS test (key BLOB, value BLOB, PRIMARY KEY (key))";
/// What the table that is there was made with.
pub(crate) const FORM: &str = "SELECT CASE WHEN sql LIKE '%WITHOUT ROWID' THEN 'without rowid' \
    ELSE 'with rowid' END FROM sqlite_master WHERE name = 'test'";

/// Bytes of a record in addition to its key and value: lengths and kinds.
const RECORD_BYTES: u64 = 8;

/// The most of an entry that lies in a page of a tree of whole entries (SQLite's file format, 1.6).
const fn local_max(page: u64) -> u64 {
    (page.saturating_sub(12) * 64 / 255).saturating_sub(23)
}

/// The page of the 2011 document.
const PAGE_BYTES_2011: u64 = 1024;
/// SQLite's own page. Without it values of 100,000 bytes take more than twice as long to write and
/// to read.
const PAGE_BYTES_OWN: u64 = 4096;

const fn is_old(settings: &Settings) -> bool {
    matches!(settings.variant, Variant::Seed)
}

/// Whether a page holds an entry of a tree of whole entries.
const fn fits(settings: &Settings, page: u64) -> bool {
    let entry = (settings.key_bytes + settings.value_bytes) as u64 + RECORD_BYTES;
    entry <= local_max(page)
}

/// The default page of a new database: that of 2011, for entries of the size it was made for.
pub(crate) const fn page(settings: &Settings) -> u64 {
    if is_old(settings) || fits(settings, PAGE_BYTES_2011) {
        PAGE_BYTES_2011
    } else {
        PAGE_BYTES_OWN
    }
}

/// The statement that makes the table, if there is none.
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
