//! Damage test: databases with one damage each. Every one must be refused with a named file, or
//! return contents that the damage explains; none may panic, take long, or take much memory.
//!
//! Small databases of several shapes are built once (`images`). A *mutant* is one of them with one
//! change to one file (`damage`), after which checksums are mended in half of the mutants: those
//! may have any contents.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_STATES` | number of mutants in percent of 20,000 |
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that mutant runs |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and measure how long a mutant takes"
)]

#[path = "mutants/damage.rs"]
mod damage;
#[path = "mutants/images.rs"]
mod images;
#[path = "common/noise.rs"]
mod noise;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairndb_env::{Background, Dir, Env as _, MemEnv};
use cairndb_leveldb::{Database, Error, ReadOptions, Recovery};

use cairndb_env::testing::setting::setting;
use damage::{Damage, Effect};
use images::{Files, Image, Pairs};
use noise::Noise;

/// Mutants in a push.
const MUTANTS: u64 = 20_000;
/// Most virtual memory: a length that is trusted before it is checked would exceed it.
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Most time for one mutant, which takes less than a millisecond.
const TIME_MAX: Duration = Duration::from_secs(5);

fn directory(files: &Files) -> Arc<dyn Dir> {
    let dir = MemEnv::new(Background::Stepped)
        .open_dir(Path::new("db"), true)
        .unwrap();
    for (name, bytes) in files {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    dir
}

/// What a reader finds: the contents in both directions.
fn read(dir: &Arc<dyn Dir>, recovery: Recovery) -> Result<(Pairs, bool), Error> {
    let options = ReadOptions {
        recovery,
        ..ReadOptions::default()
    };
    let database = Database::open(dir, &options)?;
    let (mut forward, mut backward) = (Pairs::new(), Pairs::new());
    let mut cursor = database.cursor();
    cursor.seek_to_first()?;
    while cursor.valid() {
        forward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next()?;
    }
    cursor.seek_to_last()?;
    while cursor.valid() {
        backward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev()?;
    }
    backward.reverse();
    for (key, _) in forward.iter().step_by(7) {
        database.get(key)?;
        cursor.seek_for_prev(key)?;
    }
    let torn = database.report().torn_manifest.is_some();
    for info in database.tables() {
        // What nothing reads may be damaged.
        let _ = database.verify_table(info);
    }
    // Contents that differ between the directions are as wrong as any.
    Ok((
        if forward == backward {
            forward
        } else {
            Pairs::new()
        },
        torn,
    ))
}

/// Judges one mutant. Returns whether it was read at all.
fn judge(image: &Image, damage: &Damage, files: &Files) -> bool {
    let dir = directory(files);
    if damage.mended {
        let _ = read(&dir, Recovery::Skip);
        return read(&dir, Recovery::Strict).is_ok();
    }
    let (contents, torn_manifest) = match read(&dir, Recovery::Strict) {
        Ok(found) => found,
        Err(error) => {
            assert!(error.file_name().is_some(), "{error}");
            return false;
        }
    };
    let whole = image.states.last().unwrap();
    let all_written = || contents.iter().all(|pair| image.written.contains(pair));
    match damage.effect {
        Effect::Prefix => assert!(image.states.contains(&contents), "no prefix of the writes"),
        Effect::TornManifest if torn_manifest => assert!(all_written(), "a value of nobody"),
        Effect::TornManifest | Effect::NoneOrError => {
            assert!(contents == *whole, "wrong contents");
        }
        Effect::Written => assert!(all_written(), "a value of nobody"),
    }
    true
}

#[test]
fn mutants_are_refused_or_read_right() {
    let limit = rustix::process::Rlimit {
        current: Some(MEMORY_BYTES_MAX),
        maximum: Some(MEMORY_BYTES_MAX),
    };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
    let images = images::all();
    for image in &images {
        let (contents, _) = read(&directory(&image.files), Recovery::Strict).unwrap();
        assert!(contents == *image.states.last().unwrap());
    }
    let (seed, percent) = (setting("CAIRN_SEED"), setting("CAIRN_STATES"));
    let only = seed.is_some() && percent.is_none();
    let count = if only {
        1
    } else {
        MUTANTS * percent.unwrap_or(100) / 100
    };
    let first = seed.unwrap_or(1);
    println!("{count} mutants from CAIRN_SEED={first}");
    let mut readable = 0u64;
    for seed in first..first + count {
        let mut noise = Noise::new(seed);
        let image = &images[noise.below(images.len())];
        let mut files = image.files.clone();
        let damage = Damage::draw(image, &mut files, &mut noise);
        let begun = Instant::now();
        let judged = catch_unwind(AssertUnwindSafe(|| judge(image, &damage, &files)));
        let failed = judged.is_err() || begun.elapsed() > TIME_MAX;
        assert!(
            !failed,
            "CAIRN_SEED={seed}: {damage:?} after {:?}",
            begun.elapsed()
        );
        readable += u64::from(judged.unwrap());
    }
    println!("{readable} were readable");
}
