//! The machine that a script runs on, and the commands of the database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb::{Db, Durability, Job, RecoveryMode, Snapshot, WriteBatch, WriteOptions};
use cairndb_scripts::Command;
use cairndb_sim::{CrashPoint, SimEnv};
use cairndb_testkit::facts::manifest_facts;
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setup::Setup;

use crate::stop::{Stop, crashed, inject};
use crate::tamper;
use crate::text::{answer, entries, report, spelled, value_of};

/// The seed of every run. It determines the state after a crash, and the salts.
const SEED: u64 = 1;

pub(crate) struct Machine {
    env: Arc<SimEnv>,
    db: Option<Db>,
    snapshots: BTreeMap<String, Snapshot>,
    /// The point at which the machine stopped in the middle of a command.
    stopped: Option<CrashPoint>,
}

/// A write parsed from a line of input.
enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
}

/// Parses the writes of one line of input.
fn writes_of(line: &str) -> Result<Vec<Write>, String> {
    let mut line = Command::new(line);
    let key = line.word()?;
    let key_bytes = || key.clone().into_bytes();
    let writes = match &*line.name.clone() {
        "put" => vec![Write::Put(key_bytes(), value_of(&line.word()?)?)],
        "merge" => vec![Write::Merge(key_bytes(), value_of(&line.word()?)?)],
        "delete" => vec![Write::Delete(key_bytes())],
        "fill" => {
            let count = line
                .word()?
                .parse()
                .map_err(|_| "invalid count".to_owned())?;
            let value = value_of(&line.word()?)?;
            let keys = (0..count).map(|number: u32| format!("{key}{number:04}").into_bytes());
            keys.map(|key| Write::Put(key, value.clone())).collect()
        }
        other => return Err(format!("unknown write: {other}")),
    };
    line.finish()?;
    Ok(writes)
}

fn all_writes(command: &Command) -> Result<Vec<Write>, String> {
    let lines = command.input.iter().map(|line| writes_of(line));
    Ok(lines
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn durability(command: &mut Command) -> WriteOptions {
    let levels = [
        ("none", Durability::None),
        ("os", Durability::Os),
        ("sync", Durability::Sync),
    ];
    let level = levels.into_iter().find(|(name, _)| command.flag(name));
    let level = level.map_or(Durability::Os, |(_, level)| level);
    WriteOptions::new().durability(level)
}

fn job_of(name: &str) -> Result<Job, String> {
    Ok(match name {
        "flush" => Job::Flush,
        "compact" => Job::Compact,
        "idle-compact" => Job::IdleCompact,
        "persist" => Job::Persist,
        "reap" => Job::Reap,
        "drop-values" => Job::DropValues,
        other => return Err(format!("unknown job: {other}")),
    })
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let env = SimEnv::new(SEED);
        env.check_manifests(manifest_facts);
        Machine {
            env,
            db: None,
            snapshots: BTreeMap::new(),
            stopped: None,
        }
    }

    pub(crate) fn run(&mut self, command: &mut Command) -> Result<String, String> {
        if command.name == "crash" {
            return self.crash(command);
        }
        if self.stopped.is_some() {
            return Err("the machine has stopped: only `crash` is allowed".to_owned());
        }
        if let Some(output) = tamper::run(&self.env, command)? {
            return Ok(output);
        }
        let stop = Stop::watch(&self.env, command)?;
        let output = self.database_command(command)?;
        let broken = self.env.violations();
        if !broken.is_empty() {
            return Err(format!("the sync order was violated: {broken:?}"));
        }
        let Some(stop) = stop else {
            return Ok(output);
        };
        let (point, text) = stop.reached(&self.env)?;
        self.stopped = Some(point);
        Ok(text)
    }

    fn crash(&mut self, command: &mut Command) -> Result<String, String> {
        let stopped = self.stopped.take();
        let point = stopped.unwrap_or_else(|| self.env.crash_point());
        let env = crashed(&point, command)?;
        // Dropping the handle closes it on the old disk.
        self.snapshots.clear();
        self.db = None;
        self.env = env;
        Ok(String::new())
    }

    fn db(&self) -> Result<&Db, String> {
        self.db
            .as_ref()
            .ok_or_else(|| "no database is open".to_owned())
    }

    fn database_command(&mut self, command: &mut Command) -> Result<String, String> {
        match &*command.name.clone() {
            "open" => self.open(command),
            "write" => self.write(command),
            "batch" => self.batch(command),
            "flush" => Ok(answer(self.db()?.flush())),
            "sync" => Ok(answer(self.db()?.sync())),
            "compact" => Ok(answer(self.db()?.compact_range(..))),
            "step" => self.step(command),
            "checkpoint" => Ok(answer(self.db()?.checkpoint(command.word()?))),
            "close" => {
                self.snapshots.clear();
                let db = self.db.take();
                let db = db.ok_or_else(|| "no database is open".to_owned())?;
                Ok(answer(db.close()))
            }
            "snapshot" => {
                let snapshot = self.db()?.snapshot();
                self.snapshots.insert(command.word()?, snapshot);
                Ok(String::new())
            }
            "get" => self.get(command),
            "scan" => self.scan(command),
            "fault" => inject(&self.env, command).map(|()| String::new()),
            "heal" => {
                self.env.heal();
                Ok(String::new())
            }
            other => Err(format!("unknown command `{other}`")),
        }
    }

    fn open(&mut self, command: &mut Command) -> Result<String, String> {
        if self.db.is_some() {
            return Err("a database is open".to_owned());
        }
        let mut setup = Setup {
            reverse: command.flag("reverse"),
            ..Setup::plain()
        };
        setup.budget = command.value("budget")?.unwrap_or(setup.budget);
        setup.value_file = command.value("value-file")?.unwrap_or(setup.value_file);
        let mut options = setup.options(self.env.clone());
        options = options.read_only(command.flag("read-only"));
        options = options.create_if_missing(!command.flag("must-exist"));
        if command.flag("point-in-time") {
            options = options.recovery(RecoveryMode::PointInTime);
        }
        let path = command.value("dir")?.unwrap_or_else(|| PATH.to_owned());
        let before = self.env.image_hash();
        match options.open(Path::new(&path)) {
            Ok(db) => {
                let text = report(db.open_report());
                self.db = Some(db);
                Ok(text)
            }
            Err(error) => {
                let unchanged = self.env.image_hash() == before;
                let what = if unchanged { "nothing" } else { "something" };
                Ok(format!("error: {error}\n{what} was changed"))
            }
        }
    }

    fn write(&self, command: &mut Command) -> Result<String, String> {
        let (db, options) = (self.db()?, durability(command));
        let mut writes = all_writes(command)?.into_iter();
        let done = writes.try_for_each(|write| match write {
            Write::Put(key, value) => db.put_with(&key, &value, &options),
            Write::Delete(key) => db.delete_with(&key, &options),
            Write::Merge(key, operand) => db.merge_with(&key, &operand, &options),
        });
        Ok(answer(done))
    }

    fn batch(&self, command: &mut Command) -> Result<String, String> {
        let (db, options) = (self.db()?, durability(command));
        let mut batch = WriteBatch::new();
        for write in all_writes(command)? {
            match write {
                Write::Put(key, value) => batch.put(&key, &value),
                Write::Delete(key) => batch.delete(&key),
                Write::Merge(key, operand) => batch.merge(&key, &operand),
            }
        }
        Ok(answer(db.write_with(&batch, &options)))
    }

    fn step(&self, command: &mut Command) -> Result<String, String> {
        let (db, name) = (self.db()?, command.word()?);
        let job = job_of(&name)?;
        let mut count = 0;
        loop {
            match db.step_background(job) {
                Ok(true) => count += 1,
                Ok(false) => return Ok(format!("{name}: {count} times")),
                Err(error) => return Ok(format!("error: {error}")),
            }
        }
    }

    /// Reads with the snapshot that `command` names, or the current contents.
    fn read<T>(
        &self,
        command: &mut Command,
        read: impl FnOnce(&Snapshot) -> T,
    ) -> Result<T, String> {
        match command.value::<String>("snapshot")? {
            None => Ok(read(&self.db()?.snapshot())),
            Some(name) => {
                let snapshot = self.snapshots.get(&name);
                snapshot
                    .map(read)
                    .ok_or_else(|| format!("no snapshot {name}"))
            }
        }
    }

    fn get(&self, command: &mut Command) -> Result<String, String> {
        let keys = command.input.clone();
        self.read(command, |snapshot| {
            let answers = keys.iter().map(|key| match snapshot.get(key.as_bytes()) {
                Ok(Some(value)) => format!("{key} = {}\n", spelled(&value)),
                Ok(None) => format!("{key} does not exist\n"),
                Err(error) => format!("{key}: error: {error}\n"),
            });
            answers.collect()
        })
    }

    fn scan(&self, command: &mut Command) -> Result<String, String> {
        self.read(command, |snapshot| {
            let mut found = Vec::new();
            for entry in snapshot.iter() {
                match entry {
                    Ok((key, value)) => found.push((key.to_vec(), value.to_vec())),
                    Err(error) => return format!("{}\nerror: {error}", entries(&found)),
                }
            }
            entries(&found)
        })
    }
}
