//! A flush or merge under way: steps of bounded work between which it can be set aside.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicU64;

use cairndb_base::Result;
use cairndb_env::Dir;

use crate::jobs::output::{Output, OutputParts, OutputSettings, Written};
use crate::jobs::rules::{Progress, Rules};
use crate::read::merger::Merger;
use crate::state::guard::guarded;

/// Entries a step moves: about a quarter of a millisecond, so that a flush never waits long.
pub(crate) const STEP_ENTRIES: u64 = 4096;

/// What a finished job leaves to be installed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) tables: Vec<Written>,
    /// Bytes of value files that became dead, by file.
    pub(crate) dead: BTreeMap<u64, u64>,
}

/// A job over merged sources.
#[derive(Debug)]
pub(crate) struct Job {
    /// One behind the other: every key of a merger is above those of the mergers before it.
    mergers: VecDeque<Merger>,
    rules: Rules,
    settings: OutputSettings,
    progress: Progress,
    parts: OutputParts,
    begun: bool,
}

impl Job {
    pub(crate) fn new(merger: Merger, rules: Rules, settings: OutputSettings) -> Job {
        Job::chained(VecDeque::from([merger]), rules, settings)
    }

    /// A job over mergers whose keys share no range and ascend from one to the next.
    pub(crate) fn chained(
        mergers: VecDeque<Merger>,
        rules: Rules,
        settings: OutputSettings,
    ) -> Job {
        Job {
            mergers,
            rules,
            settings,
            progress: Progress::default(),
            parts: OutputParts::default(),
            begun: false,
        }
    }

    /// Moves up to `entries` entries; `true` when more are left.
    ///
    /// # Errors
    /// The first error of a source or of the output; the job must then be given to
    /// [`Job::abandon`].
    pub(crate) fn step(
        &mut self,
        dir: &dyn Dir,
        next_file: &AtomicU64,
        entries: u64,
    ) -> Result<bool> {
        let Some(merger) = self.mergers.front_mut() else {
            return Ok(false);
        };
        let parts = std::mem::take(&mut self.parts);
        let mut output = Output::from_parts(dir, next_file, self.settings.clone(), parts);
        let (rules, progress, begun) = (&self.rules, &mut self.progress, &mut self.begun);
        // Within: what was written before a comparator panicked is removed as after any error.
        let result = guarded(|| {
            if !*begun {
                merger.first()?;
                *begun = true;
            }
            rules.run(merger, &mut output, progress, entries)
        });
        self.parts = output.into_parts();
        if matches!(result, Ok(false)) {
            self.mergers.pop_front();
            self.begun = false;
            return Ok(!self.mergers.is_empty());
        }
        result
    }

    /// Finishes the last table.
    pub(crate) fn finish(self, dir: &dyn Dir, next_file: &AtomicU64) -> Result<Outcome> {
        let output = Output::from_parts(dir, next_file, self.settings, self.parts);
        let names = output.names();
        match output.finish() {
            Ok(tables) => Ok(Outcome {
                tables,
                dead: self.progress.dead,
            }),
            Err(error) => {
                remove_all(dir, &names);
                Err(error)
            }
        }
    }

    /// Removes what was written so far.
    pub(crate) fn abandon(self, dir: &dyn Dir, next_file: &AtomicU64) {
        let output = Output::from_parts(dir, next_file, self.settings, self.parts);
        let names = output.names();
        drop(output);
        remove_all(dir, &names);
    }
}

/// Unlinks files that nothing names; what cannot be removed now is swept at the next opening.
fn remove_all(dir: &dyn Dir, names: &[String]) {
    for name in names {
        let _ = dir.unlink(name);
    }
}
