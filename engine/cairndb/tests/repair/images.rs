//! The databases to be damaged, each with the history of every key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::env::{Background, Env, MemEnv};
use cairndb::{Append, Compression, Db, Durability, Job, Options, WriteOptions};

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What was written to one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// The value that the key has; `None` if it was deleted.
    pub(crate) now: Option<Vec<u8>>,
    /// Every value that the key ever had.
    pub(crate) ever: BTreeSet<Vec<u8>>,
    /// Whether operands were merged into the key.
    pub(crate) merged: bool,
}

/// A database to be damaged.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) name: &'static str,
    pub(crate) files: Files,
    /// Earlier contents of files that changed or are gone.
    pub(crate) older: Vec<(String, Vec<u8>)>,
    pub(crate) options: Options,
    pub(crate) stories: BTreeMap<Vec<u8>, Story>,
    /// Whether values are stored as they were written, so that the bytes of each can be found.
    pub(crate) plain: bool,
    pub(crate) clean: bool,
}

/// Writes `files` to the directory `path` of a new environment.
pub(crate) fn place(files: &Files) -> Arc<MemEnv> {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    for (name, bytes) in files {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    env
}

/// Returns the files of the directory `path`.
pub(crate) fn files_of(env: &MemEnv, path: &str) -> Files {
    let dir = env.open_dir(Path::new(path), false).unwrap();
    let names = dir.list().unwrap();
    let read = |name: String| {
        let file = dir.open_read(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

struct Builder {
    env: Arc<MemEnv>,
    options: Options,
    db: Option<Db>,
    random: Random,
    stories: BTreeMap<Vec<u8>, Story>,
    older: Vec<(String, Vec<u8>)>,
    writes: u64,
    plain: bool,
}

impl Builder {
    fn new(options: Options, seed: u64) -> Builder {
        let env = MemEnv::new(Background::Stepped);
        let options = options
            .memory_budget(256 << 10)
            .merge_operator(Arc::new(Append))
            .create_if_missing(true);
        let db = options.clone().env(env.clone()).open("/db").unwrap();
        Builder {
            env,
            options,
            db: Some(db),
            random: Random::new(seed),
            stories: BTreeMap::new(),
            older: Vec::new(),
            writes: 0,
            plain: false,
        }
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    /// Returns a value that no other write has: it begins with the key and the number of the write.
    fn value(&mut self, key: &[u8], len: usize) -> Vec<u8> {
        self.writes += 1;
        let mut value = format!("<{}#{:06}>", key.escape_ascii(), self.writes).into_bytes();
        while value.len() < len {
            let word = if self.plain {
                self.random.next_u64().to_le_bytes().to_vec()
            } else {
                format!("\"field{}\":\"stone\",", self.random.below(30)).into_bytes()
            };
            value.extend_from_slice(&word);
        }
        value
    }

    fn put(&mut self, key: &[u8], len: usize) {
        let value = self.value(key, len);
        let sync = self.random.below(40) == 0;
        let level = if sync {
            Durability::Sync
        } else {
            Durability::Os
        };
        let how = WriteOptions::new().durability(level);
        self.db().put_with(key, &value, &how).unwrap();
        let story = self.stories.entry(key.to_vec()).or_default();
        story.ever.insert(value.clone());
        story.now = Some(value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.db().delete(key).unwrap();
        self.stories.entry(key.to_vec()).or_default().now = None;
    }

    fn merge(&mut self, key: &[u8]) {
        let operand = self.value(key, 12);
        self.db().merge(key, &operand).unwrap();
        let story = self.stories.entry(key.to_vec()).or_default();
        story.merged = true;
        let mut value = story.now.take().unwrap_or_default();
        value.extend_from_slice(&operand);
        story.ever.insert(value.clone());
        story.now = Some(value);
    }

    /// Writes to `count` random keys of `space`: some are deleted, some have operands.
    fn round(&mut self, count: u64, space: u64, large: bool) {
        for _ in 0..count {
            let number = self.random.below(space);
            let key = format!("key{number:05}").into_bytes();
            match self.random.below(20) {
                0..3 => self.delete(&key),
                3 => self.merge(format!("merge{:03}", number % 50).as_bytes()),
                4 if large => {
                    let len = usize::try_from(8_192 + self.random.below(9_000)).unwrap();
                    self.put(format!("large{:03}", number % 40).as_bytes(), len);
                }
                5 if number.is_multiple_of(8) => {
                    let len = usize::try_from(4_000 + self.random.below(4_000)).unwrap();
                    self.put(format!("extent{:03}", number % 30).as_bytes(), len);
                }
                _ => {
                    let len = usize::try_from(30 + self.random.below(150)).unwrap();
                    self.put(&key, len);
                }
            }
        }
    }

    fn flush(&mut self) {
        self.db().flush().unwrap();
    }

    fn step(&mut self, job: Job) {
        self.db().step_background(job).unwrap();
    }

    /// Keeps the current contents of the files, as earlier ones.
    fn remember(&mut self) {
        self.older.extend(files_of(&self.env, "/db"));
    }

    fn reopen(&mut self) {
        self.db.take().unwrap().close().unwrap();
        self.remember();
        let options = self.options.clone().env(self.env.clone());
        self.db = Some(options.open("/db").unwrap());
    }

    fn finish(mut self, name: &'static str, clean: bool) -> Image {
        if clean {
            self.db.take().unwrap().close().unwrap();
        }
        let files = files_of(&self.env, "/db");
        self.older
            .retain(|(name, bytes)| files.get(name) != Some(bytes));
        self.older.dedup();
        Image {
            name,
            files,
            older: self.older,
            options: self.options,
            stories: self.stories,
            plain: self.plain,
            clean,
        }
    }
}

fn plain(options: Options, seed: u64) -> Builder {
    let mut builder = Builder::new(options.compression(Compression::None), seed);
    builder.plain = true;
    builder
}

/// Several runs that share keys, after some compactions; closed.
fn runs(seed: u64) -> Image {
    let mut builder = plain(Options::new(), seed);
    for round in 0..14 {
        builder.round(700, 2_500, false);
        builder.flush();
        if round % 3 == 2 {
            builder.remember();
            builder.step(Job::Compact);
        }
        builder.step(Job::Persist);
        builder.step(Job::Reap);
    }
    builder.finish("runs", true)
}

/// Few tables and a log of several segments; not closed.
fn log(seed: u64) -> Image {
    let mut builder = plain(Options::new(), seed);
    builder.round(1_500, 1_000, false);
    builder.flush();
    builder.step(Job::Persist);
    builder.remember();
    for _ in 0..4 {
        builder.round(350, 1_000, false);
        builder.remember();
    }
    builder.finish("log", false)
}

/// Large values in several value files, reopened once; not closed.
fn large(seed: u64) -> Image {
    let mut builder = plain(Options::new().value_file_bytes(100_000), seed);
    builder.round(400, 600, true);
    builder.flush();
    builder.reopen();
    builder.round(400, 600, true);
    builder.flush();
    builder.step(Job::Persist);
    builder.remember();
    builder.round(200, 600, true);
    builder.finish("large", false)
}

/// Encoded values: with the short codec, in groups, against a dictionary; closed.
fn encoded(seed: u64) -> Image {
    let mut builder = Builder::new(Options::new(), seed);
    for round in 0..8 {
        builder.round(600, 3_000, round % 2 == 0);
        builder.flush();
        builder.step(Job::Persist);
        builder.remember();
        builder.step(Job::Compact);
    }
    builder.finish("encoded", true)
}

/// Descending key order, no filter; not closed.
fn reversed(seed: u64) -> Image {
    let options = Options::new()
        .comparator(Arc::new(Reverse))
        .filter_bits_per_key(0);
    let mut builder = plain(options, seed);
    for _ in 0..4 {
        builder.round(400, 800, true);
        builder.flush();
        builder.step(Job::Persist);
        builder.remember();
    }
    builder.round(150, 800, true);
    builder.finish("reversed", false)
}

/// One run, compacted; closed.
fn compacted(seed: u64) -> Image {
    let mut builder = plain(Options::new(), seed);
    for _ in 0..5 {
        builder.round(900, 3_000, false);
        builder.flush();
        builder.step(Job::Persist);
        builder.remember();
    }
    builder.db().compact_range(..).unwrap();
    builder.step(Job::Persist);
    builder.step(Job::Reap);
    builder.finish("compacted", true)
}

/// Returns all images.
pub(crate) fn all(seed: u64) -> Vec<Image> {
    let make = [runs, log, large, encoded, reversed, compacted];
    (0u64..).zip(make).map(|(n, make)| make(seed + n)).collect()
}

#[derive(Debug)]
struct Reverse;

impl cairndb::Comparator for Reverse {
    fn name(&self) -> &'static str {
        "repair.Reverse"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }
}
