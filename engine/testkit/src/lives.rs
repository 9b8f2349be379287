//! Short random lives under faults, checked against the list of permitted states.
//!
//! A life has a few keys and a few steps. Before every third step a fault is injected: an operation
//! fails or is only partly done, and sometimes that operation is a sync. At any time the contents
//! must be those after the last acknowledged write. At every open they must be those after some
//! write that is at least as new as the last durable one. There is no other model, so nothing is
//! excused. Lives are short, so many of them run per second.
//!
//! A creation or a drop of a keyspace is durable whether or not the writes before it are, so it
//! changes every state.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb::{Db, Durability, Error, ErrorKind, Job, WriteBatch, WriteOptions};
use cairndb_env::random::Random;
use cairndb_sim::{Cause, CrashChoice, Effect, Fault, Fill, Keep, OpKind, Profile, Short, SimEnv};

use crate::oracle::PATH;
use crate::setup::Setup;
use crate::spaces::{self, NAMES};
use crate::{Check, Violation};

/// As [`spaces::Contents`], with the values themselves.
type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// The keys, each with the number of its keyspace.
const KEYS: [(usize, &[u8]); 6] = [
    (0, b"a"),
    (0, b"b"),
    (0, b"c"),
    (1, b"a"),
    (1, b"d"),
    (2, b"a"),
];

/// Maximum number of opens in a row. Only the first may encounter a fault.
const OPENINGS_MAX: usize = 5;

/// Runs the life of `seed`.
///
/// # Errors
/// The first wrong result of the life, with its history up to that point.
pub fn live(seed: u64) -> Check<()> {
    let mut life = Life::begin(seed)?;
    let result = life.live();
    result.map_err(|violation| {
        let story = life.story.join("\n  ");
        Violation::new(format!("{violation}\n  {story}"))
    })
}

struct Life {
    seed: u64,
    random: Random,
    env: Arc<SimEnv>,
    setup: Setup,
    db: Db,
    /// The contents after each acknowledged write, oldest first.
    states: Vec<Contents>,
    /// The oldest state that a power loss may restore.
    durable: usize,
    /// A sync of a value file may have failed. If so, space is freed before reopening, as the guide
    /// advises.
    value_sync_spoiled: bool,
    story: Vec<String>,
}

impl Life {
    fn begin(seed: u64) -> Check<Life> {
        let env = SimEnv::new(seed);
        let setup = Setup::plain();
        let db = setup.options(env.clone()).open(PATH);
        let db = db.map_err(|error| Violation::new(format!("the first open: {error}")))?;
        Ok(Life {
            seed,
            random: Random::new(seed),
            env,
            setup,
            db,
            states: vec![Contents::new()],
            durable: 0,
            value_sync_spoiled: false,
            story: Vec::new(),
        })
    }

    fn live(&mut self) -> Check<()> {
        let steps = 4 + self.random.below(14);
        for step in 0..steps {
            if self.random.below(3) == 0 {
                self.spoil_an_operation();
            }
            if self.random.below(8) == 0 {
                self.spoil_a_sync();
            }
            self.step(step)?;
        }
        self.env.heal();
        self.crash()
    }

    fn newest(&self) -> usize {
        self.states.len() - 1
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.story.push(what.into());
    }

    fn inject(&mut self, fault: Fault) {
        self.tell(format!("{fault:?}"));
        self.env.inject(fault);
    }

    /// Makes a later operation fail, but never a sync, because failed syncs poison the handle.
    fn spoil_an_operation(&mut self) {
        const KINDS: [OpKind; 9] = [
            OpKind::Append,
            OpKind::Create,
            OpKind::Rename,
            OpKind::CreateLog,
            OpKind::FillLog,
            OpKind::WriteLog,
            OpKind::Unlink,
            OpKind::ReadAt,
            OpKind::OpenRead,
        ];
        const NAMES: [&str; 6] = ["", ".val", ".log", ".tbl", "MANIFEST", ".tmp"];
        let random = &mut self.random;
        let effect = [
            Effect::WritesPart(Short::Half, Cause::Full),
            Effect::WritesPart(Short::AllButOne, Cause::Full),
            Effect::Fails(Cause::Io),
            Effect::Fails(Cause::Full),
            Effect::Fails(Cause::Full),
        ][random.index(5)];
        // Appends are as likely as all other kinds together.
        let kinds = if random.below(2) == 0 { 1 } else { KINDS.len() };
        let kind = KINDS[random.index(kinds)];
        // The next open may find a record that was written except for one byte.
        let effect = match (kind, effect) {
            (OpKind::WriteLog, Effect::WritesPart(..)) => Effect::Fails(Cause::Full),
            (_, effect) => effect,
        };
        let name = NAMES[random.index(NAMES.len())];
        let fault = Fault::on(kind, name, effect).after(random.below(3));
        self.inject(fault);
    }

    fn spoil_a_sync(&mut self) {
        const NAMES: [&str; 5] = ["", ".val", ".log", ".tbl", "MANIFEST"];
        let random = &mut self.random;
        let fault = if random.below(5) == 0 {
            Fault::on(OpKind::SyncDir, "", Effect::Fails(Cause::Io))
        } else {
            let effect = [
                Effect::SyncKeepsCache,
                Effect::SyncDropsCache,
                Effect::Fails(Cause::Io),
            ][random.index(3)];
            let name = NAMES[random.index(NAMES.len())];
            self.value_sync_spoiled |= name.is_empty() || name == ".val";
            Fault::on(OpKind::SyncFile, name, effect)
        };
        let fault = fault.after(self.random.below(2));
        self.inject(fault);
    }

    fn step(&mut self, step: u64) -> Check<()> {
        let outcome = match self.random.below(18) {
            0..=7 => self.write(step),
            8 | 9 => {
                let flushed = self.db.flush();
                self.made_durable("flush", flushed)
            }
            10 => {
                let compacted = self.db.compact_range(..);
                self.made_durable("compact", compacted)
            }
            11 | 12 => {
                let jobs = [
                    Job::Flush,
                    Job::Persist,
                    Job::IdleCompact,
                    Job::DropValues,
                    Job::Reap,
                ];
                let job = jobs[self.random.index(jobs.len())];
                let done = self.db.step_background(job).map(|_| ());
                self.tell(format!("{job:?}: {}", word(&done)));
                done
            }
            13 => {
                let closed = self.db.close();
                let closed = self.made_durable("close", closed);
                self.reopen()?;
                closed
            }
            14 | 15 => self.create_or_drop(),
            _ => return self.check_live(),
        };
        if outcome.is_err() && self.is_poisoned() {
            let _ = self.db.close();
            self.reopen()?;
        }
        Ok(())
    }

    /// Returns whether the handle rejects writes. Tries a write that changes nothing.
    fn is_poisoned(&self) -> bool {
        let probed = self.db.delete(b"no such key");
        probed.is_err_and(|error| error.kind() == ErrorKind::Poisoned)
    }

    fn write(&mut self, step: u64) -> cairndb::Result<()> {
        let durability = [Durability::Os, Durability::Os, Durability::Sync][self.random.index(3)];
        let count = [1, 1, 3][self.random.index(3)];
        let mut next = self.states[self.newest()].clone();
        let mut batch = WriteBatch::new();
        for entry in 0..count {
            let (space, key) = KEYS[self.random.index(KEYS.len())];
            let place = spaces::place(NAMES[space], key);
            let space = match space {
                0 => None,
                // Without the keyspace, there is nothing to write.
                space if !next.contains_key(&spaces::entry(NAMES[space])) => continue,
                space => Some(self.db.keyspace(NAMES[space])?),
            };
            if self.random.below(8) == 0 {
                // From the key to the end of its keyspace.
                match &space {
                    None => batch.delete_range(key..),
                    Some(space) => batch.delete_range_in(space, key..),
                }
                spaces::remove_from(&mut next, &place);
            } else if self.random.below(4) == 0 {
                match &space {
                    None => batch.delete(key),
                    Some(space) => batch.delete_in(space, key),
                }
                next.remove(&place);
            } else {
                let len = [20, 20, 700, 9000][self.random.index(4)];
                let value: Vec<u8> = std::iter::repeat_n([step, entry], len / 2)
                    .flatten()
                    .map(|part| part.to_le_bytes()[0])
                    .collect();
                match &space {
                    None => batch.put(key, &value),
                    Some(space) => batch.put_in(space, key, &value),
                }
                next.insert(place, value);
            }
        }
        let options = WriteOptions::new().durability(durability);
        let written = self.db.write_with(&batch, &options);
        let bytes = batch.byte_len();
        self.tell(format!(
            "write {count} entries, {bytes} bytes, {durability:?}: {}",
            word(&written)
        ));
        match &written {
            Ok(()) => {
                self.states.push(next);
                if durability == Durability::Sync {
                    self.durable = self.newest();
                }
            }
            // It is unknown whether the write is on disk.
            Err(error) if error.kind() == ErrorKind::Poisoned => self.states.push(next),
            Err(_) => {}
        }
        written
    }

    /// Creates a keyspace if it does not exist, and drops it if it does.
    fn create_or_drop(&mut self) -> cairndb::Result<()> {
        let name = NAMES[1 + self.random.index(2)];
        let entry = spaces::entry(name);
        let exists = self.states[self.newest()].contains_key(&entry);
        let done = if exists {
            self.db.drop_keyspace(name)
        } else {
            let created = self.db.create_keyspace(name, &spaces::options(name));
            created.map(drop)
        };
        self.tell(format!(
            "{name} exists: {exists}, then not: {}",
            word(&done)
        ));
        let change = |state: &mut Contents| {
            if exists {
                state.retain(|place, _| !place.starts_with(&entry));
            } else {
                state.insert(entry.clone(), Vec::new());
            }
        };
        match &done {
            Ok(()) => self.states.iter_mut().for_each(change),
            // It is unknown whether it is on disk.
            Err(error) if error.kind() == ErrorKind::Poisoned => {
                let mut changed = self.states[self.durable..].to_vec();
                changed.iter_mut().for_each(change);
                self.states.append(&mut changed);
            }
            Err(_) => {}
        }
        done
    }

    fn made_durable(&mut self, what: &str, done: cairndb::Result<()>) -> cairndb::Result<()> {
        self.tell(format!("{what}: {}", word(&done)));
        if done.is_ok() {
            self.durable = self.newest();
        }
        done
    }

    /// Reopens, without faults after the first attempt, and takes the contents found as the new
    /// base.
    fn reopen(&mut self) -> Check<()> {
        let options = self.setup.options(self.env.clone());
        if std::mem::take(&mut self.value_sync_spoiled) {
            self.env.heal();
        }
        for _ in 0..OPENINGS_MAX {
            match options.open(PATH) {
                Ok(db) => {
                    self.tell(format!("open: {:?}", db.open_report()));
                    self.db = db;
                    return self.adopt();
                }
                Err(error) => {
                    self.tell(format!("open: {error}"));
                    self.env.heal();
                }
            }
        }
        Err(Violation::new("the database does not reopen"))
    }

    fn adopt(&mut self) -> Check<()> {
        let mut found = contents(&self.db);
        if found.is_err() {
            self.env.heal();
            found = contents(&self.db);
        }
        let found =
            found.map_err(|error| Violation::new(format!("reading after an open: {error}")))?;
        self.explain(&found, self.durable)?;
        self.states.push(found);
        self.durable = self.newest();
        Ok(())
    }

    fn explain(&self, found: &Contents, least: usize) -> Check<()> {
        if self.states[least..].contains(found) {
            return Ok(());
        }
        let newest = self.newest();
        let older = self.states.iter().position(|state| state == found);
        Err(Violation::new(format!(
            "the contents match no state from {least} to {newest}, but match {older:?}"
        )))
    }

    fn check_live(&mut self) -> Check<()> {
        match contents(&self.db) {
            Ok(found) => self.explain(&found, self.newest()),
            Err(error) => {
                self.tell(format!("read: {:?}", error.kind()));
                Ok(())
            }
        }
    }

    /// Crashes in five ways and opens each result.
    fn crash(&mut self) -> Check<()> {
        let seed = self.seed;
        let weak = |seed, fill| {
            let keep = Keep::Random(seed);
            (Profile::Weak, CrashChoice { keep, fill })
        };
        for (profile, choice) in [
            (Profile::Strict, CrashChoice::new(Keep::None)),
            (Profile::Kill, CrashChoice::new(Keep::All)),
            (Profile::Ordered, CrashChoice::new(Keep::Random(seed))),
            weak(seed, Fill::Noise(seed)),
            weak(!seed, Fill::Old(seed)),
        ] {
            let place = |violation: Violation| violation.within(format_args!("after {profile:?}"));
            let failed = |error: Error| place(Violation::new(error.to_string()));
            let image = self.env.crash_image(profile, &choice);
            let db = self.setup.options(image).open(PATH).map_err(failed)?;
            let found = contents(&db).map_err(failed)?;
            let least = match profile {
                Profile::Kill => self.newest(),
                _ => self.durable,
            };
            self.explain(&found, least).map_err(place)?;
        }
        Ok(())
    }
}

fn contents(db: &Db) -> cairndb::Result<Contents> {
    let mut contents = Contents::new();
    let mut add = |name: &str, iter: cairndb::Iter| -> cairndb::Result<()> {
        for entry in iter {
            let (key, value) = entry?;
            contents.insert(spaces::place(name, &key), value.to_vec());
        }
        Ok(())
    };
    add("", db.iter())?;
    for space in spaces::named(db)? {
        add(space.name(), space.iter())?;
    }
    let names = db.keyspaces();
    let entries = names.iter().map(|name| (spaces::entry(name), Vec::new()));
    contents.extend(entries);
    Ok(contents)
}

fn word(result: &cairndb::Result<()>) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    }
}
