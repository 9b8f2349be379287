//! The options in effect, read back from RocksDB's options file.
//!
//! On every open, the library writes the sanitized options to `OPTIONS-NNNNNN`.

use std::path::{Path, PathBuf};

const PREFIX: &str = "OPTIONS-";

/// The options reported, by section of the file.
const REPORTED: &[(&str, &[&str])] = &[
    (
        "CFOptions",
        &[
            "write_buffer_size",
            "max_write_buffer_number",
            "compression",
            "target_file_size_base",
            "max_bytes_for_level_base",
            "merge_operator",
        ],
    ),
    (
        "DBOptions",
        &[
            "db_write_buffer_size",
            "max_open_files",
            "max_background_jobs",
            "manual_wal_flush",
            "enable_pipelined_write",
        ],
    ),
    (
        "TableOptions/BlockBasedTable",
        &["block_size", "filter_policy", "checksum", "format_version"],
    ),
];

/// Returns the newest options file in a directory; all file numbers have the same number of digits.
fn newest(dir: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(dir).ok()?.flatten();
    files
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.and_then(|name| name.strip_prefix(PREFIX))
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .max()
}

/// Returns the options in the newest options file of a directory; empty if there is none.
pub(crate) fn options(dir: &Path) -> Vec<(String, String)> {
    newest(dir)
        .and_then(|path| std::fs::read_to_string(path).ok())
        .map_or_else(Vec::new, |text| parse(&text))
}

/// Returns the reported options, in the order of [`REPORTED`].
fn parse(text: &str) -> Vec<(String, String)> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            // A section is named `[CFOptions "default"]` or `[DBOptions]`.
            section = head.split([' ', ']']).next().unwrap_or_default();
        } else if let Some((name, value)) = line.split_once('=') {
            found.push((section, name.trim(), value.trim()));
        }
    }
    let mut reported = Vec::new();
    for &(section, names) in REPORTED {
        for &name in names {
            let value = found
                .iter()
                .find(|&&(place, found, _)| place == section && found == name);
            if let Some(&(_, _, value)) = value {
                reported.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# This is a RocksDB option file.\n\
        [Version]\n  rocksdb_version=7.8.3\n\n\
        [DBOptions]\n  max_open_files=-1\n  write_buffer_size=1\n\n\
        [CFOptions \"default\"]\n  compression=kSnappyCompression\n  write_buffer_size=2097152\n  \n\
        [TableOptions/BlockBasedTable \"default\"]\n  filter_policy=nullptr\n  block_size=4096\n";

    #[test]
    fn options_come_from_their_own_section() {
        let reported = parse(FILE);
        let reported: Vec<(&str, &str)> = reported
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            reported,
            [
                ("write_buffer_size", "2097152"),
                ("compression", "kSnappyCompression"),
                ("max_open_files", "-1"),
                ("block_size", "4096"),
                ("filter_policy", "nullptr"),
            ]
        );
    }

    #[test]
    fn the_newest_file_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        for (number, files) in [("000007", 7), ("000012", 12), ("000003", 3)] {
            let text = format!("[DBOptions]\n  max_open_files={files}\n");
            std::fs::write(dir.path().join(format!("OPTIONS-{number}")), text).expect("written");
        }
        std::fs::write(dir.path().join("OPTIONS-000099.dbtmp"), "").expect("written");
        assert_eq!(options(dir.path())[0].1, "12");
        assert!(options(Path::new("/nowhere")).is_empty());
    }
}
