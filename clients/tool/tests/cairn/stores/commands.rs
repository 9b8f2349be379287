//! `get`, `put`, `delete` and `scan` on the store of a URL.

use super::{Servers, cairn};
use crate::home;

#[test]
fn every_store_answers_alike() {
    let at = &*home();
    let servers = Servers::start();
    for url in &servers.urls("commands", "file:fruit") {
        let on = |command: &str, rest: &[&str]| {
            let words = [&[command, "--store", url], rest].concat();
            cairn(at, &words)
        };
        on("put", &["--create", "apple", "red"]).done();
        on("put", &["apricot", "orange"]).done();
        on("put", &["--hex", "00ff", "0a"]).done();
        std::fs::write(at.join("value"), "dark\nred").unwrap();
        on("put", &["cherry", "--file", "value"]).done();
        assert_eq!(on("get", &["apple"]).done(), "red\n", "{url}");
        assert_eq!(on("get", &["--raw", "cherry"]).done(), "dark\nred");
        let entry = "{\"key\":\"apple\",\"value\":\"red\"}\n";
        assert_eq!(on("get", &["--json", "apple"]).done(), entry);
        on("get", &["plum"]).failed(1, &["the key \"plum\" is not in", "commands"][..1]);
        let all = "\\x00\\xff\t\\n\napple\tred\napricot\torange\ncherry\tdark\\nred\n";
        assert_eq!(on("scan", &[]).done(), all, "{url}");
        let found = on("scan", &["--prefix", "ap", "--keys-only", "--reverse"]).done();
        assert_eq!(found, "apricot\napple\n");
        let found = on("scan", &["--from", "apple", "--to", "b", "--limit", "1"]).done();
        assert_eq!(found, "apple\tred\n");
        on("delete", &["apple", "cherry", "absent"]).done();
        let found = on("scan", &["--keys-only", "--from", "a"]).done();
        assert_eq!(found, "apricot\n");
    }
    // The database in files is the same one that the directory names.
    assert_eq!(cairn(at, &["get", "fruit", "apricot"]).done(), "orange\n");
}

#[test]
fn a_store_stands_for_the_directory() {
    let at = &*home();
    cairn(at, &["put", "--create", "fruit", "apple", "red"]).done();
    let store = "--store=file:fruit";
    for words in [
        &["get", store, "fruit", "apple"][..],
        &["put", store, "fruit", "apple", "green"],
        &["scan", store, "fruit"],
    ] {
        cairn(at, words).failed(2, &["--store"]);
    }
    for words in [
        &["get", store][..],
        &["put", store, "apple"],
        &["put", store, "apple", "red", "--file", "value"],
        &["delete", store],
        &["get", "fruit"],
        &["put", "fruit", "apple"],
        &["delete", "fruit"],
        &["scan"],
    ] {
        assert_eq!(cairn(at, words).code, 2, "{words:?}");
    }
    assert_eq!(cairn(at, &["scan", "fruit"]).done(), "apple\tred\n");
    // Without --create, a database must be there.
    cairn(at, &["put", "--store=file:other", "k", "v"]).failed(5, &["other holds no database"]);
    cairn(at, &["get", "--store=file:other", "k"]).failed(5, &["other holds no database"]);
    assert!(!at.join("other").exists());
}
