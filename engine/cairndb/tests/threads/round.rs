//! One round: a new database is opened twice, used by all threads, and closed in the middle.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use cairndb::env::random::Random;
use cairndb::env::{Background, Env, MemEnv, RealEnv};
use cairndb::{Add, Db, Durability, ErrorKind, Options};

use crate::upkeep::statistic;
use crate::{Scale, readers, story, upkeep};

/// The end of a thread: the database was closed, or a check failed.
pub(crate) type Ended = Result<(), String>;

/// Number of times that a round opens and closes the database.
const LIVES: u64 = 2;
const READERS: u64 = 2;

/// The state that all threads of one life share.
pub(crate) struct Shared {
    pub(crate) db: Db,
    pub(crate) writers: u8,
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) path: PathBuf,
    /// The last acknowledged write of each writer.
    marks: Vec<AtomicU64>,
}

impl Shared {
    pub(crate) fn acknowledged(&self, writer: u8) -> u64 {
        self.marks[usize::from(writer)].load(Ordering::Acquire)
    }

    pub(crate) fn all_acknowledged(&self) -> Vec<u64> {
        let marks = self.marks.iter();
        marks.map(|mark| mark.load(Ordering::Acquire)).collect()
    }

    pub(crate) fn any_writer(&self, random: &mut Random) -> u8 {
        u8::try_from(random.below(u64::from(self.writers))).expect("few writers")
    }
}

/// Totals of a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
    pub(crate) compactions: u64,
}

impl std::ops::AddAssign for Done {
    fn add_assign(&mut self, other: Done) {
        self.writes += other.writes;
        self.flushes += other.flushes;
        self.compactions += other.compactions;
    }
}

/// Converts the error that ended a thread. `Closed` is normal; any other error is a failure.
pub(crate) fn ended(error: &cairndb::Error) -> Ended {
    match error.kind() {
        ErrorKind::Closed => Ok(()),
        _ => Err(error.to_string()),
    }
}

/// Writes until the database is closed, continuing after the last write that the database holds.
/// Signals `done` when the life may end.
fn write(shared: &Shared, writer: u8, enough: u64, done: &mpsc::Sender<()>) -> Ended {
    let mark = &shared.marks[usize::from(writer)];
    let first = mark.load(Ordering::Acquire) + 1;
    for n in first.. {
        if let Err(error) = story::write(&shared.db, writer, n) {
            return ended(&error);
        }
        mark.store(n, Ordering::Release);
        if n == first + enough {
            // The receiver has been dropped if another writer was faster.
            let _ = done.send(());
        }
        if n.is_multiple_of(32) {
            match readers::state_of(&shared.db, writer) {
                Ok(Ok(own)) if own.first <= n && n <= own.last => {}
                Ok(own) => return Err(format!("writer {writer} wrote {n} and sees {own:?}")),
                Err(error) => return ended(&error),
            }
        }
    }
    Ok(())
}

/// Closes the database when a thread ends, so that the others do not run forever after a failure.
/// Every thread closes the database, which is part of the test.
struct Last<'a>(&'a Shared, &'a Mutex<Vec<String>>);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.db.close() {
            let why = format!("closing: {error}");
            self.1
                .lock()
                .expect("no thread panics while it holds the lock")
                .push(why);
        }
    }
}

/// Runs a thread's work and records its failure.
fn watched(shared: &Shared, failures: &Mutex<Vec<String>>, work: impl FnOnce() -> Ended) {
    let _last = Last(shared, failures);
    if let Err(why) = work() {
        failures
            .lock()
            .expect("no thread panics while it holds the lock")
            .push(why);
    }
}

/// Returns the names and lengths of all files in the directory.
fn listing(env: &dyn Env, shared: &Shared) -> cairndb::Result<Vec<(String, Option<u64>)>> {
    let dir = env.open_dir(&shared.path, false)?;
    let names = dir.list()?.into_iter();
    let mut files: Vec<_> = names
        .map(|name| Ok((name.clone(), dir.size_of(&name)?)))
        .collect::<cairndb::Result<_>>()?;
    files.sort();
    Ok(files)
}

/// Runs all threads until one of the writers has written enough, then closes the database while
/// they work.
fn live(shared: &Shared, env: &dyn Env, enough: u64) -> Ended {
    let failures = Mutex::new(Vec::new());
    let closed = std::thread::scope(|scope| {
        let failures = &failures;
        let (done, wait) = mpsc::channel();
        for writer in 0..shared.writers {
            let done = done.clone();
            scope.spawn(move || watched(shared, failures, || write(shared, writer, enough, &done)));
        }
        drop(done);
        for thread in 0..READERS {
            scope.spawn(move || watched(shared, failures, || readers::read(shared, thread)));
        }
        for work in [upkeep::flush, upkeep::compact, upkeep::ask] {
            scope.spawn(move || watched(shared, failures, || work(shared)));
        }
        // If no writer is left, something failed, and the life ends.
        let _ = wait.recv();
        shared.db.close()?;
        // The other threads still unwind, but the directory now belongs to another handle.
        let files = listing(env, shared)?;
        Ok::<_, cairndb::Error>((files, left(shared)?))
    });
    let failures = failures
        .into_inner()
        .expect("no thread panicked while it held the lock");
    if let Some(why) = failures.into_iter().next() {
        return Err(why);
    }
    let (files, left) = closed.map_err(|error| format!("closing: {error}"))?;
    left?;
    let after = listing(env, shared).map_err(|error| error.to_string())?;
    if files != after {
        return Err(format!(
            "a closed handle changed files: {files:?}, then {after:?}"
        ));
    }
    Ok(())
}

/// Checks that after a close all acknowledged writes are found, and at most one more of each
/// writer.
fn left(shared: &Shared) -> cairndb::Result<Ended> {
    let db = shared.options.open(&shared.path)?;
    if !db.open_report().clean {
        let report = db.open_report();
        return Ok(Err(format!("not clean after a close: {report:?}")));
    }
    for writer in 0..shared.writers {
        match readers::state_of(&db, writer)? {
            Ok(moment) => {
                // Loaded after the moment, because the writer may not have published its last write
                // yet.
                let mark = shared.acknowledged(writer);
                if moment.last < mark || moment.first > mark + 1 {
                    return Ok(Err(format!(
                        "writer {writer} had {mark} acknowledged and left {moment:?}"
                    )));
                }
            }
            Err(why) => return Ok(Err(format!("after closing: {why}"))),
        }
    }
    db.close()?;
    Ok(Ok(()))
}

fn options(seed: u64, env: &Arc<dyn Env>) -> Options {
    Options::new()
        .create_if_missing(true)
        .merge_operator(Arc::new(Add))
        .memory_budget(256 << (10 + seed % 3))
        .mapped(seed.is_multiple_of(2))
        .durability([Durability::Os, Durability::None][usize::from(seed % 5 == 4)])
        .env(Arc::clone(env))
}

/// Runs round `seed`: in memory, or, for every fourth seed, in a real directory.
pub(crate) fn run(seed: u64, scale: Scale) -> Result<Done, String> {
    let say = |error: cairndb::Error| error.to_string();
    let mut random = Random::new(seed);
    let real = seed % 4 == 3;
    let env: Arc<dyn Env> = if real {
        RealEnv::new()
    } else {
        MemEnv::new(Background::Threads)
    };
    let options = options(seed, &env);
    let root = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = root.path().join("db");
    let writers = 2 + u8::try_from(random.below(3)).expect("small");
    let mut marks = vec![0; usize::from(writers)];
    let mut done = Done::default();
    for life in 0..LIVES {
        let shared = Shared {
            db: options.open(&path).map_err(say)?,
            writers,
            seed: seed ^ life << 48,
            options: options.clone(),
            path: path.clone(),
            marks: marks.iter().copied().map(AtomicU64::new).collect(),
        };
        let enough = 20 + random.below(if real { 800 } else { 4_000 });
        live(&shared, &*env, scale.of(enough)).map_err(|why| format!("life {life}: {why}"))?;
        let before: u64 = marks.iter().sum();
        marks = settled(&shared)?;
        done += Done {
            writes: marks.iter().sum::<u64>() - before,
            flushes: statistic(&shared.db, "flushes"),
            compactions: statistic(&shared.db, "merges"),
        };
    }
    Ok(done)
}

/// Returns the last write of each writer in the closed database, from which the next life
/// continues.
fn settled(shared: &Shared) -> Result<Vec<u64>, String> {
    let say = |error: cairndb::Error| error.to_string();
    let db = shared.options.open(&shared.path).map_err(say)?;
    let moment = |writer| {
        let moment = readers::state_of(&db, writer).map_err(say)??;
        Ok(moment.last.min(shared.acknowledged(writer) + 1))
    };
    let marks = (0..shared.writers).map(moment).collect();
    db.close().map_err(say)?;
    marks
}
