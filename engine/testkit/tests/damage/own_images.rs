//! Databases of ours to be damaged: every kind of file, page and column, closed and not closed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use cairndb::{Append, Compression, Db, Durability, Job, Options, WriteBatch, WriteOptions};
use cairndb_env::random::Random;
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_format::log::{SegmentHeader, SegmentReader, Step};
use cairndb_format::manifest::{read_current, read_manifest};
use cairndb_testkit::damage::files::{Files, HOME, files_of};
use cairndb_testkit::damage::{Image, Model, Place, marked_places};
use cairndb_testkit::setup::Reverse;

const PAGE: usize = 4096;
/// More than any record or entry takes before its value.
const BEFORE_VALUE: usize = 160;

/// A database under construction, with its history.
struct Builder {
    env: Arc<MemEnv>,
    options: Options,
    db: Db,
    random: Random,
    model: Model,
    older: Vec<(String, Vec<u8>)>,
    writes: u64,
    /// Whether values are stored as they were written, so that the bytes of each can be found.
    plain: bool,
    /// Whether the order is reversed.
    reversed: bool,
}

impl Builder {
    fn new(options: Options, seed: u64) -> Builder {
        let env = MemEnv::new(Background::Stepped);
        let options = options
            .memory_budget(256 << 10)
            .merge_operator(Arc::new(Append))
            .create_if_missing(true);
        let db = options.clone().env(env.clone()).open(HOME).unwrap();
        let mut model = Model::default();
        model.commit();
        Builder {
            env,
            options,
            db,
            random: Random::new(seed),
            model,
            older: Vec::new(),
            writes: 0,
            plain: false,
            reversed: false,
        }
    }

    /// A database whose values are stored as they were written.
    fn plain(options: Options, seed: u64) -> Builder {
        Builder {
            plain: true,
            ..Builder::new(options.compression(Compression::None), seed)
        }
    }

    fn dir(&self) -> Arc<dyn Dir> {
        self.env.open_dir(HOME.as_ref(), false).unwrap()
    }

    fn noise(&mut self, len: usize) -> Vec<u8> {
        let byte = |_| self.random.next_u64().to_le_bytes()[0];
        (0..len).map(byte).collect()
    }

    fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.random.below(bound)).unwrap()
    }

    fn put_at(&mut self, level: Durability, key: &[u8], value: &[u8]) {
        let how = WriteOptions::new().durability(level);
        self.db.put_with(key, value, &how).unwrap();
        self.model.put(key, value);
        self.model.commit();
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.put_at(Durability::Os, key, value);
    }

    fn put_synced(&mut self, key: &[u8], value: &[u8]) {
        self.put_at(Durability::Sync, key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.db.delete(key).unwrap();
        self.model.delete(key);
        self.model.commit();
    }

    /// Deletes the keys between `low` and `high`, without the one that is last in the order.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) {
        let (from, to) = if self.reversed {
            (high, low)
        } else {
            (low, high)
        };
        self.db.delete_range(from..to).unwrap();
        let keys: Vec<_> = self.model.stories.keys().cloned().collect();
        for key in keys.iter().map(Vec::as_slice) {
            if low <= key && key <= high && key != to {
                self.model.delete(key);
            }
        }
        self.model.commit();
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.db.merge(key, operand).unwrap();
        self.model.merge(key, operand);
        self.model.commit();
    }

    fn batch(&mut self, keys: Range<u32>, value: &[u8]) {
        let mut batch = WriteBatch::new();
        for n in keys {
            let key = format!("batch{n:04}");
            batch.put(key.as_bytes(), value);
            self.model.put(key.as_bytes(), value);
        }
        self.db.write(&batch).unwrap();
        self.model.commit();
    }

    /// Writes sequential keys of sixteen digits with classic values: uniform pages, the short codec
    /// or groups.
    fn classic(&mut self, keys: Range<u32>) {
        for n in keys {
            let half = self.noise(50);
            self.put(format!("{n:016}").as_bytes(), &half.repeat(2));
        }
    }

    /// Writes keys and values of all lengths: tails, columns of every kind, extents, value files.
    fn mixed(&mut self) {
        for n in 0..60u32 {
            let (key_len, value_len) = (self.below(40), self.below(200));
            let (key, value) = (self.noise(key_len), self.noise(value_len));
            self.put(&key, &value);
            if n % 3 == 0 {
                self.merge(&key, b"operand");
            }
        }
        let (long, large) = (self.noise(5_000), self.noise(9_000));
        self.put(&long, b"long key");
        self.put(b"extent", &long);
        self.put(b"", b"empty key");
        self.put(b"empty value", b"");
        self.put(b"large", &large);
        self.put(b"large dead", &large);
        self.put(b"large dead", b"small now");
        self.put(b"large zeros", &vec![0; 10_000]);
        for n in (0..40u32).step_by(3) {
            self.delete(format!("{n:016}").as_bytes());
        }
        self.delete_range(b"0000000000000045", b"0000000000000065");
    }

    /// Returns a value that no other write has: it begins with the key and the number of the write.
    fn unique(&mut self, key: &[u8], len: usize) -> Vec<u8> {
        self.writes += 1;
        let mut value = format!("<{}#{:06}>", key.escape_ascii(), self.writes).into_bytes();
        while value.len() < len {
            let word = if self.plain {
                self.random.next_u64().to_le_bytes().to_vec()
            } else {
                format!("\"field{}\":\"stone\",", self.below(30)).into_bytes()
            };
            value.extend_from_slice(&word);
        }
        value
    }

    /// Writes to `count` random keys of `space`: some are deleted, some have operands.
    fn round(&mut self, count: u64, space: u64, large: bool) {
        for _ in 0..count {
            let number = self.random.below(space);
            let key = format!("key{number:05}");
            let (key, len) = match self.random.below(20) {
                0..3 if number.is_multiple_of(10) => {
                    let end = format!("key{:05}", number + 1 + number % 7);
                    self.delete_range(key.as_bytes(), end.as_bytes());
                    continue;
                }
                0..3 => {
                    self.delete(key.as_bytes());
                    continue;
                }
                3 => {
                    let key = format!("merge{:03}", number % 50);
                    let operand = self.unique(key.as_bytes(), 12);
                    self.merge(key.as_bytes(), &operand);
                    continue;
                }
                4 if large => (
                    format!("large{:03}", number % 40),
                    8_192 + self.below(9_000),
                ),
                5 if number.is_multiple_of(8) => (
                    format!("extent{:03}", number % 30),
                    4_000 + self.below(4_000),
                ),
                _ => (key, 30 + self.below(150)),
            };
            let value = self.unique(key.as_bytes(), len);
            let level = match self.random.below(40) {
                0 => Durability::Sync,
                _ => Durability::Os,
            };
            self.put_at(level, key.as_bytes(), &value);
        }
    }

    fn flush(&mut self) {
        self.db.flush().unwrap();
    }

    fn step(&mut self, job: Job) {
        self.db.step_background(job).unwrap();
    }

    /// Keeps the current contents of the files, as earlier ones.
    fn remember(&mut self) {
        let files = files_of(&*self.dir());
        self.older.extend(files);
    }

    fn reopen(&mut self) {
        self.db.close().unwrap();
        self.remember();
        let options = self.options.clone().env(self.env.clone());
        self.db = options.open(HOME).unwrap();
    }

    fn finish(mut self, name: &'static str, clean: bool) -> Image {
        if clean {
            self.db.close().unwrap();
        }
        let dir = self.dir();
        let files = files_of(&*dir);
        self.older
            .retain(|(name, bytes)| files.get(name) != Some(bytes));
        self.older.dedup();
        let places = if self.plain {
            marked_places(&files, &self.model, reach)
        } else {
            HashMap::new()
        };
        Image {
            name,
            older: self.older,
            options: self.options,
            entries: self.model.entries(),
            model: self.model,
            clean,
            reversed: name.starts_with("reversed"),
            places,
            synced: if clean {
                Vec::new()
            } else {
                synced(&*dir, &files)
            },
            files,
            ..Image::default()
        }
    }
}

/// Returns what of a file is read to find the value at a range.
fn reach(name: &str, value: Range<usize>) -> Range<usize> {
    let from = value.start.saturating_sub(BEFORE_VALUE);
    match name.ends_with(".tbl") {
        // A page is read whole. An entry of more than a page begins with its key.
        true if value.len() > PAGE / 2 => from / PAGE * PAGE..value.end.next_multiple_of(PAGE),
        true => value.start / PAGE * PAGE..value.end.next_multiple_of(PAGE),
        false => from..value.end + 8,
    }
}

/// Finds the records of live segments that a later record marks as durable.
fn synced(dir: &dyn Dir, files: &Files) -> Vec<Place> {
    let number = read_current(dir).unwrap().unwrap();
    let mut live = BTreeMap::new();
    for edit in &read_manifest(dir, number).unwrap().edits {
        let added = edit.added_segments.iter();
        live.extend(added.map(|one| (one.segment, one.file)));
        live.retain(|segment, _| !edit.retired_segments.contains(segment));
    }
    let (mut found, mut later_segment) = (Vec::new(), false);
    for file in live.into_values().rev() {
        let name = format!("{file:06}.log");
        let header = SegmentHeader::decode(&files[&name]).unwrap();
        let mut reader = SegmentReader::new(&files[&name], &header);
        let mut records = Vec::new();
        while let Step::Record(record) = reader.advance() {
            let start = usize::try_from(record.offset).unwrap();
            records.push((record.synced, start..start + 24 + record.payload.len()));
        }
        let known = records.iter().map(|record| record.0).max().unwrap_or(0);
        let known_to = usize::try_from(known).unwrap();
        let durable = records.into_iter().map(|record| record.1);
        let durable = durable.filter(|range| later_segment || range.start < known_to);
        found.extend(durable.map(|range| (name.clone(), range)));
        later_segment |= known > 0;
    }
    found
}

fn reversed_options() -> Options {
    let options = Options::new().filter_bits_per_key(0);
    options.comparator(Arc::new(Reverse))
}

/// Returns a closed database with a few bytes of everything.
pub(crate) fn tiny() -> Image {
    let mut builder = Builder::new(Options::new(), 7);
    builder.classic(0..20);
    builder.put(b"large", &[3; 8_200]);
    builder.put(b"dead", &[4; 8_200]);
    builder.put(b"dead", b"");
    builder.merge(b"merged", b"once");
    builder.flush();
    builder.merge(b"merged", b"twice");
    builder.delete(b"0000000000000007");
    builder.delete_range(b"0000000000000010", b"0000000000000013");
    builder.finish("tiny", true)
}

/// Returns a closed database of several runs with every kind of page. A snapshot kept old versions.
pub(crate) fn closed() -> Image {
    let mut builder = Builder::new(Options::new(), 7);
    builder.classic(0..500);
    builder.mixed();
    builder.db.compact_range(..).unwrap();
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
fn reopened() -> Image {
    let options = reversed_options().compression(Compression::None);
    let mut builder = Builder::new(options, 7);
    builder.reversed = true;
    builder.classic(0..100);
    builder.reopen();
    builder.mixed();
    builder.finish("reversed, reopened", true)
}

/// Returns a database that was not closed, with tables and a log with synced and unsynced records
/// and large values.
pub(crate) fn live() -> Image {
    let mut builder = Builder::new(Options::new(), 7);
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
    let mut builder = Builder::new(Options::new(), 7);
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

/// Returns the small databases whose mutants are read.
pub(crate) fn to_read() -> Vec<Image> {
    vec![tiny(), closed(), reopened(), live(), rolling()]
}

/// Returns the databases whose mutants are repaired: in all but one, values can be found.
pub(crate) fn to_repair() -> Vec<Image> {
    vec![runs(), log(), large(), encoded(), reversed(), compacted()]
}

/// Several runs that share keys, after some compactions; closed.
fn runs() -> Image {
    let mut builder = Builder::plain(Options::new(), 7);
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
fn log() -> Image {
    let mut builder = Builder::plain(Options::new(), 8);
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
fn large() -> Image {
    let mut builder = Builder::plain(Options::new().value_file_bytes(100_000), 9);
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
fn encoded() -> Image {
    let mut builder = Builder::new(Options::new(), 10);
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
fn reversed() -> Image {
    let mut builder = Builder::plain(reversed_options(), 11);
    builder.reversed = true;
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
fn compacted() -> Image {
    let mut builder = Builder::plain(Options::new(), 12);
    for _ in 0..5 {
        builder.round(900, 3_000, false);
        builder.flush();
        builder.step(Job::Persist);
        builder.remember();
    }
    builder.db.compact_range(..).unwrap();
    builder.step(Job::Persist);
    builder.step(Job::Reap);
    builder.finish("compacted", true)
}
