//! Memory test of repair: databases many times larger than the memory budget are repaired, and the
//! heap stays within the bound that the docstring of `cairndb::repair` states.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and damage real directories"
)]

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cairndb::{Durability, Options, RepairOptions, RepairReport, WriteOptions};
use cairndb_env::random::Random;
use cairndb_env::{Env, RealEnv};
use cairndb_leveldb::{BatchWriter, Codec, LogWriter, NewDatabase, TableOptions};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The heap is that of the process, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;
/// Budget of a repair: a hundredth of the databases.
const BUDGET: usize = MIB;
const KEYS: u64 = 400_000;
const VALUE_BYTES: usize = 200;
const LARGE_VALUE_BYTES: usize = 100_000;

/// Returns bytes that no codec shrinks.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len.div_ceil(8))
        .flat_map(|_| random.next_u64().to_le_bytes())
        .take(len)
        .collect()
}

fn key(number: u64) -> Vec<u8> {
    format!("key{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

/// Copies the files of a database that is open. Those that it removes meanwhile are left out.
fn copy_files(from: &Path, to: &Path) -> u64 {
    std::fs::create_dir(to).unwrap();
    let files = std::fs::read_dir(from).unwrap().map(|file| file.unwrap());
    let copied = files.filter_map(|file| {
        let copied = std::fs::copy(file.path(), to.join(file.file_name()));
        copied.ok()
    });
    copied.sum()
}

/// Changes one byte in every 8 MiB of the directory's tables, and one at the end of every tenth.
fn damage(path: &Path, ending: &str) {
    let files = std::fs::read_dir(path).unwrap();
    let mut tables: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    tables.retain(|file| file.extension().is_some_and(|it| it == ending));
    tables.sort();
    assert!(tables.len() > 4, "there are tables to damage");
    let mut position = 0;
    for (index, table) in tables.iter().enumerate() {
        let mut bytes = std::fs::read(table).unwrap();
        let first = (8 * MIB - position % (8 * MIB)) % bytes.len().max(1);
        position += bytes.len();
        bytes[first] ^= 1;
        if index % 10 == 0 {
            // The footer: the index is not found.
            let end = bytes.len() - 2;
            bytes[end] ^= 1;
        }
        std::fs::write(table, bytes).unwrap();
    }
}

/// Repairs the directory, and returns the report and the bytes that the heap grew by at most.
fn repaired(source: &Path, target: &Path) -> (RepairReport, usize) {
    let options = RepairOptions::new(&Options::new().memory_budget(BUDGET));
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let report = cairndb::repair(source, target, &options).unwrap();
    let peak = HEAP.peak_usage() - before;
    eprintln!("{} keys, {peak} bytes of heap", report.kept.keys);
    (report, peak)
}

#[test]
fn our_database_is_repaired_within_its_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let parent = tempfile::tempdir().unwrap();
    let (live, source) = (parent.path().join("live"), parent.path().join("source"));
    let options = Options::new().create_if_missing(true);
    let db = options.memory_budget(4 * MIB).open(&live).unwrap();
    let unsynced = WriteOptions::new().durability(Durability::None);
    for number in 0..KEYS {
        db.put_with(&key(number), &noise(number, VALUE_BYTES), &unsynced)
            .unwrap();
        if number % 2_000 == 0 {
            let large = noise(number, LARGE_VALUE_BYTES);
            db.put_with(&key(number), &large, &unsynced).unwrap();
        }
    }
    db.wait_idle().unwrap();
    for number in 0..10_000 {
        let key = [key(number), b"later".to_vec()].concat();
        db.put_with(&key, &noise(number, VALUE_BYTES), &unsynced)
            .unwrap();
    }
    let bytes = copy_files(&live, &source);
    db.close().unwrap();
    for entry in std::fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "CURRENT" || name.starts_with("MANIFEST") {
            std::fs::remove_file(&path).unwrap();
        }
    }
    damage(&source, "tbl");
    let (report, peak) = repaired(&source, &parent.path().join("target"));
    assert!(bytes > 100 * MIB as u64, "{bytes}");
    assert!(
        report.kept.keys > KEYS * 9 / 10 && !report.lost.is_empty(),
        "{report}"
    );
    assert!(peak < 2 * BUDGET, "{peak}");
}

#[test]
fn leveldbs_directory_is_repaired_within_the_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let parent = tempfile::tempdir().unwrap();
    let source = parent.path().join("source");
    let dir = RealEnv::new().open_dir(&source, true).unwrap();
    let mut options = cairndb_leveldb::WriteOptions::default();
    options.tables = TableOptions {
        codec: Codec::None,
        ..options.tables
    };
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for number in 0..KEYS {
        let key = format!("key{number:09}");
        new.put(key.as_bytes(), &noise(number, VALUE_BYTES))
            .unwrap();
    }
    new.finish().unwrap();
    // A log as long as the tables.
    let mut writer = LogWriter::new(dir.create("999999.log").unwrap());
    for number in 0..KEYS {
        let mut batch = BatchWriter::new(KEYS + 1 + number);
        batch.put(&key(number), &noise(number, VALUE_BYTES));
        writer.append(batch.bytes()).unwrap();
    }
    drop(writer);
    std::fs::remove_file(source.join("CURRENT")).unwrap();
    damage(&source, "ldb");
    let (report, peak) = repaired(&source, &parent.path().join("target"));
    assert!(
        report.kept.keys > KEYS * 19 / 10 && !report.lost.is_empty(),
        "{report}"
    );
    // A table of 2 MiB without an index, and what is tried as a block of it.
    assert!(peak < BUDGET + 8 * MIB, "{peak}");
}
