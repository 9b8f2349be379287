//! A consumer of changes, which may keep a copy of the database.

use std::ops::Range;
use std::time::Duration;

use cairndb::{
    BatchEntry, Change, ChangeKind, ChangedEntries, Changes, ChangesOptions, Db, Error, ErrorKind,
    Place,
};
use cairndb_sim::SimEnv;

use crate::spaces::{self, Contents, NAMES};
use crate::{Check, Violation, value};

/// Notes of the time between two changes: one, and another if the write after that failed. They
/// have sequence numbers too.
const MARKS_MAX: u64 = 2;

/// What a consumer has made of the changes, and the place after the last one.
#[derive(Debug, Default)]
struct Replica {
    contents: Contents,
    /// `None` before the first snapshot.
    place: Option<Place>,
}

/// A consumer with a lease. It has no feed while a fault prevents it.
#[derive(Debug, Default)]
pub struct Consumer {
    changes: Option<Changes>,
    replica: Option<Replica>,
    /// The operations of its calls.
    calls: Vec<Range<u64>>,
    /// How often it had to begin again.
    revoked: u64,
    /// What was wrong with the snapshot that the copy began with.
    wrong: Option<Violation>,
}

/// The result of calls of the engine, whose error is the inner one.
type Called<T> = Check<Result<T, Error>>;

impl Consumer {
    /// From now on keeps a copy. Everything must be logged, and the default keyspace must be in
    /// bytewise order.
    ///
    /// # Panics
    /// If there is a feed already.
    pub fn keep_copy(&mut self) {
        assert!(self.changes.is_none(), "the copy begins with the database");
        self.replica = Some(Replica::default());
    }

    /// Returns whether it keeps a copy.
    pub fn keeps_copy(&self) -> bool {
        self.replica.is_some()
    }

    /// Returns the operations of its calls so far.
    pub fn calls(&self) -> &[Range<u64>] {
        &self.calls
    }

    /// Returns how often the feed was revoked.
    pub fn revoked(&self) -> u64 {
        self.revoked
    }

    /// Returns whether it has a feed.
    pub fn is_fed(&self) -> bool {
        self.changes.is_some()
    }

    /// Ends the feed, as the database is closed.
    pub fn end(&mut self) {
        self.changes = None;
    }

    /// Opens a feed, after the place of the copy if there is one. A fault may have ended the lease,
    /// or prevents it now. A violation is reported by the next [`Consumer::follow`].
    pub fn begin(&mut self, env: &SimEnv, db: &Db) {
        let first = env.op_count();
        let opened = self.open(db);
        self.calls.push(first..env.op_count());
        match opened {
            Ok(opened) => self.changes = opened.ok(),
            Err(violation) => self.wrong = Some(violation),
        }
    }

    fn open(&mut self, db: &Db) -> Called<Changes> {
        let lease = ChangesOptions::new().lease("campaign");
        let place = self.replica.as_ref().map(|replica| replica.place);
        let opened = match place {
            None => db.changes(&lease),
            Some(Some(place)) => db.changes(&lease.clone().after(place)),
            Some(None) => return self.start(db, &lease),
        };
        match opened {
            Err(error) if error.kind() == ErrorKind::Revoked => {
                self.revoked += 1;
                self.start(db, &lease)
            }
            opened => Ok(opened),
        }
    }

    /// Begins with a snapshot.
    fn start(&mut self, db: &Db, lease: &ChangesOptions) -> Called<Changes> {
        let (snapshot, changes) = match db.snapshot_and_changes(lease) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(replica) = &mut self.replica {
            // Without its copy the feed is of no use.
            replica.place = None;
            match spaces::read(db, Some(&snapshot))? {
                Ok(contents) => replica.contents = contents,
                Err(error) => return Ok(Err(error)),
            }
            replica.place = Some(changes.place());
        }
        Ok(Ok(changes))
    }

    /// Takes what there is to deliver, and acknowledges it. Returns an error of the engine.
    ///
    /// # Errors
    /// A violation if a change is missing, comes twice or has a value that was never written.
    pub fn follow(&mut self, env: &SimEnv, db: &Db) -> Check<Option<Error>> {
        if self.changes.is_none() && self.replica.is_some() {
            self.begin(env, db);
        }
        if let Some(violation) = self.wrong.take() {
            return Err(violation);
        }
        let first = env.op_count();
        let failed = self.take();
        self.calls.push(first..env.op_count());
        failed
    }

    fn take(&mut self) -> Check<Option<Error>> {
        let Some(changes) = &mut self.changes else {
            return Ok(None);
        };
        loop {
            // A copy also waits for what is not durable yet.
            let next = match self.replica {
                None => changes.try_next(),
                Some(_) => changes.next_within(Duration::ZERO),
            };
            match next {
                Ok(Some(change)) => {
                    if let Some(replica) = &mut self.replica {
                        replica.apply(&change)?;
                    }
                }
                Ok(None) => return Ok(changes.acknowledge(changes.place()).err()),
                Err(error) => return Ok(Some(error)),
            }
        }
    }

    /// Compares the copy with what `db` has now, all of which is durable and was delivered. Returns
    /// an error of the engine.
    ///
    /// # Errors
    /// A violation if they differ.
    pub fn compare(&self, db: &Db) -> Check<Option<Error>> {
        let Some(replica) = self.replica.as_ref().filter(|_| self.is_fed()) else {
            return Ok(None);
        };
        match spaces::read(db, None)? {
            Err(error) => Ok(Some(error)),
            Ok(found) if found == replica.contents => Ok(None),
            Ok(found) => {
                let differs = |(key, ids): &(&Vec<u8>, &Vec<u64>)| found.get(*key) != Some(*ids);
                let copied = replica.contents.iter().find(differs);
                let missing = found
                    .keys()
                    .find(|&key| !replica.contents.contains_key(key));
                let text = format!(
                    "the copy at {:?} differs: it has {copied:?}, and lacks {missing:?}",
                    replica.place
                );
                Err(Violation::new(text))
            }
        }
    }
}

impl Replica {
    fn apply(&mut self, change: &Change) -> Check<()> {
        let before = self.place.map_or(0, |place| place.seq);
        let passed = change.place.seq.checked_sub(before);
        let numbers = match &change.kind {
            ChangeKind::Batch(entries) => entries.len() as u64,
            ChangeKind::Unlogged { entries } => *entries,
            _ => 1,
        };
        let marks = passed.and_then(|passed| passed.checked_sub(numbers));
        let is_next = numbers > 0 && marks.is_some_and(|marks| marks <= MARKS_MAX);
        if !is_next {
            return Err(Violation::new(format!(
                "a hole or a repetition after {before}: {change:?}"
            )));
        }
        self.place = Some(change.place);
        match &change.kind {
            ChangeKind::Batch(entries) => self.add(entries),
            ChangeKind::KeyspaceCreated { name } => {
                self.contents.insert(spaces::entry(name), Vec::new());
                Ok(())
            }
            ChangeKind::KeyspaceDropped { name } => {
                spaces::remove(&mut self.contents, &spaces::entry(name));
                Ok(())
            }
            // Numbers of writes that failed.
            _ => Ok(()),
        }
    }

    fn add(&mut self, entries: &ChangedEntries) -> Check<()> {
        for (name, entry) in entries.iter() {
            let name = name.unwrap_or_default();
            match entry {
                BatchEntry::Put { key, value } => {
                    let place = spaces::place(name, key);
                    let ids = value::ids(&place, value)?;
                    self.contents.insert(place, ids);
                }
                BatchEntry::Merge { key, operand } => {
                    let place = spaces::place(name, key);
                    let ids = value::ids(&place, operand)?;
                    self.contents.entry(place).or_default().extend(ids);
                }
                BatchEntry::Delete { key } => {
                    self.contents.remove(&spaces::place(name, key));
                }
                BatchEntry::DeleteRange { from, to } => self.remove_range(name, from, to),
                other => return Err(Violation::new(format!("{other:?} in a change"))),
            }
        }
        Ok(())
    }

    fn remove_range(&mut self, name: &str, from: &[u8], to: Option<&[u8]>) {
        let (entry, reverse) = (spaces::entry(name), name == NAMES[2]);
        let is_before = |a: &[u8], b: &[u8]| if reverse { a > b } else { a < b };
        self.contents.retain(|place, _| {
            if spaces::entry_of(place).unwrap_or_default() != entry || *place == entry {
                return true;
            }
            let key = &place[entry.len()..];
            is_before(key, from) || to.is_some_and(|to| !is_before(key, to))
        });
    }
}
