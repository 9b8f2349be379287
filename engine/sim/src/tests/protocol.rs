//! Each rule of the protocol checker, kept and broken.

use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Dir, Env, LogRegion, WritableFile};

use super::super::*;

/// A manifest of lines `file NAME BYTES` and `log NAME`, and `gone NAME`.
fn read_facts(_name: &str, bytes: &[u8]) -> Option<ManifestFacts> {
    let mut facts = ManifestFacts::default();
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        match *line.split(' ').collect::<Vec<_>>() {
            ["file", name, len] => {
                facts.files.insert(name.to_owned(), len.parse().ok()?);
            }
            ["log", name] => facts.logs.push(name.to_owned()),
            ["gone", name] => {
                facts.files.remove(name);
                facts.logs.retain(|log| log != name);
            }
            _ => return None,
        }
    }
    Some(facts)
}

struct Store {
    env: Arc<SimEnv>,
    dir: Arc<dyn Dir>,
    manifest: Box<dyn WritableFile>,
}

impl Store {
    /// Creates a correct new store: an empty log, a manifest that names it, and `CURRENT`.
    fn new() -> (Store, Arc<dyn LogRegion>) {
        let env = SimEnv::new(1);
        env.check_manifests(read_facts);
        let dir = env.open_dir(Path::new("db"), true).unwrap();
        let log = dir.create_log("000002.log", 8192).unwrap();
        let manifest = dir.create("MANIFEST-000001").unwrap();
        dir.sync().unwrap();
        let mut store = Store { env, dir, manifest };
        store.edit("log 000002.log\n");
        store.set_current("MANIFEST-000001\n");
        store.dir.sync().unwrap();
        assert_eq!(store.rules(), []);
        (store, log)
    }

    fn edit(&mut self, text: &str) {
        self.manifest.append(text.as_bytes()).unwrap();
        self.manifest.sync().unwrap();
    }

    fn set_current(&self, text: &str) {
        self.file("000009.tmp", text.as_bytes(), true);
        self.dir.rename("000009.tmp", "CURRENT").unwrap();
    }

    fn file(&self, name: &str, bytes: &[u8], sync: bool) {
        let mut file = self.dir.create(name).unwrap();
        file.append(bytes).unwrap();
        if sync {
            file.sync().unwrap();
        }
    }

    fn rules(&self) -> Vec<u8> {
        let violations = self.env.violations();
        assert!(
            violations
                .iter()
                .all(|one| one.to_string().contains("rule"))
        );
        violations.iter().map(|violation| violation.rule).collect()
    }
}

#[test]
fn a_whole_life_breaks_no_rule() {
    let (mut store, log) = Store::new();
    log.write(0, &[&[1; 512]], true).unwrap();
    log.write(512, &[&[2; 100]], true).unwrap();
    log.sync().unwrap();
    store.file("000003.tbl", &[7; 5000], true);
    let next = store.dir.create_log("000004.log", 8192).unwrap();
    store.dir.sync().unwrap();
    store.edit("file 000003.tbl 5000\nlog 000004.log\n");
    next.write(512, &[&[2; 100]], true).unwrap();
    next.sync().unwrap();
    store.edit("gone 000002.log\n");
    // The first log is recycled: rewritten from its start.
    drop(log);
    let again = store.dir.open_log("000002.log").unwrap();
    again.write(0, &[&[3; 600]], true).unwrap();
    store.edit("log 000002.log\n");
    again.sync().unwrap();
    store.edit("gone 000003.tbl\n");
    store.dir.unlink("000003.tbl").unwrap();
    assert_eq!(store.env.violations(), []);
}

#[test]
fn rule_1_a_manifest_names_durable_files_only() {
    let (mut store, _log) = Store::new();
    store.file("000003.tbl", &[7; 5000], true);
    store.edit("file 000003.tbl 5000\n");
    assert_eq!(store.rules(), [1], "the name was not synced");
    let (mut store, _log) = Store::new();
    store.file("000003.tbl", &[7; 5000], false);
    store.dir.sync().unwrap();
    store.edit("file 000003.tbl 5000\n");
    assert_eq!(store.rules(), [1], "the bytes were not synced");
    let (mut store, _log) = Store::new();
    let mut values = store.dir.create("000003.val").unwrap();
    values.append(&[7; 5000]).unwrap();
    values.sync().unwrap();
    values.append(&[7; 5000]).unwrap();
    store.dir.sync().unwrap();
    store.edit("file 000003.val 5000\n");
    assert_eq!(store.rules(), [], "bytes appended later do not matter");
    store.edit("file 000003.val 6000\n");
    assert_eq!(store.rules(), [1]);
}

/// A log whose name the next directory sync made durable, in a new manifest, was once reported as a
/// violation.
#[test]
fn rule_1_holds_for_a_new_manifest_from_when_current_names_it() {
    for synced in [true, false] {
        let (store, _log) = Store::new();
        let log = store.dir.create_log("000004.log", 8192).unwrap();
        let text = b"log 000002.log\nlog 000004.log\n";
        if synced {
            store.file("MANIFEST-000005", text, true);
            assert_eq!(store.rules(), [], "nothing depends on it yet");
            store.dir.sync().unwrap();
            store.set_current("MANIFEST-000005\n");
            assert_eq!(store.rules(), []);
        } else {
            let mut manifest = store.dir.create("MANIFEST-000005").unwrap();
            store.dir.sync().unwrap();
            store.file("000006.tbl", &[7; 5000], true);
            manifest.append(text).unwrap();
            manifest.append(b"file 000006.tbl 5000\n").unwrap();
            manifest.sync().unwrap();
            assert_eq!(store.rules(), []);
            store.set_current("MANIFEST-000005\n");
            assert_eq!(store.rules(), [1], "a table's name was not synced");
        }
        drop(log);
    }
}

#[test]
fn rule_2_current_names_a_durable_manifest_and_is_durable_before_removals() {
    let (store, _log) = Store::new();
    store.file("MANIFEST-000005", b"log 000002.log\n", true);
    store.set_current("MANIFEST-000005\n");
    assert_eq!(store.rules(), [2], "the manifest's name was not synced");
    let (store, _log) = Store::new();
    store.file("MANIFEST-000005", b"log 000002.log\n", false);
    store.dir.sync().unwrap();
    store.set_current("MANIFEST-000005\n");
    assert_eq!(store.rules(), [2], "the manifest's bytes were not synced");
    let (store, _log) = Store::new();
    store.file("000009.tmp", b"MANIFEST-000001\n", false);
    store.dir.rename("000009.tmp", "CURRENT").unwrap();
    assert_eq!(store.rules(), [2], "the text was not synced");
    let (store, _log) = Store::new();
    store.file("MANIFEST-000005", b"log 000002.log\n", true);
    store.dir.sync().unwrap();
    store.set_current("MANIFEST-000005\n");
    store.dir.unlink("MANIFEST-000001").unwrap();
    assert_eq!(store.rules(), [2, 3], "the rename was not synced");
    let (store, _log) = Store::new();
    store.file("MANIFEST-000005", b"log 000002.log\n", true);
    store.dir.sync().unwrap();
    store.set_current("MANIFEST-000005\n");
    store.dir.sync().unwrap();
    store.dir.unlink("MANIFEST-000001").unwrap();
    assert_eq!(store.rules(), []);
}

#[test]
fn rule_3_a_file_is_removed_after_its_edit_is_durable() {
    let (mut store, _log) = Store::new();
    store.manifest.append(b"gone 000002.log\n").unwrap();
    store.dir.unlink("000002.log").unwrap();
    assert_eq!(store.rules(), [3]);
}

#[test]
fn rule_4_a_log_is_named_before_its_records_are_synced() {
    let (store, _log) = Store::new();
    let log = store.dir.create_log("000004.log", 8192).unwrap();
    log.write(0, &[&[1; 512]], true).unwrap();
    log.sync().unwrap();
    assert_eq!(store.rules(), [], "a header is not a record");
    log.write(512, &[&[1; 10]], true).unwrap();
    log.sync().unwrap();
    assert_eq!(
        store.rules(),
        [4, 4],
        "neither directory nor manifest has the name"
    );
}

#[test]
fn rule_5_logs_are_synced_in_order() {
    let (mut store, log) = Store::new();
    let next = store.dir.create_log("000004.log", 8192).unwrap();
    store.dir.sync().unwrap();
    store.edit("log 000004.log\n");
    log.write(512, &[b"old"], false).unwrap();
    next.write(512, &[b"new"], true).unwrap();
    next.sync().unwrap();
    assert_eq!(store.rules(), [5]);
}

#[test]
fn rule_6_what_failed_is_left_alone() {
    let (mut store, log) = Store::new();
    for (kind, name) in [
        (OpKind::SyncFile, "MANIFEST"),
        (OpKind::WriteLog, ".log"),
        (OpKind::SyncDir, ""),
    ] {
        store
            .env
            .inject(Fault::on(kind, name, Effect::Fails(Cause::Io)));
    }
    assert!(store.manifest.sync().is_err());
    assert!(log.write(0, &[b"x"], false).is_err());
    assert!(store.dir.sync().is_err());
    assert_eq!(store.rules(), []);
    store.manifest.append(b"x").unwrap();
    log.sync().unwrap();
    assert_eq!(store.rules(), [6], "earlier contents may be synced");
    log.write(512, &[b"x"], false).unwrap();
    store.dir.sync().unwrap();
    assert_eq!(store.rules(), [6, 6, 6]);
    // A rewritten log and a reopened directory are trusted again.
    log.write(0, &[b"x"], false).unwrap();
    let dir = store.env.open_dir(Path::new("db"), false).unwrap();
    dir.sync().unwrap();
    assert_eq!(
        store.rules(),
        [6, 6, 6, 7],
        "but the manifest needs that log"
    );
}

#[test]
fn rule_7_nothing_synced_is_overwritten_and_no_number_used_twice() {
    let (store, log) = Store::new();
    log.write(512, &[&[1; 100]], true).unwrap();
    log.sync().unwrap();
    log.write(600, &[b"over"], false).unwrap();
    assert_eq!(store.rules(), [7]);
    drop(log);
    let again = store.dir.open_log("000002.log").unwrap();
    again.write(0, &[&[9; 600]], true).unwrap();
    assert_eq!(store.rules(), [7, 7], "the log is still needed");
    store.file("000003.tbl", b"t", false);
    store.dir.unlink("000003.tbl").unwrap();
    store.file("000003.tbl", b"t", true);
    assert_eq!(store.rules(), [7, 7], "the first file was never synced");
    store.dir.unlink("000003.tbl").unwrap();
    store.file("000003.tbl", b"t", false);
    assert_eq!(store.rules(), [7, 7, 7]);
}
