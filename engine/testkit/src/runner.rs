//! A runner, which performs workloads on a simulated machine and records the history.
//!
//! The history is updated around every call of the engine, so that a crash point inside a call
//! finds the commit in progress.

mod consumer;

use std::collections::VecDeque;
use std::sync::Arc;

use cairndb::{Db, Durability, Error, ErrorKind, Snapshot, WriteBatch, WriteOptions};
use cairndb_env::sync::Mutex;
use cairndb_sim::{CrashPoint, Effect, SimEnv};

use crate::calls::{add, add_range, as_transaction, can, compact, one};
use crate::facts::manifest_facts;
use crate::history::{Change, Contents, History, Loss, Mark};
use crate::oracle::{self, PATH};
use crate::setup::Setup;
use crate::spaces::{self, NAMES};
use crate::workload::{self, Act, Step};
use crate::{Check, Violation};

pub use consumer::Consumer;

/// A crash point, with the promises at that point.
#[derive(Clone, Debug)]
pub struct Point {
    /// The state of the disk.
    pub crash: CrashPoint,
    /// Index of the history that was being recorded.
    pub epoch: usize,
    /// The promises of that history.
    pub mark: Mark,
}

/// The crash points collected so far.
pub type Points = Arc<Mutex<Vec<Point>>>;

/// A database under a workload.
#[derive(Debug)]
pub struct Runner {
    /// The machine.
    pub env: Arc<SimEnv>,
    /// The settings.
    pub setup: Setup,
    /// One history for each period of certainty. A new one starts when a handle that had failed is
    /// reopened.
    epochs: Arc<Mutex<Vec<History>>>,
    db: Option<Db>,
    failed: bool,
    poisoned: bool,
    /// The kind of sync fault injected, if any.
    worst: Option<Effect>,
    snapshots: VecDeque<(Snapshot, Contents)>,
    /// A consumer of changes. It gets a feed if the setup has a lease.
    consumer: Consumer,
    next_id: u64,
    copies: u64,
}

impl Runner {
    /// Returns a runner on `env`. Nothing is open yet.
    pub fn new(env: Arc<SimEnv>, setup: Setup) -> Runner {
        env.check_manifests(manifest_facts);
        Runner {
            env,
            setup,
            epochs: Arc::new(Mutex::new(vec![History::default()])),
            db: None,
            failed: false,
            poisoned: false,
            worst: None,
            snapshots: VecDeque::new(),
            consumer: Consumer::default(),
            next_id: 1,
            copies: 0,
        }
    }

    /// From now on, collects the crash point before every operation that changes something, with
    /// the promises at that point.
    pub fn watch(&self) -> Points {
        let points = Points::default();
        let (collected, epochs) = (points.clone(), self.epochs.clone());
        self.env.watch(move |crash| {
            let epochs = epochs.lock();
            let epoch = epochs.len() - 1;
            let mark = epochs[epoch].mark();
            collected.lock().push(Point { crash, epoch, mark });
        });
        points
    }

    /// Returns the histories so far, at least one.
    pub fn epochs(&self) -> Vec<History> {
        self.epochs.lock().clone()
    }

    /// Returns the contents that a reader should see.
    pub fn contents(&self) -> Contents {
        self.with_history(|history| history.contents())
    }

    fn with_history<T>(&self, with: impl FnOnce(&mut History) -> T) -> T {
        let mut epochs = self.epochs.lock();
        with(epochs.last_mut().expect("there is always one history"))
    }

    /// Records the effect of a fault that may occur. Some effects make the result of a crash less
    /// certain.
    pub fn bear(&mut self, effect: Effect) {
        let unsure = matches!(
            effect,
            Effect::SyncKeepsCache
                | Effect::SyncDropsCache
                | Effect::SyncReportsLate
                | Effect::SyncLies
        );
        self.worst = unsure.then_some(effect);
    }

    /// Returns the open database.
    pub fn db(&self) -> Option<&Db> {
        self.db.as_ref()
    }

    /// Opens the database.
    ///
    /// # Errors
    /// Returns the engine's errors.
    pub fn open(&mut self) -> Result<(), Error> {
        self.db = Some(self.setup.options(self.env.clone()).open(PATH)?);
        self.poisoned = false;
        if let Some(db) = self.db.as_ref().filter(|_| self.setup.leased) {
            self.consumer.begin(&self.env, db);
        }
        Ok(())
    }

    /// Lets the consumer keep a copy, which is compared with the database at every read.
    ///
    /// # Panics
    /// If the setup has no lease or another order, or the database is open.
    pub fn keep_copy(&mut self) {
        assert!(self.setup.leased && !self.setup.reverse);
        self.consumer.keep_copy();
    }

    /// Returns the consumer of changes.
    pub fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// Takes what there is to deliver, and compares the copy if there is one. Returns an error of
    /// the engine.
    ///
    /// # Errors
    /// A violation if a change is missing, comes twice or is wrong.
    pub fn follow(&mut self, db: &Db) -> Check<Option<Error>> {
        if !self.setup.leased {
            return Ok(None);
        }
        if self.consumer.keeps_copy()
            && let Err(error) = db.sync()
        {
            return Ok(Some(error));
        }
        let failed = self.consumer.follow(&self.env, db)?;
        if failed.is_some() || self.loss(Loss::Power) == Loss::Lie {
            return Ok(failed);
        }
        self.consumer.compare(db)
    }

    /// Closes the database and drops the handle, even if closing fails.
    ///
    /// # Errors
    /// Returns the engine's errors.
    pub fn close(&mut self) -> Result<(), Error> {
        self.snapshots.clear();
        self.consumer.end();
        if let Some(db) = self.db.take() {
            let closed = db.close();
            self.failed |= closed.is_err() || self.poisoned;
            closed?;
            if !self.failed {
                self.with_history(History::flushed);
            }
        }
        Ok(())
    }

    /// Closes and reopens. If the close failed, some loss must explain the contents after the open,
    /// and a new history starts with them.
    fn reopen(&mut self, loss: Loss) -> Check<Option<Error>> {
        let closed = self.close();
        if let Err(error) = self.open() {
            return Ok(Some(error));
        }
        let Some(db) = self.db.clone().filter(|_| self.failed) else {
            return Ok(closed.err());
        };
        let found = match spaces::read(&db, None)? {
            Ok(found) => found,
            Err(error) => return Ok(Some(error)),
        };
        let explained = self.with_history(|history| history.explain(history.mark(), loss));
        if explained.find(&found).is_none() {
            return Err(oracle::unexplained(&found, &explained));
        }
        self.epochs.lock().push(History::new(found));
        self.failed = false;
        Ok(closed.err())
    }

    /// Returns the loss that a power loss or a kill may cause, given the faults so far. After a
    /// failed sync the contents of the system's cache are unknown, and after a sync that lied
    /// nothing is certain.
    pub fn loss(&self, plain: Loss) -> Loss {
        self.worst.map_or(plain, |worst| match worst {
            Effect::SyncLies | Effect::SyncReportsLate => Loss::Lie,
            _ => Loss::Power,
        })
    }

    /// Performs a step. Returns `Ok(Some)` if the engine returned an error.
    ///
    /// # Errors
    /// A violation if the engine returned a wrong result.
    pub fn perform(&mut self, step: &Step) -> Check<Option<Error>> {
        if let Step::Reopen = step {
            return self.reopen(self.loss(Loss::Process));
        }
        let Some(db) = self.db.clone() else {
            return Ok(None);
        };
        if !can(&db, step) {
            return Ok(None);
        }
        let done = match step {
            Step::One(number, act, durability) => self.batch(&db, &[(*number, *act)], *durability),
            Step::Batch(entries, durability) => self.batch(&db, entries, *durability),
            Step::Create(space) => self.create(&db, NAMES[*space]),
            Step::Drop(space) => return self.drop_keyspace(&db, NAMES[*space]),
            Step::Flush => self.flush(&db),
            Step::Compact(range) => compact(&db, range),
            Step::TakeSnapshot => {
                let contents = self.contents();
                self.snapshots.push_back((db.snapshot(), contents));
                Ok(())
            }
            Step::DropSnapshot => return self.drop_snapshot(&db),
            Step::Background(job) => {
                // Triggers work that depends on the clock, such as the removal of spare log
                // segments.
                self.env.advance_clock(2_000_000_000);
                db.step_background(*job).map(drop)
            }
            Step::Read => {
                let failed = self.follow(&db)?;
                let read = self.read(&db)?;
                return Ok(read.or(failed));
            }
            Step::Checkpoint => return self.checkpoint(&db),
            Step::Reopen => Ok(()),
        };
        let writes = matches!(step, Step::One(..) | Step::Batch(..) | Step::Create(_));
        if done.is_ok() && writes && self.poisoned {
            return Err(Violation::new("a poisoned handle accepted a write"));
        }
        self.poisoned |= is_poisoned(&done);
        Ok(done.err())
    }

    /// Returns whether the open handle has reported that it is poisoned.
    pub fn poisoned(&self) -> bool {
        self.poisoned
    }

    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn change(&mut self, act: Act) -> Change {
        match act {
            Act::Put(len) => Change::Put {
                id: self.take_id(),
                len,
            },
            Act::Merge(len) => Change::Merge {
                id: self.take_id(),
                len,
            },
            Act::Delete | Act::DeleteRange(_) => Change::Delete,
        }
    }

    /// Writes all changes whose keyspaces exist: one by the call for single entries, several as a
    /// batch or as a transaction.
    fn batch(
        &mut self,
        db: &Db,
        entries: &[(u8, Act)],
        durability: Durability,
    ) -> Result<(), Error> {
        let mut batch = WriteBatch::new();
        let mut changes = Vec::new();
        for &(number, act) in entries {
            let (name, key) = (NAMES[workload::space(number)], workload::key(number));
            let space = match name {
                "" => None,
                name => Some(match db.keyspace(name) {
                    Ok(space) => space,
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }),
            };
            if let Act::DeleteRange(other) = act {
                let reverse = [self.setup.reverse, false, true][workload::space(number)];
                let keys = [number, other];
                add_range(&mut batch, space.as_ref(), &workload::ends(reverse, keys));
                let gone = workload::between(reverse, keys).into_iter();
                changes.extend(gone.map(|key| (spaces::place(name, &key), Change::Delete)));
                continue;
            }
            let (place, change) = (spaces::place(name, &key), self.change(act));
            add(&mut batch, space.as_ref(), &key, (&place, change));
            changes.push((place, change));
        }
        self.begin(changes, durability);
        let options = WriteOptions::new().durability(durability);
        // Each half of the batches takes one of the two ways.
        let result = match entries {
            [_] => one(db, &batch, options),
            _ if batch.len().is_multiple_of(2) => as_transaction(db, &batch, options),
            _ => db.write_with(&batch, &options),
        };
        self.end(result)
    }

    fn create(&mut self, db: &Db, name: &str) -> Result<(), Error> {
        self.begin(
            vec![(spaces::entry(name), Change::Create)],
            Durability::Sync,
        );
        let created = db.create_keyspace(name, &spaces::options(name));
        self.end(created.map(drop))?;
        for (_, contents) in &mut self.snapshots {
            contents.insert(spaces::entry(name), Vec::new());
        }
        Ok(())
    }

    /// Drops a keyspace. An iterator goes on, and the handle is closed.
    fn drop_keyspace(&mut self, db: &Db, name: &str) -> Check<Option<Error>> {
        let entry = spaces::entry(name);
        let space = match db.keyspace(name) {
            Ok(space) => space,
            Err(error) => return Ok(Some(error)),
        };
        let (iter, mut expected) = (space.iter(), self.contents());
        expected.retain(|place, _| place.starts_with(&entry));
        self.begin(vec![(entry.clone(), Change::Drop)], Durability::Sync);
        let dropped = self.end(db.drop_keyspace(name));
        if dropped.is_ok() && self.poisoned {
            return Err(Violation::new("a poisoned handle dropped a keyspace"));
        }
        self.poisoned |= is_poisoned(&dropped);
        if let Err(error) = dropped {
            return Ok(Some(error));
        }
        for (_, contents) in &mut self.snapshots {
            spaces::remove(contents, &entry);
        }
        let written = space.put(b"never", b"seen");
        if !written.is_err_and(|error| error.kind() == ErrorKind::Closed) {
            return Err(Violation::new("a dropped keyspace is not closed"));
        }
        let mut found = Contents::new();
        let failed = spaces::collect(&mut found, name, iter)?;
        if failed.is_none() && found != expected {
            return Err(differing(
                "an iterator over a dropped keyspace",
                &found,
                &expected,
            ));
        }
        Ok(failed)
    }

    fn flush(&mut self, db: &Db) -> Result<(), Error> {
        db.flush()?;
        self.with_history(History::flushed);
        Ok(())
    }

    fn begin(&self, changes: Vec<(Vec<u8>, Change)>, durability: Durability) {
        self.with_history(|history| history.begin(changes, durability));
    }

    fn end(&self, result: Result<(), Error>) -> Result<(), Error> {
        let in_doubt = is_poisoned(&result) && !self.poisoned;
        self.with_history(|history| match &result {
            Ok(()) => history.acknowledge(),
            Err(_) if in_doubt => history.doubt(),
            Err(_) => history.refuse(),
        });
        result
    }

    /// Compares a scan with the model. Returns an error of the engine.
    fn read(&self, db: &Db) -> Check<Option<Error>> {
        compare(db, None, &self.contents(), "reading")
    }

    fn drop_snapshot(&mut self, db: &Db) -> Check<Option<Error>> {
        match self.snapshots.pop_front() {
            None => Ok(None),
            Some((snapshot, expected)) => compare(db, Some(&snapshot), &expected, "a snapshot"),
        }
    }

    fn checkpoint(&mut self, db: &Db) -> Check<Option<Error>> {
        self.copies += 1;
        let path = format!("/copy{}", self.copies);
        // Of everything, or of the oldest snapshot.
        let held = self.snapshots.front();
        let held = held.filter(|_| self.copies.is_multiple_of(2));
        let made = match held {
            None => db.checkpoint(&path),
            Some((snapshot, _)) => snapshot.fork(&path).map(drop),
        };
        if let Err(error) = made {
            return Ok(Some(error));
        }
        let expected = held.map_or_else(|| self.contents(), |(_, expected)| expected.clone());
        let options = self.setup.options(self.env.clone());
        let copied = options.clone().create_if_missing(false).open(&path);
        let copy = match copied {
            Ok(copy) => copy,
            Err(error) => return Ok(Some(error)),
        };
        let failed = compare(&copy, None, &expected, "a fork")?;
        drop(copy);
        let destroyed = cairndb::destroy(&path, &options);
        Ok(failed.or(destroyed.err()))
    }

    /// Checks the whole contents in every way, and the sync protocol.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Check<()> {
        oracle::check_protocol(&self.env)?;
        let Some(db) = &self.db else { return Ok(()) };
        let found = oracle::read_all(db, &self.setup)?;
        if found == self.contents() {
            return Ok(());
        }
        Err(Violation::new("the contents differ from the model's"))
    }
}

/// Checks that scans return the expected contents. Returns an error of a scan.
fn compare(
    db: &Db,
    snapshot: Option<&Snapshot>,
    expected: &Contents,
    what: &str,
) -> Check<Option<Error>> {
    match spaces::read(db, snapshot)? {
        Err(error) => Ok(Some(error)),
        Ok(found) if found == *expected => Ok(None),
        Ok(found) => Err(differing(what, &found, expected)),
    }
}

fn differing(what: &str, found: &Contents, expected: &Contents) -> Violation {
    Violation::new(format!("{what} returned {found:?} instead of {expected:?}"))
}

fn is_poisoned(result: &Result<(), Error>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::Poisoned)
}
