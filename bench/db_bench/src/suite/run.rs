//! Runs the jobs of a suite, round by round, and records the results.

mod schedule;

use std::time::{Duration, Instant};

use bench_core::host::directory;
use bench_core::measure::runner::Event;
use bench_core::result::outline::{Fact, Note, Outline, SuiteEnd};
use bench_core::result::record::{Record, Status};
use bench_core::workload::catalog;
use bench_core::workload::definition::Workload;
use bench_core::workload::plan::Plan;

use super::file::File;
use super::job::Job;
use super::journal::Journal;
use super::progress::{Planned, Progress};
use super::results::Results;
use super::turn::JobTurn;
use crate::config::Config;
use crate::machine::{self, Machine};
use crate::output::Output;
use crate::supervise::{self, Ending, Position, Start};

/// The state of a suite's run that outlives a child.
pub(super) struct Run<'c> {
    config: &'c Config,
    file: &'c File,
    outline: &'c Outline,
    output: Output,
    journal: &'c Journal,
    results: Results,
    progress: Progress,
    started: Instant,
}

impl<'c> Run<'c> {
    pub(super) fn new(
        config: &'c Config,
        file: &'c File,
        outline: &'c Outline,
        journal: &'c Journal,
    ) -> Self {
        Self {
            config,
            file,
            outline,
            output: Output::default(),
            journal,
            results: Results::of(journal),
            progress: Progress::new(config.verbose),
            started: Instant::now(),
        }
    }

    /// Writes the planned run and its machine to the result files.
    pub(super) fn begin(&mut self, output: Output, machine: &Machine) -> Result<(), String> {
        self.output = output;
        self.output.object(machine)?;
        if !self.journal.is_begun() {
            self.output.object(self.outline)?;
            return self.output.settle();
        }
        let (kept, rounds) = (self.journal.kept_rounds, self.outline.rounds);
        if kept > 0 {
            let text = format!("earlier runs of this build measured {kept} of the {rounds} rounds");
            return self.note(text, None);
        }
        let kept = self.journal.records.len();
        self.note(
            format!(
                "this run was stopped and resumed: {kept} finished rows were kept, and databases were recreated as needed"
            ),
            Some(Fact::Resumed),
        )
    }

    /// Records a note for the summary and the report, once.
    pub(super) fn note(&mut self, text: String, fact: Option<Fact>) -> Result<(), String> {
        if self.results.notes.contains(&text) {
            return Ok(());
        }
        self.progress.message(&text);
        let note = Note { text, fact };
        self.output.object(&note)?;
        self.results.notes.push(note.text);
        Ok(())
    }

    /// Records that everything has run, and writes lines for which there was no space; returns an
    /// error if there still is none.
    pub(super) fn close(&mut self) -> Result<(), String> {
        let suite = self.outline.name.clone();
        self.output.object(&SuiteEnd { suite })?;
        self.output.settle()
    }

    /// Returns the results, and the lines that this process wrote.
    pub(super) fn finish(self) -> (Results, String) {
        (self.results, self.output.lines)
    }

    fn turn_of<'t>(&self, job: &'t Job, engine: &'t str, round: u32, latency: bool) -> JobTurn<'t> {
        let base = &self.config.bases[job.directory];
        let file_system = machine::file_system(base).map(|kind| {
            if self.config.bases.len() > 1 {
                format!("{kind}, {}", base.display())
            } else {
                kind
            }
        });
        JobTurn {
            job,
            engine,
            round,
            latency,
            file_system,
            at: Position::default(),
            reached: Position::default(),
            held: None,
            ruined: None,
            uncompacted: None,
        }
    }

    /// Runs one job over each of its engines.
    fn job(&mut self, at: usize, job: &Job, round: u32, latency: bool) -> Result<(), String> {
        for engine in self.engines(at, job, round, latency) {
            let planned = Planned {
                round: if latency { 0 } else { round },
                job: at,
                engine: engine.clone(),
            };
            self.progress.begin(planned, &job.section);
            let mut turn = self.turn_of(job, &engine, round, latency);
            self.turn(&mut turn)?;
            self.progress.end();
        }
        Ok(())
    }

    fn turn(&mut self, turn: &mut JobTurn<'_>) -> Result<(), String> {
        let Some(start) = self.start(turn) else {
            return Ok(());
        };
        turn.reached = start.at;
        turn.look_back(start.at, self.journal, self.outline);
        if let Some(reason) = self.results.absent.get(turn.engine).cloned() {
            return if turn.is_first() {
                self.lose(turn, Status::Skipped, &reason)
            } else {
                Ok(())
            };
        }
        let parts = self.plans(turn);
        let mut trouble = None;
        let own = Duration::from_secs(self.file.row_timeout);
        let limit = self.config.row_timeout.unwrap_or(own);
        let ending = supervise::run(&parts, &start, limit, &mut |part, event| match event {
            Event::Begin(entry) => {
                turn.at = Position { part, entry };
                self.progress.workload(turn.section(), turn.workload());
            }
            Event::Waiting { seconds, limit } => {
                self.progress.waiting(turn.workload(), seconds, limit);
            }
            Event::Loaded { version, library } => {
                let reported = self.output.build(turn.engine, version, library);
                trouble = trouble.take().or(reported.err());
            }
            Event::Row { record, .. } => {
                let reported = self.row(turn, part, record);
                trouble = trouble.take().or(reported.err());
            }
            Event::Broken(reason) => {
                self.results.failed = true;
                let reported = self.note(reason, Some(Fact::Lost));
                trouble = trouble.take().or(reported.err());
            }
            _ => {}
        });
        let reported = trouble.map_or_else(|| self.end(turn, ending), Err);
        // A failed removal does no harm: the next run tries again.
        let _ = directory::remove(&parts[0].db);
        // Results may be on the disk that the database had filled.
        reported.and_then(|()| self.output.settle())
    }

    /// Reports the rows that a turn could not reach.
    fn end(&mut self, turn: &mut JobTurn<'_>, ending: Ending) -> Result<(), String> {
        match ending {
            Ending::Complete => {}
            Ending::Unavailable(reason) => {
                self.progress.message(&format!("{}: {reason}", turn.engine));
                self.results
                    .absent
                    .insert(turn.engine.to_owned(), reason.clone());
                let (engine, text) = (turn.engine.to_owned(), reason.clone());
                self.output.object(&Note {
                    text: format!("{engine} was not run: {reason}"),
                    fact: Some(Fact::Absent {
                        engine,
                        reason: text,
                    }),
                })?;
                self.lose(turn, Status::Skipped, &reason)?;
            }
            Ending::Broken { part, reason } => {
                self.progress.message(&format!("{}: {reason}", turn.engine));
                if let Some(held) = turn.held.take() {
                    let text = format!("after SIGKILL the store could not be opened: {reason}");
                    self.judge_killed(turn, held, Some(text))?;
                }
                turn.reached = turn.reached.max(Position { part, entry: 0 });
                // Rows that had no database before the kill need no other reason.
                match turn.ruined.clone() {
                    Some((ruined, why)) if ruined < part => {
                        self.lose(turn, Status::Skipped, &why)?;
                    }
                    _ => self.lose(turn, Status::Failed, &reason)?,
                }
            }
        }
        Ok(())
    }

    /// Returns where a turn starts: after the rows that an earlier process has reported; `None` if
    /// that covers all rows.
    fn start(&self, turn: &JobTurn<'_>) -> Option<Start> {
        let mut start = Start::default();
        let mut open = false;
        for (at, listed, shown) in turn.shown() {
            let key = turn.key(listed, shown, self.outline);
            match self.journal.result(&key) {
                Some(result) if !open => {
                    start.at = Position {
                        entry: at.entry + 1,
                        ..at
                    };
                    start.lost.extend(result.is_error().then_some(at));
                }
                Some(_) => {}
                None => open = true,
            }
        }
        open.then_some(start)
    }

    /// Returns the plan of each child of a turn.
    fn plans(&self, turn: &JobTurn<'_>) -> Vec<Plan> {
        let (config, job) = (self.config, turn.job);
        let plan = |(at, part): (usize, &super::job::Part)| Plan {
            use_existing_db: at > 0,
            histogram: turn.latency,
            suite: Some(self.outline.name.clone()),
            ..config.placed(&part.plan, job.directory, turn.engine, turn.round)
        };
        job.parts.iter().enumerate().map(plan).collect()
    }

    /// Handles a result of the current entry of a child.
    fn row(
        &mut self,
        turn: &mut JobTurn<'_>,
        part: usize,
        mut record: Box<Record>,
    ) -> Result<(), String> {
        let at = turn.at;
        let listed = &turn.job.parts[part].entries[at.entry];
        turn.reached = Position {
            part,
            entry: at.entry + 1,
        };
        if let Some(held) = turn.held.take() {
            let text = (record.status == Status::Failed).then(|| {
                let reason = record.reason.unwrap_or_default();
                format!("acknowledged writes were missing after SIGKILL: {reason}")
            });
            return self.judge_killed(turn, held, text);
        }
        let workload = catalog::named(&listed.workload);
        let fresh = workload.is_some_and(|workload| workload.fresh);
        let apart = workload.is_some_and(Workload::is_engineless);
        if let Some((ruined, reason)) = &turn.ruined
            && *ruined < part
            && !fresh
            && !apart
        {
            record.status = Status::Skipped;
            record.reason = Some(reason.clone());
        }
        if fresh || listed.shown.is_none() {
            turn.ruined = (record.status == Status::Failed).then(|| {
                let reason = record.reason.clone().unwrap_or_default();
                let name = &listed.workload;
                let text = format!(
                    "the database it needs does not exist: {name} before it failed ({reason})"
                );
                (part, text)
            });
        }
        turn.look(listed, &record);
        let Some(shown) = &listed.shown else {
            if record.status == Status::Failed {
                let mut shown = turn.next_shown(at);
                shown.state = None;
                turn.mark(&mut record, listed, &shown, self.outline);
                return self.keep(&record);
            }
            return Ok(());
        };
        turn.mark(&mut record, listed, shown, self.outline);
        turn.judge_state(&mut record);
        if turn.job.parts[part].plan.kill && record.status == Status::Ok {
            turn.held = Some(record);
            return Ok(());
        }
        self.keep(&record)
    }

    /// Reports the result of a row whose process was killed after it. If less than `Os` was
    /// promised, a loss is expected; otherwise it fails the row.
    fn judge_killed(
        &mut self,
        turn: &JobTurn<'_>,
        mut held: Box<Record>,
        lost: Option<String>,
    ) -> Result<(), String> {
        debug_assert_eq!(held.engine, turn.engine, "a turn holds its own result");
        let below = bench_core::workload::durability::Survival::BELOW_OS;
        match lost {
            None => {}
            Some(text) if held.durability.as_deref() == Some(below) => {
                held.verified = Some(false);
                held.reason = Some(format!("below Os, as marked: {text}"));
            }
            Some(text) => {
                held.status = Status::Failed;
                held.reason = Some(text);
            }
        }
        self.keep(&held)
    }

    /// Keeps a result and shows a line of progress.
    fn keep(&mut self, record: &Record) -> Result<(), String> {
        self.output.row(record)?;
        self.progress.row(record);
        self.results.failed |= record.status == Status::Failed;
        Ok(())
    }

    /// Records rows that could not be reached.
    fn lose(&mut self, turn: &JobTurn<'_>, status: Status, reason: &str) -> Result<(), String> {
        let plans = self.plans(turn);
        let unreached = turn.shown().filter(|(at, ..)| *at >= turn.reached);
        for (at, listed, shown) in unreached {
            let mut record = Record {
                workload: listed.workload.clone(),
                status,
                reason: Some(reason.to_owned()),
                ..supervise::blank(&plans[at.part])
            };
            turn.mark(&mut record, listed, shown, self.outline);
            self.keep(&record)?;
        }
        Ok(())
    }
}
