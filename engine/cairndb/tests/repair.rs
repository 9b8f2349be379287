//! Repair test: thousands of damaged directories, and tens of thousands in a nightly run. What is
//! intact must be kept, what is lost must be named, and what was deleted must stay deleted.
//!
//! Databases of several shapes are written once (`images`), with the history of every key. Each
//! *mutant* is one of them with one or two kinds of damage, and knows which bytes were damaged
//! (`mutants`). It is repaired, and the result is compared with the history and with the report
//! (`judge`).
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_REPAIRS` | number of mutants, 1,500 by default |
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that mutant runs |

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests fail by panicking, use names of their own, and print what they covered"
)]

#[path = "repair/images.rs"]
mod images;
#[path = "repair/judge.rs"]
mod judge;
#[path = "repair/mutants.rs"]
mod mutants;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb::{Db, Options, RepairOptions};
use cairndb_env::testing::setting::setting;
use cairndb_env::{Env, RealEnv};
use judge::Tally;

/// Number of mutants in a push check.
const MUTANTS: u64 = 1_500;
const THREADS: usize = 2;
/// Number of characters of a failure that are shown: the report in it may be long.
const FAILURE_CHARS: usize = 2_000;
/// Number of mutants that share the same images.
const MUTANTS_PER_IMAGES: u64 = 3_000;

#[test]
fn what_is_intact_is_kept_and_what_is_lost_is_named() {
    let seed = setting("CAIRN_SEED");
    let wanted = setting("CAIRN_REPAIRS").unwrap_or(if seed.is_some() { 1 } else { MUTANTS });
    let first = seed.unwrap_or(1);
    let tallies = Mutex::new(BTreeMap::<_, Tally>::new());
    let failures = Mutex::new(Vec::new());
    let mut from = first;
    while from < first + wanted {
        let until = (from + MUTANTS_PER_IMAGES).min(first + wanted);
        // The same for every seed, so that one seed alone can be replayed.
        let images = images::all(7);
        let places = judge::all_places(&images);
        let next = AtomicU64::new(from);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= until {
                            break;
                        }
                        let which = usize::try_from(seed).unwrap() % images.len();
                        let (image, places) = (&images[which], &places[which]);
                        let mutant = mutants::draw(image, seed);
                        let mut tally = Tally::default();
                        let run = || judge::judge(image, places, &mutant, &mut tally);
                        let judged = catch_unwind(AssertUnwindSafe(run));
                        let judged = judged.unwrap_or_else(|_| Err("panic".to_owned()));
                        if let Err(why) = judged {
                            let text = &mutant.text;
                            let failure =
                                format!("{}:{text} (CAIRN_SEED={seed}): {why}", image.name);
                            failures.lock().unwrap().push(failure);
                        }
                        let mut tallies = tallies.lock().unwrap();
                        tallies.entry(mutant.kinds.clone()).or_default().add(&tally);
                    }
                });
            }
        });
        from = until;
    }
    report(&tallies.into_inner().unwrap());
    let failures = failures.into_inner().unwrap();
    let text = |failure: &String| failure.chars().take(FAILURE_CHARS).collect::<String>();
    let shown = failures.iter().take(8).map(text).collect::<Vec<String>>();
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        shown.join("\n\n")
    );
}

/// The header of a manifest is also a record of LevelDB's. Where its random number is text,
/// LevelDB's reader accepts the record: a database without tables and logs was taken for LevelDB's.
#[test]
fn an_empty_database_is_ours_whatever_its_random_number() {
    let home = tempfile::tempdir().unwrap();
    // One in 170 is text.
    let source = (0..20_000)
        .map(|number| home.path().join(format!("{number}")))
        .find(|path| {
            Db::open(path).unwrap().close().unwrap();
            let env = RealEnv::new();
            let manifest = env.open_dir(path, false).unwrap();
            let manifest = manifest.open_read("MANIFEST-000002").unwrap();
            let mut random = [0; 8];
            manifest.read_at(40, &mut random).unwrap();
            std::str::from_utf8(&random).is_ok()
        })
        .expect("a random number that is text");
    let dry_run = RepairOptions::new(&Options::new()).dry_run(true);
    let repaired = cairndb::repair(source, home.path().join("target"), &dry_run);
    assert!(repaired.is_ok(), "{repaired:?}");
}

/// Prints one line for each kind of damage, and checks that indexes are not needed.
fn report(tallies: &BTreeMap<Vec<mutants::Kind>, Tally>) {
    let mut by_kind = BTreeMap::<String, Tally>::new();
    for (kinds, tally) in tallies {
        let name = match kinds[..] {
            [kind] => format!("{kind:?}"),
            _ => "two kinds".to_owned(),
        };
        by_kind.entry(name).or_default().add(tally);
    }
    for (kind, tally) in by_kind {
        println!(
            "{kind}: {} repairs, {} of {} intact entries kept, {} lost, {} older, {} deleted back",
            tally.repairs, tally.intact_kept, tally.intact, tally.lost, tally.older, tally.back
        );
        // Only without an intact manifest may an intact entry be missing: then the order of
        // versions is a guess.
        let few = tally.repairs < 100;
        let kept_enough = few || tally.intact_kept * 100 >= tally.intact * 99;
        assert!(kept_enough, "{kind}: too many intact entries are lost");
    }
}
