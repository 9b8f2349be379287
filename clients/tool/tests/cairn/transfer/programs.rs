//! The programs of LMDB and Berkeley DB load what `cairn export` writes, and the reverse.

use bench_core::host::test_skip::skip;
use std::path::Path;
use std::process::{Command, Stdio};

use super::random::{Random, on_random};
use super::{assert_same, cairn};
use crate::{assert_has, home, read};

/// Returns whether a program is installed; otherwise the test is skipped, by name.
fn has(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("-V").output().is_ok();
    if !found {
        skip(&format!("{program} is not installed; install {package}"));
    }
    found
}

/// Runs a program, whose output goes to a file.
fn run(program: &str, arguments: &[&str], parent: &Path, stdout: &str) {
    let file = std::fs::File::create(parent.join(stdout)).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(parent);
    let output = command.stdin(Stdio::null()).stdout(file).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}

#[test]
fn lmdb_loads_and_dumps() {
    if !has("mdb_load", "lmdb-utils") || !has("mdb_dump", "lmdb-utils") {
        return;
    }
    let mut forms = ["", " --print"].iter().cycle();
    on_random("mdb_load", Random::lmdb_entries, |at, _, entries| {
        let form = forms.next().unwrap();
        let hash = cairn(at, &format!("export @from @file --format=mdb_dump{form}")).hash();
        std::fs::create_dir(at.join("lmdb")).unwrap();
        run("mdb_load", &["-f", "file", "lmdb"], at, "log");
        run("mdb_dump", &["lmdb"], at, "dumped");
        let imported = cairn(at, "import @to @dumped --format=mdb_dump").hash();
        assert_eq!(imported, hash);
        assert_same(&read(&at.join("to")), &entries, "mdb_dump");
    });
}

#[test]
fn berkeley_db_loads_and_dumps() {
    if !has("db5.3_load", "db5.3-util") || !has("db5.3_dump", "db5.3-util") {
        return;
    }
    let mut forms = ["", " --print"].iter().cycle();
    on_random("db5.3_load", Random::entries, |at, _, entries| {
        let form = forms.next().unwrap();
        let hash = cairn(at, &format!("export @from @file --format=db_dump{form}")).hash();
        run("db5.3_load", &["-f", "file", "berkeley"], at, "log");
        for (index, arguments) in [&["berkeley"][..], &["-p", "berkeley"]].iter().enumerate() {
            run("db5.3_dump", arguments, at, "dumped");
            let imported = cairn(at, &format!("import @to{index} @dumped --format=db_dump"));
            assert_eq!(imported.hash(), hash, "{arguments:?}");
        }
        assert_same(&read(&at.join("to0")), &entries, "db_dump");
    });
}

#[test]
fn several_values_of_a_key_are_refused() {
    if !has("db5.3_load", "db5.3-util") || !has("db5.3_dump", "db5.3-util") {
        return;
    }
    let at = &*home();
    let text = "VERSION=3\nformat=print\ntype=btree\nduplicates=1\nHEADER=END\n a\n 1\n a\n 2\n b\n \
        3\nDATA=END\n";
    std::fs::write(at.join("file"), text).unwrap();
    run("db5.3_load", &["-f", "file", "berkeley"], at, "log");
    run("db5.3_dump", &["berkeley"], at, "dumped");
    let import = "import @to @dumped --format=db_dump";
    cairn(at, import).failed(5, &["\"a\" has another value", "--skip-bad"]);
    let text = cairn(at, &format!("{import} --skip-bad")).done();
    assert_has(&text, &["\nskipped 2 lines: "]);
    assert_eq!(cairn(at, "scan @to").done(), "a\t1\nb\t3\n");
}
