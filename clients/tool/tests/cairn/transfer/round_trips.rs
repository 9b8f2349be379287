//! What is exported and imported again is the same, for random databases and every format.

use super::random::{Random, on_random};
use super::{assert_same, cairn};
use crate::{Entries, assert_has, clear, home, open_reverse, read, write};

/// Exports to a file and imports it: the hashes, and the entries, must be equal.
fn through_a_file(kind: fn(&mut Random) -> Entries, format: &str, more: &str) {
    let export = format!("export @from @file --format={format}{more}");
    on_random(&export, kind, |at, _, entries| {
        let exported = cairn(at, &export).hash();
        let imported = cairn(at, &format!("import @to @file --format={format}")).hash();
        assert_eq!(exported, imported, "{export}");
        assert_same(&read(&at.join("to")), &entries, &export);
    });
}

#[test]
fn texts() {
    for format in ["jsonl", "jsonl --hex", "db_dump", "csv"] {
        through_a_file(Random::entries, format, "");
    }
    for format in ["csv --hex", "csv --base64", "csv --literal"] {
        through_a_file(Random::entries, format, "");
    }
    through_a_file(Random::entries, "db_dump", " --print");
    through_a_file(Random::lmdb_entries, "mdb_dump", "");
    through_a_file(Random::lmdb_entries, "mdb_dump", " --print");
}

#[test]
fn leveldb() {
    through_a_file(Random::entries, "leveldb", "");
    // And from one LevelDB directory to another.
    on_random("leveldb twice", Random::entries, |at, _, entries| {
        let hash = cairn(at, "export @from @one --format=leveldb").hash();
        let again = cairn(at, "export @one @two --format=leveldb").hash();
        assert_eq!(hash, again);
        let imported = cairn(at, "import @to @two --format=leveldb").hash();
        assert_eq!(imported, hash);
        assert_same(&read(&at.join("to")), &entries, "leveldb");
        cairn(at, "verify @two").done();
    });
}

#[test]
fn dump() {
    on_random("dump", Random::entries, |at, _, entries| {
        let dumped = cairn(at, "dump @from @file").hash();
        assert_eq!(dumped, cairn(at, "load @to @file").hash());
        assert_same(&read(&at.join("to")), &entries, "dump");
        let stdout = cairn(at, "dump @from").stdout;
        assert_eq!(stdout, std::fs::read(at.join("file")).unwrap());
    });
}

#[test]
fn ranges_are_exported() {
    let at = &*home();
    let keys = ["apple", "apricot", "banana", "cherry"];
    write(&at.join("from"), keys.map(|key| (key, "fruit")));
    for (range, expected) in [
        ("", "apple apricot banana cherry "),
        ("--prefix ap", "apple apricot "),
        ("--from b --to c", "banana "),
    ] {
        cairn(at, &format!("dump @from @file {range}")).done();
        cairn(at, "load @to @file").done();
        let loaded = cairn(at, "scan @to --keys-only").done();
        assert_eq!(loaded.replace('\n', " "), expected);
        let csv = cairn(at, &format!("export @from --format=csv {range}")).done();
        let csv = csv.replace("key,value\n", "").replace(",fruit\n", " ");
        assert_eq!(csv, expected);
        clear(at, &["file", "to"]);
    }
}

#[test]
fn keys_in_any_order_replace_earlier_ones() {
    let at = &*home();
    std::fs::write(at.join("file"), "b,1\na,2\nb,3\nc,4\na,5\n").unwrap();
    let text = cairn(at, "import @to @file --format=csv").done();
    assert_has(&text, &["\nimported 5 entries", "now holds 3 entries"]);
    assert_eq!(cairn(at, "scan @to").done(), "a\t5\nb\t3\nc\t4\n");
    // A database that holds entries is only added to on demand.
    std::fs::write(at.join("more"), "c,6\nd,7\n").unwrap();
    cairn(at, "import @to @more --format=csv").failed(5, &["holds entries already", "--add"]);
    cairn(at, "import @to @more --format=csv --add").done();
    assert_eq!(cairn(at, "scan @to").done(), "a\t5\nb\t3\nc\t6\nd\t7\n");
}

#[test]
fn texts_of_other_writers_are_read() {
    let at = &*home();
    let scanned = |text: &str, options: &str| {
        let _ = std::fs::remove_dir_all(at.join("to"));
        std::fs::write(at.join("file"), text).unwrap();
        cairn(at, &format!("import @to @file {options}")).done();
        cairn(at, "scan @to").done()
    };
    let csv = "key,value\r\n\"a,b\",\"two\r\nlines, \"\"quoted\"\"\"\r\n\r\nC:\\temp,x";
    assert_eq!(
        scanned(csv, "--format=csv --literal"),
        "C:\\\\temp\tx\na,b\ttwo\\r\\nlines, \"quoted\"\n"
    );
    let json = " { \"value\" : \"\\u00e9\\n\" , \"key\" : {\"base64\":\"AP8=\"} } \n\n";
    assert_eq!(scanned(json, "--format=jsonl"), "\\x00\\xff\té\\n\n");
    let dump = "VERSION=3\nformat=print\ndatabase=one\ntype=btree\nHEADER=END\n a\n 1\nDATA=END\n\
        VERSION=3\nformat=bytevalue\ndatabase=two\ntype=hash\nh_nelem=1\nHEADER=END\n 62\n 32\n\
        DATA=END\n";
    let family = "--format=db_dump --family two";
    assert_eq!(scanned(dump, family), "two/b\t2\n");
    let families = "--format=mdb_dump --family one= --family two=x\\x00";
    assert_eq!(scanned(dump, families), "a\t1\nx\\x00b\t2\n");
}

/// The reverse order, where all that depends on the order of the keys is the other way round.
#[test]
fn a_database_of_a_known_order_is_exported_and_added_to() {
    on_random("reverse order", Random::entries, |at, _, entries| {
        let db = open_reverse(&at.join("to"), "leveldb.ReverseBytewiseComparator");
        db.put(b"before", b"in the database").unwrap();
        db.close().unwrap();
        let mut expected = Entries::from([(b"before".to_vec(), b"in the database".to_vec())]);
        expected.extend(entries);
        cairn(at, "dump @from @file").hash();
        cairn(at, "load @to @file --add").hash();
        let dumped = cairn(at, "dump @to @again").hash();
        // A database of the default order takes the entries from the last one to the first.
        assert_eq!(cairn(at, "load @back @again").hash(), dumped);
        assert_same(&read(&at.join("back")), &expected, "reverse order");
        let exported = cairn(at, "export @to @theirs --format=leveldb").hash();
        assert_eq!(exported, dumped);
        let imported = cairn(at, "import @third @theirs --format=leveldb").hash();
        assert_eq!(imported, dumped);
        // A conversion keeps the order.
        cairn(at, "upgrade @theirs").done();
        assert_eq!(cairn(at, "dump @theirs @kept").hash(), dumped);
    });
}
