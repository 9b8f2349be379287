//! The pass that times single operations.
//!
//! Reading the clock around every operation costs more than some operations do. The list therefore
//! runs twice: once with the clock around each operation, for histograms and percentiles, and once
//! without, for rates. The first pass runs over its own database, which goes through the same
//! states.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_core::host::directory::{self, with_ending};
use bench_core::measure::runner::Event;
use bench_core::result::record::Record;
use bench_core::workload::catalog;
use bench_core::workload::plan::Plan;
use bench_core::workload::step::Step;

use crate::supervise::{self, Start};

/// Results of the pass: for each entry of the list, the histogram and the record of each of its
/// runs.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    rows: BTreeMap<(usize, u32), (String, Record)>,
    /// The entry of the list that runs, and how many of its runs have ended.
    at: (usize, u32),
}

impl Timed {
    /// Runs the list of a plan with the clock around every operation.
    ///
    /// Rows that fail here have no times; the untimed pass reports the reason.
    pub(crate) fn measure(plan: &Plan, row_timeout: Duration) -> Result<Self, String> {
        let copy = copy_if_written(plan)?;
        let plan = Plan {
            histogram: true,
            db: copy.clone().unwrap_or_else(|| plan.db.clone()),
            ..plan.clone()
        };
        let mut timed = Self::default();
        supervise::run(
            &[plan],
            &Start::default(),
            row_timeout,
            &mut |_, event| match event {
                Event::Begin(entry) => timed.at = (entry, 0),
                Event::Row {
                    histogram, record, ..
                } => {
                    timed.at.1 += 1;
                    timed.rows.insert(timed.at, (histogram, *record));
                }
                _ => {}
            },
        );
        if let Some(copy) = copy {
            directory::remove(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
        }
        Ok(timed)
    }

    /// Adds the times of the same row to an event of the other pass.
    pub(crate) fn complete(&mut self, event: Event) -> Event {
        match event {
            Event::Begin(entry) => self.at = (entry, 0),
            Event::Row {
                text, mut record, ..
            } => {
                self.at.1 += 1;
                let known = self.rows.get(&self.at);
                if let Some((_, times)) = known {
                    record.p50_ns = times.p50_ns;
                    record.p90_ns = times.p90_ns;
                    record.p99_ns = times.p99_ns;
                    record.p999_ns = times.p999_ns;
                    record.p9999_ns = times.p9999_ns;
                    record.max_ns = times.max_ns;
                }
                return Event::Row {
                    text,
                    histogram: known.map_or_else(String::new, |(histogram, _)| histogram.clone()),
                    record,
                };
            }
            _ => {}
        }
        event
    }
}

/// Copies the existing database of a plan whose list writes to it, because both passes must find it
/// unchanged. Does nothing if the database is created anew or only read.
fn copy_if_written(plan: &Plan) -> Result<Option<PathBuf>, String> {
    let writes = |text: &String| {
        Step::parse(text)
            .ok()
            .and_then(|step| catalog::named(&step.name))
            .is_some_and(|workload| workload.changes() && !workload.fresh)
    };
    if !plan.use_existing_db || !plan.benchmarks.iter().any(writes) {
        return Ok(None);
    }
    let copy = with_ending(&plan.db, ".timed");
    directory::make_fresh(&copy).map_err(|fault| fault.to_string())?;
    let copied = copy_files(&plan.db, &copy).and_then(|()| directory::copy_note(&plan.db, &copy));
    copied.map_err(|error| format!("copying {}: {error}", plan.db.display()))?;
    Ok(Some(copy))
}

/// Copies the files of a directory and of its subdirectories.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), target));
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
