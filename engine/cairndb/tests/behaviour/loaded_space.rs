//! The disk space that a database takes while it is written to.

use cairndb::env::random::Random;
use cairndb::{Db, Options};

use crate::field;

/// Returns the total length of all files.
fn on_disk(dir: &tempfile::TempDir) -> u64 {
    let entries = std::fs::read_dir(dir.path()).unwrap();
    // A file may have been removed since it was listed.
    let sizes = entries.filter_map(|entry| entry.ok()?.metadata().ok());
    sizes.map(|found| found.len()).sum()
}

fn fill(random: &mut Random, value: &mut [u8]) {
    for word in value.chunks_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
    }
}

/// Regression (case 4): one value that was overwritten again and again took gigabytes, because its
/// value files were dropped only after the disk had written all of them.
#[test]
fn an_overwritten_value_takes_a_multiple_of_the_budget() {
    const VALUE: usize = 1_000_000;
    const BUDGET: u64 = 64 << 20;
    let dir = tempfile::tempdir().unwrap();
    let db: Db = Options::new()
        .create_if_missing(true)
        .memory_budget(usize::try_from(BUDGET).unwrap())
        .open(&dir)
        .unwrap();
    let (mut random, mut value) = (Random::new(4), vec![0; VALUE]);
    let mut peak = 0;
    for _ in 0..1_500 {
        fill(&mut random, &mut value);
        db.put(b"key", &value).unwrap();
        peak = peak.max(on_disk(&dir));
    }
    let bound = 2 * VALUE as u64 + 8 * BUDGET;
    assert!(peak <= bound, "{peak} bytes, of at most {bound}");
    assert!(field(&db, "cairndb.stalls", "space.count") < 100);
    assert_eq!(db.get(b"key").unwrap().unwrap(), *value);
    db.wait_idle().unwrap();
    assert!(on_disk(&dir) <= VALUE as u64 + 8_000_000);
}
