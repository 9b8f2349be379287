//! A row whose process kills itself with SIGKILL as soon as its last call has returned.
//!
//! The model is first written next to the database, so that another process can check everything
//! that was acknowledged. Nothing is flushed, closed or waited for: whatever the engine had only in
//! its own memory is lost.

use rustix::process::{Signal, getpid, kill_process};

use super::Runner;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::workload::definition::Workload;

impl<E: Engine> Runner<'_, E> {
    /// Runs the row, reports its result and kills the process.
    pub(super) fn die_after(&mut self, workload: &'static Workload) -> Result<(), Fault> {
        let instance = self.ordinals.count_instance(workload);
        let mut record = self.blank(workload, instance);
        if let Some(reason) = self.reason_to_skip(workload) {
            self.skip(workload, instance, reason);
            return Ok(());
        }
        self.prepare(workload)?;
        let mut totals = self.measure(workload)?;
        if !workload.changes() {
            self.judge(workload, &mut totals)?;
        }
        self.contents
            .keep()
            .map_err(|error| Fault::io("the note next to the database", &error))?;
        let text = self.verdict(workload, &totals, &mut record);
        self.events.row(text, String::new(), record);
        kill_process(getpid(), Signal::KILL)
            .map_err(|error| Fault::io("ending the process", &error.into()))
    }
}
