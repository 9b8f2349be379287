//! Each command under bad input: its exit code, its message, and what it leaves.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb_leveldb::{NewDatabase, WriteOptions};

use crate::{Entries, assert_same, cairn, command, read, words, write};

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
    let entry = |n: u32| {
        (
            n.to_le_bytes().to_vec(),
            n.wrapping_mul(n).to_le_bytes().repeat(25),
        )
    };
    (0..count).map(entry).collect()
}

fn write_leveldb(path: &Path, entries: &Entries) {
    let dir = RealEnv::new().open_dir(path, true).unwrap();
    let mut new = NewDatabase::create(&dir, WriteOptions::default()).unwrap();
    for (key, value) in entries {
        new.put(key, value).unwrap();
    }
    new.finish().unwrap();
}

fn remove(path: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else {
        std::fs::remove_file(path).unwrap();
    }
}

/// Names in a directory.
fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn missing_databases_and_files_are_named() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    for line in EXPORTS {
        let name = at.join("from");
        cairn(at, line).failed(5, &[name.to_str().unwrap(), "holds no database"]);
    }
    for line in IMPORTS {
        let name = at.join("file");
        let part = if line.contains("leveldb") {
            "holds no LevelDB"
        } else {
            "No such file"
        };
        cairn(at, line).failed(5, &[name.to_str().unwrap(), part]);
    }
    assert!(names(at).is_empty(), "{:?}", names(at));
}

#[test]
fn a_leveldb_directory_is_exported_and_never_imported_into() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write_leveldb(&at.join("from"), &entries(1000));
    write_leveldb(&at.join("to"), &entries(1));
    for (export, import) in EXPORTS.into_iter().zip(IMPORTS) {
        cairn(at, export).done();
        cairn(at, import).failed(5, &["LevelDB", "cairn upgrade"]);
        cairn(at, &import.replace("@to", "@new")).done();
        assert_same(&read(&at.join("new")), &entries(1000), export);
        for name in ["new", "file"] {
            remove(&at.join(name));
        }
    }
}

#[test]
fn a_locked_database_is_4_and_names_the_process() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write(&at.join("from"), &entries(10));
    cairn(at, "export @from @file --format=jsonl").done();
    let db = Db::open(at.join("from")).unwrap();
    let holder = format!("process {} has the database open", std::process::id());
    for line in EXPORTS {
        let line = line.replace("@file", "@other");
        let name = at.join("from");
        cairn(at, &line).failed(4, &[name.to_str().unwrap(), &holder, "close"]);
    }
    cairn(at, "import @from @file --format=jsonl").failed(4, &[&holder]);
    db.close().unwrap();
    assert_eq!(names(at), ["file", "from"]);
}

#[test]
fn a_line_that_does_not_parse_is_named_or_counted() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    let head = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n";
    let cases = [
        (
            "jsonl",
            "{\"key\":\"a\",\"value\":\"1\"}\n\n{\"key\":7}\n",
            "line 3",
            "\n",
        ),
        (
            "jsonl",
            "{\"key\":\"a\",\"value\":\"1\"}\nnonsense\n",
            "line 2",
            "",
        ),
        (
            "jsonl",
            "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":{\"base64\":\"?\"}}\n",
            "line 2",
            "",
        ),
        (
            "jsonl",
            "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\"}\n",
            "missing field `value`",
            "",
        ),
        ("csv", "a,1\nb\n", "line 2", ""),
        ("csv", "a,1\n\"x\ny\",2,3\n", "line 2", ""),
        ("csv", "a,1\nb,\\q\n", "backslash", ""),
        ("csv", "a,1\nb,x\"y\"\n", "quote", ""),
        ("csv", "a,1\n\"b\"x,y\n", "closing quote", ""),
        ("csv", "a,1\n\"b,2\n", "not closed", ""),
        ("db_dump", " a\n 1\n\\zz\n 2\nDATA=END\n", "line 7", head),
        ("mdb_dump", " a\n 1\n b\\\n 2\nDATA=END\n", "line 7", head),
        (
            "mdb_dump",
            " a\n 1\n b\n \\\\\\4\nDATA=END\n",
            "mdb_dump -p",
            head,
        ),
        (
            "mdb_dump",
            " a\n 1\nnonsense\nDATA=END\n",
            "begin with a space",
            head,
        ),
    ];
    for (format, text, part, before) in cases {
        let before = if before == head { head } else { "" };
        std::fs::write(at.join("file"), format!("{before}{text}")).unwrap();
        let line = format!("import @to @file --format={format}");
        cairn(at, &line).failed(5, &["line ", part, "--skip-bad"]);
        // Run again, the import fails at the same place, and what precedes it is there.
        cairn(at, &line).failed(5, &["line ", part]);
        assert_eq!(cairn(at, "scan @to").done(), b"a\t1\n", "{text}");
        let skipped = String::from_utf8(cairn(at, &format!("{line} --skip-bad")).done()).unwrap();
        assert!(skipped.contains("\nskipped "), "{text}: {skipped}");
        assert_eq!(cairn(at, "scan @to").done(), b"a\t1\n", "{text}");
        std::fs::remove_dir_all(at.join("to")).unwrap();
        assert_eq!(names(at), ["file"]);
    }
}

#[test]
fn texts_without_their_end_or_of_another_format_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
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
            "VERSION=3\nHEADER=END\nDATA=END\nVERSION=3\nHEADER=END\nDATA=END\n",
            "--family",
        ),
    ];
    for (format, text, part) in cases {
        std::fs::write(at.join("file"), text).unwrap();
        let line = format!("import @to @file --skip-bad --format={format}");
        cairn(at, &line).failed(5, &[part]);
        let _ = std::fs::remove_dir_all(at.join("to"));
        let _ = std::fs::remove_file(at.join("to.cairn-import"));
    }
    cairn(at, "load @to @file").failed(5, &["not what `cairn dump` writes"]);
    std::fs::create_dir(at.join("folder")).unwrap();
    cairn(at, "import @to @folder --format=csv").failed(5, &["is a directory"]);
}

#[test]
fn every_damaged_byte_of_a_dump_is_found() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
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
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
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
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
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
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
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

/// Runs `cairn` with a limit on the length of the files that it writes, in blocks of 512 bytes.
#[cfg(target_os = "linux")]
fn limited(parent: &Path, line: &str, blocks: u32) -> crate::Ran {
    let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_cairn")]);
    shell
        .args(words(parent, line))
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into()
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_5_and_the_command_continues_later() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write(&at.join("from"), &entries(5000));
    for (export, import) in EXPORTS.into_iter().zip(IMPORTS) {
        let export = format!("{export} --save-every 50000");
        let is_leveldb = export.contains("leveldb");
        let blocks = if is_leveldb { 20 } else { 500 };
        let part = if is_leveldb {
            "000002.ldb"
        } else {
            "cannot be written"
        };
        limited(at, &export, blocks).failed(5, &["file.partial", part]);
        assert!(!at.join("file").exists());
        cairn(at, &export).done();
        let import = format!("{import} --save-every 50000");
        let ran = limited(at, &import, 100);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        cairn(at, &import).done();
        assert_same(&read(&at.join("to")), &entries(5000), &import);
        remove(&at.join("file"));
        remove(&at.join("to"));
        assert_eq!(names(at), ["from"]);
        if is_leveldb {
            continue;
        }
        let full = export.replace("@file", "/dev/full");
        cairn(at, &full).failed(5, &["/dev/full", "cannot be written"]);
        let stdout = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut program = command(words(at, &export.replace("@file", "-")));
        let ran = crate::Ran::from(program.stdout(stdout).output().unwrap());
        ran.failed(5, &["incomplete"]);
    }
}

#[test]
fn a_closed_pipe_ends_an_export_quietly() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write(&at.join("from"), &entries(20_000));
    for line in &EXPORTS[1..] {
        let mut program = command(words(at, &line.replace("@file", "-")));
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 10]).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    assert_eq!(names(at), ["from"]);
}

#[test]
fn an_input_pipe_that_closes_early_leaves_an_import_that_continues() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write(&at.join("from"), &entries(20_000));
    let stream = cairn(at, "dump @from").done();
    let load = |len: usize| {
        let mut program = command(words(at, "load @to --save-every 100000"));
        program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&stream[..len]).unwrap();
        drop(pipe);
        crate::Ran::from(child.wait_with_output().unwrap())
    };
    load(stream.len() * 2 / 3).failed(3, &["stdin", "cut off"]);
    assert!(at.join("to.cairn-import").exists());
    load(stream.len()).done();
    assert_same(&read(&at.join("to")), &entries(20_000), "load");
    assert_eq!(names(at), ["from", "to"]);
}

#[test]
fn another_source_or_database_does_not_continue() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    std::fs::write(at.join("file"), "a,1\nb,2\nbad\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["line 3"]);
    std::fs::write(at.join("other"), "c,3\n").unwrap();
    cairn(at, "import @to @other --format=csv").failed(5, &["left by another import", "--restart"]);
    std::fs::write(at.join("file"), "a,1\nx,2\nc,3\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["does not begin with", "--restart"]);
    std::fs::write(at.join("file"), "a,1\n").unwrap();
    cairn(at, "import @to @file --format=csv").failed(5, &["does not begin with", "--restart"]);
    cairn(at, "import @to @other --format=csv --restart").done();
    assert_eq!(cairn(at, "scan @to").done(), b"a\t1\nb\t2\nc\t3\n");
    std::fs::write(at.join("to.cairn-import"), "{").unwrap();
    cairn(at, "import @to @other --format=csv").failed(5, &["to.cairn-import", "--restart"]);
}

#[test]
fn a_locked_or_damaged_leveldb_database_is_not_imported() {
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    write_leveldb(&at.join("file"), &entries(20_000));
    let import = "import @to @file --format=leveldb";
    let dir = RealEnv::new().open_dir(&at.join("file"), false).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    let holder = format!("process {} has the database open", std::process::id());
    cairn(at, import).failed(4, &["file", &holder]);
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
    use cairndb::leveldb::{Order, ReverseOrder};
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    let dir = RealEnv::new().open_dir(&at.join("file"), true).unwrap();
    let order = ReverseOrder::of("example.unknown", Order::Bytewise);
    let options = WriteOptions {
        order: Order::Custom(std::sync::Arc::new(order)),
        ..WriteOptions::default()
    };
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for key in ["c", "b", "a"] {
        new.put(key.as_bytes(), b"1").unwrap();
    }
    new.finish().unwrap();
    drop(dir);
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
        cairn(at, &format!("{line} --comparator=bytewise")).done();
        let _ = std::fs::remove_file(at.join("other"));
    }
    assert_eq!(cairn(at, "scan @other").done(), b"a\t1\nb\t1\nc\t1\n");
}
