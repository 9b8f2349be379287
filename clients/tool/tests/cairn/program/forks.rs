//! `fork`, and `diff` of two databases.

use cairndb::Db;

use super::{NONE, cairn, command, numbers};
use crate::{
    Home, assert_has, file_of, files, home, left, open_reverse, write_leveldb, write_table,
};

/// Makes the databases `first`, with a hundred entries, and `fork`, a fork of it.
fn forked() -> Home {
    let parent = home();
    write_table(&parent.join("first"), numbers(100));
    let text = cairn("fork", &parent.join("first"), &[parent.join("fork")]).done();
    assert_eq!(text, "shared 1 file, cloned 0, copied 0 (0 B)\n");
    parent
}

#[test]
fn a_fork_is_a_database_and_destroy_removes_it() {
    let parent = &*forked();
    let (path, fork) = (parent.join("first"), parent.join("fork"));
    cairn("delete", &path, &["00007"]).done();
    assert_eq!(cairn("get", &fork, &["00007"]).done(), "value 1401181143\n");
    cairn("fork", &path, &[&fork]).failed(5, &["not empty", fork.to_str().unwrap()]);
    cairn("fork", &path, &[&path]).failed(5, &["into itself"]);
    cairn("fork", &path, &["/no/such/fork"]).failed(5, &["/no/such/fork"]);
    cairn("destroy", &fork, &["--yes"]).done();
    assert!(!fork.exists());
    assert_eq!(cairn("count", &path, NONE).done(), "99\n");
    let json = cairn("checkpoint", &path, &["--json".as_ref(), fork.as_os_str()]).done();
    let expected = "{\"shared\":2,\"cloned\":0,\"copied\":0,\"copied_bytes\":0}\n";
    assert_eq!(json, expected);
}

#[test]
fn diff_prints_what_was_added_removed_and_changed() {
    let parent = &*forked();
    let (path, fork) = (parent.join("first"), parent.join("fork"));
    assert_eq!(cairn("diff", &path, &[&fork]).done(), "");
    cairn("delete", &fork, &["00007"]).done();
    cairn("put", &fork, &["00008", "other"]).done();
    cairn("put", &fork, &["--hex", "ff", "fe"]).done();
    cairn("create-keyspace", &fork, &["shops"]).done();
    cairn("put", &fork, &["--keyspace=shops", "7", "open"]).done();
    let before = [files(&path), files(&fork)];
    let diff = |words: &[&str]| {
        let mut program = command("diff", &path, &[&fork]);
        crate::Ran::from(program.args(words).output().unwrap()).done()
    };
    let lines = "{\"keyspace\":null,\"key\":\"00007\",\"change\":\"removed\"}\n\
                 {\"keyspace\":null,\"key\":\"00008\",\"change\":\"changed\"}\n\
                 {\"keyspace\":null,\"key\":{\"base64\":\"/w==\"},\"change\":\"added\"}\n\
                 {\"keyspace\":\"shops\",\"key\":\"7\",\"change\":\"added\"}\n";
    assert_eq!(diff(&[]), lines);
    assert_eq!(diff(&["--json"]), lines);
    let values = diff(&["--values", "--hex"]);
    let mut values = values.lines();
    let line = "{\"keyspace\":null,\"key\":\"3030303037\",\"change\":\"removed\",\
                \"before\":\"76616c75652031343031313831313433\",\"after\":null}";
    assert_eq!(values.next(), Some(line));
    assert_has(values.next().unwrap(), &[",\"after\":\"6f74686572\"}"]);
    let line = "{\"keyspace\":null,\"key\":\"ff\",\"change\":\"added\",\"before\":null,\
                \"after\":\"fe\"}";
    assert_eq!(values.next(), Some(line));
    assert_eq!(diff(&["--keyspace=shops"]).lines().count(), 1);
    assert_eq!([files(&path), files(&fork)], before);
    // The other way round, what was added was removed.
    let turned = cairn("diff", &fork, &[&path]).done();
    assert_eq!(turned.matches("removed").count(), 2);
}

#[test]
fn diff_reads_databases_that_are_open() {
    let parent = &*forked();
    let (path, fork) = (parent.join("first"), parent.join("fork"));
    let db = Db::open(&path).unwrap();
    db.put(b"new", b"1").unwrap();
    let added = "{\"keyspace\":null,\"key\":\"new\",\"change\":\"added\"}\n";
    if cfg!(target_os = "linux") {
        assert_eq!(cairn("diff", &fork, &[&path]).done(), added);
        let both = Db::open(&fork).unwrap();
        both.put(b"new", b"1").unwrap();
        assert_eq!(cairn("diff", &fork, &[&path]).done(), "");
        both.close().unwrap();
    }
    db.close().unwrap();
    assert_eq!(cairn("diff", &path, &[&path]).done(), "");
}

#[test]
fn diff_names_the_database_that_is_at_fault() {
    let parent = &*forked();
    let (path, fork) = (parent.join("first"), parent.join("fork"));
    let at = |name: &str| parent.join(name);
    write_leveldb(&at("theirs"), [("key", "value")]);
    open_reverse(&at("other"), "example.order").close().unwrap();
    let known = "rev:leveldb.BytewiseComparator";
    open_reverse(&at("reverse"), known).close().unwrap();
    for (name, code, part) in [
        ("missing", 5, "holds no database"),
        ("theirs", 5, "cairn upgrade"),
        ("other", 5, "comparator"),
        ("reverse", 5, "order their keys differently"),
    ] {
        let named = at(name);
        let parts = [named.to_str().unwrap(), part];
        cairn("diff", &path, &[&named]).failed(code, &parts);
        cairn("diff", &named, &[&path]).failed(code, &parts);
    }
    let none = ["--keyspace=none".as_ref(), fork.as_os_str()];
    cairn("diff", &path, &none).failed(5, &["no such keyspace", "none"]);
    cairn("diff", &path, NONE).failed(2, &["<OTHER>"]);
    // Damage to a table that only the fork has.
    let shared = file_of(&fork, ".tbl");
    cairn("put", &fork, &["own", "value"]).done();
    std::fs::rename(fork.join(&shared), at("aside")).unwrap();
    super::overwrite(&fork.join(file_of(&fork, ".tbl")), 20, b"damage");
    std::fs::rename(at("aside"), fork.join(&shared)).unwrap();
    let repair = format!("cairn repair --dry-run {}", fork.display());
    cairn("diff", &path, &[&fork]).failed(3, &[&repair]);
    cairn("diff", &fork, &[&path]).failed(3, &[&repair]);
}

#[test]
fn diff_ends_with_its_reader() {
    let parent = &*home();
    write_table(&parent.join("many"), numbers(50_000));
    write_table(&parent.join("none"), numbers(0));
    left(command(
        "diff",
        &parent.join("none"),
        &[parent.join("many")],
    ))
    .done();
}

#[test]
fn a_comparison_has_the_order_of_the_keys() {
    let parent = &*home();
    let path = parent.join("first");
    let db = open_reverse(&path, "rev:leveldb.BytewiseComparator");
    for key in ["a", "b", "c"] {
        db.put(key.as_bytes(), b"").unwrap();
    }
    db.close().unwrap();
    cairn("fork", &path, &[parent.join("fork")]).done();
    cairn("delete", &path, &["a", "c"]).done();
    let lines = cairn("diff", &path, &[parent.join("fork")]).done();
    let keys: Vec<&str> = lines
        .lines()
        .map(|line| line.split('"').nth(5).unwrap())
        .collect();
    assert_eq!(keys, ["c", "a"]);
}
