//! Tests of opening a database whose files are made by hand.

use cairndb_env::RealEnv;
use cairndb_format::manifest::{ManifestWriter, TableRecord, VersionEdit, install_current};

use super::*;

/// Number of tables of a database of 1.6 TB.
const TABLES: u64 = 100_000;
/// Number of names of a file; ext4 allows 65,000.
const LINKS: u64 = 10_000;

/// A large database opens without opening a table, and then only those that are read. The tables
/// are sparse files, which a read reports as damaged.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "makes sparse files, and takes the time"
)]
fn a_hundred_thousand_tables_open_within_a_second() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let dir = RealEnv::new().open_dir(root.path(), false).expect("there");
    let (first, bytes) = (2, 16 << 20);
    let options = Options::new().read_only(true);
    let key = |number: u64| format!("{number:08}").into_bytes();
    let table = |number: u64| {
        // A link is made in a tenth of the time of a file.
        let path = root.path().join(name::table(FileNumber(number)));
        let original = number - (number - first) % LINKS;
        if original == number {
            let file = std::fs::File::create(path).expect("a file");
            file.set_len(bytes).expect("a sparse file");
        } else {
            let original = root.path().join(name::table(FileNumber(original)));
            std::fs::hard_link(original, path).expect("a link");
        }
        TableRecord {
            file: number,
            run: 1,
            smallest: key(number),
            largest: key(number),
            entries: 1,
            bytes,
            ..TableRecord::default()
        }
    };
    let edit = VersionEdit {
        comparator: Some(options.order.name().to_owned()),
        next_file: Some(first + TABLES),
        last_seq: Some(0),
        added_tables: (first..first + TABLES).map(table).collect(),
        runs: Some(vec![1]),
        ..VersionEdit::default()
    };
    let (number, edits) = (FileNumber(1), edit.divided(1 << 20));
    drop(ManifestWriter::create(&*dir, number, 7, &edits).expect("a manifest"));
    install_current(&*dir, number).expect("a database");
    let begun = std::time::Instant::now();
    let db = options.open(root.path()).expect("it opens");
    let took = begun.elapsed();
    println!("{TABLES} tables opened in {} ms", took.as_millis());
    // Generous: other tests run at the same time.
    assert!(took.as_secs() < 10, "{took:?}");
    let memory = || db.property("cairndb.memory").expect("a property");
    assert!(
        memory().contains("\"tables\":0,"),
        "none is open: {}",
        memory()
    );
    let mapping = db.property("cairndb.mapping").expect("a property");
    assert!(mapping.starts_with("{\"mapped\":false,"), "{mapping}");
    let damage = db.get(&key(first + TABLES - 1)).expect_err("no table");
    let name = name::table(FileNumber(first + TABLES - 1));
    assert_eq!(damage.file_name(), Some(name.as_str()));
}
