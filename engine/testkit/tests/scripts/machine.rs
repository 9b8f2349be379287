//! The machine that a script runs on, and the commands of the database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb::{Compression, Db, Job, Options, RecoveryMode, Snapshot, WriteBatch, WriteOptions};
use cairndb_env::Background;
use cairndb_scripts::Command;
use cairndb_sim::{CrashPoint, SimEnv};
use cairndb_testkit::facts::manifest_facts;
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setup::Setup;

use crate::figures::Counting;
use crate::reads::{Kept, Reader};
use crate::steps::{Bytes, Trouble};
use crate::stop::{Stop, crashed, inject};
use crate::tamper;
use crate::text::{entries, report, spelled};
use crate::writes::{Contents, Keys, Write, all_writes, durability, key_of, range_of, value_at};

/// The seed of every run. It determines the state after a crash, and the salts.
const SEED: u64 = 1;

pub(crate) struct Machine {
    pub(crate) env: Arc<SimEnv>,
    pub(crate) db: Option<Db>,
    /// The options of the last open.
    pub(crate) options: Options,
    pub(crate) reverse: bool,
    pub(crate) order: Arc<Counting>,
    /// Snapshots and cursors by name.
    pub(crate) kept: BTreeMap<String, Kept>,
    pub(crate) contents: Contents,
    /// The number of writes so far, and of those that were scattered.
    pub(crate) written: u32,
    pub(crate) scattered: u32,
    /// Figures that the script has named.
    pub(crate) figures: BTreeMap<String, f64>,
    /// The number of jobs that the last `step` ran, and of those that failed.
    pub(crate) steps: u64,
    pub(crate) failures: u64,
    /// The file that the script damaged last.
    pub(crate) damaged: String,
    /// The point at which the machine stopped in the middle of a command.
    pub(crate) stopped: Option<CrashPoint>,
}

fn background(command: &mut Command) -> Background {
    if command.flag("threads") {
        return Background::Threads;
    }
    command.flag("stepped");
    Background::Stepped
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
        Machine::on(env)
    }

    pub(crate) fn on(env: Arc<SimEnv>) -> Machine {
        Machine {
            options: Setup::plain().options(env.clone()),
            env,
            db: None,
            reverse: false,
            order: Arc::default(),
            kept: BTreeMap::new(),
            contents: BTreeMap::new(),
            written: 0,
            scattered: 0,
            figures: BTreeMap::new(),
            steps: 0,
            failures: 0,
            damaged: String::new(),
            stopped: None,
        }
    }

    /// Replaces the machine by a new one. The figures stay.
    pub(crate) fn renew(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let order = self.check_order();
        let background = background(command);
        let env = SimEnv::with(command.value("seed")?.unwrap_or(SEED), background);
        // With threads, the sync of one may cover an edit of another, whose file has no durable
        // name yet. Recovery expects that.
        if background == Background::Stepped {
            env.check_manifests(manifest_facts);
        }
        env.record_ops(false);
        let figures = std::mem::take(&mut self.figures);
        *self = Machine {
            figures,
            ..Machine::on(env)
        };
        Ok(order?)
    }

    /// Runs `command`. Returns its output, which may be an error of the database.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<String, String> {
        match self.perform(command) {
            Err(trouble @ Trouble::Store(..)) => Ok(trouble.to_string()),
            done => done.map_err(|trouble| trouble.to_string()),
        }
    }

    pub(crate) fn perform(&mut self, command: &mut Command) -> Result<String, Trouble> {
        if command.name == "crash" {
            return Ok(self.crash(command)?);
        }
        if self.stopped.is_some() {
            return Err("the machine has stopped: only `crash` is allowed"
                .to_owned()
                .into());
        }
        if let Some(output) = tamper::run(&self.env, command)? {
            return Ok(output);
        }
        let stop = Stop::watch(&self.env, command)?;
        let done = self.database_command(command);
        self.check_order()?;
        let Some(stop) = stop else {
            return done;
        };
        if let Err(trouble @ Trouble::Script(_)) = done {
            return Err(trouble);
        }
        let (point, text) = stop.reached(&self.env)?;
        self.stopped = Some(point);
        Ok(text)
    }

    /// Checks the order of syncs so far.
    pub(crate) fn check_order(&self) -> Result<(), String> {
        let broken = self.env.violations();
        let text = || format!("the sync order was violated: {broken:?}");
        broken.is_empty().then_some(()).ok_or_else(text)
    }

    fn crash(&mut self, command: &mut Command) -> Result<String, String> {
        let stopped = self.stopped.take();
        let point = stopped.unwrap_or_else(|| self.env.crash_point());
        let env = crashed(&point, command)?;
        // Dropping the handle closes it on the old disk.
        self.kept.clear();
        self.db = None;
        self.env = env;
        Ok(String::new())
    }

    pub(crate) fn db(&self) -> Result<&Db, String> {
        self.db
            .as_ref()
            .ok_or_else(|| "no database is open".to_owned())
    }

    fn database_command(&mut self, command: &mut Command) -> Result<String, Trouble> {
        match &*command.name.clone() {
            "open" | "reopen" => return self.open(command),
            "write" => self.write(command)?,
            "batch" => self.batch(command)?,
            "flush" => self.db()?.flush()?,
            "sync" => self.db()?.sync()?,
            "idle" => self.db()?.wait_idle()?,
            "verify" => {
                cairndb::verify(PATH, &self.options.clone().env(self.env.clone()))?;
            }
            "compact" => self.compact(command)?,
            "step" => return self.step(command),
            "checkpoint" => self.db()?.checkpoint(command.word()?)?,
            "close" => self.close()?,
            "snapshot" => {
                let snapshot = self.db()?.snapshot();
                self.keep(command.word()?, Reader::Snapshot(snapshot));
            }
            "cursor" => {
                let cursor = self.db()?.cursor();
                self.keep(command.word()?, Reader::Cursor(Box::new(cursor)));
            }
            "release" => drop(self.kept.remove(&command.word()?)),
            "get" => return Ok(self.get(command)?),
            "scan" => return Ok(self.scan(command)?),
            "read" => self.read(command)?,
            "move" => self.shift(command)?,
            "test" => return self.test(command),
            "fresh" => self.renew(command)?,
            "fault" => inject(&self.env, command)?,
            "heal" => self.env.heal(),
            "tick" => self.env.advance_clock(command.word()?.parse().unwrap_or(0)),
            other => return Err(format!("unknown command `{other}`").into()),
        }
        Ok(String::new())
    }

    fn close(&mut self) -> Result<(), Trouble> {
        self.kept.clear();
        let db = self.db.take();
        Ok(db
            .ok_or_else(|| "no database is open".to_owned())?
            .close()?)
    }

    fn open(&mut self, command: &mut Command) -> Result<String, Trouble> {
        if command.name == "reopen" {
            if self.db.is_some() {
                self.close()?;
            }
        } else {
            let reverse = command.flag("reverse");
            let setup = Setup {
                reverse,
                ..Setup::plain()
            };
            (self.options, self.reverse) = (setup.options(self.env.clone()), reverse);
        }
        if self.db.is_some() {
            return Err("a database is open".to_owned().into());
        }
        self.options = self.with_settings(command)?;
        let options = self.options.clone().env(self.env.clone());
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
                let what = if unchanged {
                    "\nnothing was changed"
                } else {
                    "\nsomething was changed"
                };
                Err(Trouble::Store(error, what))
            }
        }
    }

    /// Returns the options with the settings that `command` names.
    fn with_settings(&self, command: &mut Command) -> Result<Options, String> {
        let mut options = self.options.clone().read_only(command.flag("read-only"));
        options = options.create_if_missing(!command.flag("must-exist"));
        if command.flag("point-in-time") {
            options = options.recovery(RecoveryMode::PointInTime);
        }
        for (name, compression) in [("raw", Compression::None), ("fast", Compression::Fast)] {
            if command.flag(name) {
                options = options.compression(compression);
            }
        }
        for (name, mapped) in [("mapped", true), ("unmapped", false)] {
            if command.flag(name) {
                options = options.mapped(mapped);
            }
        }
        if command.flag("counting") {
            options = options.comparator(self.order.clone());
        }
        if let Some(bytes) = command.value::<Bytes>("budget")? {
            options = options.memory_budget(usize::try_from(bytes.0).unwrap());
        }
        if let Some(bytes) = command.value::<Bytes>("value-file")? {
            options = options.value_file_bytes(bytes.0);
        }
        Ok(options)
    }

    fn write(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let options = durability(command);
        for write in all_writes(command)? {
            self.write_one(write, options)?;
        }
        Ok(())
    }

    fn write_one(&mut self, write: Write, options: WriteOptions) -> Result<(), Trouble> {
        write.run(self.db()?, options)?;
        write.apply(&mut self.contents);
        Ok(())
    }

    fn batch(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let options = durability(command);
        self.write_all(all_writes(command)?, options)
    }

    fn write_all(&mut self, writes: Vec<Write>, options: WriteOptions) -> Result<(), Trouble> {
        let mut batch = WriteBatch::new();
        for write in &writes {
            write.add_to(&mut batch);
        }
        self.db()?.write_with(&batch, &options)?;
        for write in writes {
            write.apply(&mut self.contents);
        }
        Ok(())
    }

    /// Makes the same write to each of several keys, one by one or in a batch. Runs `body` after
    /// every `every` of them.
    pub(crate) fn writes(
        &mut self,
        mut command: Command,
        body: &[String],
        shown: &mut String,
    ) -> Result<(), Trouble> {
        let keys = Keys::take(&mut command)?;
        let (options, together) = (durability(&mut command), command.flag("batch"));
        let every = command.value("every")?.unwrap_or(usize::MAX);
        let deletes = command.name == "delete";
        let text = if deletes {
            String::new()
        } else {
            command.word()?
        };
        command.finish()?;
        let scattered = self.scattered;
        self.scattered += keys.scattered();
        let mut batch = Vec::new();
        for (key, n) in keys.iter(scattered).zip(1_usize..) {
            let value = value_at(&text, self.written)?;
            self.written += 1;
            let write = match &*command.name {
                "put" => Write::Put(key, value),
                "merge" => Write::Merge(key, value),
                _ => Write::Delete(key),
            };
            if together {
                batch.push(write);
                continue;
            }
            self.write_one(write, options)?;
            if n.is_multiple_of(every) {
                self.block(body, shown)?;
            }
        }
        if together {
            self.write_all(batch, options)?;
        }
        Ok(())
    }

    fn compact(&self, command: &mut Command) -> Result<(), Trouble> {
        let Ok(range) = command.word() else {
            return Ok(self.db()?.compact_range(..)?);
        };
        let range = range_of(&range).ok_or_else(|| format!("not a range: {range}"))?;
        let [from, to] = [range.start, range.end].map(|n| key_of(&n.to_string()));
        Ok(self.db()?.compact_range(from..to)?)
    }

    fn step(&mut self, command: &mut Command) -> Result<String, Trouble> {
        let times = command.value("times")?.unwrap_or(u64::MAX);
        let goes_on = command.flag("despite-failures");
        (self.steps, self.failures) = (0, 0);
        let mut lines = Vec::new();
        while let Ok(name) = command.word() {
            let job = job_of(&name)?;
            let before = self.steps;
            for _ in 0..times {
                match self.db()?.step_background(job) {
                    Ok(true) => self.steps += 1,
                    Err(_) if goes_on => self.failures += 1,
                    Ok(false) if goes_on => {}
                    Ok(false) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            lines.push(format!("{name}: {} times", self.steps - before));
        }
        Ok(lines.join("\n"))
    }

    /// Reads with the snapshot that `command` names, or the current contents.
    fn view<T>(
        &self,
        command: &mut Command,
        view: impl FnOnce(&Snapshot) -> T,
    ) -> Result<T, String> {
        match command.value::<String>("snapshot")? {
            None => Ok(view(&self.db()?.snapshot())),
            Some(name) => match self.kept.get(&name).map(|kept| &kept.reader) {
                Some(Reader::Snapshot(snapshot)) => Ok(view(snapshot)),
                _ => Err(format!("no snapshot {name}")),
            },
        }
    }

    fn get(&self, command: &mut Command) -> Result<String, String> {
        let keys = command.input.clone();
        self.view(command, |snapshot| {
            let answers = keys.iter().map(|key| match snapshot.get(key.as_bytes()) {
                Ok(Some(value)) => format!("{key} = {}\n", spelled(&value)),
                Ok(None) => format!("{key} does not exist\n"),
                Err(error) => format!("{key}: error: {error}\n"),
            });
            answers.collect()
        })
    }

    fn scan(&self, command: &mut Command) -> Result<String, String> {
        self.view(command, |snapshot| {
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
