//! A LevelDB database becomes a CairnDB database, with a plan beforehand and progress reports:
//! `cargo run --release --features leveldb --example upgrade_leveldb -- PATH`. Without a path, it
//! converts a small database that it writes itself.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "examples print; this one measures and removes its own directory"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use cairndb::Options;
use cairndb::env::{Env, RealEnv};
use cairndb::leveldb::{UpgradeOptions, plan, upgrade};
use cairndb_leveldb::{NewDatabase, WriteOptions};

/// Writes a LevelDB database with a thousand entries.
fn write_leveldb(path: &Path) -> cairndb::Result<()> {
    let dir = RealEnv::new().open_dir(path, true)?;
    let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
    for number in 0..1000 {
        new.put(format!("{number:04}").as_bytes(), b"written by LevelDB")?;
    }
    new.finish()?;
    Ok(())
}

fn main() -> cairndb::Result<()> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let given = given.filter(|path| path.is_dir());
    let own = std::env::temp_dir().join(format!("cairndb-upgrade-{}", std::process::id()));
    let path = given.as_ref().unwrap_or(&own);
    if given.is_none() {
        write_leveldb(path)?;
    }

    // What it would take. Nothing is changed.
    let plan = plan(path, &Options::new())?;
    println!(
        "{} bytes become about {}, in about {:.1} s",
        plan.source_bytes,
        plan.target_bytes,
        plan.duration.as_secs_f64()
    );
    assert!(plan.fits(), "free some space first");

    let begun = Instant::now();
    let settings = UpgradeOptions::new(Options::new()).on_progress(move |at| {
        if at.entries.is_multiple_of(1 << 20) {
            println!("{:?}: {} entries", at.step, at.entries);
        }
    });
    let report = upgrade(path, settings)?;
    println!(
        "{} entries, {} bytes in {:.2} s",
        report.entries,
        report.target_bytes,
        begun.elapsed().as_secs_f64()
    );

    // LevelDB's files stay in the subdirectory `leveldb-original`.
    let db = Options::new().open(path)?;
    assert_eq!(
        db.iter().take(1000).count() as u64,
        report.entries.min(1000)
    );
    db.close()?;
    if given.is_none() {
        std::fs::remove_dir_all(&own).expect("the example's own directory can be removed");
    }
    Ok(())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
