//! Leftovers of a run that was killed, and files that a user puts in its directory afterwards.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench_core::host::test_text::has;

use crate::common::{command, good, run_at, stderr};

/// Longer than the files of a run can be newer than its last sign of life.
const LATER: Duration = Duration::from_secs(4);

const SHORT: &[&str] = &["--benchmarks=fillseq", "--num=100"];

/// Starts a run that uses `db` and would take long.
fn at_work(db: &Path) -> Child {
    let words = ["--benchmarks=fillrandom --num=100000000"];
    let reported = db.with_extension("reported");
    let mut program = command(db, &words)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&reported).expect("created"))
        .spawn()
        .expect("starts");
    let begun = Instant::now();
    // The directory is created twice, for the run and for its row, and each time may wait for a
    // slow disk.
    while !std::fs::read_to_string(&reported).is_ok_and(|reported| reported.contains("finished")) {
        let ended = program.try_wait().expect("asked");
        let late = begun.elapsed() > Duration::from_mins(2);
        let so_far = || std::fs::read_to_string(&reported).unwrap_or_default();
        assert!(ended.is_none() && !late, "{ended:?}: {}", so_far());
        rest(Duration::from_millis(5));
    }
    // Waits past the first signs of life, until files have been created after them.
    rest(Duration::from_millis(1_500));
    program
}

/// Waits.
fn rest(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::park_timeout(end.saturating_duration_since(Instant::now()));
    }
}

/// Ends the run as a terminal, a supervisor or a user would.
fn end(mut program: Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &program.id().to_string()])
        .status();
    assert!(sent.expect("sent").success());
    assert!(!program.wait().expect("ended").success());
}

fn again(db: &Path) -> Output {
    run_at(db, SHORT)
}

#[test]
fn a_run_that_was_ended_leaves_nothing_in_the_way_of_the_next() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    for (signal, wait) in [("-KILL", Duration::ZERO), ("-TERM", LATER)] {
        end(at_work(&db), signal);
        rest(wait);
        let next = again(&db);
        good(&next);
    }
}

#[test]
fn what_is_put_there_after_a_run_was_ended_is_refused_by_name_and_kept() {
    // Not -INT: background processes of a script ignore it, and so do their children.
    for signal in ["-KILL", "-TERM"] {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        end(at_work(&db), signal);
        rest(LATER);
        std::fs::write(db.join("thesis.txt"), "precious").expect("written");
        for _ in 0..2 {
            let next = again(&db);
            assert_eq!(next.status.code(), Some(1), "{signal}");
            let said = stderr(&next);
            let reported = "holds thesis.txt, put there or changed after db_bench had ended";
            assert!(said.contains(reported), "{signal}: {said}");
            let kept = std::fs::read_to_string(db.join("thesis.txt")).expect("kept");
            assert_eq!(kept, "precious");
        }
        std::fs::remove_file(db.join("thesis.txt")).expect("removed");
        assert!(again(&db).status.success(), "{signal}: its own leftovers");
    }
}

/// The parent outlives the child and lists what the child left, so nothing depends on timing.
#[test]
fn what_is_put_there_after_a_row_was_given_up_is_refused_at_once() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    // More work than the limit on any machine. The limit also covers what is prepared before the
    // directory is made, which took more than a second on a busy one.
    let words = ["--benchmarks=fillrandom --num=40000000 --row_timeout=3"];
    let output = run_at(&db, &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    std::fs::write(db.join("thesis.txt"), "precious").expect("written");
    let next = again(&db);
    has(&stderr(&next), "holds thesis.txt");
    assert!(db.join("thesis.txt").exists());
}

#[test]
fn a_suite_does_not_remove_what_it_was_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let (db, file) = (home.path().join("db"), home.path().join("own.toml"));
    let suite = "num = 100\nrounds = 1\nlatency = false\n[[section]]\nname = \"w\"\nworkloads = [\"fillseq\"]\n";
    std::fs::write(&file, suite).expect("written");
    assert!(again(&db.join("cairndb")).status.success());
    let letter = db.join("cairndb/letter.txt");
    std::fs::write(&letter, "mine").expect("written");
    let suite = format!("--suite={}", file.display());
    let output = run_at(&db, &[&suite, "--engine=cairndb"]);
    assert_eq!(output.status.code(), Some(1));
    has(&stderr(&output), "holds letter.txt");
    assert!(letter.exists());
}

#[test]
fn two_runs_do_not_share_a_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let mut first = at_work(&db);
    let second = again(&db);
    assert_eq!(second.status.code(), Some(1));
    has(&stderr(&second), "another db_bench is using ");
    assert!(first.try_wait().expect("asked").is_none(), "still running");
    end(first, "-KILL");
}
