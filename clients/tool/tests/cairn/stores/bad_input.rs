//! Every kind of bad input: its exit code, and a message that says what to do and shows no secret.

use cairndb_remote::testing::Medium;

use super::{ascending, cairn, entries, postgres};
use crate::{command, home, left, names, open_reverse, read, write};

#[test]
fn a_wrong_url_is_a_wrong_command_line() {
    let at = &*home();
    write(&at.join("fruit"), [("apple", "red")]);
    let wrong = [
        ("fruit", "no scheme"),
        ("redis://localhost/0", "no store has the scheme \"redis\""),
        ("memory:", "ends with the command"),
        ("file:", "write file:///path or file:path"),
        ("file://elsewhere/fruit", "this machine"),
        ("file:other?durability=none", "its URL has no settings"),
        ("postgres://localhost/db", "table"),
        ("postgres://localhost:x/db/table", "host"),
        ("postgres://localhost/db/table?colour=red", "colour"),
    ];
    for (url, part) in wrong {
        cairn(at, &["get", "--store", url, "apple"]).failed(2, &["the URL of --store", part]);
        cairn(at, &["copy", url, "file:to"]).failed(2, &["FROM-URL", part]);
        cairn(at, &["copy", "file:fruit", url]).failed(2, &["TO-URL", part]);
    }
    cairn(at, &["copy", "file:fruit", "file:./fruit"]).failed(2, &["the same store"]);
    cairn(at, &["copy", "file:fruit"]).failed(2, &["TO-URL"]);
    let limit = ["copy", "file:fruit", "file:to", "--rate-limit=0"];
    cairn(at, &limit).failed(2, &["--rate-limit"]);
    assert!(!at.join("to").exists());
    assert_eq!(cairn(at, &["scan", "fruit"]).done(), "apple\tred\n");
}

#[test]
fn an_engine_that_is_not_built_in_is_named() {
    let parent = &*home();
    let url = "tikv://127.0.0.1:1/keyspace";
    let ran = cairn(parent, &["get", "--store", url, "apple"]);
    // A build with TiKV's client finds no server instead.
    if !ran.stderr.contains("127.0.0.1") {
        ran.failed(5, &["built without tikv", "--features tikv"]);
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_without_its_secrets() {
    let parent = &*home();
    let url = "postgres://ada:secret@127.0.0.1:1/db/table?timeout=200ms";
    let ran = cairn(parent, &["get", "--store", url, "apple"]);
    let secrets = ["secret", "ada"];
    assert!(
        !secrets.iter().any(|text| ran.stderr.contains(text)),
        "{ran:?}"
    );
    let unavailable = "postgres://127.0.0.1:1/db/table: unavailable";
    ran.failed(5, &[unavailable, "check the hosts"]);
}

#[test]
fn a_missing_or_foreign_source_is_refused() {
    let at = &*home();
    let copy = |from: &str| cairn(at, &["copy", from, "file:to"]);
    copy("file:missing").failed(5, &["missing holds no database"]);
    open_reverse(&at.join("reverse"), "example")
        .close()
        .unwrap();
    copy("file:reverse").failed(5, &["reverse", "comparator"]);
    let declared = ["copy", "file:reverse", "file:to", "--comparator=reverse"];
    cairn(at, &declared).failed(5, &["reverse", "not in bytewise order"]);
    assert!(!at.join("to").exists());
}

#[test]
fn a_wrong_state_file_is_refused() {
    let at = &*home();
    let all = entries(&[("apple", "red"), ("plum", "blue")]);
    write(&at.join("from"), &all);
    write(&at.join("other"), &all);
    let saved = |from: &str, last: &str| {
        let (from, to) = (at.join(from), at.join("to"));
        let (from, to) = (from.display(), to.display());
        let copied = "{\"entries\":1,\"bytes\":8,\"hash\":7}";
        format!(
            "{{\"version\":1,\"state\":{{\"from\":\"file:{from}\",\"to\":\"file:{to}\",\
             \"last\":\"{last}\",\"copied\":{copied},\"changed\":1}}}}"
        )
    };
    let copy = |rest: &[&str]| cairn(at, &[&["copy", "file:from", "file:to"], rest].concat());
    let apple = saved("from", "YXBwbGU=");
    let other = saved("other", "YXBwbGU=");
    let range = "\"range\":{\"from\":\"YQ==\"},\"last\"";
    for (text, part) in [
        (String::new(), "does not hold the position"),
        ("{\"version\":9,\"state\":{}}".to_owned(), "does not hold"),
        (apple.replace(":1,", ":9,"), "another version"),
        (saved("from", "*"), "does not hold the position"),
        (other.clone(), "other to file:"),
        (other, "--overwrite if the target holds entries"),
        (apple.replace("\"last\"", range), "another range"),
        (apple.clone(), "is empty, but"),
    ] {
        std::fs::write(at.join("to.cairn-copy"), &text).unwrap();
        copy(&[]).failed(5, &["to.cairn-copy", part, "--restart"]);
        let kept = std::fs::read_to_string(at.join("to.cairn-copy")).unwrap();
        assert_eq!(kept, text);
    }
    copy(&["--restart"]).done();
    assert_eq!(read(&at.join("to")), all);
    assert!(!at.join("to.cairn-copy").exists());
    // A position in the right file, over a target that something else has changed.
    std::fs::write(at.join("to.cairn-copy"), apple).unwrap();
    cairn(at, &["put", "to", "apple", "green"]).done();
    copy(&[]).failed(5, &["differ", "\"apple\"", "--restart --overwrite"]);
    copy(&["--restart", "--overwrite"]).done();
    assert_eq!(read(&at.join("to")), all);
}

#[test]
fn an_entry_beyond_a_limit_of_the_target_is_named() {
    let Some(server) = postgres(Medium::Memory) else {
        return;
    };
    let at = &*home();
    let long = "k".repeat(3000);
    write(
        &at.join("from"),
        [("apple", "red"), (&long, "x"), ("plum", "blue")],
    );
    let url = server.url("limits");
    let copy = || cairn(at, &["copy", "file:from", &url]);
    let parts = ["limit exceeded: key_bytes", "kkk", "3000", "postgres://"];
    copy().failed(5, &parts);
    // What precedes the entry is there, and the copy continues without it.
    assert_eq!(cairn(at, &["scan", "--store", &url]).done(), "apple\tred\n");
    assert!(names(at).iter().any(|name| name.starts_with("limits-")));
    cairn(at, &["delete", "from", &long]).done();
    assert!(copy().done().starts_with("copied 2 entries"));
    cairn(at, &["put", "--store", &url, &long, "x"]).failed(5, &["key_bytes"]);
}

#[test]
fn a_locked_database_is_an_error_of_its_own() {
    let at = &*home();
    write(&at.join("fruit"), [("apple", "red")]);
    let db = cairndb::Db::open(at.join("fruit")).unwrap();
    write(&at.join("from"), [("apple", "red")]);
    cairn(at, &["copy", "file:from", "file:fruit"]).failed(4, &["fruit", "close"]);
    cairn(at, &["put", "--store=file:fruit", "fig", "green"]).failed(4, &["fruit", "close"]);
    db.close().unwrap();
}

#[test]
fn an_early_end_of_the_reader_is_no_error() {
    let at = &*home();
    write(&at.join("many"), ascending(2000, 1000));
    left(command(at, &["scan", "--store=file:many"])).done();
}

#[test]
fn a_table_that_is_only_read_is_not_created() {
    let at = &*home();
    write(&at.join("fruit"), [("apple", "red")]);
    let Some(server) = postgres(Medium::Memory) else {
        return;
    };
    let misspelt = server.url("friut");
    // An empty source would empty the target.
    let copy = ["copy", &misspelt, "file:fruit", "--overwrite"];
    cairn(at, &copy).failed(5, &["/postgres/friut", "not found"]);
    assert_eq!(cairn(at, &["scan", "fruit"]).done(), "apple\tred\n");
    cairn(at, &["get", "--store", &misspelt, "apple"]).failed(5, &["not found"]);
    let with_setting = format!("{misspelt}?timeout=5s");
    cairn(at, &["scan", "--store", &with_setting]).failed(5, &["not found"]);
    // A target is created, and so is what `put` writes to.
    cairn(at, &["copy", "file:fruit", &misspelt]).done();
    let got = cairn(at, &["get", "--store", &with_setting, "apple"]);
    assert_eq!(got.done(), "red\n");
}
