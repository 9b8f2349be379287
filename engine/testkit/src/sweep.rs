//! The fault sweep: a reference workload in which the k-th operation of the machine fails.
//!
//! Whatever fails, a call succeeds or returns an error of the correct kind, and reads stay correct.
//! Only a failed sync poisons the handle. When a full disk has room again, writes succeed without
//! reopening. At the end the machine is crashed and the oracle checks the states; then the database
//! is closed and reopened in place.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb::{Durability, Error, ErrorKind, Job};
use cairndb_env::random::Random;
use cairndb_sim::{Effect, Fault, Op, OpKind, SimEnv};

use crate::campaign::{Campaign, Effort};
use crate::history::Loss;
use crate::oracle::{self, PATH};
use crate::runner::{Point, Runner};
use crate::setup::Setup;
use crate::workload::{self, Act, Step};
use crate::{Check, Violation};

/// The duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A single operation.
    Once,
    /// Every operation of its kind until the end.
    Sticky,
    /// Like `Sticky`, but only until two thirds of the workload are done.
    Healed,
}

impl Lasts {
    /// All durations.
    pub const ALL: [Lasts; 3] = [Lasts::Once, Lasts::Sticky, Lasts::Healed];
}

/// An operation of a run without faults, and how it fails in another run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The operation.
    pub op: Op,
    /// How it fails.
    pub effect: Effect,
    /// For how long.
    pub lasts: Lasts,
    /// Whether a consumer with a lease follows.
    pub leased: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (op, leased) = (&self.op, if self.leased { "leased, " } else { "" });
        let how = format!("{leased}{:?} {:?}", self.effect, self.lasts);
        write!(
            f,
            "{how} at operation {} ({:?} {})",
            op.index, op.kind, op.name
        )
    }
}

/// Returns the reference workload: every kind of step, flushes, compactions, a new manifest, a
/// reopen. If a consumer follows, everything is logged: it cannot copy anything else.
pub fn reference(leased: bool) -> Vec<Step> {
    let mut steps = every_kind();
    for step in &mut steps {
        if let Step::One(.., durability) | Step::Batch(_, durability) = step
            && leased
            && *durability == Durability::None
        {
            *durability = Durability::Os;
        }
    }
    steps
}

fn every_kind() -> Vec<Step> {
    let mut random = Random::new(11);
    let put = |key, len, durability| Step::One(key, Act::Put(len), durability);
    let mut steps = vec![
        put(0, 100, Durability::Os),
        put(1, 3000, Durability::Sync),
        put(2, 9000, Durability::Sync),
        Step::Create(1),
        Step::Create(2),
    ];
    for round in 0..3u8 {
        for index in 0..12u8 {
            let len = 800 + 200 * usize::from(index);
            steps.push(put(index + 3 * round, len, Durability::Os));
        }
        steps.extend([
            Step::Batch(
                vec![
                    (3, Act::Delete),
                    (4, Act::Put(500)),
                    (5, Act::Merge(200)),
                    (6, Act::Put(8500)),
                    (workload::SPACE, Act::Put(300)),
                    (2 * workload::SPACE, Act::Put(8500)),
                ],
                Durability::Sync,
            ),
            put(round, 200, Durability::None),
            Step::TakeSnapshot,
            Step::Flush,
            put(7, 2000, Durability::Sync),
            [Step::Drop(1), Step::Create(1), Step::Drop(2)][usize::from(round)].clone(),
            Step::Background(Job::Compact),
            Step::Background(Job::Persist),
            Step::Background(Job::Reap),
            Step::Read,
            Step::DropSnapshot,
        ]);
        steps.push(
            [
                Step::Compact(workload::ALL_KEYS),
                Step::Checkpoint,
                Step::Reopen,
            ][usize::from(round)]
            .clone(),
        );
    }
    steps.extend(workload::random(&mut random, 10));
    steps.extend([Step::Read, put(9, 300, Durability::Sync)]);
    steps
}

/// Returns the operations of the reference workload without any fault.
///
/// # Errors
/// A violation if the workload does not complete.
pub fn operations(seed: u64) -> Check<Vec<Op>> {
    Ok(without_fault(seed, false)?.env.ops())
}

/// Returns operations of the same with a consumer of changes: all of the consumer's calls, and one
/// of `one_in` others, which include those that keep the log for it.
///
/// # Errors
/// Same as [`operations`].
pub fn operations_followed(seed: u64, one_in: u64) -> Check<Vec<Op>> {
    let runner = without_fault(seed, true)?;
    let (consumer, mut ops) = (runner.consumer(), runner.env.ops());
    if !consumer.is_fed() || consumer.revoked() > 0 {
        return Err(Violation::new(
            "without a fault, the consumer lost its feed",
        ));
    }
    let calls = consumer.calls();
    let is_own = |index| calls.iter().any(|call| call.contains(&index));
    ops.retain(|op| is_own(op.index) || op.index.is_multiple_of(one_in));
    Ok(ops)
}

fn new_runner(seed: u64, leased: bool) -> Runner {
    let setup = Setup {
        leased,
        ..Setup::plain()
    };
    let mut runner = Runner::new(SimEnv::new(seed), setup);
    if leased {
        runner.keep_copy();
    }
    runner
}

fn without_fault(seed: u64, leased: bool) -> Check<Runner> {
    let mut runner = new_runner(seed, leased);
    let failed = |error: Error| Violation::new(format!("without a fault: {error}"));
    runner.open().map_err(failed)?;
    for step in reference(leased) {
        if let Some(error) = runner.perform(&step)? {
            return Err(failed(error).within(format_args!("{step:?}")));
        }
    }
    runner.check()?;
    Ok(runner)
}

/// Runs the workload with a fault. Its crash states are counted in `campaign`. Returns how often
/// the consumer's feed was revoked, so that it had to begin again.
///
/// # Errors
/// The first violation.
pub fn run(campaign: &Campaign, seed: u64, case: &Case) -> Check<u64> {
    let Case {
        op, effect, lasts, ..
    } = case;
    let (effect, lasts, place) = (*effect, *lasts, case.to_string());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut sweep = Sweep {
            runner: new_runner(seed, case.leased),
            effect,
            lasts,
            hits_copy: lasts == Lasts::Once && op.dir.to_str() != Some(PATH),
        };
        let fault = Fault::at(op.index, effect);
        let sticky = lasts != Lasts::Once;
        let fault = if sticky { fault.sticky() } else { fault };
        sweep.runner.env.inject(fault);
        sweep.run(campaign, &place)?;
        Ok(sweep.runner.consumer().revoked())
    }));
    let result = caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation::new(format!(
            "panic: {}",
            text.unwrap_or_default()
        )))
    });
    result.map_err(|violation| violation.within(place))
}

struct Sweep {
    runner: Runner,
    effect: Effect,
    lasts: Lasts,
    /// Whether the operation belongs to a checkpoint, so that its failure does not affect the
    /// database.
    hits_copy: bool,
}

impl Sweep {
    fn run(&mut self, campaign: &Campaign, place: &str) -> Check<()> {
        self.runner.bear(self.effect);
        if let Err(error) = self.runner.open() {
            self.check_error(&error)?;
        }
        let steps = reference(self.runner.setup.leased);
        for (index, step) in steps.iter().enumerate() {
            if self.lasts == Lasts::Healed && index == steps.len() * 2 / 3 {
                self.runner.env.heal();
            }
            self.step(step)
                .map_err(|violation| violation.within(format_args!("step {index} {step:?}")))?;
        }
        self.runner.env.heal();
        self.check_heals()?;
        self.crash(campaign, place)?;
        self.check_reopens()?;
        // The contents after the second open are final, regardless of the syncs of the first
        // handle.
        self.crash(campaign, place)
            .map_err(|violation| violation.within("after reopening"))
    }

    fn step(&mut self, step: &Step) -> Check<()> {
        let Some(error) = self.runner.perform(step)? else {
            return Ok(());
        };
        self.check_error(&error)
    }

    /// Checks that a fault causes an error of its own kind, or of a kind that may result from it.
    fn check_error(&self, error: &Error) -> Check<()> {
        let struck = self.runner.env.faults_struck() > 0;
        let expected = match error.kind() {
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Poisoned => true,
            // If the system drops bytes that it could not write, a table stays too short until the
            // log is replayed.
            ErrorKind::Corruption => matches!(
                self.effect,
                Effect::ReadsShort | Effect::SyncReportsLate | Effect::SyncDropsCache
            ),
            _ => false,
        };
        if struck && expected {
            return Ok(());
        }
        Err(Violation::new(format!(
            "an error of the wrong kind: {error}"
        )))
    }

    /// Checks that a handle that no failed sync has poisoned accepts writes again once the fault is
    /// over.
    fn check_heals(&mut self) -> Check<()> {
        if self.runner.db().is_none() {
            let opened = self.runner.perform(&Step::Reopen)?;
            return match opened {
                Some(error) if self.runner.db().is_none() => self.check_error(&error),
                _ => Ok(()),
            };
        }
        let step = Step::One(10, Act::Put(100), Durability::Sync);
        let Some(error) = self.runner.perform(&step)? else {
            return self.runner.perform(&Step::Read).map(drop);
        };
        let may_poison =
            self.effect.applies_to(OpKind::SyncFile) || self.effect.applies_to(OpKind::SyncDir);
        if error.kind() == ErrorKind::Poisoned && may_poison && !self.hits_copy {
            return Ok(());
        }
        Err(Violation::new(format!(
            "a write failed after the fault was healed: {error}"
        )))
    }

    fn crash(&mut self, campaign: &Campaign, place: &str) -> Check<()> {
        const EFFORT: Effort = Effort {
            weak: 3,
            other: 1,
            nest_one_in: 400,
            nested: 1,
            deep_one_in: 1000,
            full_one_in: 3,
        };
        if self.runner.loss(Loss::Power) == Loss::Lie {
            // A medium that lies guarantees nothing, but no value may be invented.
            return Ok(());
        }
        let epochs = self.runner.epochs();
        let Some(history) = epochs.last() else {
            return Ok(());
        };
        let point = Point {
            crash: self.runner.env.crash_point(),
            epoch: epochs.len() - 1,
            mark: history.mark(),
        };
        campaign.point_of(&self.runner, &point, &EFFORT, place)
    }

    fn check_reopens(&mut self) -> Check<()> {
        let lie = self.runner.loss(Loss::Power) == Loss::Lie;
        let error = self.runner.perform(&Step::Reopen)?;
        if self.runner.db().is_none() {
            return match error {
                Some(error) if lie => self.check_error(&error),
                Some(error) => Err(Violation::new(format!("reopening failed: {error}"))),
                None => Ok(()),
            };
        }
        if lie {
            return Ok(());
        }
        oracle::check_protocol(&self.runner.env)?;
        self.check_feed()?;
        self.runner.check()
    }

    /// Checks that the consumer has continued, and has everything.
    fn check_feed(&mut self) -> Check<()> {
        let Some(db) = self.runner.db().cloned() else {
            return Ok(());
        };
        if let Some(error) = self.runner.follow(&db)? {
            return Err(Violation::new(format!("the feed failed: {error}")));
        }
        if self.runner.setup.leased && !self.runner.consumer().is_fed() {
            return Err(Violation::new("no feed after reopening"));
        }
        Ok(())
    }
}
