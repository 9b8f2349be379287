//! Repair of LevelDB's directories, next to LevelDB's own `RepairDB`.
//!
//! LevelDB writes databases, with the history of every key. Copies of them are damaged in ways that
//! the test knows byte by byte. Each is repaired here, into a new database of ours, and by LevelDB,
//! in place. What is intact must be kept by ours, what is lost must be named, and what was deleted
//! must stay deleted; the table that the test prints shows both.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_REPAIRS` | 15 times the number of damaged directories, 1,500 by default |
//! | `CAIRN_SEED` | the first seed, 1 by default |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests fail by panicking, and damage real directories"
)]

#[path = "leveldb_repair/fixed.rs"]
mod fixed;
#[path = "leveldb_repair/images.rs"]
mod images;
#[path = "leveldb_repair/judge.rs"]
mod judge;
#[path = "leveldb_repair/missing.rs"]
mod missing;
#[path = "leveldb_repair/mutants.rs"]
mod mutants;

use std::collections::BTreeMap;

use cairndb_env::testing::setting::setting;
use engine_leveldb::LevelDb;

use judge::{Case, Tally};

/// Number of mutants in a push check, times `SHARE`.
const REPAIRS: u64 = 1_500;
/// A repair of real files takes as long as many in memory.
const SHARE: u64 = 15;

/// Does nothing unless the other test runs it in a process of its own.
#[test]
fn repair_db_in_a_child() {
    if let Some(home) = std::env::var_os(judge::CHILD) {
        let library = LevelDb::load(None).unwrap();
        judge::repair_db(&library, home.as_ref());
    }
}

#[test]
fn leveldbs_directories_are_repaired() {
    let Ok(library) = LevelDb::load(None) else {
        bench_core::host::test_skip::skip("install libleveldb1d");
        return;
    };
    let first = setting("CAIRN_SEED").unwrap_or(1);
    let wanted = (setting("CAIRN_REPAIRS").unwrap_or(REPAIRS) / SHARE).max(1);
    let images = images::all(&library);
    images.iter().for_each(missing::check);
    let mut tallies = BTreeMap::<String, (Tally, Tally)>::new();
    let mut failures = Vec::new();
    for seed in first..first + wanted {
        let image = &images[usize::try_from(seed).unwrap() % images.len()];
        let mutant = mutants::draw(image, seed);
        let name = match mutant.kinds[..] {
            [kind] => format!("{kind:?}"),
            _ => "two kinds".to_owned(),
        };
        let case = Case {
            image,
            mutant: &mutant,
        };
        let (ours, theirs) = tallies.entry(name).or_default();
        if let Err(why) = case.judge_ours(ours) {
            let why: String = why.chars().take(1_500).collect();
            let text = &mutant.text;
            failures.push(format!("{}:{text} (CAIRN_SEED={seed}): {why}", image.name));
        }
        case.count_theirs(theirs);
    }
    let (mut intact, mut kept) = (0, 0);
    for (kind, (ours, theirs)) in &tallies {
        println!("{kind}: {ours}");
        println!("{kind}, RepairDB: {theirs}");
        intact += ours.intact;
        kept += ours.intact_kept;
    }
    let few = wanted < 100;
    assert!(
        few || kept * 100 >= intact * 99,
        "too many are lost: {kept} of {intact}"
    );
    let shown = failures.iter().take(6).cloned().collect::<Vec<String>>();
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        shown.join("\n\n")
    );
}
