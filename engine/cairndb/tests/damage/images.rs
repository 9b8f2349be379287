//! The databases to be damaged: every kind of file, page and column, closed and not closed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::env::{Background, Env, MemEnv};
use cairndb_format::log::{SegmentHeader, SegmentReader, Step};
use cairndb_format::manifest::{read_current, read_manifest};

use cairndb::{Append, Compression, Db, Durability, Job, Options, WriteBatch, WriteOptions};

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;
/// Entries in key order.
pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database to be damaged.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) name: &'static str,
    pub(crate) files: Files,
    /// Earlier versions of files that changed.
    pub(crate) older: Vec<(String, Vec<u8>)>,
    pub(crate) options: Options,
    /// The entries of the database.
    pub(crate) entries: Entries,
    /// Every committed state, by [`digest`], with its position in the history.
    pub(crate) history: HashMap<u64, usize>,
    pub(crate) clean: bool,
    /// Whether the key order is descending.
    pub(crate) reversed: bool,
    /// Log records that a later record marks as durable: file and range.
    synced: Vec<(String, std::ops::Range<usize>)>,
}

impl Image {
    /// Returns whether the byte at `at` of `file` belongs to a record known to be durable.
    pub(crate) fn is_synced(&self, file: &str, at: usize) -> bool {
        self.synced
            .iter()
            .any(|(name, range)| name == file && range.contains(&at))
    }
}

/// Finds the records of live segments that a later record marks as durable.
fn synced(env: &MemEnv, files: &Files) -> Vec<(String, std::ops::Range<usize>)> {
    let dir = env
        .open_dir(Path::new("/db"), false)
        .expect("the database has a directory");
    let number = read_current(&*dir)
        .expect("CURRENT is valid")
        .expect("CURRENT exists");
    let manifest = read_manifest(&*dir, number).expect("the manifest is valid");
    let mut live = BTreeMap::new();
    for edit in &manifest.edits {
        live.extend(
            edit.added_segments
                .iter()
                .map(|one| (one.segment, one.file)),
        );
        live.retain(|segment, _| !edit.retired_segments.contains(segment));
    }
    let mut found = Vec::new();
    let mut later_segment = false;
    for file in live.into_values().rev() {
        let name = format!("{file:06}.log");
        let bytes = &files[&name];
        let header = SegmentHeader::decode(bytes).expect("the segment's header is valid");
        let mut reader = SegmentReader::new(bytes, &header);
        let mut records = Vec::new();
        while let Step::Record(record) = reader.advance() {
            records.push((
                record.offset,
                24 + record.payload.len() as u64,
                record.synced,
            ));
        }
        let known = records.iter().map(|record| record.2).max().unwrap_or(0);
        for (offset, len, _) in records
            .iter()
            .filter(|record| later_segment || record.0 < known)
        {
            let start = usize::try_from(*offset).expect("small");
            found.push((
                name.clone(),
                start..start + usize::try_from(*len).expect("small"),
            ));
        }
        later_segment |= known > 0;
    }
    found
}

/// Returns an order-independent digest of a set of entries.
pub(crate) fn digest(entries: &Entries) -> u64 {
    entries.iter().fold(0, |sum, (key, value)| {
        sum.wrapping_add(digest_of(key, value))
    })
}

fn digest_of(key: &[u8], value: &[u8]) -> u64 {
    cairndb_base::hash64(&[&cairndb_base::hash64(key).to_le_bytes(), value].concat())
}

/// Writes `files` to a new environment.
pub(crate) fn place(files: &Files) -> Arc<MemEnv> {
    let env = MemEnv::new(Background::Stepped);
    let dir = env
        .open_dir(Path::new("/db"), true)
        .expect("MemEnv creates any directory");
    for (name, bytes) in files {
        let mut file = dir.create(name).expect("creating in memory succeeds");
        file.append(bytes).expect("appending in memory succeeds");
    }
    env
}

/// Returns the files of a database, which may be open.
pub(crate) fn files_of(env: &MemEnv) -> Files {
    let dir = env
        .open_dir(Path::new("/db"), false)
        .expect("the database has a directory");
    let names = dir.list().expect("listing in memory succeeds");
    let read = |name: String| {
        let file = dir.open_read(&name).expect("a listed file exists");
        let mut bytes = vec![0; usize::try_from(file.size()).expect("small")];
        file.read_at(0, &mut bytes)
            .expect("reading in memory succeeds");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// A database under construction, with its history.
#[derive(Debug)]
struct Builder {
    env: Arc<MemEnv>,
    options: Options,
    db: Db,
    random: Random,
    entries: Entries,
    sum: u64,
    history: HashMap<u64, usize>,
    older: Vec<(String, Vec<u8>)>,
}

impl Builder {
    fn new(options: Options) -> Builder {
        let env = MemEnv::new(Background::Stepped);
        let options = options
            .memory_budget(256 << 10)
            .merge_operator(Arc::new(Append))
            .create_if_missing(true);
        let db = options
            .clone()
            .env(env.clone())
            .open("/db")
            .expect("a new database opens");
        Builder {
            env,
            options,
            db,
            random: Random::new(7),
            entries: Entries::new(),
            sum: 0,
            history: HashMap::from([(0, 0)]),
            older: Vec::new(),
        }
    }

    fn set(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        if let Some(old) = self.entries.remove(key) {
            self.sum = self.sum.wrapping_sub(digest_of(key, &old));
        }
        if let Some(value) = value {
            self.sum = self.sum.wrapping_add(digest_of(key, &value));
            self.entries.insert(key.to_vec(), value);
        }
    }

    /// Records the current entries as a committed state.
    fn commit(&mut self) {
        let place = self.history.len();
        self.history.entry(self.sum).or_insert(place);
    }

    fn noise(&mut self, len: usize) -> Vec<u8> {
        (0..len)
            .map(|_| self.random.next_u64().to_le_bytes()[0])
            .collect()
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.db.put(key, value).expect("a put succeeds");
        self.set(key, Some(value.to_vec()));
        self.commit();
    }

    fn put_synced(&mut self, key: &[u8], value: &[u8]) {
        let sync = WriteOptions::new().durability(Durability::Sync);
        self.db
            .put_with(key, value, &sync)
            .expect("a synced put succeeds");
        self.set(key, Some(value.to_vec()));
        self.commit();
    }

    fn delete(&mut self, key: &[u8]) {
        self.db.delete(key).expect("a delete succeeds");
        self.set(key, None);
        self.commit();
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.db.merge(key, operand).expect("a merge succeeds");
        let mut value = self.entries.get(key).cloned().unwrap_or_default();
        value.extend_from_slice(operand);
        self.set(key, Some(value));
        self.commit();
    }

    fn batch(&mut self, keys: std::ops::Range<u32>, value: &[u8]) {
        let mut batch = WriteBatch::new();
        for n in keys {
            let key = format!("batch{n:04}");
            batch.put(key.as_bytes(), value);
            self.set(key.as_bytes(), Some(value.to_vec()));
        }
        self.db.write(&batch).expect("a batch succeeds");
        self.commit();
    }

    /// Writes sequential keys of sixteen digits with classic values: uniform pages, the short codec
    /// or groups.
    fn classic(&mut self, keys: std::ops::Range<u32>) {
        for n in keys {
            let half = self.noise(50);
            self.put(format!("{n:016}").as_bytes(), &half.repeat(2));
        }
    }

    /// Writes keys and values of all lengths: tails, columns of every kind, extents, value files.
    fn mixed(&mut self) {
        for n in 0..60u32 {
            let (key_len, value_len) = (self.random.below(40), self.random.below(200));
            let key = self.noise(usize::try_from(key_len).expect("small"));
            let value = self.noise(usize::try_from(value_len).expect("small"));
            self.put(&key, &value);
            if n % 3 == 0 {
                self.merge(&key, b"operand");
            }
        }
        let long = self.noise(5_000);
        self.put(&long, b"long key");
        self.put(b"extent", &long);
        self.put(b"", b"empty key");
        self.put(b"empty value", b"");
        let large = self.noise(9_000);
        self.put(b"large", &large);
        self.put(b"large dead", &large);
        self.put(b"large dead", b"small now");
        self.put(b"large zeros", &vec![0; 10_000]);
        for n in (0..40u32).step_by(3) {
            self.delete(format!("{n:016}").as_bytes());
        }
    }

    fn flush(&mut self) {
        self.db.flush().expect("a flush succeeds");
    }

    fn step(&mut self, job: Job) {
        self.db.step_background(job).expect("a job succeeds");
    }

    /// Keeps the current contents of the files, as earlier versions.
    fn remember(&mut self) {
        self.older.extend(files_of(&self.env));
    }

    fn finish(self, name: &'static str, clean: bool) -> Image {
        if clean {
            self.db.close().expect("closing succeeds");
        }
        let files = files_of(&self.env);
        let synced = if clean {
            Vec::new()
        } else {
            synced(&self.env, &files)
        };
        let mut older = self.older;
        older.retain(|(name, bytes)| files.get(name).is_some_and(|now| now != bytes));
        Image {
            name,
            files,
            older,
            options: self.options,
            entries: self.entries,
            history: self.history,
            clean,
            reversed: name == "plain",
            synced,
        }
    }
}

/// Returns a closed database with a few bytes of everything.
pub(crate) fn tiny() -> Image {
    let mut builder = Builder::new(Options::new());
    builder.classic(0..20);
    builder.put(b"large", &[3; 8_200]);
    builder.put(b"dead", &[4; 8_200]);
    builder.put(b"dead", b"");
    builder.merge(b"merged", b"once");
    builder.flush();
    builder.merge(b"merged", b"twice");
    builder.delete(b"0000000000000007");
    builder.finish("tiny", true)
}

/// Returns a closed database of several runs with every kind of page. A snapshot kept old versions.
pub(crate) fn closed() -> Image {
    let mut builder = Builder::new(Options::new());
    builder.classic(0..500);
    builder.mixed();
    builder.db.compact_range(..).expect("a compaction succeeds");
    builder.remember();
    let snapshot = builder.db.snapshot();
    builder.classic(100..160);
    builder.mixed();
    builder.flush();
    builder.remember();
    builder.merge(b"fold", b"a");
    builder.batch(0..50, b"whole");
    builder.flush();
    builder.merge(b"fold", b"b");
    builder.step(Job::Reap);
    drop(snapshot);
    builder.finish("closed", true)
}

/// Returns a closed database with another order and without filters and compression, which was
/// reopened once.
fn plain() -> Image {
    let options = Options::new()
        .comparator(Arc::new(Reverse))
        .compression(Compression::None)
        .filter_bits_per_key(0);
    let mut builder = Builder::new(options);
    builder.classic(0..100);
    builder.db.close().expect("closing succeeds");
    builder.remember();
    let options = builder.options.clone().env(builder.env.clone());
    builder.db = options.open("/db").expect("opening again succeeds");
    builder.mixed();
    builder.finish("plain", true)
}

/// Returns a database that was not closed, with tables and a log with synced and unsynced records
/// and large values.
pub(crate) fn live() -> Image {
    let mut builder = Builder::new(Options::new());
    builder.classic(0..200);
    builder.mixed();
    builder.flush();
    builder.remember();
    for n in 0..40u32 {
        builder.put(format!("log{n:03}").as_bytes(), &[b'l'; 60]);
        if n % 8 == 0 {
            builder.put_synced(format!("sync{n:03}").as_bytes(), b"synced");
            builder.remember();
        }
    }
    builder.batch(0..30, b"whole");
    let large = builder.noise(12_000);
    builder.put(b"logged large", &large);
    builder.put_synced(b"synced large", &large);
    builder.delete(b"log001");
    builder.merge(b"log002", b"more");
    builder.put(b"last", b"one");
    builder.finish("live", false)
}

/// Returns a database that was not closed, with several segments, some recycled, and tables of
/// flushed memtables.
fn rolling() -> Image {
    let mut builder = Builder::new(Options::new());
    for round in 0..12u32 {
        for n in 0..60u32 {
            let value = builder.noise(200);
            builder.put(format!("{:04}", n * 12 + round).as_bytes(), &value);
        }
        builder.put_synced(b"round", &round.to_le_bytes());
        if round % 4 == 3 {
            builder.flush();
            builder.remember();
        }
    }
    for n in 0..300u32 {
        let value = builder.noise(500);
        builder.put(format!("tail{n:04}").as_bytes(), &value);
    }
    builder.put_synced(b"round", b"synced");
    builder.put(b"end", b"unsynced");
    builder.finish("rolling", false)
}

/// Returns all images.
pub(crate) fn all() -> Vec<Image> {
    vec![tiny(), closed(), plain(), live(), rolling()]
}

#[derive(Debug)]
struct Reverse;

impl cairndb::Comparator for Reverse {
    fn name(&self) -> &'static str {
        "damage.Reverse"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }
}
