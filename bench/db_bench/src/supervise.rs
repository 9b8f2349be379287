//! Runs the parts of a job, each in a child process, and survives whatever happens to them.
//!
//! The parts of a job share one directory: the first part makes it, the others continue in it. A
//! child that dies or exceeds the time limit loses its current row: that row is reported as failed,
//! and another child continues after it. That child first repeats, unreported, what earlier rows
//! had done to the database. It retries a row whose process died once, because later rows may need
//! what it writes; it does not retry a row that was too slow or ended with an error. A child that
//! dies after its row was reported only causes a note.

mod process;

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use bench_core::host::exit_status::describe;
use bench_core::measure::runner::Event;
use bench_core::result::record::{Record, Status};
use bench_core::result::result_line;
use bench_core::workload::catalog;
use bench_core::workload::definition::Workload;
use bench_core::workload::plan::Plan;
use bench_core::workload::step::Step;

use process::{Process, is_killed};

/// Time without an event from the child (or a quarter of its limit) after which progress shows that
/// it is still running.
const SILENCE: Duration = Duration::from_secs(30);

/// The outcome of a job.
#[derive(Debug, PartialEq)]
pub(crate) enum Ending {
    /// Every row was reached.
    Complete,
    /// The engine is absent.
    Unavailable(String),
    /// The store could not be opened or closed in this part. The rest of the part and all later
    /// parts were not run.
    Broken {
        /// The part.
        part: usize,
        /// Error message of the engine.
        reason: String,
    },
}

/// An entry of a part's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) part: usize,
    pub(crate) entry: usize,
}

/// The position at which a job starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// First row that no earlier run of the program has reported.
    pub(crate) at: Position,
    /// Rows before it that ended their process.
    pub(crate) lost: Vec<Position>,
}

/// The outcome of one child.
enum ChildEnding {
    End,
    Unavailable(String),
    Broken(String),
    /// The child ended without a last event, in this entry of the list if any was reached.
    Lost {
        entry: Option<usize>,
        /// Whether everything about that entry had been reported.
        over: bool,
        reason: String,
        /// Whether the child was killed because it was too slow.
        slow: bool,
    },
}

/// A job in progress.
struct Job<'j> {
    parts: &'j [Plan],
    limit: Duration,
    sink: &'j mut dyn FnMut(usize, Event),
    lost: Vec<Position>,
    /// Rows that died and are retried, unreported.
    again: Vec<Position>,
    /// Rows reported as ended with an error.
    errors: Vec<Position>,
}

/// Runs the parts of a job to their end, through as many children as it takes. The sink is given
/// the part of each event.
pub(crate) fn run(
    parts: &[Plan],
    start: &Start,
    limit: Duration,
    sink: &mut dyn FnMut(usize, Event),
) -> Ending {
    let mut job = Job {
        parts,
        limit,
        sink,
        lost: start.lost.clone(),
        again: Vec::new(),
        errors: Vec::new(),
    };
    job.run(start.at)
}

impl Job<'_> {
    fn run(&mut self, mut report_from: Position) -> Ending {
        let mut part = 0;
        while part < self.parts.len() {
            let plan = self.plan(part, report_from);
            match self.child(part, &plan) {
                ChildEnding::End => part += 1,
                ChildEnding::Unavailable(reason) => return Ending::Unavailable(reason),
                ChildEnding::Broken(reason) => return Ending::Broken { part, reason },
                ChildEnding::Lost {
                    entry: None,
                    reason,
                    ..
                } => {
                    // It died while repeating rows, so the next child omits the row that died
                    // before.
                    let Some(at) = self.again.pop() else {
                        return Ending::Broken { part, reason };
                    };
                    self.lost.push(at);
                    part = 0;
                }
                ChildEnding::Lost {
                    entry: Some(entry),
                    over,
                    reason,
                    slow,
                } => {
                    let at = Position { part, entry };
                    (self.sink)(
                        part,
                        if over {
                            Event::Broken(after_row(&plan, entry, &reason))
                        } else {
                            lost_row(&plan, entry, &reason)
                        },
                    );
                    if is(&plan.benchmarks[entry], Workload::changes) && (over || !slow) {
                        self.again.push(at);
                    } else if !over {
                        self.lost.push(at);
                    }
                    report_from = self.after(at);
                    if report_from.part >= self.parts.len() {
                        return Ending::Complete;
                    }
                    // After reads only, the directory is as the previous part left it.
                    let mut entries = plan.benchmarks[..=entry].iter();
                    let touched = entries.any(|name| is(name, Workload::touches));
                    part = if touched { 0 } else { report_from.part };
                }
            }
        }
        Ending::Complete
    }

    /// Runs one child and records which of its rows end with an error.
    fn child(&mut self, part: usize, plan: &Plan) -> ChildEnding {
        let mut at = Position { part, entry: 0 };
        let (sink, errors) = (&mut *self.sink, &mut self.errors);
        run_child(plan, self.limit, &mut |event| {
            match &event {
                Event::Begin(entry) => at.entry = *entry,
                Event::Row { record, .. } if record.is_error() => errors.push(at),
                _ => {}
            }
            sink(part, event);
        })
    }

    /// Returns the plan of a part that does not report rows before `from`.
    fn plan(&self, part: usize, from: Position) -> Plan {
        let plan = self.parts[part].clone();
        let of_part = |list: &[Position]| -> Vec<usize> {
            let here = list.iter().filter(|at| at.part == part);
            here.map(|at| at.entry).collect()
        };
        Plan {
            resume_at: match part.cmp(&from.part) {
                std::cmp::Ordering::Less => plan.benchmarks.len(),
                std::cmp::Ordering::Equal => from.entry,
                std::cmp::Ordering::Greater => 0,
            },
            lost: [of_part(&self.lost), of_part(&self.errors)].concat(),
            ..plan
        }
    }

    /// Returns the next row, in the same part or at the start of the next one.
    fn after(&self, at: Position) -> Position {
        let rest = &self.parts[at.part].benchmarks[at.entry + 1..];
        let (part, entry) = if rest.iter().all(String::is_empty) {
            (at.part + 1, 0)
        } else {
            (at.part, at.entry + 1)
        };
        Position { part, entry }
    }
}

fn bare(entry: &str) -> &str {
    entry.split('[').next().unwrap_or_default()
}

/// Returns whether the workload of an entry `does` something.
fn is(entry: &str, does: fn(&Workload) -> bool) -> bool {
    catalog::named(bare(entry)).is_some_and(does)
}

/// Returns the note about a child that died between two rows, or after the last.
fn after_row(plan: &Plan, entry: usize, reason: &str) -> String {
    let (engine, name) = (&plan.engine, bare(&plan.benchmarks[entry]));
    format!("{engine}: {reason} after {name}")
}

/// Returns the row in which a child died.
fn lost_row(plan: &Plan, entry: usize, reason: &str) -> Event {
    let name = bare(&plan.benchmarks[entry]);
    let earlier = plan.benchmarks[..entry]
        .iter()
        .filter(|other| bare(other) == name)
        .count();
    let record = Record {
        workload: name.to_owned(),
        instance: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
        status: Status::Failed,
        reason: Some(reason.to_owned()),
        ..blank(plan)
    };
    Event::Row {
        text: format!("{}\n", result_line::failed(name, reason)),
        histogram: String::new(),
        record: Box::new(record),
    }
}

/// Returns a record with the fields that are known from the plan alone.
pub(crate) fn blank(plan: &Plan) -> Record {
    Record {
        engine: plan.engine.clone(),
        suite: plan.suite.clone(),
        section: plan.section.clone(),
        round: plan.round,
        variant: plan.label.clone(),
        compression: Some(plan.compression),
        memory_bytes: Some(plan.memory.total_bytes),
        threads: Some(plan.threads),
        seed: Some(plan.seed),
        ..Record::default()
    }
}

/// Progress of a child.
#[derive(Debug, Default)]
struct Reached {
    entry: Option<usize>,
    rows: u32,
    /// Whether everything about the entry has been reported.
    over: bool,
}

impl Reached {
    /// Records an event; returns true if it shows progress of the child.
    fn look(&mut self, plan: &Plan, event: &Event) -> bool {
        match event {
            Event::Begin(entry) => {
                *self = Self {
                    entry: Some(*entry),
                    ..Self::default()
                };
            }
            Event::Row { record, .. } => {
                self.rows += 1;
                let entry = self.entry.and_then(|entry| plan.benchmarks.get(entry));
                let wanted = entry.and_then(|entry| Some(Step::parse(entry).ok()?.repeats));
                self.over = record.ops.is_none() || wanted.is_none_or(|rows| self.rows >= rows);
            }
            _ => return false,
        }
        true
    }

    fn lost(self, reason: String, slow: bool) -> ChildEnding {
        ChildEnding::Lost {
            entry: self.entry,
            over: self.over,
            reason,
            slow,
        }
    }
}

fn run_child(plan: &Plan, limit: Duration, sink: &mut dyn FnMut(Event)) -> ChildEnding {
    let mut child = match Process::start(plan) {
        Ok(started) => started,
        Err(error) => {
            let reason = format!("starting a child process: {error}");
            return ChildEnding::Broken(reason);
        }
    };
    // Entries before the one to resume at are repeated unreported; each has its own time limit.
    let replays = u32::try_from(plan.resume_at).unwrap_or(u32::MAX - 1) + 1;
    let mut begun = Instant::now();
    let mut deadline = begun + limit.saturating_mul(replays);
    let mut reached = Reached::default();
    let last_word = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match child.event(left.min(limit / 4).min(SILENCE)) {
            Ok(Event::End) => break ChildEnding::End,
            Ok(Event::Unavailable(reason)) => break ChildEnding::Unavailable(reason),
            Ok(Event::Broken(reason)) => break ChildEnding::Broken(reason),
            Ok(event) => {
                if reached.look(plan, &event) {
                    begun = Instant::now();
                    deadline = begun + limit;
                }
                sink(event);
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                // Not while entries before the one to resume at are repeated, nor between rows.
                if reached.entry.is_some() && !reached.over {
                    sink(Event::Waiting {
                        seconds: begun.elapsed().as_secs(),
                        limit: limit.as_secs(),
                    });
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ended = child.kill();
                return reached.lost(format!("time limit of {} s", limit.as_secs()), true);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let reason = match child.end(limit) {
                    Ok(Some(status)) if plan.kill && reached.over && is_killed(status) => {
                        return ChildEnding::End;
                    }
                    Ok(Some(status)) => describe(status),
                    Ok(None) => lingered(limit),
                    Err(error) => error.to_string(),
                };
                return reached.lost(reason, false);
            }
        }
    };
    if matches!(child.end(limit), Ok(None)) {
        let (engine, reason) = (&plan.engine, lingered(limit));
        sink(Event::Broken(format!("{engine}: {reason}")));
    }
    last_word
}

/// Returns the note about a child that has sent its last event and still runs.
fn lingered(limit: Duration) -> String {
    let limit = limit.as_secs();
    format!("the process had not ended {limit} s after its last event, and was killed")
}
