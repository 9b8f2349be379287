//! What is exported and imported again is the same, for random databases and every format.

use crate::random::Random;
use crate::{Entries, assert_same, cairn, read, setting, write};

/// Runs `check` on random databases, in a directory that holds one of them as `from`.
fn on_random(
    name: &str,
    kind: fn(&mut Random) -> Entries,
    check: impl Fn(&std::path::Path, &Entries),
) {
    let (seed, count) = (
        setting("CAIRN_SEED").unwrap_or(1),
        setting("CAIRN_TRANSFERS").unwrap_or(12),
    );
    eprintln!("{name}: CAIRN_SEED={seed} CAIRN_TRANSFERS={count}");
    for number in 0..count {
        let mut random = Random::new(seed.wrapping_add(number));
        let entries = kind(&mut random);
        let parent = tempfile::tempdir().unwrap();
        write(&parent.path().join("from"), &entries);
        eprintln!(
            "{name}: CAIRN_SEED={}: {} entries",
            seed + number,
            entries.len()
        );
        check(parent.path(), &entries);
    }
}

/// Exports to a file and imports it: the hashes, and the entries, must be equal.
fn through_a_file(
    name: &str,
    kind: fn(&mut Random) -> Entries,
    options: &str,
    import_options: &str,
) {
    on_random(name, kind, |parent, entries| {
        let exported = cairn(parent, &format!("export @from @file {options}")).hash();
        let imported = cairn(parent, &format!("import @to @file {import_options}")).hash();
        assert_eq!(exported, imported, "{name}");
        assert_same(&read(&parent.join("to")), entries, name);
    });
}

#[test]
fn jsonl() {
    through_a_file("jsonl", Random::entries, "--format=jsonl", "--format=jsonl");
    let hex = "--format=jsonl --hex";
    through_a_file(hex, Random::entries, hex, hex);
}

#[test]
fn csv() {
    for coding in ["", " --hex", " --base64", " --literal"] {
        let options = format!("--format=csv{coding}");
        through_a_file(&options, Random::entries, &options, &options);
    }
}

#[test]
fn db_dump() {
    let import = "--format=db_dump";
    through_a_file(import, Random::entries, import, import);
    through_a_file("print", Random::entries, "--format=db_dump --print", import);
}

#[test]
fn mdb_dump() {
    let import = "--format=mdb_dump";
    through_a_file(import, Random::lmdb_entries, import, import);
    through_a_file(
        "print",
        Random::lmdb_entries,
        "--format=mdb_dump --print",
        import,
    );
}

#[test]
fn leveldb() {
    let format = "--format=leveldb";
    through_a_file(format, Random::entries, format, format);
    // And from one LevelDB directory to another.
    on_random("leveldb twice", Random::entries, |parent, entries| {
        let hash = cairn(parent, "export @from @one --format=leveldb").hash();
        let again = cairn(parent, "export @one @two --format=leveldb").hash();
        assert_eq!(hash, again);
        assert_eq!(
            cairn(parent, "import @to @two --format=leveldb").hash(),
            hash
        );
        assert_same(&read(&parent.join("to")), entries, "leveldb");
        cairn(parent, "verify @two").done();
    });
}

#[test]
fn dump() {
    on_random("dump", Random::entries, |parent, entries| {
        let dumped = cairn(parent, "dump @from @file").hash();
        assert_eq!(dumped, cairn(parent, "load @to @file").hash());
        assert_same(&read(&parent.join("to")), entries, "dump");
        let stdout = cairn(parent, "dump @from").done();
        assert_eq!(stdout, std::fs::read(parent.join("file")).unwrap());
    });
}

#[test]
fn ranges_are_exported() {
    let parent = tempfile::tempdir().unwrap();
    let entries = ["apple", "apricot", "banana", "cherry"];
    let entries = entries.map(|key| (key.as_bytes().to_vec(), b"fruit".to_vec()));
    write(&parent.path().join("from"), &Entries::from(entries));
    let keys = |range: &str| {
        cairn(parent.path(), &format!("dump @from @file{range}")).done();
        cairn(parent.path(), &format!("load @to{range} @file{range}")).done();
        let found = read(&parent.path().join(format!("to{range}")));
        found
            .into_keys()
            .map(|key| String::from_utf8(key).unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(keys(""), "apple apricot banana cherry");
    let csv = |range: &str| {
        let text = cairn(parent.path(), &format!("export @from --format=csv {range}")).done();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        csv("--prefix ap"),
        "key,value\napple,fruit\napricot,fruit\n"
    );
    assert_eq!(csv("--from b --to c"), "key,value\nbanana,fruit\n");
}

#[test]
fn keys_in_any_order_replace_earlier_ones() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    std::fs::write(at.join("file"), "b,1\na,2\nb,3\nc,4\na,5\n").unwrap();
    let text = cairn(at, "import @to @file --format=csv").done();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("imported 5 entries"), "{text}");
    assert!(text.contains("now holds 3 entries"), "{text}");
    assert_eq!(cairn(at, "scan @to").done(), b"a\t5\nb\t3\nc\t4\n");
    // A database that holds entries is only added to on demand.
    std::fs::write(at.join("more"), "c,6\nd,7\n").unwrap();
    cairn(at, "import @to @more --format=csv").failed(5, &["holds entries already", "--add"]);
    cairn(at, "import @to @more --format=csv --add").done();
    assert_eq!(cairn(at, "scan @to").done(), b"a\t5\nb\t3\nc\t6\nd\t7\n");
}

#[test]
fn texts_of_other_writers_are_read() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    let scanned = |text: &str, options: &str| {
        let _ = std::fs::remove_dir_all(at.join("to"));
        std::fs::write(at.join("file"), text).unwrap();
        cairn(at, &format!("import @to @file {options}")).done();
        String::from_utf8(cairn(at, "scan @to").done()).unwrap()
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
    use cairndb::leveldb::{Order, ReverseOrder};
    on_random("reverse order", Random::entries, |parent, entries| {
        let name = "leveldb.ReverseBytewiseComparator";
        let order = std::sync::Arc::new(ReverseOrder::of(name, Order::Bytewise));
        let options = cairndb::Options::new().create_if_missing(true);
        let db = options.comparator(order).open(parent.join("to")).unwrap();
        db.put(b"before", b"in the database").unwrap();
        db.close().unwrap();
        let mut expected = entries.clone();
        expected.insert(b"before".to_vec(), b"in the database".to_vec());
        expected.extend(entries.clone());
        cairn(parent, "dump @from @file").hash();
        cairn(parent, "load @to @file --add").hash();
        let dumped = cairn(parent, "dump @to @again").hash();
        // A database of the default order takes the entries from the last one to the first.
        assert_eq!(cairn(parent, "load @back @again").hash(), dumped);
        assert_same(&read(&parent.join("back")), &expected, "reverse order");
        let exported = cairn(parent, "export @to @theirs --format=leveldb").hash();
        assert_eq!(exported, dumped);
        let imported = cairn(parent, "import @third @theirs --format=leveldb").hash();
        assert_eq!(imported, dumped);
        // A conversion keeps the order.
        cairn(parent, "upgrade @theirs").done();
        assert_eq!(cairn(parent, "dump @theirs @kept").hash(), dumped);
    });
}
