//! Damage test: tens of thousands of damaged databases. Each must return correct results, fail to
//! open with an error that names a file, or report a cut.
//!
//! Small databases of every shape are created once (`images`). Each *mutant* is one of them with
//! one kind of damage applied (`mutants`). It is opened, read in every way, verified, and judged
//! (`judge`). Bytes whose checksum was repaired after the damage (`reseal`) may have any meaning
//! but must not break the reader. No mutant may cause a panic, take five seconds, or return a value
//! that was not written.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_DAMAGE` | number of mutants, 60,000 by default |
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that mutant runs |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests fail by panicking, read real directories with names of their own, and print \
              what they covered"
)]

#[path = "damage/images.rs"]
mod images;
#[path = "damage/judge.rs"]
mod judge;
#[path = "damage/mutants.rs"]
mod mutants;
#[path = "damage/real.rs"]
mod real;
#[path = "damage/reseal.rs"]
mod reseal;
#[path = "damage/watchdog.rs"]
mod watchdog;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::testing::setting::setting;
use images::Image;
use judge::Verdict;
use mutants::Mutant;
use watchdog::Watchdog;

/// Number of mutants in a push check.
const MUTANTS: u64 = 60_000;
const THREADS: u64 = 2;
/// Limit of the test's virtual memory. A length that is trusted before it is verified would exceed
/// it.
const MEMORY_KIB_MAX: u64 = 4 << 20;

/// Judges one mutant. A panic is a failure.
fn judged(image: &Image, mutant: &Mutant) -> Result<Verdict, String> {
    let run = || judge::judge(image, mutant);
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// The number of mutants per outcome, and the first few failures.
#[derive(Debug, Default)]
struct Tally {
    verdicts: Mutex<std::collections::BTreeMap<Verdict, u64>>,
    failures: Mutex<Vec<String>>,
}

impl Tally {
    fn add(&self, image: &Image, mutant: &Mutant, replay: &str) {
        match judged(image, mutant) {
            Ok(verdict) => *self.verdicts.lock().unwrap().entry(verdict).or_insert(0) += 1,
            Err(why) => {
                let mut failures = self.failures.lock().unwrap();
                if failures.len() < 20 {
                    failures.push(format!("{}: {mutant:?}: {why} ({replay})", image.name));
                }
            }
        }
    }

    fn finish(self, what: &str) {
        let failures = self.failures.into_inner().unwrap();
        let verdicts = self.verdicts.into_inner().unwrap();
        println!("{what}: {verdicts:?}");
        assert!(
            failures.is_empty(),
            "{} failures\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
}

/// Changes every byte of every file of a small closed database, each in one way.
#[test]
fn after_a_clean_close_every_changed_byte_is_noticed() {
    let image = images::tiny();
    let mutants = mutants::every_byte(&image, setting("CAIRN_DAMAGE").unwrap_or(MUTANTS) / 60_000);
    let (tally, next) = (Tally::default(), AtomicU64::new(0));
    let watchdog = Watchdog::new(THREADS);
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog.watch());
        for thread in 0..THREADS {
            let (tally, next, mutants, image) = (&tally, &next, &mutants, &image);
            let watchdog = &watchdog;
            scope.spawn(move || {
                while let Some(mutant) =
                    mutants.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap())
                {
                    watchdog.begin(thread, || format!("{mutant:?}"));
                    tally.add(image, mutant, "no seed needed");
                }
                watchdog.end(thread);
            });
        }
    });
    tally.finish(&format!("{} single bytes", mutants.len()));
}

#[test]
fn damage_is_refused_or_reported_and_never_believed() {
    let seed = setting("CAIRN_SEED");
    let wanted = setting("CAIRN_DAMAGE").unwrap_or(if seed.is_some() { 1 } else { MUTANTS });
    let first = seed.unwrap_or(1);
    let images = images::all();
    let (tally, next) = (Tally::default(), AtomicU64::new(first));
    let watchdog = Watchdog::new(THREADS);
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog.watch());
        for thread in 0..THREADS {
            let (tally, next, images, watchdog) = (&tally, &next, &images, &watchdog);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + wanted {
                        break;
                    }
                    let (image, mutant) = mutants::draw(images, seed);
                    watchdog.begin(thread, || {
                        format!("{}: {mutant:?} (seed {seed})", image.name)
                    });
                    tally.add(image, &mutant, &format!("CAIRN_SEED={seed}"));
                }
                watchdog.end(thread);
            });
        }
    });
    tally.finish(&format!("{wanted} mutants from seed {first}"));
    if let Some(peak) = watchdog::peak_memory_kib() {
        assert!(peak < MEMORY_KIB_MAX, "virtual memory reached {peak} KiB");
    }
}
