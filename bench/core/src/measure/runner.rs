//! Runs one list of workloads on one engine, in order, over one database.
//!
//! For each row: bring the store into the state that the row needs, measure, wait until background
//! work has ended, read the costs, compare the stored entries with the model, report the result.
//! Results are emitted as [`Event`]s immediately, so that a crash loses only the row in which it
//! happens.

mod conditions;
mod contents;
mod costs;
mod counted;
mod events;
mod judge;
mod kill;
mod measure;
mod memory;
mod ordinals;
mod readers;
mod row;
mod slot;
mod totals;
mod verdict;

use crate::engine::{Durability, Engine, Store};
use crate::fault::Fault;
use crate::host::heap_profile;
use crate::host::memory_group::MemoryGroup;
use crate::host::page_cache::drop_page_cache;
use crate::measure::loops::Task;
use crate::result::result_line;
use crate::workload::catalog;
use crate::workload::definition::{Action, Workload};
use crate::workload::plan::Plan;
use crate::workload::step::Step;

use contents::Contents;
use costs::Costs;
pub use events::Event;
use events::Events;
use ordinals::Ordinals;
use readers::serve::serve;
use slot::StoreSlot;

/// The state between rows.
struct Runner<'r, E: Engine> {
    engine: &'r E,
    plan: &'r Plan,
    events: Events<'r>,
    slot: StoreSlot<'r, E>,
    contents: Contents<'r>,
    costs: Costs<'r>,
    ordinals: Ordinals,
    /// The group that limits the memory of this process, or why there is none.
    limited: Result<Option<MemoryGroup>, String>,
    /// Bytes of the database in the page cache after it was dropped from there.
    cached_before: Option<u64>,
    /// Operations per second at which those of the row begin, in an open loop.
    rate: Option<f64>,
    /// Why a compaction done by an earlier process could not be repeated. Later rows would be
    /// mistaken for rows after `compact`.
    undone: Option<Fault>,
}

/// Runs the whole list of a plan, or reads the store of the process that does.
///
/// # Errors
/// If the store cannot be opened or closed, or the directory must not be used. Faults of single
/// rows are results, not errors.
pub fn run<E: Engine>(engine: &E, plan: &Plan, emit: &mut dyn FnMut(Event)) -> Result<(), Fault> {
    if let Some(reader) = plan.reader {
        return serve(engine, plan, reader);
    }
    let contents = Contents::load(plan, engine.capabilities().stores)?;
    let mut runner = Runner {
        engine,
        plan,
        events: Events::new(emit),
        slot: StoreSlot::new(engine, plan),
        contents,
        costs: Costs::watch(plan),
        ordinals: Ordinals::default(),
        limited: Ok(None),
        cached_before: None,
        rate: None,
        undone: None,
    };
    runner.events.send(Event::Loaded {
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
    /// Opens the store before the first row, as LevelDB's program does.
    fn open_first(&mut self) -> Result<(), Fault> {
        let plan = self.plan;
        if plan.use_existing_db {
            self.contents.enter()?;
        } else {
            self.contents.make()?;
        }
        self.costs.find_device();
        if plan.memory_limit > 0 {
            // Nothing that another process has read is free. The model is in memory already.
            drop_page_cache(&plan.db).map_err(|error| Fault::io(plan.db.display(), &error))?;
            self.limited = MemoryGroup::enter(plan.memory_limit).map(Some);
        }
        self.slot.open(if plan.sync {
            Durability::Sync
        } else {
            Durability::Os
        })?;
        // A resumed list has already printed its header.
        self.events.silent = plan.resume_at > 0;
        self.events.send(Event::Engine {
            title: self.engine.title().to_owned(),
            version: self.engine.version(),
            options: self.slot.options(),
        });
        self.events.text(result_line::header(plan));
        Ok(())
    }

    /// Runs one entry of the list.
    fn entry(&mut self, index: usize) -> Result<(), Fault> {
        let text = self.plan.benchmarks[index].as_str();
        if text.is_empty() {
            return Ok(());
        }
        self.events.silent = index < self.plan.resume_at;
        self.events.send(Event::Begin(index));
        let step = match Step::parse(text) {
            Ok(step) => step,
            Err(sentence) => {
                self.events.note(format!("{sentence}\n"));
                return Ok(());
            }
        };
        let Some(workload) = catalog::named(&step.name) else {
            let text = format!("unknown benchmark '{}'\n", step.name);
            self.events.note(text);
            return Ok(());
        };
        if self.plan.lost.contains(&index) {
            self.ordinals.count_instance(workload);
            let threads = Task::threads(self.plan, workload);
            self.ordinals.threads += threads;
            if workload.fresh {
                self.contents.set_missing(workload);
            }
            return Ok(());
        }
        if self.events.silent && !workload.touches() && !workload.fresh {
            // It changed nothing; only the seeds of the later rows depend on it.
            self.ordinals.count_instance(workload);
            self.ordinals.threads += self.plan.threads;
            return Ok(());
        }
        if workload.is_text() {
            self.text(workload);
            return Ok(());
        }
        let last = self.plan.benchmarks[index + 1..]
            .iter()
            .all(String::is_empty);
        if self.plan.kill && last && !self.events.silent {
            return self.die_after(workload);
        }
        self.step(workload, &step);
        match self.undone.take() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// Runs a meta operation that prints.
    fn text(&mut self, workload: &Workload) {
        let event = match workload.action {
            Action::HeapProfile => Some(self.heap_profile(workload)),
            Action::ResetStats => self.reset_statistics(),
            Action::Property(name) => self
                .slot
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
        self.events.send(event);
    }

    fn heap_profile(&mut self, workload: &Workload) -> Event {
        let number = self.ordinals.next_instance(workload);
        let path = match heap_profile::write(&self.plan.db, number) {
            Ok(path) => path,
            Err(why) => return Event::Note(why.sentence()),
        };
        self.ordinals.count_instance(workload);
        Event::Note(format!("heap profile: {}\n", path.display()))
    }

    /// Resets the engine's counters; returns `None` if the engine cannot.
    fn reset_statistics(&self) -> Option<Event> {
        match self.slot.store.as_ref()?.reset_statistics() {
            Ok(true) => Some(Event::Note(
                "the engine's counters were set to zero\n".into(),
            )),
            Ok(false) => None,
            Err(fault) => Some(Event::Note(format!("resetstats: {fault}\n"))),
        }
    }

    /// Prints the output of `--statistics`, saves the model and closes the store.
    fn finish(&mut self) -> Result<(), Fault> {
        if self.plan.statistics {
            let keeps_none = || format!("({} keeps none)", self.engine.name());
            let text = self.slot.statistics().unwrap_or_else(keeps_none);
            let text = format!("STATISTICS:\n{}\n", text.trim_end());
            self.events.text(text);
        }
        self.slot.close()?;
        // The copies that the note is made of do not count either.
        self.limited = Ok(None);
        // Without the note, a later run is merely unverified.
        if let Err(error) = self.contents.keep() {
            let text = format!("the note next to the database: {error}\n");
            self.events.note(text);
        }
        // Reported even if the whole list was complete.
        self.events.silent = false;
        self.events.send(Event::End);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
