//! Takes one list of workloads through one engine, in order, over one database.
//!
//! For each row: bring the store into the state that the row needs, measure, wait until background
//! work has ended, read the costs, compare the stored entries with the model, report the result.
//! Results leave as [`Event`]s at once, so that a crash costs only the row that it happens in.

mod kill;
mod measure;
mod memory;
mod row;
mod spent;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::engine::{Durability, Engine, Store};
use crate::fault::Fault;
use crate::host::directory;
use crate::host::heap_profile;
use crate::host::library::Library;
use crate::host::process::{Sampler, device_stat, resident};
use crate::measure::loops::Task;
use crate::result::record::Record;
use crate::result::result_line;
use crate::workload::catalog;
use crate::workload::definition::{Action, Workload};
use crate::workload::model::Model;
use crate::workload::plan::Plan;
use crate::workload::pool::Pool;
use crate::workload::settings::Settings;
use crate::workload::step::Step;

/// RocksDB's name for the text about its levels.
const LEVELS: &str = "rocksdb.levelstats";

/// What happened, in the order it happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The engine is available. Reported by every process, including one that continues a list.
    Loaded {
        /// What the library reports.
        version: String,
        /// Where it was loaded from, if it was.
        library: Option<Library>,
    },
    /// The engine is there and has opened its store.
    Engine {
        /// As people write it.
        title: String,
        /// What the library reports.
        version: String,
        /// Settings in effect.
        options: Vec<(String, String)>,
    },
    /// The entry of the list that is now being worked on.
    Begin(usize),
    /// The entry is still running. Reported by the process that waits for the one that works.
    Waiting {
        /// For how long now.
        seconds: u64,
        /// When it will be given up.
        limit: u64,
    },
    /// Text for stdout.
    Text(String),
    /// Text for stderr.
    Note(String),
    /// A row has ended.
    Row {
        /// What to print on stdout.
        text: String,
        /// The histogram to print below it, empty where none was kept.
        #[serde(default)]
        histogram: String,
        /// The result.
        record: Box<Record>,
    },
    /// The engine cannot be used at all here.
    Unavailable(String),
    /// The store could not be opened or closed; nothing of this process follows.
    Broken(String),
    /// The list has ended.
    End,
}

/// The state between rows.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the store, not states of one machine"
)]
struct Runner<'r, E: Engine> {
    engine: &'r E,
    plan: &'r Plan,
    pool: Pool,
    model: Model,
    store: Option<E::Store>,
    opened_for: Durability,
    /// Entries and value size the present directory was made for.
    made_for: (u64, usize),
    empty: bool,
    device: Option<PathBuf>,
    sampler: Sampler,
    threads_so_far: u32,
    instances: BTreeMap<&'static str, u32>,
    silent: bool,
    /// Whether the note next to the database describes its contents.
    noted: bool,
    /// Why there is no database for rows that need one.
    missing: Option<String>,
    /// Why a compaction could not be repeated that an earlier process had done. Later rows would be
    /// mistaken for rows after `compact`.
    undone: Option<Fault>,
    /// Whether a row has failed by an error since the store was opened.
    hurt: bool,
    /// Anonymous memory before the store was opened for the first time.
    base_rss: Option<u64>,
    emit: &'r mut dyn FnMut(Event),
}

/// Runs the whole list of a plan.
///
/// # Errors
/// When the store cannot be opened or closed, or the directory must not be used. Faults of single
/// rows are results, not errors.
pub fn run<E: Engine>(engine: &E, plan: &Plan, emit: &mut dyn FnMut(Event)) -> Result<(), Fault> {
    let pool = Pool::load(plan)?;
    let keys =
        usize::try_from(plan.num).map_err(|_| Fault::new("--num does not fit this machine"))?;
    let model = Model::new(&pool, keys);
    let mut runner = Runner {
        engine,
        plan,
        pool,
        model,
        store: None,
        opened_for: Durability::Os,
        made_for: (plan.num, plan.value_size),
        empty: false,
        device: None,
        sampler: Sampler::start(),
        threads_so_far: 0,
        instances: BTreeMap::new(),
        silent: false,
        noted: false,
        missing: None,
        undone: None,
        hurt: false,
        base_rss: None,
        emit,
    };
    (runner.emit)(Event::Loaded {
        version: engine.version(),
        library: engine.library(),
    });
    runner.open_first()?;
    for index in 0..plan.benchmarks.len() {
        runner.entry(index)?;
    }
    runner.finish()
}

impl<E: Engine> Runner<'_, E> {
    fn send(&mut self, event: Event) {
        if !self.silent {
            (self.emit)(event);
        }
    }

    /// Opens the store before the first row, as LevelDB's program does.
    fn open_first(&mut self) -> Result<(), Fault> {
        let plan = self.plan;
        if plan.use_existing_db {
            let holds =
                std::fs::read_dir(&plan.db).is_ok_and(|mut entries| entries.next().is_some());
            if !holds && self.engine.capabilities().stores {
                return Err(Fault::new(format!(
                    "--use_existing_db: there is no database in {}",
                    plan.db.display()
                )));
            }
            directory::enter(&plan.db)?;
            self.noted = directory::recall(&plan.db, plan, &mut self.model);
            if !self.noted {
                self.model.set_unknown();
            }
        } else {
            directory::make_fresh(&plan.db)?;
            self.empty = true;
        }
        self.device = device_stat(&plan.db);
        let durability = if plan.sync {
            Durability::Sync
        } else {
            Durability::Os
        };
        self.base_rss = resident().0;
        self.open(durability)?;
        // A list that continues has printed its head already.
        self.silent = plan.resume_at > 0;
        let event = Event::Engine {
            title: self.engine.title().to_owned(),
            version: self.engine.version(),
            options: self.store.as_ref().map(Store::options).unwrap_or_default(),
        };
        self.send(event);
        self.send(Event::Text(result_line::header(plan)));
        Ok(())
    }

    /// Opens the store for rows of this durability; what is open already is closed first.
    fn open(&mut self, durability: Durability) -> Result<(), Fault> {
        self.close()?;
        let settings = self.settings(durability);
        self.store = Some(self.engine.open(&self.plan.db, &settings)?);
        self.opened_for = durability;
        Ok(())
    }

    /// Closes the store. After a row that failed by an error, another one is no news.
    fn close(&mut self) -> Result<(), Fault> {
        let closed = self.store.take().map_or(Ok(()), Store::close);
        if std::mem::take(&mut self.hurt) {
            Ok(())
        } else {
            closed
        }
    }

    /// Clears the state in the note next to the database, before the first row that changes it.
    fn forget_note(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.noted) {
            return Ok(());
        }
        directory::forget(&self.plan.db)
            .map_err(|error| Fault::io("the note next to the database", &error))
    }

    fn settings(&self, durability: Durability) -> Settings {
        let plan = self.plan;
        let (entries, value_bytes) = self.made_for;
        Settings {
            memory: plan.memory,
            compression: plan.compression,
            bloom_bits: plan.bloom_bits,
            block_bytes: plan.block_size,
            file_bytes: plan.max_file_size,
            open_files: plan.open_files,
            statistics: plan.statistics,
            durability,
            variant: plan.variant,
            entries,
            key_bytes: plan.key_bytes(),
            value_bytes,
        }
    }

    /// One entry of the list.
    fn entry(&mut self, index: usize) -> Result<(), Fault> {
        let text = self.plan.benchmarks[index].as_str();
        if text.is_empty() {
            return Ok(());
        }
        self.silent = index < self.plan.resume_at;
        self.send(Event::Begin(index));
        let step = match Step::parse(text) {
            Ok(step) => step,
            Err(sentence) => {
                self.send(Event::Note(format!("{sentence}\n")));
                return Ok(());
            }
        };
        let Some(workload) = catalog::named(&step.name) else {
            self.send(Event::Note(format!("unknown benchmark '{}'\n", step.name)));
            return Ok(());
        };
        if self.plan.lost.contains(&index) {
            self.count_instance(workload);
            self.threads_so_far += Task::threads(self.plan, workload);
            if workload.fresh {
                self.missing = Some(unmade(workload));
            }
            return Ok(());
        }
        if self.silent && !workload.touches() && !workload.fresh {
            // It left no trace; only the seeds of the later rows depend on it.
            self.count_instance(workload);
            self.threads_so_far += self.plan.threads;
            return Ok(());
        }
        if workload.is_text() {
            self.text(workload);
            return Ok(());
        }
        let last = self.plan.benchmarks[index + 1..]
            .iter()
            .all(String::is_empty);
        if self.plan.kill && last && !self.silent {
            return self.die_after(workload);
        }
        self.step(workload, &step);
        match self.undone.take() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn count_instance(&mut self, workload: &Workload) -> u32 {
        let count = self.instances.entry(workload.name).or_insert(0);
        *count += 1;
        *count
    }

    /// A meta operation that prints.
    fn text(&mut self, workload: &Workload) {
        let event = match workload.action {
            Action::HeapProfile => Some(self.heap_profile(workload)),
            Action::ResetStats => self.reset_statistics(),
            Action::Property(name) => self
                .property(name)
                .map(|text| Event::Text(format!("\n{text}\n"))),
            _ => None,
        };
        let event = event.unwrap_or_else(|| {
            let reason = format!("not supported by {}", self.engine.name());
            Event::Text(format!(
                "{}\n",
                result_line::skipped(workload.name, &reason)
            ))
        });
        self.send(event);
    }

    /// A text of the engine.
    fn property(&self, name: &str) -> Option<String> {
        let store = self.store.as_ref()?;
        let own = store.property(name);
        // LevelDB's text has the levels in it.
        let levels = || (name == LEVELS).then(|| store.property("leveldb.stats"))?;
        own.or_else(levels)
    }

    fn heap_profile(&mut self, workload: &Workload) -> Event {
        let number = self.instances.get(workload.name).copied().unwrap_or(0) + 1;
        let path = match heap_profile::write(&self.plan.db, number) {
            Ok(path) => path,
            Err(why) => return Event::Note(why.sentence()),
        };
        self.instances.insert(workload.name, number);
        Event::Note(format!("heap profile: {}\n", path.display()))
    }

    /// Sets the engine's counters to zero; `None` where it cannot.
    fn reset_statistics(&self) -> Option<Event> {
        match self.store.as_ref()?.reset_statistics() {
            Ok(true) => Some(Event::Note(
                "the engine's counters were set to zero\n".into(),
            )),
            Ok(false) => None,
            Err(fault) => Some(Event::Note(format!("resetstats: {fault}\n"))),
        }
    }

    /// Prints what `--statistics` asks for, keeps the model and closes the store.
    fn finish(&mut self) -> Result<(), Fault> {
        if self.plan.statistics {
            let store = self.store.as_ref();
            let text = store.and_then(|store| {
                store
                    .property("statistics")
                    .or_else(|| store.property("leveldb.stats"))
            });
            let text = text.unwrap_or_else(|| format!("({} keeps none)", self.engine.name()));
            self.send(Event::Text(format!("STATISTICS:\n{}\n", text.trim_end())));
        }
        self.close()?;
        // Without the note a later run is unverified, nothing worse.
        if let Err(error) = directory::keep(&self.plan.db, self.plan, &self.model) {
            self.send(Event::Note(format!(
                "the note next to the database: {error}\n"
            )));
        }
        // Reported even if the whole list was complete.
        self.silent = false;
        self.send(Event::End);
        Ok(())
    }
}

/// Why rows that need the database of `workload` cannot run.
fn unmade(workload: &Workload) -> String {
    format!(
        "the database it needs is not there: {} before it failed",
        workload.name
    )
}

#[cfg(test)]
mod tests;
