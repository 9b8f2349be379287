//! Damage harness: damages directories in many ways, and judges how each is opened, read or
//! repaired.
//!
//! A [`Subject`] makes [`Image`]s: the files of a directory, and the [`Model`] of what was written
//! to them. A [`Mutant`] is an image with one change or two, drawn by its seed from the mutations
//! of the subject. [`run`] lets the subject judge mutants on two threads. None may cause a panic,
//! take five seconds, or take much memory.

pub mod files;
mod kind;
mod mend;
mod model;
mod mutant;
mod watchdog;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::testing::setting::setting;
use rustix::process::{Resource, Rlimit, setrlimit};

pub use kind::{Kind, Mix};
pub use mend::{blocks_of, mend_log, mend_own, mend_table};
pub use model::{Entries, Image, Model, Place, Story, marked_places};
pub use mutant::{Mutant, Subject, Tally};
use watchdog::Watchdog;

const THREADS: usize = 2;
/// Limit of the process's virtual memory. A length that is trusted before it is verified would
/// exceed it.
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Number of failures that are shown, and of characters of each: the report in it may be long.
const FAILURES_SHOWN: usize = 20;
const FAILURE_CHARS: usize = 2_000;

/// Returns the seeds of a test of `standard` mutants, or of as many as `scaled` returns for the
/// variable `name`. With `CAIRN_SEED` alone, only that mutant runs.
pub fn seeds(name: &str, standard: u64, scaled: impl Fn(u64) -> u64) -> Range<u64> {
    let (seed, size) = (setting("CAIRN_SEED"), setting(name));
    let standard = if seed.is_some() { 1 } else { standard };
    let first = seed.unwrap_or(1);
    first..first + size.map_or(standard, scaled)
}

/// Judges one mutant of `images` for each seed. Returns the counts by kind of damage.
///
/// # Panics
/// If a mutant breaks a promise.
pub fn run(subject: &impl Subject, images: &[Image], seeds: Range<u64>) -> BTreeMap<String, Tally> {
    run_drawn(subject, seeds, |seed| {
        let nth = usize::try_from(seed).expect("64 bits") % images.len();
        (&images[nth], Mutant::draw(subject, &images[nth], seed))
    })
}

/// Does the same with mutants that `draw` returns for each number.
///
/// # Panics
/// If a mutant breaks a promise.
#[expect(clippy::print_stdout, reason = "a test prints what it covered")]
pub fn run_drawn<'a>(
    subject: &impl Subject,
    numbers: Range<u64>,
    draw: impl Fn(u64) -> (&'a Image, Mutant) + Sync,
) -> BTreeMap<String, Tally> {
    let limit = Some(MEMORY_BYTES_MAX);
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(Resource::As, limit).expect("a limit may be lowered");
    println!("CAIRN_SEED={} to {}", numbers.start, numbers.end - 1);
    let next = AtomicU64::new(numbers.start);
    let (tallies, failures) = (Mutex::default(), Mutex::new(Vec::new()));
    let watchdog = Watchdog::new(THREADS);
    let work = |thread: usize| {
        let mut own = BTreeMap::<String, Tally>::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= numbers.end {
                break;
            }
            let (image, mutant) = draw(seed);
            let text = format!("{}:{} (CAIRN_SEED={seed})", image.name, mutant.text());
            watchdog.begin(thread, &text);
            let tally = own.entry(mutant.kinds_text()).or_default();
            let judged = catch_unwind(AssertUnwindSafe(|| subject.judge(image, &mutant, tally)));
            if let Err(why) = judged.unwrap_or_else(|_| Err("panic".to_owned())) {
                let why: String = why.chars().take(FAILURE_CHARS).collect();
                failures
                    .lock()
                    .expect("no panic")
                    .push(format!("{text}: {why}"));
            }
        }
        watchdog.begin(thread, "");
        add(&mut tallies.lock().expect("no panic"), own);
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
        watchdog.watch();
    });
    let tallies = tallies.into_inner().expect("no panic");
    for (kind, tally) in &tallies {
        println!("{kind}: {tally:?}");
    }
    let failures = failures.into_inner().expect("no panic");
    let shown = failures.iter().take(FAILURES_SHOWN).cloned();
    let shown = shown.collect::<Vec<String>>().join("\n\n");
    assert!(failures.is_empty(), "{} failures\n{shown}", failures.len());
    tallies
}

fn add(all: &mut BTreeMap<String, Tally>, more: BTreeMap<String, Tally>) {
    for (kind, tally) in more {
        let sum = all.entry(kind).or_default();
        for (name, count) in tally {
            *sum.entry(name).or_default() += count;
        }
    }
}
