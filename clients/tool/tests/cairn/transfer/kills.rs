//! Processes that are killed at random moments, and the same command after each.

use cairndb_env::testing::setting::setting;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::random::Random;
use super::{assert_same, cairn, command};
use crate::{Entries, Ran, home, read, remove, write};

/// Starts `cairn`, and kills it after a random part of `most`. Returns what it printed if it ended
/// before.
fn killed(parent: &Path, line: &str, stdin: Option<&[u8]>, after: Duration) -> Option<Ran> {
    let mut program = command(parent, line);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    if stdin.is_some() {
        program.stdin(Stdio::piped());
    }
    let mut child = program.spawn().unwrap();
    let begun = Instant::now();
    if let Some(bytes) = stdin {
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(bytes).unwrap();
        // The pipe stays open, so that the process waits for more.
        while begun.elapsed() < after {
            std::thread::yield_now();
        }
        child.kill().unwrap();
    }
    while begun.elapsed() < after && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
    }
    let ran = Ran::from(child.wait_with_output().unwrap());
    (ran.code >= 0).then_some(ran)
}

/// Entries whose keys ascend, and their text with keys in another order and repeated.
fn shuffled(random: &mut Random, entries: &Entries) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (key, value) in entries {
        let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
        if random.below(4) == 0 {
            lines.push(format!("{},{}\n", hex(key), "00"));
        }
        lines.push(format!("{},{}\n", hex(key), hex(value)));
    }
    // Swaps keep the last line of each key after its earlier one.
    for at in (0..lines.len().saturating_sub(9)).step_by(9) {
        let (a, b) = (at, at + 7);
        let same = |one: &str, two: &str| one.split(',').next() == two.split(',').next();
        let is_safe = |range: &[String], line: &str| !range.iter().any(|it| same(it, line));
        if is_safe(&lines[a + 1..=b], &lines[a]) && is_safe(&lines[a..b], &lines[b]) {
            lines.swap(a, b);
        }
    }
    lines.concat()
}

fn many(random: &mut Random) -> Entries {
    let mut entries = Entries::new();
    for _ in 0..30_000 {
        let (key_len, value_len) = (2 + random.below(12), random.below(150));
        entries.insert(random.bytes(key_len), random.bytes(value_len));
    }
    entries
}

#[test]
fn a_killed_command_continues_without_loss_or_repetition() {
    let seed = setting("CAIRN_SEED").unwrap_or(1);
    let kills = setting("CAIRN_KILLS").unwrap_or(220) / 11;
    println!("kills: CAIRN_SEED={seed} CAIRN_KILLS={}", kills * 11);
    let mut random = Random::new(seed);
    let entries = many(&mut random);
    let at = &*home();
    write(&at.join("from"), &entries);
    std::fs::write(at.join("shuffled"), shuffled(&mut random, &entries)).unwrap();
    cairn(at, "export @from @jsonl --format=jsonl").done();
    cairn(at, "export @from @leveldb --format=leveldb").done();
    // One command of each direction and format; the name of what it makes is `made`.
    let commands = [
        "import @made @jsonl --format=jsonl",
        "import @made @shuffled --format=csv --hex",
        "export @from @made --format=db_dump",
        "dump @from @made",
        "export @from @made --format=leveldb",
        "import @made @leveldb --format=leveldb",
    ];
    let (mut done_kills, mut round) = (0, 0);
    while done_kills < kills {
        let line = format!("{} --save-every 200000", commands[round % commands.len()]);
        round += 1;
        let whole = Instant::now();
        cairn(at, &line).done();
        let whole = whole.elapsed();
        remove(&at.join("made"));
        // A command that begins again and again needs more time on a busy machine.
        let mut longest = 120;
        let ran = loop {
            let share = u32::try_from(random.below(longest)).unwrap();
            longest += 10;
            match killed(at, &line, None, whole * share / 100) {
                Some(ran) => break ran,
                None => done_kills += 1,
            }
            let is_export = line.starts_with("export") || line.starts_with("dump");
            assert!(!is_export || !at.join("made").exists() || !at.join("made.partial").exists());
        };
        // A kill between the last rename, or the end of an import, and the exit leaves a complete
        // target.
        let refusals = ["exists and is not empty", "holds entries already"];
        let is_refused = refusals.iter().any(|text| ran.stderr.contains(text));
        assert!(ran.code == 0 || is_refused, "{line}: {ran:?}");
        if line.contains("import @made") {
            assert_same(&read(&at.join("made")), &entries, &line);
        } else {
            let load = if line.starts_with("dump") {
                "load @again @made"
            } else if line.contains("leveldb") {
                "import @again @made --format=leveldb"
            } else {
                "import @again @made --format=db_dump"
            };
            cairn(at, load).done();
            assert_same(&read(&at.join("again")), &entries, &line);
            remove(&at.join("again"));
        }
        for leftover in ["made.partial", "made.cairn-import"] {
            assert!(!at.join(leftover).exists(), "{line}: {leftover}");
        }
        remove(&at.join("made"));
    }
    println!("kills: {done_kills} kills in {round} rounds");
}

#[test]
fn an_import_from_stdin_continues_with_the_same_stream() {
    let mut random = Random::new(setting("CAIRN_SEED").unwrap_or(1));
    let entries = many(&mut random);
    let at = &*home();
    write(&at.join("from"), &entries);
    cairn(at, "dump @from @file").done();
    let stream = std::fs::read(at.join("file")).unwrap();
    for third in 1..3 {
        let part = &stream[..stream.len() * third / 3];
        let line = "load @to - --save-every 100000";
        let ran = killed(at, line, Some(part), Duration::from_millis(50));
        assert!(ran.is_none(), "{ran:?}");
        assert!(at.join("to.cairn-import").exists());
    }
    let mut program = command(at, "load @to -");
    program.stdin(std::fs::File::open(at.join("file")).unwrap());
    Ran::from(program.output().unwrap()).done();
    assert_same(&read(&at.join("to")), &entries, "load");
}
