//! Copies that are killed on the way, five times there and back, and continue.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cairndb_env::testing::setting::setting;
use cairndb_remote::testing::Medium;
use serde_json::Value;

use super::{etcd, postgres};
use crate::{Entries, Ran, command, home, read, write};

/// The parts of a copy, in sixths, at which it is killed.
const KILLS_THERE: [u64; 3] = [1, 3, 5];
const KILLS_BACK: [u64; 2] = [2, 4];

/// A busy machine may not answer within the usual time.
const PATIENCE: &str = "timeout=5m";

/// How a copy is run and killed.
struct Course<'a> {
    at: &'a Path,
    entries: u64,
    /// Bytes a second, so that a small copy lasts until it is killed.
    rate: Option<u64>,
    save_every: u64,
}

impl Course<'_> {
    /// Runs a copy, kills it each time it has saved another of `kills` sixths, and returns what it
    /// printed at last.
    fn run(&self, from: &str, to: &str, kills: &[u64]) -> Value {
        let begun = Instant::now();
        let mut peak = 0;
        for sixths in kills {
            peak = peak.max(self.kill_after(from, to, self.entries * sixths / 6));
        }
        let printed = Ran::from(self.command(from, to).output().unwrap()).done();
        let scheme = |url: &str| url.split(':').next().unwrap_or_default().to_owned();
        println!(
            "copy {} -> {}: {} entries, {} kills, {:?} in all, at most {peak} kB resident",
            scheme(from),
            scheme(to),
            self.entries,
            kills.len(),
            begun.elapsed()
        );
        assert!(!self.at.join("state").exists());
        serde_json::from_str(&printed).unwrap()
    }

    fn command(&self, from: &str, to: &str) -> std::process::Command {
        let save_every = self.save_every.to_string();
        let words = ["copy", from, to, "--json", "--state=state", "--save-every"];
        let mut program = command(self.at, &words);
        program.arg(save_every);
        if let Some(rate) = self.rate {
            program.arg(format!("--rate-limit={rate}"));
        }
        program
    }

    /// Runs a copy until it has saved `wanted` entries, and kills it. Returns its memory.
    fn kill_after(&self, from: &str, to: &str, wanted: u64) -> u64 {
        let mut program = self.command(from, to);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        while self.saved() < wanted {
            if child.try_wait().unwrap().is_some() {
                let ran = Ran::from(child.wait_with_output().unwrap());
                panic!("the copy ended before {wanted} entries were saved: {ran:?}");
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let peak = peak_kilobytes(child.id());
        child.kill().unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), None, "killed by a signal");
        assert!(self.saved() >= wanted && self.saved() < self.entries);
        peak
    }

    /// Returns how many entries the saved position covers.
    fn saved(&self) -> u64 {
        let Ok(text) = std::fs::read(self.at.join("state")) else {
            return 0;
        };
        let state: Value = serde_json::from_slice(&text).unwrap();
        state["state"]["copied"]["entries"].as_u64().unwrap()
    }
}

/// Returns the largest resident memory of a process; 0 where the system does not show it.
fn peak_kilobytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().unwrap())
}

/// Copies entries to a server and back, with five kills.
fn there_and_back(url: &str) {
    let at = &*home();
    let given = setting("CAIRN_COPY_ENTRIES");
    let entries = given.unwrap_or(4_000);
    // 16 + 100 bytes; half of them compress.
    let entry = |n: u64| {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let value = format!("{mixed:016x}{:>84}", n % 97);
        (format!("{n:016}").into_bytes(), value.into_bytes())
    };
    let all: Entries = (0..entries).map(entry).collect();
    write(&at.join("from"), &all);
    let bytes = entries * 116;
    let course = Course {
        at,
        entries,
        rate: given.is_none().then_some(bytes),
        save_every: bytes / 40,
    };
    let there = course.run("file:from", url, &KILLS_THERE);
    let back = course.run(url, "file:back", &KILLS_BACK);
    assert_eq!(there["entries"], entries);
    assert_eq!(there["hash"], back["hash"]);
    assert_eq!(there["bytes"], back["bytes"]);
    assert!(read(&at.join("back")) == all, "an entry differs");
}

/// A million entries are worth a disk.
fn medium() -> Medium {
    match setting("CAIRN_COPY_ENTRIES") {
        Some(_) => Medium::Disk,
        None => Medium::Memory,
    }
}

#[test]
fn a_killed_copy_through_etcd_continues() {
    if let Some(cluster) = etcd(medium()) {
        there_and_back(&format!("{}?{PATIENCE}", cluster.url("kills")));
    }
}

#[test]
fn a_killed_copy_through_postgres_continues() {
    if let Some(server) = postgres(medium()) {
        there_and_back(&format!("{}?{PATIENCE}", server.url("kills")));
    }
}
