//! Runs a list on the database and on the model, and compares every result.

use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use cairndb::env::MemEnv;
use cairndb::{Cursor, Db, Durability, ErrorKind, Options, Snapshot, WriteBatch, WriteOptions};

use crate::config::{Config, Operator, Order, Place};
use crate::data::ValueSpec;
use crate::feed::Consumer;
use crate::keyspaces::{Opened, Oracles};
use crate::op::{Change, Generator, Op, PLACES, Through, Turn};
use crate::oracle::{Key, Oracle};
use crate::reader::Reader;

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
    pub(crate) open: Option<Opened>,
    pub(crate) oracles: Oracles,
    /// The keyspace in use.
    pub(crate) space: usize,
    /// Number of keyspaces that were created.
    pub(crate) births: u64,
    pub(crate) snapshots: [Option<(Snapshot, Oracles)>; PLACES as usize],
    pub(crate) cursors: [Option<Held>; PLACES as usize],
    pub(crate) consumer: Option<Consumer>,
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
        let default = Oracle::new(config.order, config.operator);
        let mut runner = Runner {
            keys: config.keys.keys(config.key_count),
            oracles: [Some(default), None, None],
            space: 0,
            births: 0,
            config,
            env,
            root,
            path,
            paths: 1,
            open: None,
            snapshots: [const { None }; PLACES as usize],
            cursors: [const { None }; PLACES as usize],
            consumer: None,
            unlogged: false,
            done: 0,
            answers: Vec::new(),
        };
        runner.open = Some(runner.open_at(&runner.path)?);
        Ok(runner)
    }

    pub(crate) fn options(&self) -> Options {
        self.config.options(self.env.as_ref(), &self.orders())
    }

    pub(crate) fn db(&self) -> &Db {
        &self.opened().db
    }

    /// Returns the model of the keyspace in use.
    pub(crate) fn oracle(&self) -> &Oracle {
        self.oracles[self.space].as_ref().expect("it exists")
    }

    fn oracle_mut(&mut self) -> &mut Oracle {
        self.oracles[self.space].as_mut().expect("it exists")
    }

    pub(crate) fn bytes(&self, key: u32) -> &Arc<[u8]> {
        &self.keys[key as usize]
    }

    pub(crate) fn reader(&self, through: Through) -> Reader<'_> {
        let held = through.and_then(|place| self.snapshots[usize::from(place)].as_ref());
        let moment = held.map_or(&self.oracles, |(_, moment)| moment);
        Reader {
            db: self.db(),
            snapshot: held.map(|(snapshot, _)| snapshot),
            keyspace: self.keyspace(),
            oracle: moment[self.space].as_ref().expect("it exists"),
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
    pub(crate) fn run(&mut self, (space, op): Turn) -> Outcome {
        self.done += 1;
        self.answers.push(0);
        self.space = usize::from(space);
        if op.is_in_keyspace() && self.oracles[self.space].is_none() {
            return self.run_without(op);
        }
        match op {
            Op::Put(key, value, durability) => return self.put(key, value, durability),
            Op::Delete(key, durability) => return self.delete(key, durability),
            Op::DeleteRange(from, to, durability) => {
                return self.delete_range(from, to, durability);
            }
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
                let held = (self.db().snapshot(), self.oracles.clone());
                self.snapshots[usize::from(place)] = Some(held);
            }
            Op::Forget(place) => self.snapshots[usize::from(place)] = None,
            Op::Scan(through, backward) => return self.scan(through, backward),
            Op::Size(low, high) => return self.size(low, high),
            Op::Property(number) => return self.property(number),
            Op::Flush => return self.flush(),
            Op::Compact(low, high) => return self.compact(low, high),
            Op::Drop => return self.drop_keyspace(),
            Op::Step(job) => return self.step(job),
            Op::Idle => return self.db().wait_idle().map_err(failed),
            Op::Follow if self.has_feed() => return self.follow(),
            Op::Follow => {}
            Op::Fork(through, goes_on) => return self.fork(through, goes_on),
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

    pub(crate) fn put(
        &mut self,
        key: u32,
        value: ValueSpec,
        durability: Option<Durability>,
    ) -> Outcome {
        let options = self.wrote(durability);
        let (key, value) = (Arc::clone(self.bytes(key)), value.bytes());
        let put = match self.keyspace() {
            None => self.db().put_with(&key, &value, &options),
            Some(keyspace) => keyspace.put_with(&key, &value, &options),
        };
        put.map_err(failed)?;
        self.oracle_mut().put(&key, value);
        Ok(())
    }

    fn delete(&mut self, key: u32, durability: Option<Durability>) -> Outcome {
        let options = self.wrote(durability);
        let key = Arc::clone(self.bytes(key));
        let deleted = match self.keyspace() {
            None => self.db().delete_with(&key, &options),
            Some(keyspace) => keyspace.delete_with(&key, &options),
        };
        deleted.map_err(failed)?;
        self.oracle_mut().delete(&key);
        Ok(())
    }

    fn delete_range(
        &mut self,
        from: u32,
        to: Option<u32>,
        durability: Option<Durability>,
    ) -> Outcome {
        let options = self.wrote(durability);
        let (from, to) = (
            Arc::clone(self.bytes(from)),
            to.map(|to| Arc::clone(self.bytes(to))),
        );
        if self.oracle().order != Order::Bytewise && to.as_ref().is_some_and(|to| to.is_empty()) {
            return Ok(());
        }
        let range = (
            Bound::Included(&from[..]),
            to.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
        );
        let deleted = match self.keyspace() {
            None => self.db().delete_range_with(range, &options),
            Some(keyspace) => keyspace.delete_range_with(range, &options),
        };
        deleted.map_err(failed)?;
        self.oracle_mut().delete_range(&from, to.as_ref());
        Ok(())
    }

    fn merge(&mut self, key: u32, operand: ValueSpec) -> Outcome {
        let _ = self.wrote(None);
        let (key, operand) = (Arc::clone(self.bytes(key)), operand.bytes());
        let result = match self.keyspace() {
            None => self.db().merge(&key, &operand),
            Some(keyspace) => keyspace.merge(&key, &operand),
        };
        if self.oracle().operator == Operator::None {
            let kind = result.err().map(|error| error.kind());
            let refused = kind == Some(ErrorKind::InvalidArgument);
            ensure!(refused, "merge without operator: {kind:?}");
            return Ok(());
        }
        result.map_err(failed)?;
        self.oracle_mut().merge(&key, &operand);
        Ok(())
    }

    /// Returns the changes of a batch and their keyspaces, drawn from its seed.
    fn changes(&self, seed: u64, len: u16) -> Vec<(usize, Change)> {
        let mut generator = Generator::new(self.config, seed);
        let near = u8::try_from(self.space).expect("small");
        let drawn = (0..len).map(|_| generator.change_near(near));
        let drawn = drawn.map(|(space, change)| (usize::from(space), change));
        let possible = drawn.filter(|(space, change)| {
            self.oracles[*space].as_ref().is_some_and(|oracle| {
                // As an end, the empty key needs bytewise order.
                if oracle.order != Order::Bytewise && self.ends_at_empty(*change) {
                    return false;
                }
                oracle.operator != Operator::None || !matches!(change, Change::Merge(..))
            })
        });
        possible.collect()
    }

    fn ends_at_empty(&self, change: Change) -> bool {
        matches!(change, Change::DeleteRange(..)) && self.end_of(change).is_empty()
    }

    /// Returns the key at which a change ends.
    fn end_of(&self, change: Change) -> Arc<[u8]> {
        match change {
            Change::DeleteRange(_, to) => Arc::clone(self.bytes(to)),
            _ => Arc::default(),
        }
    }

    fn batch(&mut self, seed: u64, len: u16, durability: Option<Durability>) -> Outcome {
        if seed.is_multiple_of(2) {
            return self.transaction(seed, len, durability);
        }
        let options = self.wrote(durability);
        let (mut batch, near) = (WriteBatch::new(), self.space);
        for (space, change) in self.changes(seed, len) {
            self.space = space;
            let (key, to) = (Arc::clone(self.bytes(change.key())), self.end_of(change));
            match (self.keyspace(), change) {
                (None, Change::DeleteRange(..)) => batch.delete_range(&key[..]..&to[..]),
                (Some(space), Change::DeleteRange(..)) => {
                    batch.delete_range_in(space, &key[..]..&to[..]);
                }
                (None, Change::Put(_, value)) => batch.put(&key, &value.bytes()),
                (None, Change::Delete(_)) => batch.delete(&key),
                (None, Change::Merge(_, operand)) => batch.merge(&key, &operand.bytes()),
                (Some(space), Change::Put(_, value)) => batch.put_in(space, &key, &value.bytes()),
                (Some(space), Change::Delete(_)) => batch.delete_in(space, &key),
                (Some(space), Change::Merge(_, operand)) => {
                    batch.merge_in(space, &key, &operand.bytes());
                }
            }
            self.oracle_mut().change(&key, &to, change);
        }
        self.space = near;
        self.done += batch.len() as u64;
        self.db().write_with(&batch, &options).map_err(failed)
    }

    /// Like [`Runner::batch`], but as a transaction, which reads what it has written.
    fn transaction(&mut self, seed: u64, len: u16, durability: Option<Durability>) -> Outcome {
        let options = self.wrote(durability);
        let (transaction, near) = (self.db().transaction(), self.space);
        for (space, change) in self.changes(seed, len) {
            self.space = space;
            let (key, bytes) = (change.key(), Arc::clone(self.bytes(change.key())));
            let to = self.end_of(change);
            let written = match (self.keyspace(), change) {
                (None, Change::DeleteRange(..)) => transaction.delete_range(&bytes[..]..&to[..]),
                (Some(space), Change::DeleteRange(..)) => {
                    transaction.delete_range_in(space, &bytes[..]..&to[..])
                }
                (None, Change::Put(_, value)) => transaction.put(&bytes, &value.bytes()),
                (None, Change::Delete(_)) => transaction.delete(&bytes),
                (None, Change::Merge(_, operand)) => transaction.merge(&bytes, &operand.bytes()),
                (Some(space), Change::Put(_, value)) => {
                    transaction.put_in(space, &bytes, &value.bytes())
                }
                (Some(space), Change::Delete(_)) => transaction.delete_in(space, &bytes),
                (Some(space), Change::Merge(_, operand)) => {
                    transaction.merge_in(space, &bytes, &operand.bytes())
                }
            };
            written.map_err(failed)?;
            self.oracle_mut().change(&bytes, &to, change);
            let found = match self.keyspace() {
                None => transaction.get(&bytes),
                Some(space) => transaction.get_in(space, &bytes),
            };
            let wanted = self.oracle().get(&bytes).map(<[u8]>::to_vec);
            self.compare(key, found.map_err(failed)?.as_deref(), wanted.as_deref())?;
        }
        self.space = near;
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
        let found = reader.get(&bytes);
        let wanted = reader.oracle.get(&bytes).map(<[u8]>::to_vec);
        if reader.snapshot.is_some() {
            let there = reader.contains(&bytes).map_err(failed)?;
            ensure!(there == wanted.is_some(), "contains {}", show(&bytes));
            let several = reader.multi_get(&[Arc::clone(&bytes), Arc::clone(&bytes)]);
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
        let wanted = reader.oracle.get(&bytes).map(<[u8]>::to_vec);
        let found = reader.get_into(&bytes, &mut out).map_err(failed)?;
        let clean = found || out.is_empty();
        ensure!(clean, "an absent key left {} in the buffer", show(&out));
        self.compare(key, found.then_some(&*out), wanted.as_deref())
    }

    fn contains(&mut self, key: u32) -> Outcome {
        let (bytes, reader) = (self.bytes(key), self.reader(None));
        let found = reader.contains(bytes).map_err(failed)?;
        let wanted = reader.oracle.get(bytes).is_some();
        ensure!(found == wanted, "contains {}: {found}", show(bytes));
        self.answer(found.then_some(&[]));
        Ok(())
    }

    fn multi_get(&mut self, seed: u64, len: u16) -> Outcome {
        let numbers = Generator::new(self.config, seed).probes(len);
        let keys = numbers.iter().map(|key| Arc::clone(self.bytes(*key)));
        let keys: Vec<_> = keys.collect();
        let found = self.reader(None).multi_get(&keys).map_err(failed)?;
        let counts = (found.len(), keys.len());
        ensure!(counts.0 == counts.1, "{counts:?} answers and keys");
        for (number, (key, found)) in numbers.iter().zip(keys.iter().zip(found)) {
            let wanted = self.oracle().get(key).map(<[u8]>::to_vec);
            self.compare(*number, found.as_deref(), wanted.as_deref())?;
        }
        self.done += u64::from(len);
        Ok(())
    }
}

/// Returns the operations of list `config`.
pub(crate) fn list(config: &Config) -> Vec<Turn> {
    let mut generator = Generator::new(config, config.seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
    (0..config.ops).map(|_| generator.turn()).collect()
}

/// Runs `ops`, then the final check. `Err` contains the index of the operation whose result
/// differed.
pub(crate) fn run_list(config: &Config, ops: &[Turn]) -> Result<Vec<u64>, (usize, String)> {
    let mut runner = Runner::new(config).map_err(|error| (0, error))?;
    for (index, op) in ops.iter().enumerate() {
        let ran = runner.run(*op);
        ran.map_err(|error| (index, format!("{op:?}: {error}")))?;
    }
    runner.finish().map_err(|error| (ops.len(), error))?;
    let mut answers = std::mem::take(&mut runner.answers);
    answers.push(runner.done);
    Ok(answers)
}
