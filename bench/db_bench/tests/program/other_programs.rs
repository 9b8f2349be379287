//! Engines measured by other programs: another build of this one, and the programs of `make peers`.

use std::fs;

use bench_core::host::test_text::has;

use crate::common::{good, program, run, run_at, stderr, stdout};

const OWN: &str = env!("CARGO_BIN_EXE_db_bench");

#[test]
fn two_builds_run_in_turns_and_each_row_gets_a_verdict() {
    let home = tempfile::tempdir().expect("a directory");
    let (db, json) = (home.path().join("db"), home.path().join("rows.json"));
    let json = json.display().to_string();
    let against = format!("--against={OWN}");
    let list = "--num=2000 --benchmarks=fillseq,readrandom --rounds=3";
    let output = run_at(&db, &[&against, list, &format!("--json={json}")]);
    // Rows of milliseconds may differ.
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        stderr(&output)
    );
    let text = stdout(&output);
    has(&text, "CairnDB against the other build: ratio of the rates");
    has(&text, "geometric mean of 2 rows: ");
    let rows = fs::read_to_string(&json).expect("written");
    for engine in ["cairndb", "cairndb-against"] {
        let own = rows.matches(&format!("\"engine\":\"{engine}\"")).count();
        let own = own.max(rows.matches(&format!("\"engine\": \"{engine}\"")).count());
        assert!(own >= 6, "{engine}: {rows}");
    }
    // Nothing is worse than itself.
    let text = good(
        &program(&["--compare", &json, &json])
            .output()
            .expect("started"),
    );
    has(&text, "geometric mean of 4 rows: 1.00; 0 better, 0 worse");
    let refused = run(&["--compare=x"]);
    has(&stderr(&refused), "name two files");
}

#[test]
fn what_is_no_build_of_this_program_is_refused() {
    for (path, reason) in [
        ("/no/such/file", "No such file"),
        ("/bin/true", "not a build of db_bench"),
    ] {
        let output = run(&[&format!("--against={path}"), "--num=10"]);
        assert_eq!(output.status.code(), Some(1));
        has(&stderr(&output), reason);
    }
    let output = run(&[
        &format!("--against={OWN}"),
        "--engine=cairndb,null",
        "--num=10",
    ]);
    has(&stderr(&output), "name one with --engine");
}

/// Without its program, an engine costs one line.
#[test]
fn an_engine_without_its_program_is_absent() {
    let home = tempfile::tempdir().expect("a directory");
    let copy = home.path().join("db_bench");
    fs::copy(OWN, &copy).expect("copied");
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(&copy);
        command.current_dir(home.path()).args(words);
        command.output().expect("started")
    };
    let list = ["--num=10", "--benchmarks=fillseq", "--db=db"];
    let output = run(&[&["--engine=fjall"], list.as_slice()].concat());
    has(
        &stderr(&output),
        "fjall: its program db_bench-fjall was not found; `make peers` builds it",
    );
    assert_eq!(output.status.code(), Some(1));
    // Found in the folder of this program, and started; this one has no such engine.
    fs::copy(OWN, home.path().join("db_bench-fjall")).expect("copied");
    let output = run(&[&["--engine=fjall"], list.as_slice()].concat());
    has(&stderr(&output), "fjall: its program");
}
