//! The order of a run: rounds, turns of the engines, limits of time.

use std::time::{Duration, Instant};

use bench_core::result::outline::Fact;

use super::Run;
use crate::engines::programs;
use crate::suite::job::Job;
use crate::suite::progress::Planned;
use crate::turn_order;

impl Run<'_> {
    /// Returns whether earlier processes have reported every row.
    pub(in crate::suite) fn is_complete(&self, jobs: &[Job]) -> bool {
        if !self.journal.ended {
            return false;
        }
        let last = self.journal.last_round(self.outline.rounds);
        !self.passes(jobs, last).any(|(round, latency, at)| {
            let job = &jobs[at];
            self.engines(at, job, round, latency).iter().any(|engine| {
                let turn = self.turn_of(job, engine, round, latency);
                let reported = self.results.absent.contains_key(engine);
                self.start(&turn).is_some() && (!reported || turn.is_first())
            })
        })
    }

    /// Returns whether the pass that times each operation has yet to run, according to the journal.
    fn is_timed(&self) -> bool {
        !self.journal.facts().any(|fact| *fact == Fact::Latency)
    }

    /// Runs all rounds, then the pass that times each operation.
    pub(in crate::suite) fn everything(&mut self, jobs: &[Job]) -> Result<(), String> {
        let rounds = self.journal.last_round(self.outline.rounds);
        let turns = self.planned(jobs, rounds);
        self.progress.plan(rounds, turns, self.deadline());
        let mut lasted = vec![Duration::ZERO; jobs.len()];
        for round in 1..=rounds {
            let began = self.elapsed();
            let repeated = jobs.iter().zip(&lasted);
            let expected = repeated
                .filter(|(job, _)| round <= job.rounds)
                .map(|(_, lasted)| *lasted)
                .sum();
            if round > self.journal.kept_rounds.max(1) && self.is_late(began, expected) {
                let which = if round == rounds {
                    format!("round {round} was")
                } else {
                    format!("rounds {round} to {rounds} were")
                };
                let text = format!(
                    "{which} left out after {} s: there was not enough time for another round",
                    began.as_secs()
                );
                self.note(text, Some(Fact::Rounds(round)))?;
                break;
            }
            for (at, job) in jobs.iter().enumerate() {
                if round <= job.rounds {
                    let began = self.elapsed();
                    self.job(at, job, round, false)?;
                    lasted[at] = lasted[at].max(self.elapsed().saturating_sub(began));
                }
            }
        }
        let began = self.elapsed();
        if !self.is_timed() || !jobs.iter().any(|job| job.latency) {
            return Ok(());
        }
        let timed = jobs.iter().zip(&lasted).filter(|(job, _)| job.latency);
        let expected = timed.map(|(_, lasted)| *lasted).sum();
        if self.is_late(began, expected) {
            let text = format!(
                "the pass that times each operation was left out after {} s, {}: there are no percentiles",
                began.as_secs(),
                "as it might not have ended within what the suite allows",
            );
            return self.note(text, Some(Fact::Latency));
        }
        self.progress.timing();
        for (at, job) in jobs.iter().enumerate().filter(|(_, job)| job.latency) {
            self.job(at, job, 1, true)?;
        }
        Ok(())
    }

    /// Returns the time since the run was requested.
    fn elapsed(&self) -> Duration {
        self.config.spent + self.started.elapsed()
    }

    /// Returns whether there is no time for another round, which is expected to take `expected`.
    fn is_late(&self, now: Duration, expected: Duration) -> bool {
        let limit = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
        limit(self.file.rounds_begin_within).is_some_and(|limit| now > limit)
            || limit(self.file.rounds_end_within).is_some_and(|limit| now + expected > limit)
    }

    /// Returns the engines of a job, in the order of their turns.
    pub(super) fn engines(&self, at: usize, job: &Job, round: u32, latency: bool) -> Vec<String> {
        let engines = &self.config.engines;
        let start = turn_order::start(self.config.plan.seed, at, engines.len());
        // The pass that times each operation counts as one more round.
        let round = if latency { job.rounds + 1 } else { round };
        let mut engines = turn_order::turns(engines, start, round);
        if let Some(meant) = &job.engines {
            engines.retain(|engine| meant.iter().any(|it| it == programs::own_name(engine)));
        }
        engines
    }

    /// Returns every turn in order, with the pass that times each operation last.
    fn planned(&self, jobs: &[Job], rounds: u32) -> Vec<Planned> {
        let passes = self.passes(jobs, rounds);
        let turns = passes.flat_map(|(round, latency, at)| {
            let engines = self.engines(at, &jobs[at], round, latency).into_iter();
            engines.map(move |engine| Planned {
                round: if latency { 0 } else { round },
                job: at,
                engine,
            })
        });
        turns.collect()
    }

    /// Returns the round of each job that runs in it, whether it is the pass that times each
    /// operation, and the position of the job.
    fn passes(&self, jobs: &[Job], rounds: u32) -> impl Iterator<Item = (u32, bool, usize)> {
        let timed = self.is_timed().then_some((1, true));
        let passes = (1..=rounds).map(|round| (round, false)).chain(timed);
        passes.flat_map(move |(round, latency)| {
            let runs = move |job: &Job| round <= job.rounds && (job.latency || !latency);
            let jobs = jobs.iter().enumerate().filter(move |(_, job)| runs(job));
            jobs.map(move |(at, _)| (round, latency, at))
        })
    }

    /// Returns the time at which the last round has to end, if the suite limits it.
    fn deadline(&self) -> Option<Instant> {
        let limit = Duration::from_secs(self.file.rounds_end_within);
        let left = limit.checked_sub(self.elapsed());
        (!limit.is_zero()).then(|| Instant::now() + left.unwrap_or_default())
    }
}
