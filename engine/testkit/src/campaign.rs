//! A campaign, which crashes workloads at every operation and runs the oracle on every state.
//!
//! Each state is counted only once, identified by a hash of the whole disk. A state that recurs is
//! checked again only if the history then allows other contents.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::Env;
use cairndb_env::random::Random;
use cairndb_env::sync::Mutex;
use cairndb_sim::{CrashChoice, CrashPoint, Effect, Fault, Op, OpKind, Profile, SimEnv};

use crate::effects::effects;
use crate::history::{Explained, Loss};
use crate::oracle::{self, Depth};
use crate::runner::{Point, Runner};
use crate::setup::Setup;
use crate::workload::{self, Step};
use crate::{Check, Violation};

/// Number of violations that are kept verbatim.
const VIOLATIONS_KEPT: usize = 20;

/// The effort spent on each crash point.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of states per point under the weak profile.
    pub weak: usize,
    /// Number of states per point under the ordered profile, and under the kill profile.
    pub other: usize,
    /// One of this many states is crashed again at every operation of its recovery.
    pub nest_one_in: u64,
    /// Number of states per point inside a recovery.
    pub nested: usize,
    /// One of this many nested states is crashed a third time.
    pub deep_one_in: u64,
    /// One of this many states also gets the expensive checks.
    pub full_one_in: u64,
}

impl Effort {
    /// Effort for the exhaustive short workloads.
    pub const SHORT: Effort = Effort {
        weak: 14,
        other: 3,
        nest_one_in: 60,
        nested: 3,
        deep_one_in: 60,
        full_one_in: 8,
    };
    /// Effort for long random workloads.
    pub const LONG: Effort = Effort {
        weak: 16,
        other: 3,
        nest_one_in: 80,
        nested: 3,
        deep_one_in: 40,
        full_one_in: 8,
    };
}

/// Totals of a campaign so far.
#[derive(Debug, Default)]
pub struct Campaign {
    distinct: Mutex<HashSet<u64>>,
    checked: Mutex<HashSet<u64>>,
    workloads: AtomicU64,
    points: AtomicU64,
    nested: AtomicU64,
    deep: AtomicU64,
    pending: AtomicU64,
    violations: AtomicU64,
    kept: Mutex<Vec<String>>,
}

/// The origin of a state, in enough detail to reproduce it.
#[derive(Clone, Debug)]
struct Origin {
    workload: String,
    crash: String,
}

impl Origin {
    fn new(workload: impl Into<String>) -> Origin {
        Origin {
            workload: workload.into(),
            crash: String::new(),
        }
    }

    /// Returns the origin for another crash of the same workload.
    fn and(&self, crash: fmt::Arguments<'_>) -> Origin {
        Origin {
            workload: self.workload.clone(),
            crash: crash.to_string(),
        }
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        write!(
            f,
            "{} distinct crash states ({} of crashes inside recovery, {} of third crashes, {} with \
             log bytes pending) of {} crash points in {} workloads, {} violations",
            self.states(),
            count(&self.nested),
            count(&self.deep),
            count(&self.pending),
            count(&self.points),
            count(&self.workloads),
            self.violations(),
        )
    }
}

impl Campaign {
    /// Returns the number of distinct states seen.
    pub fn states(&self) -> u64 {
        self.distinct.lock().len() as u64
    }

    /// Returns the number of distinct states of crashes inside a recovery.
    pub fn nested(&self) -> u64 {
        self.nested.load(Ordering::Relaxed)
    }

    /// Returns the number of distinct states taken while the log had unsynced bytes.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// Returns the number of violations found.
    pub fn violations(&self) -> u64 {
        self.violations.load(Ordering::Relaxed)
    }

    /// Returns the first violations, with the details needed to reproduce them.
    pub fn kept(&self) -> Vec<String> {
        self.kept.lock().clone()
    }

    fn report(&self, violation: &Violation, origin: &Origin) {
        self.violations.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.kept.lock();
        if kept.len() < VIOLATIONS_KEPT {
            let Origin { workload, crash } = origin;
            kept.push(format!("{workload}\n  {crash}\n  {violation}"));
        }
    }

    /// Runs one short workload and crashes it at every operation of its last step and of closing.
    /// Shorter workloads, which end earlier, cover the earlier operations.
    pub fn short(&self, steps: &[Step], seed: u64, effort: &Effort) {
        let origin = Origin::new(format!("short workload {steps:?}, seed {seed}"));
        let mut runner = Runner::new(SimEnv::new(seed), Setup::plain());
        let (last, before) = steps
            .split_last()
            .map_or((None, &[][..]), |(last, before)| (Some(last), before));
        let run = |runner: &mut Runner| -> Check<Vec<Point>> {
            let opened = runner.watch();
            must(runner.open())?;
            for step in before {
                perform(runner, step)?;
            }
            let points = runner.watch();
            if before.is_empty() {
                points.lock().append(&mut opened.lock());
            }
            if let Some(last) = last {
                perform(runner, last)?;
            }
            runner.check()?;
            must(runner.close())?;
            runner.env.unwatch();
            oracle::check_files(&runner.env)?;
            oracle::check_protocol(&runner.env)?;
            Ok(std::mem::take(&mut points.lock()))
        };
        match run(&mut runner) {
            Err(violation) => self.report(&violation, &origin),
            Ok(points) => {
                for point in &points {
                    self.point(&runner, point, effort, &origin);
                }
            }
        }
        self.workloads.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs one long random workload with random settings and crashes it at `crashes` random
    /// operations.
    pub fn long(&self, seed: u64, length: usize, crashes: usize, effort: &Effort) {
        let mut random = Random::new(seed);
        let setup = Setup::random(&mut random);
        let steps = workload::random(&mut random, length);
        let origin = Origin::new(format!("long workload, CAIRN_SEED={seed}, {setup:?}"));
        let mut runner = Runner::new(SimEnv::new(seed), setup);
        let points = runner.watch();
        let mut run = || -> Check<()> {
            must(runner.open())?;
            for (index, step) in steps.iter().enumerate() {
                perform(&mut runner, step)
                    .map_err(|violation| violation.within(format_args!("step {index} {step:?}")))?;
            }
            runner.check()?;
            must(runner.close())?;
            oracle::check_files(&runner.env)?;
            oracle::check_protocol(&runner.env)
        };
        let result = run();
        runner.env.unwatch();
        if let Err(violation) = result {
            self.report(&violation, &origin);
        }
        let mut points = std::mem::take(&mut *points.lock());
        for _ in 0..crashes.min(points.len()) {
            let point = points.swap_remove(random.index(points.len()));
            self.point(&runner, &point, effort, &origin);
        }
        self.workloads.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs one long random workload in which one random operation fails, once or permanently.
    /// Tolerates the errors, and crashes the workload at `crashes` random operations.
    pub fn faulty(&self, seed: u64, length: usize, crashes: usize, effort: &Effort) {
        let mut random = Random::new(seed);
        let setup = Setup::random(&mut random);
        let steps = workload::random(&mut random, length);
        let index = random.below(3 * length as u64);
        let kind = OpKind::ALL[random.index(OpKind::ALL.len())];
        let effects = effects(kind);
        let effect = effects[random.index(effects.len())];
        let fault = Fault::on(kind, "", effect).after(index / 8);
        let sticky = random.below(2) == 0;
        let fault = if sticky { fault.sticky() } else { fault };
        let origin = Origin::new(format!(
            "faulty workload, CAIRN_SEED={seed}, {setup:?}, {fault:?}"
        ));
        let mut runner = Runner::new(SimEnv::new(seed), setup);
        runner.bear(effect);
        runner.env.inject(fault);
        let points = runner.watch();
        let mut run = || -> Check<()> {
            let _ = runner.open();
            for (index, step) in steps.iter().enumerate() {
                if index == length / 2 {
                    runner.env.heal();
                }
                runner
                    .perform(step)
                    .map_err(|violation| violation.within(format_args!("step {index} {step:?}")))?;
            }
            // After a sync that reported success without syncing, the engine breaks rules without
            // knowing it.
            if matches!(effect, Effect::SyncReportsLate | Effect::SyncLies) {
                return Ok(());
            }
            oracle::check_protocol(&runner.env)
        };
        let result = run();
        runner.env.unwatch();
        if let Err(violation) = result {
            self.report(&violation, &origin);
        }
        let mut points = std::mem::take(&mut *points.lock());
        let crashes = if runner.loss(Loss::Power) == Loss::Lie {
            0
        } else {
            crashes.min(points.len())
        };
        for _ in 0..crashes {
            let point = points.swap_remove(random.index(points.len()));
            self.point(&runner, &point, effort, &origin);
        }
        self.workloads.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs one random workload under a fault that is not reported, crashes it at every seventh
    /// operation and checks all promises. The checks must find a violation.
    pub fn lying(&self, seed: u64, length: usize, fault: Fault, effort: &Effort) {
        let mut random = Random::new(seed);
        let steps = workload::random(&mut random, length);
        let origin = Origin::new(format!("lying workload, CAIRN_SEED={seed}, {fault:?}"));
        let mut runner = Runner::new(SimEnv::new(seed), Setup::plain());
        runner.env.inject(fault);
        let points = runner.watch();
        let mut run = || -> Check<()> {
            must(runner.open())?;
            steps.iter().try_for_each(|step| perform(&mut runner, step))
        };
        if let Err(violation) = run() {
            self.report(&violation, &origin);
        }
        runner.env.unwatch();
        let points = std::mem::take(&mut *points.lock());
        for point in points.iter().step_by(7) {
            self.point(&runner, point, effort, &origin);
        }
    }

    /// Checks every state of one crash point.
    ///
    /// # Errors
    /// The first violation. It is not counted among those of the campaign.
    pub fn point_of(
        &self,
        runner: &Runner,
        point: &Point,
        effort: &Effort,
        workload: &str,
    ) -> Check<()> {
        let origin = Origin::new(workload.to_owned());
        let explored = self.explore(runner, point, effort, &origin);
        explored.map_err(|(violation, at)| violation.within(at.crash))
    }

    fn point(&self, runner: &Runner, point: &Point, effort: &Effort, origin: &Origin) {
        if let Err((violation, at)) = self.explore(runner, point, effort, origin) {
            self.report(&violation, &at);
        }
    }

    /// Checks every state of a crash point, up to the first violation.
    fn explore(
        &self,
        runner: &Runner,
        point: &Point,
        effort: &Effort,
        origin: &Origin,
    ) -> Result<(), OriginatedViolation> {
        self.points.fetch_add(1, Ordering::Relaxed);
        let epochs = runner.epochs();
        let history = &epochs[point.epoch];
        let power = history.explain(point.mark, runner.loss(Loss::Power));
        let process = history.explain(point.mark, runner.loss(Loss::Process));
        let seed = point.crash.op().index;
        let plans = [
            (Profile::Weak, effort.weak),
            (Profile::Ordered, effort.other),
            (Profile::Strict, 1),
            (Profile::Kill, effort.other),
        ];
        let log_pending = point.crash.has_pending(".log");
        let nest = Nest {
            setup: runner.setup,
            explained: &power,
            effort,
            depth: 2,
        };
        for (profile, max) in plans {
            let explained = match profile {
                Profile::Kill => &process,
                _ => &power,
            };
            for state in point.crash.states(profile, seed, max) {
                if self.is_checked(state.hash, explained) {
                    continue;
                }
                if self.distinct.lock().insert(state.hash) && log_pending {
                    self.pending.fetch_add(1, Ordering::Relaxed);
                }
                let at = describe(point.crash.op(), profile, &state.choice);
                let origin = origin.and(format_args!("{at}"));
                if state.hash.is_multiple_of(effort.nest_one_in) {
                    let copy = state.image.with_memory(state.image.memory_bytes());
                    self.nest(&copy, &nest, &origin)?;
                }
                let depth = if (state.hash >> 20).is_multiple_of(effort.full_one_in) {
                    Depth::Full
                } else {
                    Depth::Usual
                };
                let checked = oracle::check(&state.image, &runner.setup, explained, depth);
                checked.map_err(|violation| {
                    let known = history.describe(point.mark);
                    (violation.within(format_args!("history{known}")), origin)
                })?;
            }
        }
        Ok(())
    }

    /// Crashes at every operation of the recovery of `image`.
    fn nest(
        &self,
        image: &Arc<SimEnv>,
        nest: &Nest<'_>,
        origin: &Origin,
    ) -> Result<(), OriginatedViolation> {
        let points: Arc<Mutex<Vec<CrashPoint>>> = Arc::default();
        let collected = points.clone();
        image.watch(move |point| collected.lock().push(point));
        let opened = oracle::open(image, &nest.setup);
        image.unwatch();
        let points = std::mem::take(&mut *points.lock());
        // The check of the state itself also reports an error of this open.
        drop(opened);
        let Nest { effort, depth, .. } = *nest;
        for point in points {
            let seed = point.op().index ^ u64::from(depth);
            for state in point.states(Profile::Weak, seed, effort.nested) {
                if self.is_checked(state.hash, nest.explained) {
                    continue;
                }
                if self.distinct.lock().insert(state.hash) {
                    self.nested.fetch_add(1, Ordering::Relaxed);
                    self.deep.fetch_add(u64::from(depth > 2), Ordering::Relaxed);
                }
                let at = describe(point.op(), Profile::Weak, &state.choice);
                let origin =
                    origin.and(format_args!("{}, then within recovery {at}", origin.crash));
                if depth == 2 && state.hash.is_multiple_of(effort.deep_one_in) {
                    let copy = state.image.with_memory(state.image.memory_bytes());
                    self.nest(&copy, &Nest { depth: 3, ..*nest }, &origin)?;
                }
                oracle::check(&state.image, &nest.setup, nest.explained, Depth::Usual)
                    .map_err(|violation| (violation, origin))?;
            }
        }
        Ok(())
    }

    /// Returns whether this state was already checked against the same expectation, and records it
    /// as checked.
    fn is_checked(&self, hash: u64, explained: &Explained) -> bool {
        let key = hash ^ explained.fingerprint().rotate_left(7);
        !self.checked.lock().insert(key)
    }
}

/// The expectation for a crash within a recovery.
#[derive(Clone, Copy)]
struct Nest<'a> {
    setup: Setup,
    explained: &'a Explained,
    effort: &'a Effort,
    /// The number of this crash: 2 or 3.
    depth: u32,
}

/// A violation and its origin.
type OriginatedViolation = (Violation, Origin);

fn describe(op: &Op, profile: Profile, choice: &CrashChoice) -> String {
    format!(
        "crash before operation {} ({:?} {}), {profile:?} {choice:?}",
        op.index, op.kind, op.name
    )
}

fn must(result: Result<(), cairndb::Error>) -> Check<()> {
    result.map_err(|error| Violation::new(format!("the engine failed: {error}")))
}

/// Performs a step that must not fail.
fn perform(runner: &mut Runner, step: &Step) -> Check<()> {
    match runner.perform(step)? {
        None => Ok(()),
        Some(error) => Err(Violation::new(format!("{step:?} failed: {error}"))),
    }
}
