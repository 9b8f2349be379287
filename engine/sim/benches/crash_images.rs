//! Benchmark: crash states per second from the simulated file system.
//!
//! `cargo bench -p cairndb-sim --bench crash_images`. The disk is that of a small database in a
//! crash test: a few tables, a log with unsynced records, a new table and a rename under way.

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::path::Path;

use cairndb_env::{Env, RealEnv};
use cairndb_sim::{Profile, SimEnv};

fn main() {
    let clock = RealEnv::new();
    let sim = SimEnv::new(1);
    let dir = sim.open_dir(Path::new("db"), true).expect("a directory");
    for number in 1..8 {
        let mut table = dir.create(&format!("{number:06}.tbl")).expect("a file");
        table.append(&vec![7; 40 << 10]).expect("room");
        table.sync().expect("a sync");
    }
    let log = dir.create_log("000008.log", 64 << 10).expect("a log");
    dir.sync().expect("a sync");
    for index in 0..100 {
        log.write(512 + index * 144, &[&[1; 24], &[2; 119]], false)
            .expect("a write within the log");
    }
    let mut table = dir.create("000009.tbl").expect("a file");
    table.append(&vec![9; 20 << 10]).expect("room");
    dir.rename("000009.tbl", "000010.tbl").expect("a rename");
    for profile in [Profile::Ordered, Profile::Weak] {
        let point = sim.crash_point();
        let start = clock.now_ns();
        let count = point.states(profile, 1, usize::MAX).count() as u64;
        let spent_ns = clock.now_ns() - start;
        let pending = point.pending(profile);
        println!(
            "{profile:?}: {count} distinct states of {pending} pending units, {} per second",
            count * 1_000_000_000 / spent_ns.max(1)
        );
    }
}
