//! Evidence that a file belongs to this format: marks in its content.
//!
//! Names alone prove nothing: `CURRENT`, `LOCK`, `MANIFEST-000004` and `000003.log` are also names
//! of LevelDB and RocksDB, and `240101.log` may be anything. Code that removes or overwrites a file
//! that no manifest names asks here first.

mod other_store;

use cairndb_base::Result;
use cairndb_env::Dir;

pub use other_store::{OtherStore, other_store, other_store_in};

use crate::name::FileKind;
use crate::{log, manifest, table, value_file};

/// Evidence of a file's origin in its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The file has a mark of this format.
    Ours,
    /// The file has no mark: it is something else, or a file of this format that is damaged or was
    /// never finished.
    Foreign,
    /// The content is inconclusive: the file is empty, contains only zeros, or is of a kind without
    /// a mark.
    Silent,
}

/// Number of bytes read from the start of a file.
const HEAD_BYTES: usize = 64;

/// Returns the evidence in file `found`, which must have a name of this format. Reads 64 bytes, and
/// also the first page of a table without a proper end.
///
/// The file must be a regular file ([`Dir::size_of`] checks that): opening a pipe would wake up the
/// process at its other end.
///
/// # Errors
/// The errors of opening and reading the file.
pub fn evidence(dir: &dyn Dir, found: &str) -> Result<Evidence> {
    let kind = match FileKind::parse(found) {
        None => return Ok(Evidence::Foreign),
        // These are not even opened: where locks belong to a process, closing LOCK would release
        // the lock. LevelDB's CURRENT also looks like ours.
        Some(FileKind::Lock | FileKind::Current | FileKind::Shared) => {
            return Ok(Evidence::Silent);
        }
        Some(kind) => kind,
    };
    let file = dir.open_read(found)?;
    let len = usize::try_from(file.size()).map_or(HEAD_BYTES, |size| size.min(HEAD_BYTES));
    let mut head = [0; HEAD_BYTES];
    let (head, _) = head.split_at_mut(len);
    file.read_at(0, head)?;
    let ours = match kind {
        FileKind::Manifest(_) => manifest::is_marked(head),
        FileKind::Log(_) => log::is_marked(head),
        FileKind::Value(_) => value_file::is_marked(head),
        FileKind::Table(number) => table::is_table(&*file, number)?,
        FileKind::Temp(_) => file.size() == len as u64 && manifest::parse_current(head).is_some(),
        FileKind::Lock | FileKind::Current | FileKind::Shared => false,
    };
    Ok(match ours {
        true => Evidence::Ours,
        // Preallocated, or cut off by a crash before the first byte was written.
        false if head.iter().all(|byte| *byte == 0) => Evidence::Silent,
        false => Evidence::Foreign,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_base::{FileNumber, Kind};
    use cairndb_env::{Env, MemEnv};

    use super::*;
    use crate::manifest::ManifestHeader;
    use crate::table::{Compression, TableBuilder, TableOptions, ValueIn};

    /// Returns the bytes of an intact table with two data pages.
    fn table_pages(dir: &dyn Dir, number: u64) -> Vec<u8> {
        let options = TableOptions {
            compression: Compression::None,
            filter_bits_per_key: 0,
            ..TableOptions::new(FileNumber(number))
        };
        let mut builder = TableBuilder::new(dir.create("whole").unwrap(), options);
        for key in 0..200u8 {
            builder
                .add(&[key], 1, Kind::Put, ValueIn::Raw(&[7; 30]))
                .unwrap();
        }
        builder.finish(&table::BoundLimits::default()).unwrap();
        let file = dir.open_read("whole").unwrap();
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn marks_tell_whose_a_file_is() {
        let dir = MemEnv::new(cairndb_env::Background::Stepped)
            .open_dir(Path::new("/stones"), true)
            .unwrap();
        let write = |name: &str, bytes: &[u8]| {
            dir.create(name).unwrap().append(bytes).unwrap();
        };
        let header = ManifestHeader {
            number: FileNumber(4),
            salt: 1,
            base_end: 64,
        };
        write("MANIFEST-000004", &header.encode());
        write(
            "MANIFEST-000005",
            b"V\xf9g\xe0\x1c\0\x01\x01\x1aleveldb.BytewiseComparator",
        );
        write("000006.log", &[0; 4096]);
        write("240101.log", b"2024-01-01 00:00:00 started\n");
        write("000007.tbl", b"begun");
        write("000008.val", b"");
        write("000010.tmp", b"MANIFEST-000010\n");
        write("000011.tmp", b"");
        write("000012.tmp", b"MANIFEST-000010\nand more");
        // The writer died: the first page is complete, the end is missing.
        let pages = table_pages(&*dir, 13);
        write("000013.tbl", &pages[..4096]);
        write("000014.tbl", &pages[..4096]);
        let expected = [
            ("MANIFEST-000004", Evidence::Ours),
            ("MANIFEST-000005", Evidence::Foreign),
            ("000006.log", Evidence::Silent),
            ("240101.log", Evidence::Foreign),
            ("000007.tbl", Evidence::Foreign),
            ("LOCK", Evidence::Silent),
            ("000010.tmp", Evidence::Ours),
            ("000011.tmp", Evidence::Silent),
            ("000012.tmp", Evidence::Foreign),
            ("000013.tbl", Evidence::Ours),
            ("000014.tbl", Evidence::Foreign),
            ("000008.val", Evidence::Silent),
            ("notes.txt", Evidence::Foreign),
        ];
        for (name, evidence) in expected {
            assert_eq!(super::evidence(&*dir, name).unwrap(), evidence, "{name}");
        }
        let store = |number| other_store(&*dir, FileNumber(number));
        write("MANIFEST-000015", b"V\xf9g\xe0\x0a\0\x01\x01\x08idb_cmp1");
        write(
            "MANIFEST-000016",
            b"V\xf9g\xe0\x10\0\x01\x81\x40\x24c4b9b1f0-8f8c",
        );
        write("MANIFEST-000017", b"begun");
        let found = [4, 5, 15, 16, 17, 18].map(store);
        let (leveldb, rocksdb) = (Some(OtherStore::LevelDb), Some(OtherStore::RocksDb));
        assert_eq!(found, [None, leveldb, leveldb, rocksdb, None, None]);
        write("OPTIONS-000007", b"");
        assert_eq!((store(5), store(4)), (rocksdb, None));
    }

    /// Name and contents.
    type File<'a> = (&'a str, &'a [u8]);

    /// A log of LevelDB's: one batch without operations.
    const BATCH_LOG: &[u8] = b"\xc8\x66\xe6\x35\x0c\0\x01\x01\0\0\0\0\0\0\0\0\0\0\0";
    const TABLE: &[u8] = b"blocks\x57\xfb\x80\x8b\x24\x75\x47\xdb";
    const MANIFEST: &[u8] = b"V\xf9g\xe0\x0a\0\x01\x01\x08idb_cmp1";

    #[test]
    fn what_is_left_of_a_directory_tells_whose_it_is() {
        let ours = ManifestHeader {
            number: FileNumber(4),
            salt: 1,
            // The base is not there yet.
            base_end: 200,
        };
        let ours = ours.encode();
        let (leveldb, rocksdb) = (Some(OtherStore::LevelDb), Some(OtherStore::RocksDb));
        let current: File<'_> = ("CURRENT", b"MANIFEST-000004\n");
        let directories: [(&[File<'_>], _); 11] = [
            (&[], None),
            (&[current], None),
            (&[current, ("MANIFEST-000004", MANIFEST)], leveldb),
            (&[("MANIFEST-000004", MANIFEST)], leveldb),
            (&[current, ("000005.ldb", TABLE)], leveldb),
            (&[("000005.sst", TABLE), ("OPTIONS-000007", b"")], rocksdb),
            (&[("000006.log", BATCH_LOG)], leveldb),
            (
                &[
                    ("000006.log", b"2026-11-28 started\n"),
                    ("000005.ldb", b"blocks"),
                ],
                None,
            ),
            (&[("notes.ldb", TABLE)], None),
            // A conversion that was interrupted when it had begun its manifest.
            (
                &[("MANIFEST-000002", MANIFEST), ("MANIFEST-000004", &ours)],
                leveldb,
            ),
            (
                &[
                    current,
                    ("MANIFEST-000004", MANIFEST),
                    ("MANIFEST-000007", &ours),
                ],
                leveldb,
            ),
        ];
        for (files, expected) in directories {
            let dir = MemEnv::new(cairndb_env::Background::Stepped)
                .open_dir(Path::new("/stones"), true)
                .unwrap();
            for (name, bytes) in files {
                dir.create(name).unwrap().append(bytes).unwrap();
            }
            assert_eq!(other_store_in(&*dir).unwrap(), expected, "{files:?}");
        }
    }
}
