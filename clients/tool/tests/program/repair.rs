//! `repair`, and what is left of a conversion.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Ran, cairn, command, files, write_cairn, write_leveldb};

const NONE: &[&str] = &[];

fn numbers(count: u32) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..count).map(|n| {
        let noise = n.wrapping_mul(2_654_435_761);
        (format!("{n:05}"), format!("value {noise}").into_bytes())
    })
}

/// Overwrites the second page of the only table.
fn damage(path: &Path, ending: &str) {
    let mut names = files(path).into_keys();
    let table = names.find(|name| name.ends_with(ending)).expect("a table");
    let mut bytes = std::fs::read(path.join(&table)).unwrap();
    bytes[4096..8192].fill(0x55);
    std::fs::write(path.join(&table), bytes).unwrap();
}

#[test]
fn what_is_intact_is_kept_and_the_rest_reported() {
    let parent = tempfile::tempdir().unwrap();
    for ending in [".tbl", ".ldb"] {
        let (path, target) = (parent.path().join(ending), parent.path().join("repaired"));
        match ending {
            ".tbl" => write_cairn(&path, numbers(3000)),
            _ => write_leveldb(&path, numbers(3000)),
        }
        let entries = cairn("scan", &path, NONE).done();
        damage(&path, ending);
        let before = files(&path);
        let planned = cairn("repair", &path, &["--dry-run"]);
        assert_eq!(planned.code, 3, "{planned:?}");
        let text = String::from_utf8(planned.stdout).unwrap();
        assert!(text.starts_with("Dry run: nothing was written."), "{text}");
        assert!(
            text.contains("Lost (1):") && planned.stderr.contains("report"),
            "{text}"
        );
        let ran = cairn("repair", &path, &[target.to_str().unwrap(), "--json"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
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
    let parent = tempfile::tempdir().unwrap();
    let (path, target) = (parent.path().join("db"), parent.path().join("repaired"));
    write_cairn(&path, numbers(100));
    let text = cairn("repair", &path, &[&target]).done();
    assert!(text.contains("Lost: nothing."), "{text}");
    assert_eq!(
        cairn("scan", &target, NONE).done(),
        cairn("scan", &path, NONE).done()
    );
    let name = target.to_str().unwrap();
    cairn("repair", &path, &[&target]).failed(5, &[name, "not empty"]);
    cairn("repair", &path, NONE).failed(2, &["TARGET"]);
}

/// Runs a command that cannot write files longer than `blocks` blocks of 512 bytes.
fn limited(blocks: u32, name: &str, path: &Path, arguments: &[&str]) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_cairn"), name]);
    let output = shell
        .arg(path)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    output.expect("the shell runs").into()
}

#[test]
fn a_disk_that_fills_up_ends_a_command_and_leaves_the_database() {
    let parent = tempfile::tempdir().unwrap();
    let (path, target) = (parent.path().join("db"), parent.path().join("repaired"));
    write_cairn(&path, numbers(20_000));
    cairn("delete", &path, &["00007"]).done();
    let entries = cairn("scan", &path, NONE).done();
    let name = target.to_str().unwrap();
    limited(64, "repair", &path, &[name]).failed(5, &[name]);
    assert!(!target.exists(), "the unfinished database is removed");
    limited(64, "compact", &path, &[]).failed(5, &[path.to_str().unwrap()]);
    cairn("verify", &path, NONE).done();
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    // The write is in the log, whose file exists; its table cannot be written.
    limited(8, "put", &path, &["key", "value"]).failed(5, &[path.to_str().unwrap()]);
    assert_eq!(cairn("get", &path, &["key"]).done(), "value\n");
    cairn("verify", &path, NONE).done();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_output_and_a_closed_pipe() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    write_cairn(&path, numbers(50_000));
    let commands = [
        ("tables", &["--entries"][..]),
        ("log", &[]),
        ("manifest", &[]),
        ("stats", &[]),
        ("repair", &["--dry-run"]),
    ];
    for (name, arguments) in commands {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let ran: Ran = command(name, &path, arguments)
            .stdout(full)
            .output()
            .unwrap()
            .into();
        assert_eq!(
            (ran.code, ran.stderr.contains("incomplete")),
            (5, true),
            "{name}: {ran:?}"
        );
    }
    let mut program = command("tables", &path, &["--entries"]);
    let mut child = program
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    drop(pipe);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
}

#[cfg(unix)]
#[test]
fn an_interrupted_compaction_leaves_a_database_that_opens() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    write_cairn(&path, numbers(200_000));
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
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    write_leveldb(&path, numbers(100));
    let entries = cairn("scan", &path, NONE).done();
    let original = path.join("leveldb-original");
    // The conversion is done, the removal is not.
    let ran = cairn("upgrade", &path, &["--drop-original"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    assert!(original.is_dir());
    std::fs::write(original.join("notes.txt"), "mine").unwrap();
    let text = cairn("upgrade", &path, &["--drop-original", "--yes"]).done();
    assert!(
        text.contains("removed") && text.contains("notes.txt"),
        "{text}"
    );
    assert_eq!(
        files(&original).into_keys().collect::<Vec<_>>(),
        ["notes.txt"]
    );
    std::fs::remove_dir_all(&original).unwrap();
    let text = cairn("upgrade", &path, &["--drop-original", "--yes"]).done();
    assert!(text.contains("nothing to remove"), "{text}");
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    cairn("upgrade", &path, &["--yes"]).failed(2, &["--drop-original"]);
    // In one step, and nothing else is left.
    let path = parent.path().join("another");
    write_leveldb(&path, numbers(100));
    cairn("upgrade", &path, &["--drop-original", "--yes"]).done();
    assert!(!path.join("leveldb-original").exists());
    assert_eq!(cairn("scan", &path, NONE).done(), entries);
    let stats = cairn("stats", &path, NONE).done();
    assert!(!stats.contains("leveldb-original"), "{stats}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_leveldbs_files_is_not_followed() {
    let parent = tempfile::tempdir().unwrap();
    let (path, other) = (parent.path().join("db"), parent.path().join("other"));
    write_cairn(&path, numbers(1));
    write_leveldb(&other, numbers(1));
    let before = files(&other);
    std::os::unix::fs::symlink(&other, path.join("leveldb-original")).unwrap();
    cairn("upgrade", &path, &["--drop-original", "--yes"]).done();
    assert_eq!(files(&other), before);
}
