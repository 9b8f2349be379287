//! Each command under bad input: its exit code, its message, and what it leaves.

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb::leveldb::{Order, ReverseOrder};
use cairndb_leveldb::WriteOptions;

use super::{assert_same, cairn, command, words};
use crate::{
    Entries, HOLDER, assert_has, clear, fed, home, limited, names, read, remove, write,
    write_leveldb, write_leveldb_with,
};

/// Commands that read the database `@from` and write to `@file`.
const EXPORTS: [&str; 6] = [
    "export @from @file --format=leveldb",
    "dump @from @file",
    "export @from @file --format=jsonl",
    "export @from @file --format=csv",
    "export @from @file --format=mdb_dump",
    "export @from @file --format=db_dump",
];

/// Commands that read `@file` and write to the database `@to`.
const IMPORTS: [&str; 6] = [
    "import @to @file --format=leveldb",
    "load @to @file",
    "import @to @file --format=jsonl",
    "import @to @file --format=csv",
    "import @to @file --format=mdb_dump",
    "import @to @file --format=db_dump",
];

fn entries(count: u32) -> Entries {
    let value = |n: u32| n.wrapping_mul(n).to_le_bytes().repeat(25);
    let entries = (0..count).map(|n| (n.to_le_bytes().to_vec(), value(n)));
    entries.collect()
}

#[test]
fn missing_databases_and_files_are_named() {
    let at = &*home();
    for line in EXPORTS {
        let name = at.join("from");
        cairn(at, line).failed(5, &[name.to_str().unwrap(), "holds no database"]);
    }
    for line in IMPORTS {
        let name = at.join("file");
        let parts = ["No such file", "holds no LevelDB"];
        let part = parts[usize::from(line.contains("leveldb"))];
        cairn(at, line).failed(5, &[name.to_str().unwrap(), part]);
    }
    assert!(names(at).is_empty(), "{:?}", names(at));
}

#[test]
fn a_leveldb_directory_is_exported_and_never_imported_into() {
    let at = &*home();
    write_leveldb(&at.join("from"), &entries(1000));
    write_leveldb(&at.join("to"), &entries(1));
    for (export, import) in EXPORTS.into_iter().zip(IMPORTS) {
        cairn(at, export).done();
        cairn(at, import).failed(5, &["LevelDB", "cairn upgrade"]);
        cairn(at, &import.replace("@to", "@new")).done();
        assert_same(&read(&at.join("new")), &entries(1000), export);
        clear(at, &["new", "file"]);
    }
}

#[test]
fn a_locked_database_is_4_and_names_the_process() {
    let at = &*home();
    write(&at.join("from"), &entries(10));
    cairn(at, "export @from @file --format=jsonl").done();
    let db = Db::open(at.join("from")).unwrap();
    let name = at.join("from");
    let import = "import @from @file --format=jsonl";
    cairn(at, import).failed(4, &[name.to_str().unwrap(), HOLDER, "close"]);
    db.close().unwrap();
    assert_eq!(names(at), ["file", "from"]);
}

#[test]
fn a_line_that_does_not_parse_is_named_or_counted() {
    let at = &*home();
    let cases = [
        ("jsonl", "\n{\"key\":7}\n", "line 3"),
        ("jsonl", "nonsense\n", "line 2"),
        (
            "jsonl",
            "{\"key\":\"b\",\"value\":{\"base64\":\"?\"}}\n",
            "line 2",
        ),
        ("jsonl", "{\"key\":\"b\"}\n", "missing field `value`"),
        ("csv", "b\n", "line 2"),
        ("csv", "\"x\ny\",2,3\n", "line 2"),
        ("csv", "b,\\q\n", "backslash"),
        ("csv", "b,x\"y\"\n", "quote"),
        ("csv", "\"b\"x,y\n", "closing quote"),
        ("csv", "\"b,2\n", "not closed"),
        ("db_dump", "\\zz\n 2\nDATA=END\n", "line 7"),
        ("mdb_dump", " b\\\n 2\nDATA=END\n", "line 7"),
        ("mdb_dump", " b\n \\\\\\4\nDATA=END\n", "mdb_dump -p"),
        ("mdb_dump", "nonsense\nDATA=END\n", "begin with a space"),
    ];
    for (format, text, part) in cases {
        let before = match format {
            "jsonl" => "{\"key\":\"a\",\"value\":\"1\"}\n",
            "csv" => "a,1\n",
            _ => "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n a\n 1\n",
        };
        std::fs::write(at.join("file"), format!("{before}{text}")).unwrap();
        let line = format!("import @to @file --format={format}");
        cairn(at, &line).failed(5, &["line ", part, "--skip-bad"]);
        // Run again, the import fails at the same place, and what precedes it is there.
        cairn(at, &line).failed(5, &["line ", part]);
        assert_eq!(cairn(at, "scan @to").done(), "a\t1\n", "{text}");
        let skipped = cairn(at, &format!("{line} --skip-bad")).done();
        assert_has(&skipped, &["\nskipped "]);
        assert_eq!(cairn(at, "scan @to").done(), "a\t1\n", "{text}");
        std::fs::remove_dir_all(at.join("to")).unwrap();
        assert_eq!(names(at), ["file"]);
    }
}

#[test]
fn texts_without_their_end_or_of_another_format_are_refused() {
    let at = &*home();
    let cases = [
        ("mdb_dump", "", "HEADER=END"),
        ("mdb_dump", "key,value\n", "VERSION=3"),
        ("mdb_dump", "VERSION=4\n", "version 4"),
        ("mdb_dump", "VERSION=3\ntype=recno\nHEADER=END\n", "recno"),
        (
            "db_dump",
            "VERSION=3\nformat=other\nHEADER=END\n",
            "`other`",
        ),
        ("db_dump", "VERSION=3\nkeys=0\nHEADER=END\n", "no keys"),
        ("db_dump", "VERSION=3\nHEADER=END\n 61\n 31\n", "DATA=END"),
        (
            "db_dump",
            &"VERSION=3\nHEADER=END\nDATA=END\n".repeat(2),
            "--family",
        ),
    ];
    for (format, text, part) in cases {
        std::fs::write(at.join("file"), text).unwrap();
        let line = format!("import @to @file --skip-bad --format={format}");
        cairn(at, &line).failed(5, &[part]);
        clear(at, &["to", "to.cairn-import"]);
    }
    cairn(at, "load @to @file").failed(5, &["not what `cairn dump` writes"]);
    std::fs::create_dir(at.join("folder")).unwrap();
    cairn(at, "import @to @folder --format=csv").failed(5, &["is a directory"]);
}

#[test]
fn every_damaged_byte_of_a_dump_is_found() {
    let at = &*home();
    write(&at.join("from"), &entries(3));
    cairn(at, "dump @from @file").done();
    let intact = std::fs::read(at.join("file")).unwrap();
    for at_byte in (0..intact.len()).step_by(7) {
        let mut bytes = intact.clone();
        bytes[at_byte] ^= 0x41;
        std::fs::write(at.join("file"), bytes).unwrap();
        let code = if at_byte < 8 { 5 } else { 3 };
        cairn(at, "load @to @file --restart").failed(code, &["file"]);
    }
    for len in (16..intact.len()).step_by(11) {
        std::fs::write(at.join("file"), &intact[..len]).unwrap();
        cairn(at, "load @to @file --restart").failed(3, &["cut off", "offset"]);
    }
    std::fs::write(at.join("file"), [&intact[..], b"x"].concat()).unwrap();
    cairn(at, "load @to @file --restart").failed(3, &["follows the end"]);
}

#[test]
fn what_lmdb_cannot_hold_is_named() {
    let at = &*home();
    let long = |len| Entries::from([(b"k".repeat(len), b"v".to_vec())]);
    for (name, entries, part) in [
        ("empty", long(0), "no empty keys"),
        ("long", long(512), "511 bytes"),
    ] {
        write(&at.join(name), &entries);
        let line = format!("export @{name} @file --format=mdb_dump");
        cairn(at, &line).failed(5, &["the key \"", part]);
        let ran = cairn(at, &format!("export @{name} --format=mdb_dump"));
        assert!(ran.stdout.is_empty(), "{ran:?}");
        cairn(at, &format!("export @{name} @{name}.db --format=db_dump")).done();
    }
    assert_eq!(names(at), ["empty", "empty.db", "long", "long.db"]);
}

#[test]
fn a_target_that_is_not_empty_stays_as_it_is() {
    let at = &*home();
    write(&at.join("from"), &entries(1));
    std::fs::write(at.join("file"), "mine").unwrap();
    for line in EXPORTS {
        cairn(at, line).failed(5, &["exists and is not empty"]);
    }
    cairn(at, "dump @from @from").failed(5, &["exists and is not empty"]);
    std::fs::write(at.join("other.partial"), "mine too").unwrap();
    cairn(at, "dump @from @other").failed(5, &["other.partial", "--restart"]);
    assert_eq!(std::fs::read(at.join("file")).unwrap(), b"mine");
    assert_eq!(names(at), ["file", "from", "other.partial"]);
}

#[test]
fn options_of_other_formats_are_2() {
    let at = &*home();
    write(&at.join("from"), &entries(1));
    for (line, part) in [
        ("export @from --format=xml", "xml"),
        ("export @from --format=leveldb", "directory"),
        ("import @to --format=leveldb", "directory"),
        ("export @from", "--format"),
        ("export @from --format=csv --print", "--print"),
        ("export @from --format=jsonl --literal", "--literal"),
        ("export @from --format=csv --literal --hex", "--hex"),
        ("import @to @file --format=csv --family a", "--family"),
        (
            "import @to @file --format=db_dump --family a --family a=b",
            "twice",
        ),
        (
            "import @to @file --format=db_dump --family a=\\q",
            "--family",
        ),
    ] {
        cairn(at, line).failed(2, &[part]);
    }
    assert_eq!(names(at), ["from"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_5_and_the_command_continues_later() {
    let at = &*home();
    write(&at.join("from"), &entries(5000));
    for (export, import) in EXPORTS.into_iter().zip(IMPORTS) {
        let export = format!("{export} --save-every 50000");
        let is_leveldb = export.contains("leveldb");
        let limits = [(500, "cannot be written"), (20, "000002.ldb")];
        let (blocks, part) = limits[usize::from(is_leveldb)];
        limited(blocks, at, &words(at, &export)).failed(5, &["file.partial", part]);
        assert!(!at.join("file").exists());
        cairn(at, &export).done();
        let import = format!("{import} --save-every 50000");
        limited(100, at, &words(at, &import)).ended(5, &[]);
        cairn(at, &import).done();
        assert_same(&read(&at.join("to")), &entries(5000), &import);
        remove(&at.join("file"));
        remove(&at.join("to"));
        assert_eq!(names(at), ["from"]);
        if !is_leveldb {
            let full = export.replace("@file", "/dev/full");
            cairn(at, &full).failed(5, &["/dev/full", "cannot be written"]);
        }
    }
}

#[test]
fn an_input_pipe_that_closes_early_leaves_an_import_that_continues() {
    let at = &*home();
    write(&at.join("from"), &entries(20_000));
    let stream = cairn(at, "dump @from").stdout;
    let load = |len: usize| {
        let program = command(at, "load @to --save-every 100000");
        fed(program, &stream[..len])
    };
    load(stream.len() * 2 / 3).failed(3, &["stdin", "cut off"]);
    assert!(at.join("to.cairn-import").exists());
    load(stream.len()).done();
    assert_same(&read(&at.join("to")), &entries(20_000), "load");
    assert_eq!(names(at), ["from", "to"]);
}

#[test]
fn another_source_or_database_does_not_continue() {
    let at = &*home();
    std::fs::write(at.join("file"), "a,1\nb,2\nbad\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["line 3"]);
    std::fs::write(at.join("other"), "c,3\n").unwrap();
    cairn(at, "import @to @other --format=csv").failed(5, &["left by another import", "--restart"]);
    std::fs::write(at.join("file"), "a,1\nx,2\nc,3\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["does not begin with", "--restart"]);
    std::fs::write(at.join("file"), "a,1\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["does not begin with", "--restart"]);
    cairn(at, "import @to @other --format=csv --restart").done();
    assert_eq!(cairn(at, "scan @to").done(), "a\t1\nb\t2\nc\t3\n");
    std::fs::write(at.join("to.cairn-import"), "{").unwrap();
    cairn(at, "import @to @other --format=csv").failed(5, &["to.cairn-import", "--restart"]);
}

#[test]
fn a_locked_or_damaged_leveldb_database_is_not_imported() {
    let at = &*home();
    write_leveldb(&at.join("file"), &entries(20_000));
    let import = "import @to @file --format=leveldb";
    let dir = RealEnv::new().open_dir(&at.join("file"), false).unwrap();
    let lock = dir.lock("LOCK").unwrap();

    cairn(at, import).failed(4, &["file", HOLDER]);
    drop(lock);
    let table = at.join("file/000002.ldb");
    let intact = std::fs::read(&table).unwrap();
    let mut bytes = intact.clone();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0);
    std::fs::write(&table, bytes).unwrap();
    cairn(at, import).failed(3, &["000002.ldb", "offset"]);
    cairn(at, "verify @file").failed(3, &["000002.ldb", "offset"]);
    // The mended database is imported from where the damage was.
    std::fs::write(&table, intact).unwrap();
    cairn(at, import).done();
    assert_same(&read(&at.join("to")), &entries(20_000), import);
    cairn(at, "import @other @to --format=leveldb").failed(5, &["no LevelDB database"]);
    assert_eq!(names(at), ["file", "to"]);
}

#[test]
fn an_unknown_comparator_is_refused_or_replaced() {
    let at = &*home();
    let order = ReverseOrder::of("example.unknown", Order::Bytewise);
    let options = WriteOptions {
        order: Order::Custom(std::sync::Arc::new(order)),
        ..WriteOptions::default()
    };
    let entries = ["c", "b", "a"].map(|key| (key, "1"));
    write_leveldb_with(&at.join("file"), options, entries);
    for line in [
        "scan @file",
        "get @file a",
        "count @file",
        "stats @file",
        "verify @file",
        "dump @file -",
        "export @file @other --format=csv",
        "import @other @file --format=leveldb",
    ] {
        cairn(at, line).failed(5, &["example.unknown", "--comparator=bytewise"]);
        let ran = cairn(at, &format!("{line} --comparator=bytewise"));
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{ran:?}");
        let _ = std::fs::remove_file(at.join("other"));
    }
    assert_eq!(cairn(at, "scan @other").done(), "a\t1\nb\t1\nc\t1\n");
}
