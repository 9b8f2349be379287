//! Backups over a network that loses requests, answers and connections.

use std::path::Path;
use std::sync::Arc;

use cairndb::Options;
use cairndb::env::{Env, RealEnv};
use cairndb_backup::{Backup, BackupOptions, Moment, Repository, Restore, Retention};
use cairndb_base::{ErrorKind, Result};
use cairndb_env::random::Random;
use cairndb_env::testing::setting::setting;

use super::contents::{Model, check, contents};
use super::proxy::{Fate, Proxy};
use super::{endpoint, place};

/// Attempts to back up, each of which writes something.
const ROUNDS: u64 = 40;
/// Percentage of the requests that are disturbed.
const DISTURBED: u64 = 15;

fn repository(endpoint: &str) -> Result<Repository> {
    let env: Arc<dyn Env> = RealEnv::new();
    Repository::open_or_create(env, Box::new(place(endpoint, "backups")), None)
}

fn open(path: &Path) -> cairndb::Db {
    let options = Options::new()
        .create_if_missing(true)
        .memory_budget(1 << 20);
    options.open(path).expect("the disk is whole")
}

#[test]
fn every_moment_is_restored_whatever_the_network_loses() {
    let Some(endpoint) = endpoint() else { return };
    let seed = setting("CAIRN_SEED").unwrap_or(61);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut fates = Random::new(seed + 1);
    let proxy = Proxy::start(&endpoint, move |_| {
        if fates.next_u64() % 100 < DISTURBED {
            Fate::draw(&mut fates)
        } else {
            Fate::Pass
        }
    });
    let dir = tempfile::tempdir().expect("a directory");
    let db = open(&dir.path().join("db"));
    let mut model = Model::new(seed);
    let (mut backed_up, mut failed) = (0, 0);
    for round in 0..ROUNDS {
        model.write(&db, 5).expect("the disk is whole");
        let back_up = || {
            let far = repository(&proxy.endpoint)?;
            let options = BackupOptions::new().base_bytes(20_000);
            let mut backup = Backup::begin(&db, &far, options)?;
            backup.catch_up()?;
            if round % 10 == 9 {
                let _ = far.prune(Retention::new().bases(2), false)?;
            }
            backup.end().map(drop)
        };
        match back_up() {
            Ok(()) => backed_up += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                failed += 1;
            }
        }
    }
    println!("{backed_up} were made, {failed} failed");
    assert!(backed_up > 0);
    let near = repository(&endpoint).expect("the server answers");
    let mut backup = Backup::begin(&db, &near, BackupOptions::new()).expect("it answers");
    backup.catch_up().expect("the server answers");
    backup.end().expect("the server answers");
    let verified = near.verify().expect("the server answers");
    assert!(verified.damage.is_empty(), "{verified:?}");
    for number in 0..20 {
        let ranges = &verified.moments;
        let range = &ranges[random.index(ranges.len())];
        let (first, last) = (range.first.seq, range.last.seq);
        let seq = first + random.next_u64() % (last - first + 1);
        let to = dir.path().join(format!("restored-{number}"));
        let restore = Restore::new(&near).to(Moment::Seq(seq));
        let _ = restore.run(&to).expect("the moment is there");
        let about = format!("seed {seed}, moment {seq}");
        check(&contents(&open(&to)), model.at(seq), &about);
    }
}
