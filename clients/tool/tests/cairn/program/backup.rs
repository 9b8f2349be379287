//! `backup`, `restore`, `backups`, `verify-backup` and `prune`.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cairndb::Db;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{NONE, cairn, command};
use crate::{Ran, assert_has, home, write};

/// Longer than any step takes.
const LONG: Duration = Duration::from_mins(1);

/// Starts `backup --follow`.
fn following(database: &Path, place: &Path) -> Child {
    let place = place.to_str().unwrap();
    let mut child = command("backup", database, &[place, "--follow", "--interval=20ms"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().unwrap()
}

/// Returns what `backups --json` prints, or null if there are none.
fn listed(place: &Path) -> Value {
    let ran = cairn("backups", place, &["--json"]);
    serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null)
}

/// Waits until the place has something later than `before`.
fn wait_for_more(place: &Path, before: &Value) {
    let end = Instant::now() + LONG;
    let newest = |listed: &Value| listed["moments"][0]["last"].clone();
    while newest(&listed(place)) == newest(before) {
        assert!(Instant::now() < end, "{before}");
    }
}

#[test]
fn a_backup_that_is_killed_goes_on_and_misses_nothing() {
    let kills = std::env::var("CAIRN_BACKUP_KILLS").ok();
    let kills: u32 = kills.and_then(|kills| kills.parse().ok()).unwrap_or(5);
    let directory = home();
    let (path, place) = (directory.join("db"), directory.join("place"));
    std::fs::create_dir(&path).unwrap();
    let db = Db::open(&path).unwrap();
    let mut number = 0_u32;
    let mut put = || {
        for _ in 0..50 {
            number += 1;
            let key = format!("key-{:04}", number % 977);
            db.put(key.as_bytes(), number.to_string().as_bytes())
                .unwrap();
        }
    };
    put();
    for kill in 0..kills {
        let before = listed(&place);
        let mut child = following(&path, &place);
        if kill % 2 == 0 {
            wait_for_more(&place, &before);
            put();
        }
        put();
        child.kill().unwrap();
        child.wait().unwrap();
        if kill % 3 == 2 {
            let place = place.to_str().unwrap();
            let mut prune = command("prune", Path::new(place), &["--bases=1"]);
            let mut prune = prune
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            prune.kill().unwrap();
            prune.wait().unwrap();
        }
    }
    let before = listed(&place);
    let child = following(&path, &place);
    put();
    wait_for_more(&place, &before);
    put();
    // The rest is sent after the signal.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_has(&ran.done(), &["backed up to "]);
    cairn("verify-backup", &place, NONE).done();
    let restored = directory.join("restored");
    cairn("restore", &place, &[restored.to_str().unwrap()]).done();
    let expected = cairn("scan", &path, NONE).done();
    assert_eq!(cairn("scan", &restored, NONE).done(), expected);
}

#[test]
fn of_two_backups_to_a_place_the_second_is_refused() {
    let directory = home();
    let (path, place) = (directory.join("db"), directory.join("place"));
    std::fs::create_dir(&path).unwrap();
    write(&path, [("before", "1")]);
    let mut child = following(&path, &place);
    let end = Instant::now() + LONG;
    while !place.join("meta/owner").exists() {
        assert!(Instant::now() < end);
    }
    let process = format!("process {}", child.id());
    let second = cairn("backup", &path, &[place.to_str().unwrap()]);
    second.failed(4, &["another program backs up to this place", &process]);
    child.kill().unwrap();
    child.wait().unwrap();
    // A dead one holds nothing.
    cairn("backup", &path, &[place.to_str().unwrap()]).done();
}

#[test]
fn what_is_there_is_restored_only_where_nothing_is() {
    let directory = home();
    let (path, place) = (directory.join("db"), directory.join("place"));
    std::fs::create_dir(&path).unwrap();
    write(&path, [("stone", "slate")]);
    let place_name = place.to_str().unwrap();
    cairn("backup", &path, &[place_name]).done();
    let restored = directory.join("restored");
    let restored_name = restored.to_str().unwrap();
    for _ in 0..2 {
        cairn("restore", &place, &[restored_name, "--if-missing"]).done();
    }
    assert_eq!(cairn("get", &restored, &["stone"]).done(), "slate\n");
    cairn("restore", &place, &[restored_name]).failed(5, &["not empty", "choose another"]);
    let moment = cairn("restore", &place, &["x", "--to", "yesterday"]);
    moment.failed(2, &["no sequence number, no place, and no time in UTC"]);
    let nothing = cairn("restore", &directory, &["x"]);
    nothing.failed(5, &["there is no backup here"]);
    cairn("prune", &place, NONE).failed(2, &["--age"]);
    let key = command("backups", &place, NONE)
        .env("CAIRN_BACKUP_KEY", "1234")
        .output();
    let key = Ran::from(key.unwrap());
    assert!(!key.stderr.contains("1234"));
    key.failed(5, &["64 hexadecimal digits"]);
}
