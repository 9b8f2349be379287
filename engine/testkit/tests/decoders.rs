//! Decoders test: hostile bytes to everything that decodes bytes from a disk. `fuzz/` gives a
//! fuzzer the same functions.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_FUZZ` | number of inputs for each function, 1,500 by default |
//! | `CAIRN_SEED` | the first seed, 1 by default |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read the golden files"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb_env::random::Random;
use cairndb_testkit::{decoders, setting};

/// Number of inputs for each function in a push check.
const INPUTS: u64 = 1_500;

/// Returns bytes of one of several shapes: noise, few values, runs, or a changed golden file.
fn input(random: &mut Random, golden: &[Vec<u8>]) -> Vec<u8> {
    let scale = random.index(9);
    let len = random.index(1 + (16 << scale));
    let mut bytes: Vec<u8> = match random.below(4) {
        0 => (0..len)
            .map(|_| random.next_u64().to_le_bytes()[0])
            .collect(),
        1 => (0..len).map(|_| random.below(5).to_le_bytes()[0]).collect(),
        2 => {
            let mut bytes = Vec::new();
            while bytes.len() < len {
                let byte = random.next_u64().to_le_bytes()[0];
                bytes.resize(bytes.len() + 1 + random.index(20), byte);
            }
            bytes
        }
        _ => golden[random.index(golden.len())].clone(),
    };
    for _ in 0..random.below(4) {
        if !bytes.is_empty() {
            let at = random.index(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
    }
    bytes
}

/// Returns the files under `testdata/golden`.
fn golden() -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "hex") {
            let text = std::fs::read_to_string(path).unwrap();
            found.push((text.len(), bytes_of(&text)));
        }
    }
    // The order of a directory is not the same everywhere.
    found.sort();
    assert!(found.len() >= 15, "the golden files are found");
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// Returns the bytes of hexadecimal digits; comments begin with `#`.
fn bytes_of(text: &str) -> Vec<u8> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap());
    let digits: Vec<u8> = lines
        .flat_map(str::chars)
        .filter_map(|digit| digit.to_digit(16)?.try_into().ok())
        .collect();
    let pairs = digits.chunks_exact(2);
    pairs.map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Passes many inputs to `property`, and names the seed of one that breaks it.
fn check(share: u64, property: fn(&[u8])) {
    let (first, inputs) = (
        setting("CAIRN_SEED", 1),
        setting("CAIRN_FUZZ", INPUTS) / share,
    );
    let golden = golden();
    for seed in first..first + inputs.max(1) {
        let bytes = input(&mut Random::new(seed), &golden);
        let run = || property(&bytes);
        let broken = catch_unwind(AssertUnwindSafe(run)).is_err();
        assert!(
            !broken,
            "CAIRN_SEED={seed} CAIRN_FUZZ=1: {}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn our_files() {
    check(1, decoders::own_files);
}

#[test]
fn leveldbs_files() {
    check(3, decoders::leveldb_salvage);
}

#[test]
fn our_directory() {
    // A manifest was cut, so that the log and a table held the same merge operands.
    decoders::own_directory(b"Y\xa5\xc1\x83\xa0\xb5Xj\x89.\xef\n\xe1\xce");
    check(3, decoders::own_directory);
}

#[test]
fn leveldbs_directory() {
    check(3, decoders::leveldb_directory);
}
