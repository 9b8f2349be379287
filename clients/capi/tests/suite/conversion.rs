//! Directories of LevelDB: opened, repaired and destroyed through the C interface.

use std::path::Path;
use std::process::Command;

use cairndb_env::{Env, RealEnv};
use cairndb_leveldb::{NewDatabase, WriteOptions};

use crate::compiler::{WARNINGS, compile, has_compiler, here};

/// Writes a database of LevelDB with `entries` entries.
fn write_leveldb(path: &Path, entries: u32) {
    let dir = RealEnv::new().open_dir(path, true).expect("a directory");
    let mut new = NewDatabase::create(&dir, WriteOptions::default()).expect("a database");
    for n in 0..entries {
        let key = format!("key{n:06}");
        new.put(key.as_bytes(), key.as_bytes()).expect("a put");
    }
    new.finish().expect("complete");
}

#[test]
fn a_directory_of_leveldb_is_converted_repaired_and_destroyed() {
    if !has_compiler("c") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("convert");
    let flags = [WARNINGS, &["-std=gnu11"]].concat();
    compile("c", &here("tests/c/convert.c"), &flags, &program);
    let step = |step: &str, path: &Path| {
        let output = Command::new(&program)
            .arg(step)
            .arg(path)
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{step}: {text}");
    };

    let converted = home.path().join("converted");
    write_leveldb(&converted, 1000);
    step("exists", &converted);
    assert!(
        !converted.join("leveldb-original").exists(),
        "an error that changed something"
    );
    step("stop", &converted);
    step("count", &converted);
    assert!(converted.join("leveldb-original/CURRENT").exists());
    step("count", &converted);
    step("destroy", &converted);
    assert!(!converted.exists());

    let foreign = home.path().join("foreign");
    write_leveldb(&foreign, 1000);
    std::fs::write(foreign.join("notes.txt"), "mine").expect("a file");
    step("destroy", &foreign);
    let left: Vec<_> = std::fs::read_dir(&foreign)
        .expect("a directory")
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].file_name(), "notes.txt");

    let broken = home.path().join("broken");
    write_leveldb(&broken, 1000);
    std::fs::remove_file(broken.join("CURRENT")).expect("a file");
    step("repair", &broken);
    step("count", &broken);
    assert!(home.path().join("broken.damaged-1").exists());
}
