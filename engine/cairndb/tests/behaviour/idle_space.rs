//! The disk space that a database takes after a close that had no time to free it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cairndb::env::random::Random;
use cairndb::env::{Background, Dir, Env, Join, MemEnv, Priority};
use cairndb::{Options, Result};

use crate::noise;

const MB: u64 = 1_000_000;

fn key(n: u64) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

fn options(env: Arc<dyn Env>) -> Options {
    Options::new().create_if_missing(true).env(env)
}

/// Returns the total length of all files.
fn on_disk(env: &dyn Env) -> u64 {
    let dir = env.open_dir("/db".as_ref(), false).unwrap();
    let names = dir.list().unwrap();
    // A file may have been removed since it was listed.
    let sizes = names.iter().filter_map(|name| dir.size_of(name).unwrap());
    sizes.sum()
}

/// Returns the maximum size of an idle database.
fn bound(alive: u64) -> u64 {
    (alive + alive / 5).max(alive + 8 * MB)
}

/// An environment with stepped background work, whose clock advances one second per call.
#[derive(Debug)]
struct NoTime(Arc<MemEnv>, AtomicU64);

impl Env for NoTime {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        self.0.open_dir(path, create)
    }

    fn background(&self) -> Background {
        Background::Stepped
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        self.0.spawn(name, priority, body)
    }

    fn now_ns(&self) -> u64 {
        self.1.fetch_add(1_000_000_000, Ordering::Relaxed)
    }

    fn random_u64(&self) -> u64 {
        self.0.random_u64()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }
}

#[track_caller]
fn wait_for_bound(env: &dyn Env, alive: u64) {
    let begun = Instant::now();
    while on_disk(env) > bound(alive) {
        assert!(
            begun.elapsed().as_secs() < 60,
            "the space was not reclaimed"
        );
        std::thread::yield_now();
    }
}

/// Close stops reclaiming after a while. The next handle continues, even without a write.
#[test]
fn space_left_by_a_close_is_reclaimed_after_the_next_opening() {
    for partly in [false, true] {
        let disk = MemEnv::new(Background::Threads);
        let no_time = Arc::new(NoTime(disk.clone(), AtomicU64::new(0)));
        let db = options(no_time).open("/db").unwrap();
        let mut random = Random::new(7);
        for n in 0..300 {
            db.put(&key(n), &noise(&mut random, 100_000)).unwrap();
        }
        db.wait_idle().unwrap();
        for n in (0..300).filter(|n| !partly || n % 2 == 0) {
            db.delete(&key(n)).unwrap();
        }
        db.close().unwrap();
        assert!(on_disk(&*disk) > 30 * MB);
        let alive = if partly { 15 * MB } else { 0 };
        let db = options(disk.clone()).open("/db").unwrap();
        wait_for_bound(&*disk, alive);
        db.close().unwrap();
        assert!(on_disk(&*disk) <= bound(alive), "closed again");
        let db = options(disk.clone()).open("/db").unwrap();
        let left = db.iter().map(|entry| entry.unwrap().1.len());
        let expected = if partly { 150 } else { 0 };
        assert_eq!(left.filter(|len| *len == 100_000).count(), expected);
    }
}
