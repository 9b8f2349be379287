//! Runs a list on the database and on the model, and compares every result.

use std::path::PathBuf;
use std::sync::Arc;

use cairndb::env::MemEnv;
use cairndb::{Cursor, Db, Durability, ErrorKind, Snapshot, WriteBatch, WriteOptions};

use crate::config::{Config, Operator, Place};
use crate::data::ValueSpec;
use crate::op::{Change, Generator, Op, PLACES, Through};
use crate::oracle::{Key, Oracle};

/// `Err` describes the difference.
pub(crate) type Outcome = Result<(), String>;

/// Fails the operation with a message unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// Formats bytes for a message: escaped, and shortened if they are long.
pub(crate) fn show(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(40)];
    format!("{}\"{}\"", bytes.len(), cut.escape_ascii())
}

pub(crate) fn failed(error: cairndb::Error) -> String {
    format!("the database failed: {error}")
}

/// A held cursor, with the model at the time of its creation and its expected position.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) cursor: Cursor,
    pub(crate) moment: Oracle,
    pub(crate) at: Option<Key>,
}

/// The source of a read, with the model that it must match.
#[derive(Debug)]
pub(crate) enum Reader<'a> {
    Now(&'a Db, &'a Oracle),
    Then(&'a Snapshot, &'a Oracle),
}

impl<'a> Reader<'a> {
    pub(crate) fn oracle(&self) -> &'a Oracle {
        match self {
            Reader::Now(_, oracle) | Reader::Then(_, oracle) => oracle,
        }
    }

    pub(crate) fn cursor(&self) -> Cursor {
        match self {
            Reader::Now(db, _) => db.cursor(),
            Reader::Then(snapshot, _) => snapshot.cursor(),
        }
    }
}

/// A running list.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    pub(crate) config: &'a Config,
    pub(crate) env: Option<Arc<MemEnv>>,
    pub(crate) root: Option<tempfile::TempDir>,
    pub(crate) path: PathBuf,
    pub(crate) paths: u32,
    pub(crate) keys: Vec<Arc<[u8]>>,
    /// The open database; `None` only during a reopen.
    pub(crate) open: Option<Db>,
    pub(crate) oracle: Oracle,
    pub(crate) snapshots: [Option<(Snapshot, Oracle)>; PLACES as usize],
    pub(crate) cursors: [Option<Held>; PLACES as usize],
    /// Whether something was written without logging since the last flush.
    pub(crate) unlogged: bool,
    /// Number of operations so far. Every step of a walk counts, because each step is also a call.
    pub(crate) done: u64,
    /// A digest of every result so far, to compare two runs.
    pub(crate) answers: Vec<u64>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(config: &'a Config) -> Result<Runner<'a>, String> {
        let env = config.env();
        let root = match config.place {
            Place::Disk => Some(tempfile::tempdir().map_err(|error| error.to_string())?),
            Place::Stepped | Place::Threads => None,
        };
        let path = config.path(root.as_ref(), 0);
        let db = config.options(env.as_ref()).open(&path).map_err(failed)?;
        Ok(Runner {
            keys: config.keys.keys(config.key_count),
            oracle: Oracle::new(config.order, config.operator),
            config,
            env,
            root,
            path,
            paths: 1,
            open: Some(db),
            snapshots: [const { None }; PLACES as usize],
            cursors: [const { None }; PLACES as usize],
            unlogged: false,
            done: 0,
            answers: Vec::new(),
        })
    }

    pub(crate) fn db(&self) -> &Db {
        self.open
            .as_ref()
            .expect("the database is open between operations")
    }

    pub(crate) fn bytes(&self, key: u32) -> &Arc<[u8]> {
        &self.keys[key as usize]
    }

    pub(crate) fn reader(&self, through: Through) -> Reader<'_> {
        let held = through.and_then(|place| self.snapshots[usize::from(place)].as_ref());
        match held {
            Some((snapshot, moment)) => Reader::Then(snapshot, moment),
            None => Reader::Now(self.db(), &self.oracle),
        }
    }

    /// Adds a result to the digest.
    pub(crate) fn answer(&mut self, bytes: Option<&[u8]>) {
        let digest = bytes.map_or(1, cairndb_base::hash64);
        match self.answers.last_mut() {
            Some(last) => *last = last.rotate_left(5).wrapping_mul(3) ^ digest,
            None => self.answers.push(digest),
        }
    }

    /// Runs one operation.
    pub(crate) fn run(&mut self, op: &Op) -> Outcome {
        self.done += 1;
        self.answers.push(0);
        match *op {
            Op::Put(key, value, durability) => return self.put(key, value, durability),
            Op::Delete(key, durability) => return self.delete(key, durability),
            Op::Merge(key, operand) => return self.merge(key, operand),
            Op::Batch(seed, len, durability) => return self.batch(seed, len, durability),
            Op::Load(from, len, value) => return self.load(from, len, value),
            Op::Get(key, through) => return self.get(key, through),
            Op::GetInto(key, through) => return self.get_into(key, through),
            Op::Contains(key) => return self.contains(key),
            Op::MultiGet(seed, len) => return self.multi_get(seed, len),
            Op::Cursor(through, target, walk) => return self.cursor(through, target, walk),
            Op::Hold(place, through) => {
                self.cursors[usize::from(place)] = Some(self.start(through));
            }
            Op::Move(place, target, walk) => return self.move_held(place, target, walk),
            Op::Release(place) => self.cursors[usize::from(place)] = None,
            Op::Range(through, low, high, walk) => return self.range(through, low, high, walk),
            Op::Prefix(through, key, len, walk) => return self.prefix(through, key, len, walk),
            Op::Snapshot(place) => {
                let held = (self.db().snapshot(), self.oracle.clone());
                self.snapshots[usize::from(place)] = Some(held);
            }
            Op::Forget(place) => self.snapshots[usize::from(place)] = None,
            Op::Scan(through, backward) => return self.scan(through, backward),
            Op::Size(low, high) => return self.size(low, high),
            Op::Property(number) => return self.property(number),
            Op::Flush => return self.flush(),
            Op::Compact(low, high) => return self.compact(low, high),
            Op::Step(job) => return self.step(job),
            Op::Idle => return self.db().wait_idle().map_err(failed),
            Op::Checkpoint => return self.checkpoint(),
            Op::Reopen(closing) => return self.reopen(closing),
        }
        Ok(())
    }

    fn wrote(&mut self, durability: Option<Durability>) -> WriteOptions {
        let used = durability.unwrap_or(self.config.durability);
        self.unlogged |= used == Durability::None;
        match durability {
            Some(durability) => WriteOptions::new().durability(durability),
            None => WriteOptions::new(),
        }
    }

    fn put(&mut self, key: u32, value: ValueSpec, durability: Option<Durability>) -> Outcome {
        let options = self.wrote(durability);
        let (key, value) = (Arc::clone(self.bytes(key)), value.bytes());
        self.db().put_with(&key, &value, &options).map_err(failed)?;
        self.oracle.put(&key, value);
        Ok(())
    }

    fn delete(&mut self, key: u32, durability: Option<Durability>) -> Outcome {
        let options = self.wrote(durability);
        let key = Arc::clone(self.bytes(key));
        self.db().delete_with(&key, &options).map_err(failed)?;
        self.oracle.delete(&key);
        Ok(())
    }

    fn merge(&mut self, key: u32, operand: ValueSpec) -> Outcome {
        let _ = self.wrote(None);
        let (key, operand) = (Arc::clone(self.bytes(key)), operand.bytes());
        let result = self.db().merge(&key, &operand);
        if self.config.operator == Operator::None {
            let kind = result.err().map(|error| error.kind());
            let refused = kind == Some(ErrorKind::InvalidArgument);
            ensure!(refused, "merge without operator: {kind:?}");
            return Ok(());
        }
        result.map_err(failed)?;
        self.oracle.merge(&key, &operand);
        Ok(())
    }

    /// Returns the changes of a batch, drawn from its seed.
    fn changes(&self, seed: u64, len: u16) -> Vec<Change> {
        let mut generator = Generator::new(self.config, seed);
        let merges = self.config.operator != Operator::None;
        (0..len)
            .map(|_| generator.change())
            .filter(|change| merges || !matches!(change, Change::Merge(..)))
            .collect()
    }

    fn batch(&mut self, seed: u64, len: u16, durability: Option<Durability>) -> Outcome {
        if seed.is_multiple_of(2) {
            return self.transaction(seed, len, durability);
        }
        let options = self.wrote(durability);
        let mut batch = WriteBatch::new();
        for change in self.changes(seed, len) {
            let key = Arc::clone(self.bytes(change.key()));
            match change {
                Change::Put(_, value) => batch.put(&key, &value.bytes()),
                Change::Delete(_) => batch.delete(&key),
                Change::Merge(_, operand) => batch.merge(&key, &operand.bytes()),
            }
            self.oracle.change(&key, change);
        }
        self.done += batch.len() as u64;
        self.db().write_with(&batch, &options).map_err(failed)
    }

    /// Like [`Runner::batch`], but as a transaction, which reads what it has written.
    fn transaction(&mut self, seed: u64, len: u16, durability: Option<Durability>) -> Outcome {
        let options = self.wrote(durability);
        let transaction = self.db().transaction();
        for change in self.changes(seed, len) {
            let (key, bytes) = (change.key(), Arc::clone(self.bytes(change.key())));
            let written = match change {
                Change::Put(_, value) => transaction.put(&bytes, &value.bytes()),
                Change::Delete(_) => transaction.delete(&bytes),
                Change::Merge(_, operand) => transaction.merge(&bytes, &operand.bytes()),
            };
            written.map_err(failed)?;
            self.oracle.change(&bytes, change);
            let found = transaction.get(&bytes).map_err(failed)?;
            let wanted = self.oracle.get(&bytes).map(<[u8]>::to_vec);
            self.compare(key, found.as_deref(), wanted.as_deref())?;
        }
        self.done += 2 * transaction.len() as u64;
        transaction.commit_with(&options).map_err(failed)
    }

    fn load(&mut self, from: u32, len: u16, value: ValueSpec) -> Outcome {
        for n in 0..u32::from(len) {
            let key = (from + n) % self.config.key_count;
            // A multiple of 16 ensures that a record stays a record.
            let (seed, len) = (value.seed.wrapping_add(16 * n), value.len);
            self.put(key, ValueSpec { seed, len }, None)?;
        }
        self.done += u64::from(len);
        Ok(())
    }

    /// Compares a value with the model's value, and adds it to the digest.
    fn compare(&mut self, key: u32, found: Option<&[u8]>, wanted: Option<&[u8]>) -> Outcome {
        self.answer(found);
        let same = found == wanted;
        let (key, found, wanted) = (self.bytes(key), found.map(show), wanted.map(show));
        ensure!(
            same,
            "key {}: found {found:?}, should be {wanted:?}",
            show(key)
        );
        Ok(())
    }

    fn get(&mut self, key: u32, through: Through) -> Outcome {
        let bytes = Arc::clone(self.bytes(key));
        let reader = self.reader(through);
        let found = match &reader {
            Reader::Now(db, _) => db.get(&bytes),
            Reader::Then(snapshot, _) => snapshot.get(&bytes),
        };
        let wanted = reader.oracle().get(&bytes).map(<[u8]>::to_vec);
        if let Reader::Then(snapshot, _) = &reader {
            let there = snapshot.contains(&bytes).map_err(failed)?;
            ensure!(there == wanted.is_some(), "contains {}", show(&bytes));
            let several = snapshot.multi_get(&[&bytes[..], &bytes[..]]);
            for found in several.map_err(failed)? {
                let same = found.as_deref() == wanted.as_deref();
                ensure!(same, "multi_get differs from the model");
            }
        }
        self.compare(key, found.map_err(failed)?.as_deref(), wanted.as_deref())
    }

    fn get_into(&mut self, key: u32, through: Through) -> Outcome {
        let bytes = Arc::clone(self.bytes(key));
        let reader = self.reader(through);
        let mut out = vec![7; 3];
        let found = match &reader {
            Reader::Now(db, _) => db.get_into(&bytes, &mut out),
            Reader::Then(snapshot, _) => snapshot.get_into(&bytes, &mut out),
        };
        let wanted = reader.oracle().get(&bytes).map(<[u8]>::to_vec);
        let found = found.map_err(failed)?;
        let clean = found || out.is_empty();
        ensure!(clean, "an absent key left {} in the buffer", show(&out));
        self.compare(key, found.then_some(&*out), wanted.as_deref())
    }

    fn contains(&mut self, key: u32) -> Outcome {
        let bytes = self.bytes(key);
        let found = self.db().contains(bytes).map_err(failed)?;
        let wanted = self.oracle.get(bytes).is_some();
        ensure!(found == wanted, "contains {}: {found}", show(bytes));
        self.answer(found.then_some(&[]));
        Ok(())
    }

    fn multi_get(&mut self, seed: u64, len: u16) -> Outcome {
        let numbers = Generator::new(self.config, seed).probes(len);
        let keys = numbers.iter().map(|key| Arc::clone(self.bytes(*key)));
        let keys: Vec<_> = keys.collect();
        let found = self.db().multi_get(&keys).map_err(failed)?;
        let counts = (found.len(), keys.len());
        ensure!(counts.0 == counts.1, "{counts:?} answers and keys");
        for (number, (key, found)) in numbers.iter().zip(keys.iter().zip(found)) {
            let wanted = self.oracle.get(key).map(<[u8]>::to_vec);
            self.compare(*number, found.as_deref(), wanted.as_deref())?;
        }
        self.done += u64::from(len);
        Ok(())
    }
}

/// Returns the operations of list `config`.
pub(crate) fn list(config: &Config) -> Vec<Op> {
    let mut generator = Generator::new(config, config.seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
    (0..config.ops).map(|_| generator.op()).collect()
}

/// Runs `ops`, then the final check. `Err` contains the index of the operation whose result
/// differed.
pub(crate) fn run_list(config: &Config, ops: &[Op]) -> Result<Vec<u64>, (usize, String)> {
    let mut runner = Runner::new(config).map_err(|error| (0, error))?;
    for (index, op) in ops.iter().enumerate() {
        let ran = runner.run(op);
        ran.map_err(|error| (index, format!("{op:?}: {error}")))?;
    }
    runner.finish().map_err(|error| (ops.len(), error))?;
    let mut answers = std::mem::take(&mut runner.answers);
    answers.push(runner.done);
    Ok(answers)
}
