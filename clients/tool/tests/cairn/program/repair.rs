//! `repair`, and what is left of a conversion.

use std::path::Path;

use serde_json::Value;

use super::{NONE, cairn, command, numbers, overwrite};
use crate::{assert_has, file_of, files, home, limited, names, place, write_leveldb, write_table};

#[test]
fn what_is_intact_is_kept_and_the_rest_reported() {
    let parent = &*home();
    for ending in [".tbl", ".ldb"] {
        let (path, target) = (parent.join(ending), parent.join("repaired"));
        match ending {
            ".tbl" => write_table(&path, numbers(3000)),
            _ => write_leveldb(&path, numbers(3000)),
        }
        let entries = cairn("scan", &path, NONE).done();
        // The second page of the only table.
        overwrite(&path.join(file_of(&path, ending)), 4096, &[0x55; 4096]);
        let before = files(&path);
        let text = cairn("repair", &path, &["--dry-run"]).ended(3, &["report"]);
        assert_has(&text, &["\nDry run: nothing was written.", "Lost (1):"]);
        let ran = cairn("repair", &path, &[target.to_str().unwrap(), "--json"]);
        let report: Value = serde_json::from_str(&ran.ended(3, &[])).unwrap();
        assert_eq!(files(&path), before);
        let kept = cairn("scan", &target, NONE).done();
        assert_eq!(report["kept"]["keys"], kept.lines().count(), "{report}");
        assert!(kept.lines().all(|line| entries.contains(line)));
        assert!((1000..3000).contains(&kept.lines().count()));
        cairn("verify", &target, NONE).done();
        std::fs::remove_dir_all(&target).unwrap();
    }
}

#[test]
fn an_intact_database_is_repaired_completely() {
    let parent = &*home();
    let (path, target) = (parent.join("db"), parent.join("repaired"));
    write_table(&path, numbers(100));
    assert_has(
        &cairn("repair", &path, &[&target]).done(),
        &["Lost: nothing."],
    );
    let [kept, before] = [&target, &path].map(|path| cairn("scan", path, NONE).done());
    assert_eq!(kept, before);
    let name = target.to_str().unwrap();
    cairn("repair", &path, &[&target]).failed(5, &[name, "not empty"]);
    cairn("repair", &path, NONE).failed(2, &["TARGET"]);
}

#[test]
fn a_disk_that_fills_up_ends_a_command_and_leaves_the_database() {
    let parent = &*home();
    let (path, target) = (parent.join("db"), parent.join("repaired"));
    write_table(&path, numbers(20_000));
    cairn("delete", &path, &["00007"]).done();
    let entries = cairn("scan", &path, NONE).done();
    let (name, from) = (target.to_str().unwrap(), path.to_str().unwrap());
    limited(64, parent, &["repair", from, name]).failed(5, &[name]);
    assert!(!target.exists(), "the unfinished database is removed");
    limited(64, parent, &["compact", from]).failed(5, &[from]);
    cairn("verify", &path, NONE).done();
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    // No file of the log can be made, so nothing is written.
    limited(8, parent, &["put", from, "key", "value"]).failed(5, &[from]);
    cairn("get", &path, &["key"]).failed(1, &["is not in"]);
    cairn("verify", &path, NONE).done();
}

#[cfg(unix)]
#[test]
fn an_interrupted_compaction_leaves_a_database_that_opens() {
    let path = place("db");
    write_table(&path, numbers(200_000));
    for round in 0..4u32 {
        let key = format!("{round:05}");
        cairn("delete", &path, &[key]).done();
        let mut child = command("compact", &path, NONE).spawn().unwrap();
        // At another moment each time: the number of system calls of a process differs.
        for _ in 0..round * 3 {
            let status = format!("/proc/{}/status", child.id());
            let _ = std::fs::read(status);
        }
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        child.wait().unwrap();
        cairn("verify", &path, NONE).done();
        let left = 200_000 - round - 1;
        assert_eq!(cairn("count", &path, NONE).done(), format!("{left}\n"));
    }
}

#[test]
fn leveldbs_files_are_removed_once_the_user_confirms_it() {
    let parent = &*home();
    let path = parent.join("db");
    write_leveldb(&path, numbers(100));
    let entries = cairn("scan", &path, NONE).done();
    let original = path.join("leveldb-original");
    // The conversion is done, the removal is not.
    cairn("upgrade", &path, &["--drop-original"]).ended(2, &["--yes"]);
    assert!(original.is_dir());
    std::fs::write(original.join("notes.txt"), "mine").unwrap();
    let drop_original = |path: &Path| cairn("upgrade", path, &["--drop-original", "--yes"]).done();
    assert_has(&drop_original(&path), &["removed", "notes.txt"]);
    assert_eq!(names(&original), ["notes.txt"]);
    std::fs::remove_dir_all(&original).unwrap();
    assert_has(&drop_original(&path), &["nothing to remove"]);
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    cairn("upgrade", &path, &["--yes"]).failed(2, &["--drop-original"]);
    // In one step, and nothing else is left.
    let path = parent.join("another");
    write_leveldb(&path, numbers(100));
    drop_original(&path);
    assert!(!path.join("leveldb-original").exists());
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    let stats = cairn("stats", &path, NONE).done();
    assert!(!stats.contains("leveldb-original"), "{stats}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_leveldbs_files_is_not_followed() {
    let parent = &*home();
    let (path, other) = (parent.join("db"), parent.join("other"));
    write_table(&path, numbers(1));
    write_leveldb(&other, numbers(1));
    let before = files(&other);
    std::os::unix::fs::symlink(&other, path.join("leveldb-original")).unwrap();
    cairn("upgrade", &path, &["--drop-original", "--yes"]).done();
    assert_eq!(files(&other), before);
}
