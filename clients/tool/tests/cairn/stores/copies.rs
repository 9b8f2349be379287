//! Copies that nothing interrupts: what they print, and what they leave.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Servers, ascending, cairn, entries};
use crate::{Entries, assert_has, command, home, names, read, write};

/// Entries of every kind: an empty key and value, all bytes, and one that is longer than a page.
fn mixed(long: usize) -> Entries {
    let entry = |n: u32| {
        let key = format!("{:05}", n.wrapping_mul(40_503) % 100_000);
        (key.into_bytes(), vec![n.to_le_bytes()[0]; 150])
    };
    let mut mixed: Entries = (0..700).map(entry).collect();
    mixed.insert(Vec::new(), b"the empty key".to_vec());
    mixed.insert(b"empty".to_vec(), Vec::new());
    mixed.insert((0..=255).collect(), (0..=255).collect());
    mixed.insert(b"long".to_vec(), vec![b'x'; long]);
    mixed
}

#[test]
fn every_entry_arrives_and_comes_back() {
    let at = &*home();
    let servers = Servers::start();
    let all = mixed(1_300_000);
    write(&at.join("from"), &all);
    for (number, url) in servers.urls("copies", "file:middle").iter().enumerate() {
        let back = format!("file:back{number}");
        let [there, here] = [["file:from", url], [url, &back]].map(|[from, to]| {
            let copied = cairn(at, &["copy", from, to, "--json"]).done();
            serde_json::from_str::<Value>(&copied).unwrap()
        });
        let count = u64::try_from(all.len()).unwrap();
        for copied in [&there, &here] {
            assert_eq!(copied["entries"], count, "{copied}");
            assert_eq!(copied["changed"], count, "{copied}");
            assert_eq!(copied["hash"], there["hash"], "{copied}");
        }
        assert_eq!(there["to"], here["from"]);
        assert!(read(&at.join(format!("back{number}"))) == all, "{url}");
        // The same hash as that of every other command that moves data.
        let (from, to) = (format!("back{number}"), format!("dump{number}"));
        let hash = there["hash"].as_str().unwrap();
        assert_has(&cairn(at, &["dump", &from, &to]).done(), &[hash]);
    }
    assert!(!names(at).iter().any(|name| name.contains("cairn-copy")));
}

#[test]
fn overwriting_leaves_what_the_source_holds() {
    let at = &*home();
    let servers = Servers::start();
    let from = entries(&[("a", "1"), ("b", "2"), ("d", "4"), ("e", "5")]);
    write(&at.join("from"), &from);
    let old = [
        ("0", "extra"),
        ("b", "2"),
        ("c", "extra"),
        ("d", "old"),
        ("f", "extra"),
    ];
    write(&at.join("old"), old);
    for url in &servers.urls("overwriting", "file:to") {
        cairn(at, &["copy", "file:old", url]).done();
        let refused = cairn(at, &["copy", "file:from", url]);
        refused.failed(5, &["holds entries already", "--overwrite"]);
        let overwrite = || cairn(at, &["copy", "file:from", url, "--overwrite"]).done();
        // a, d and e are written, 0, c and f deleted.
        let copied = "\ncopied 4 entries from file:from to ";
        assert_has(
            &overwrite(),
            &[copied, "\n6 keys were written or deleted\n"],
        );
        let scanned = cairn(at, &["scan", "--store", url]).done();
        assert_eq!(scanned, "a\t1\nb\t2\nd\t4\ne\t5\n");
        // Nothing differs any more, so nothing is written.
        assert_has(&overwrite(), &["\n0 keys were written or deleted\n"]);
    }
}

#[test]
fn an_empty_store_can_be_copied() {
    let at = &*home();
    write(&at.join("from"), &Entries::new());
    let printed = cairn(at, &["copy", "file:from", "file:to"]).done();
    let expected = "copied 0 entries from file:from to file:to, hash 0000000000000000\n";
    assert_eq!(printed, expected);
    assert_eq!(cairn(at, &["count", "to"]).done(), "0\n");
}

#[test]
fn the_rate_limit_is_kept() {
    let at = &*home();
    write(&at.join("from"), ascending(200, 996));
    let begun = Instant::now();
    cairn(at, &["copy", "file:from", "file:to", "--rate-limit=400000"]).done();
    // 200 kB are copied, and then compared.
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_millis(900), "{elapsed:?}");
}

#[test]
fn the_rate_limit_counts_what_only_the_target_holds() {
    let at = &*home();
    write(&at.join("from"), &Entries::new());
    write(&at.join("to"), ascending(200, 996));
    let begun = Instant::now();
    let copy = [
        "copy",
        "file:from",
        "file:to",
        "--overwrite",
        "--state=state",
    ];
    let limits = ["--rate-limit=400000", "--save-every=50000"];
    let mut child = command(at, &[&copy[..], &limits].concat()).spawn().unwrap();
    // The position is saved on the way, although the source has no entry.
    let mut saved = None;
    let code = loop {
        let text = std::fs::read(at.join("state")).unwrap_or_default();
        if let Ok(state) = serde_json::from_slice::<Value>(&text) {
            saved = saved.or_else(|| state["state"]["last"].as_str().map(str::to_owned));
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::park_timeout(Duration::from_millis(1));
    };
    assert_eq!(code, Some(0));
    // 200 kB are read and deleted; nothing is left to compare.
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_millis(400), "{elapsed:?}");
    // Of keys of four bytes, the last one has another number.
    let last = saved.expect("a saved position");
    assert_ne!(last, "AAAAxw==");
    assert!(read(&at.join("to")).is_empty());
}

#[test]
fn a_range_is_copied_compared_and_replaced_alone() {
    let at = &*home();
    let servers = Servers::start();
    let from = entries(&[("a", "1"), ("m", "2"), ("n", "3"), ("z", "4")]);
    write(&at.join("from"), &from);
    for url in &servers.urls("ranges", "file:shard") {
        let copy = |arguments: &[&str]| {
            let command = [&["copy", "file:from", url], arguments].concat();
            cairn(at, &command).done()
        };
        let put = |key: &str| cairn(at, &["put", "--store", url, key, "other"]).done();
        // What the target holds outside the range is no obstacle, and stays.
        copy(&["--prefix", "a"]);
        assert!(copy(&["--from", "m", "--to", "z"]).starts_with("copied 2 entries"));
        let refused = cairn(at, &["copy", "file:from", url, "--from", "m"]);
        refused.failed(5, &["pass --overwrite"]);
        put("b");
        put("y");
        let replaced = copy(&["--from", "m", "--to", "z", "--overwrite"]);
        assert_has(&replaced, &["1 key was written or deleted"]);
        let held = cairn(at, &["scan", "--store", url, "--keys-only"]).done();
        assert_eq!(held, "a\nb\nm\nn\n", "{url}");
    }
}
