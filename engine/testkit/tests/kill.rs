//! Kills of real processes at random times, on a real disk.
//!
//! `CAIRN_SEED` replays the kinds and times of kills, but not the scheduling. `CAIRN_KILLS` is the
//! number of kills.

use cairndb_testkit::kill::{self, KillLoop};
use cairndb_testkit::setting;

/// Not a test by itself: the body of the processes that the other test starts.
#[test]
fn child() {
    kill::live_as_child();
}

#[test]
fn killed_processes_lose_nothing_they_acknowledged() {
    let (seed, kills) = (setting("CAIRN_SEED", 1), setting("CAIRN_KILLS", 220));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    println!("kill loop: CAIRN_SEED={seed} CAIRN_KILLS={kills}");
    let totals = KillLoop::new(&path, "child", seed).run(kills);
    let totals = totals.unwrap_or_else(|violation| panic!("CAIRN_SEED={seed}: {violation}"));
    println!("kill loop: {totals:?}, 0 violations");
    assert!(totals.kills >= kills && totals.commits > 10 * kills);
    assert!(totals.while_opening > 0);
}
