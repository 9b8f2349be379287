//! Benchmark: mapped and warm log writes, and the sync loop compared with a bare one.
//!
//! `cargo bench -p cairndb-env --bench log_region [-- DIRECTORY [ROUNDS]]`. The compared loops
//! alternate, one operation each, so that drift of the machine or the disk affects all of them
//! equally.

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cairndb_env::{Dir, Env, LogRegion, RealEnv};

/// A log record of the classic workload: 24 bytes of header, 16 of key, 100 of value, 3 more.
const RECORD_BYTES: usize = 143;
const HEADER_BYTES: usize = 24;
const LOG_BYTES: u64 = 4 << 20;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let root = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds = arguments
        .next()
        .map_or(2000, |text| text.parse().expect("a number of rounds"));
    let temp = tempfile::tempdir_in(root).expect("a directory to measure in");
    let env = RealEnv::new();
    let dir = env
        .open_dir(temp.path(), false)
        .expect("the directory opens");
    mapped_writes(&*env, &*dir);
    sync_loops(&*env, &*dir, temp.path(), rounds);
}

fn record_at(index: u64) -> u64 {
    let step = RECORD_BYTES.next_multiple_of(8) as u64;
    index % (LOG_BYTES / step) * step
}

/// Prints nanoseconds per record without syncs.
fn mapped_writes(env: &dyn Env, dir: &dyn Dir) {
    let log = dir.create_log("mapped", LOG_BYTES).expect("a log");
    let record = [7u8; RECORD_BYTES];
    let (header, payload) = record.split_at(HEADER_BYTES);
    let per_pass = LOG_BYTES / RECORD_BYTES.next_multiple_of(8) as u64;
    let pass = |through: bool| {
        let start = env.now_ns();
        for index in 0..per_pass {
            log.write(record_at(index), &[header, payload], through)
                .expect("a write within the log");
        }
        nanos(env.now_ns() - start) / nanos(per_pass)
    };
    let cold = pass(false);
    log.sync().expect("a sync");
    let start = env.now_ns();
    log.warm();
    let warming_us = (env.now_ns() - start) / 1000;
    let warm = (0..20).map(|_| pass(false)).fold(f64::MAX, f64::min);
    let through = (0..5).map(|_| pass(true)).fold(f64::MAX, f64::min);
    println!(
        "write {RECORD_BYTES} bytes: mapped {warm:.1} ns warm, {cold:.1} ns cold; \
         system call {through:.1} ns; warming 4 MiB {warming_us} us"
    );
}

/// Prints microseconds per synced record, with alternating loops.
fn sync_loops(env: &dyn Env, dir: &dyn Dir, path: &Path, rounds: usize) {
    let record = [7u8; RECORD_BYTES];
    let (header, payload) = record.split_at(HEADER_BYTES);
    let synced_log = |name| {
        let log = dir.create_log(name, LOG_BYTES).expect("a log");
        log.sync().expect("a sync");
        log
    };
    let stored = synced_log("stored");
    let through = synced_log("through");
    synced_log("bare");
    let bare = rustix::fs::open(
        path.join("bare"),
        rustix::fs::OFlags::WRONLY,
        rustix::fs::Mode::empty(),
    )
    .expect("the file opens");
    let region = |log: &dyn LogRegion, at: u64, sync_next: bool| {
        log.write(at, &[header, payload], sync_next)
            .expect("a write within the log");
        log.sync().expect("a sync");
    };
    let plain = |at: u64| {
        rustix::io::pwrite(bare.as_fd(), &record, at).expect("a write");
        rustix::fs::fdatasync(&bare).expect("a sync");
    };
    let mut times: [Vec<u64>; 3] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..rounds {
        let at = record_at(round as u64);
        // The order rotates, so that no loop always follows the same one.
        for turn in 0..3 {
            let which = (round + turn) % 3;
            let start = env.now_ns();
            match which {
                0 => region(&*stored, at, false),
                1 => region(&*through, at, true),
                _ => plain(at),
            }
            times[which].push(env.now_ns() - start);
        }
    }
    for (name, mut samples) in [
        "mapped store + fdatasync",
        "region, sync_next + sync",
        "bare pwrite + fdatasync ",
    ]
    .into_iter()
    .zip(times)
    {
        samples.sort_unstable();
        let mean = nanos(samples.iter().sum::<u64>()) / nanos(samples.len() as u64) / 1000.0;
        println!(
            "{name}: median {:.1} us, mean {mean:.1} us, 10th {:.1} us, 90th {:.1} us",
            nanos(samples[samples.len() / 2]) / 1000.0,
            nanos(samples[samples.len() / 10]) / 1000.0,
            nanos(samples[samples.len() * 9 / 10]) / 1000.0,
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "for printing")]
fn nanos(value: u64) -> f64 {
    value as f64
}
