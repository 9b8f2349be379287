//! Runs the jobs of a suite, round by round, and keeps what they bring.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bench_core::catalog;
use bench_core::definition::Workload;
use bench_core::outline::{Note, Outline};
use bench_core::place;
use bench_core::plan::Plan;
use bench_core::record::{Record, Status};
use bench_core::runner::Event;

use super::file::File;
use super::job::Job;
use super::journal::{Journal, Key};
use super::turn::Turn;
use crate::config::Config;
use crate::machine;
use crate::output::{Output, tell};
use crate::supervise::{self, Ending, Position, Start};
use crate::table::{self, Rows};

/// Everything about one run of a suite that outlives a child.
pub(super) struct Run<'c> {
    config: &'c Config,
    file: &'c File,
    outline: &'c Outline,
    output: Output,
    journal: Journal,
    results: Results,
    started: Instant,
}

/// What a run has brought.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) rows: Rows,
    /// Engines that cannot be run here, and why.
    pub(super) absent: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
    /// Whether a process was lost when all its rows had been told.
    pub(super) crashed: bool,
    pub(super) rounds: u32,
    pub(super) seconds: f64,
}

impl<'c> Run<'c> {
    pub(super) fn new(
        config: &'c Config,
        file: &'c File,
        outline: &'c Outline,
        output: Output,
        journal: Journal,
    ) -> Self {
        let mut run = Self {
            config,
            file,
            outline,
            output,
            journal,
            results: Results::default(),
            started: Instant::now(),
        };
        for record in run.journal.records.clone() {
            run.results.rows.add(record);
        }
        if !run.journal.records.is_empty() {
            let kept = run.journal.records.len();
            run.results.notes.push(format!(
                "this run was stopped and resumed: {kept} finished rows were kept"
            ));
        }
        run
    }

    /// Something the table and a report must tell.
    pub(super) fn note(&mut self, text: String) -> Result<(), String> {
        tell(&format!("{text}\n"));
        self.output.object(&Note { text: text.clone() })?;
        self.results.notes.push(text);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Results {
        self.results.seconds = self.started.elapsed().as_secs_f64();
        self.results
    }

    /// All rounds, then the pass that times each operation.
    pub(super) fn everything(&mut self, jobs: &[Job]) -> Result<(), String> {
        let rounds = self.outline.rounds;
        let mut longest = Duration::ZERO;
        for round in 1..=rounds {
            let began = self.started.elapsed();
            if round > 1 && self.is_late(began, longest) {
                let which = if round == rounds {
                    format!("round {round} was")
                } else {
                    format!("rounds {round} to {rounds} were")
                };
                self.note(format!(
                    "{which} left out after {} s: there would have been no time to end it",
                    began.as_secs()
                ))?;
                break;
            }
            for job in jobs.iter().filter(|job| round <= job.rounds) {
                self.job(job, round, false)?;
            }
            self.results.rounds = round;
            longest = longest.max(self.started.elapsed().saturating_sub(began));
        }
        let began = self.started.elapsed();
        let timed: Vec<&Job> = jobs.iter().filter(|job| job.latency).collect();
        if timed.is_empty() {
            return Ok(());
        }
        if self.is_late(began, longest) {
            return self.note(format!(
                "the pass that times each operation was left out after {} s, {}: there are no percentiles",
                began.as_secs(),
                "as it might not have ended within what the suite allows",
            ));
        }
        tell("every operation is timed now, in a pass of its own\n");
        for job in timed {
            self.job(job, 1, true)?;
        }
        Ok(())
    }

    /// Whether a round that begins now would be one too many.
    fn is_late(&self, now: Duration, longest: Duration) -> bool {
        let limit = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
        limit(self.file.rounds_begin_within).is_some_and(|limit| now > limit)
            || limit(self.file.rounds_end_within).is_some_and(|limit| now + longest > limit)
    }

    /// One job over each engine it is for.
    fn job(&mut self, job: &Job, round: u32, latency: bool) -> Result<(), String> {
        for engine in self.config.rotated(round) {
            let meant = job.engines.as_ref();
            if meant.is_some_and(|meant| !meant.contains(&engine)) {
                continue;
            }
            let base = &self.config.bases[job.directory];
            let file_system = machine::file_system(base).map(|kind| {
                if self.config.bases.len() > 1 {
                    format!("{kind}, {}", base.display())
                } else {
                    kind
                }
            });
            let mut turn = Turn {
                job,
                engine: &engine,
                round,
                latency,
                file_system,
                at: Position::default(),
                reached: Position::default(),
                held: None,
                ruined: None,
            };
            self.turn(&mut turn)?;
        }
        Ok(())
    }

    fn turn(&mut self, turn: &mut Turn<'_>) -> Result<(), String> {
        let Some(start) = self.start(turn) else {
            return Ok(());
        };
        turn.reached = start.at;
        if let Some(reason) = self.results.absent.get(turn.engine).cloned() {
            return if turn.round == 1 && !turn.latency {
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
            Event::Begin(entry) => turn.at = Position { part, entry },
            Event::Waiting { seconds, limit } => {
                let listed = &turn.job.parts[turn.at.part].entries[turn.at.entry];
                tell(&format!(
                    "round {} {:<16} {}: for {seconds} s now, given up after {limit}\n",
                    turn.round, turn.engine, listed.workload
                ));
            }
            Event::Loaded { version, library } => {
                let told = self.output.build(turn.engine, version, library);
                trouble = trouble.take().or(told.err());
            }
            Event::Row { record, .. } => {
                let told = self.row(turn, part, record);
                trouble = trouble.take().or(told.err());
            }
            Event::Broken(reason) => {
                self.results.crashed = true;
                trouble = trouble.take().or(self.note(reason).err());
            }
            _ => {}
        });
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        self.end(turn, ending)?;
        // What cannot be removed is in nobody's way: the next run asks again.
        let _ = place::remove(&parts[0].db);
        Ok(())
    }

    /// Tells what a turn could not reach.
    fn end(&mut self, turn: &mut Turn<'_>, ending: Ending) -> Result<(), String> {
        match ending {
            Ending::Complete => {}
            Ending::Unavailable(reason) => {
                tell(&format!("{}: {reason}\n", turn.engine));
                self.results
                    .absent
                    .insert(turn.engine.to_owned(), reason.clone());
                self.output.object(&Note {
                    text: format!("{} was not run: {reason}", turn.engine),
                })?;
                self.lose(turn, Status::Skipped, &reason)?;
            }
            Ending::Broken { part, reason } => {
                tell(&format!("{}: {reason}\n", turn.engine));
                if let Some(held) = turn.held.take() {
                    let text = format!("after SIGKILL the store could not be opened: {reason}");
                    self.judge_killed(turn, held, Some(text))?;
                }
                turn.reached = turn.reached.max(Position { part, entry: 0 });
                // What had no database before needs no other reason.
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

    /// Where a turn begins: behind the rows an earlier process has told; `None` when that is all.
    fn start(&self, turn: &Turn<'_>) -> Option<Start> {
        let mut start = Start::default();
        let mut open = false;
        for (part, list) in turn.job.parts.iter().enumerate() {
            for (entry, listed) in list.entries.iter().enumerate() {
                let Some(shown) = &listed.shown else {
                    continue;
                };
                let mut record = Record::default();
                turn.mark(&mut record, listed, shown, self.outline);
                turn.engine.clone_into(&mut record.engine);
                let at = Position { part, entry };
                match self.journal.status(&Key::of(&record)) {
                    Some(status) if !open => {
                        start.at = Position {
                            part,
                            entry: entry + 1,
                        };
                        if status == Status::Failed {
                            start.lost.push(at);
                        }
                    }
                    Some(_) => {}
                    None => open = true,
                }
            }
        }
        open.then_some(start)
    }

    /// What each child of a turn is told.
    fn plans(&self, turn: &Turn<'_>) -> Vec<Plan> {
        let base = self
            .config
            .plan_in(turn.job.directory, turn.engine, turn.round);
        let label = turn.job.label.as_deref();
        let plan = |(at, part): (usize, &super::job::Part)| Plan {
            use_existing_db: at > 0,
            histogram: turn.latency,
            suite: Some(self.outline.name.clone()),
            ..part.plan(label, &base)
        };
        turn.job.parts.iter().enumerate().map(plan).collect()
    }

    /// A result of the entry a child is at.
    fn row(
        &mut self,
        turn: &mut Turn<'_>,
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
                format!("what it had acknowledged was not there after SIGKILL: {reason}")
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
                    "the database it needs is not there: {name} before it failed ({reason})"
                );
                (part, text)
            });
        }
        let Some(shown) = &listed.shown else {
            if record.status == Status::Failed {
                let mut shown = turn.next_shown(at);
                shown.state = None;
                turn.mark(&mut record, listed, &shown, self.outline);
                return self.tell(*record);
            }
            return Ok(());
        };
        turn.mark(&mut record, listed, shown, self.outline);
        if turn.job.parts[part].kill && record.status == Status::Ok {
            turn.held = Some(record);
            return Ok(());
        }
        self.tell(*record)
    }

    /// Tells the result of a row behind which its process was killed. Where less than `Os` was
    /// promised, a loss is what was to be shown; anywhere else it fails the row.
    fn judge_killed(
        &mut self,
        turn: &Turn<'_>,
        mut held: Box<Record>,
        lost: Option<String>,
    ) -> Result<(), String> {
        debug_assert_eq!(held.engine, turn.engine, "a turn holds its own result");
        let below = bench_core::durability::Survival::BELOW_OS;
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
        self.tell(*held)
    }

    /// Keeps a result and shows a line of progress.
    fn tell(&mut self, record: Record) -> Result<(), String> {
        self.output.row(&record)?;
        tell(&progress(&record));
        self.results.rows.add(record);
        Ok(())
    }

    /// Records rows that could not be reached.
    fn lose(&mut self, turn: &Turn<'_>, status: Status, reason: &str) -> Result<(), String> {
        let plans = self.plans(turn);
        for (part, list) in turn.job.parts.iter().enumerate() {
            for (entry, listed) in list.entries.iter().enumerate() {
                let Some(shown) = &listed.shown else {
                    continue;
                };
                if (Position { part, entry }) < turn.reached {
                    continue;
                }
                let mut record = Record {
                    workload: listed.workload.clone(),
                    status,
                    reason: Some(reason.to_owned()),
                    ..supervise::blank(&plans[part])
                };
                turn.mark(&mut record, listed, shown, self.outline);
                self.tell(record)?;
            }
        }
        Ok(())
    }
}

/// One line of progress.
fn progress(record: &Record) -> String {
    let what = match (record.status, record.rate()) {
        (Status::Ok, Some(rate)) => table::amount(&record.workload, rate),
        (Status::Ok, None) => "timed".to_owned(),
        _ => record.reason.clone().unwrap_or_default(),
    };
    let section = record.section.as_deref().unwrap_or_default();
    let pass = if record.rate().is_none() && record.status == Status::Ok {
        "timing ".to_owned()
    } else {
        format!("round {}", record.round)
    };
    format!(
        "{pass} {section:<9} {:<16} {:<28} {what}\n",
        record.engine,
        table::label(record)
    )
}
