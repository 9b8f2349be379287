//! Flushing: every sealed part, merged into one run of tables.
//!
//! Whoever finds parts to flush may do it - the worker, or a writer with a full queue - one at a
//! time. The new run is visible to readers as soon as its files are written; the log keeps what it
//! holds until they are durable too.

use std::sync::Arc;

use cairndb_base::{Error, Result};

use crate::engine::core::{Core, Part};
use crate::jobs::merge::{Job, Outcome};
use crate::jobs::rules::Rules;
use crate::read::merger::Merger;
use crate::read::source::Source;
use crate::state::stats::Stats;

impl Core {
    /// Flushes all sealed parts as one run; `false` when there are none or somebody else is at it.
    ///
    /// # Errors
    /// Of reading or writing; the parts stay queued and can be flushed again.
    pub(crate) fn flush_once(&self) -> Result<bool> {
        let mut state = self.state.lock();
        if state.flushing || state.sealed.is_empty() {
            return Ok(false);
        }
        state.flushing = true;
        let parts: Vec<Part> = state.sealed.iter().cloned().collect();
        let version = Arc::clone(&state.version);
        drop(state);

        let begun = self.env.now_ns();
        let result = self.health.check_write().and_then(|()| {
            let sources = parts
                .iter()
                .rev()
                .map(|part| Source::Mem(part.mem.cursor()))
                .collect();
            let rules = Rules {
                snapshots: self.readable_at(),
                bottom: version.runs.is_empty(),
                context: self.context.clone(),
                values: Arc::clone(&version.values),
            };
            let merger = Merger::new(sources, self.context.order.clone());
            self.run_job(Job::new(merger, rules, self.settings.output.clone()))
        });
        Stats::add(
            &self.stats.flush_nanos,
            self.env.now_ns().saturating_sub(begun),
        );

        let mut state = self.state.lock();
        state.flushing = false;
        let result = match result {
            Ok(outcome) => {
                Stats::add(&self.stats.flushes, 1);
                let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
                Stats::add(&self.stats.flush_bytes, bytes);
                self.install_flush(&mut state, parts.len(), outcome);
                Ok(true)
            }
            Err(error) => Err(error),
        };
        self.note_background(&mut state, &result);
        drop(state);
        self.changed.notify_all();
        self.work.notify_all();
        result
    }

    /// Runs a job to its end in one go.
    pub(crate) fn run_job(&self, mut job: Job) -> Result<Outcome> {
        loop {
            match job.step(&*self.dir, &self.next_file, u64::MAX / 2) {
                Ok(true) => {}
                Ok(false) => return job.finish(&*self.dir, &self.next_file),
                Err(error) => {
                    job.abandon(&*self.dir, &self.next_file);
                    return Err(error);
                }
            }
        }
    }

    /// Remembers a background failure, or that things work again.
    pub(crate) fn note_background<T>(
        &self,
        state: &mut crate::engine::core::State,
        result: &Result<T>,
    ) {
        match result {
            Ok(_) => {
                self.health.set_background(None);
                state.retry_ns = 0;
                state.retry_at_ns = 0;
            }
            Err(error) => self.back_off(state, error),
        }
    }

    /// One second after the first failure, doubling up to a minute; a writer that needs the room
    /// tries at once.
    fn back_off(&self, state: &mut crate::engine::core::State, error: &Error) {
        const FIRST_NS: u64 = 1_000_000_000;
        const LAST_NS: u64 = 60 * FIRST_NS;
        self.health.set_background(Some(error.clone()));
        state.retry_ns = (state.retry_ns * 2).clamp(FIRST_NS, LAST_NS);
        state.retry_at_ns = self.env.now_ns().saturating_add(state.retry_ns);
    }
}
