//! `--report` and `--render`.

use bench_core::host::test_text::{begins, has};

use crate::common::{good, run, stderr, stdout};

const FORMS: [&str; 4] = ["index.html", "report.md", "report.csv", "report.json"];

#[test]
fn a_run_leaves_its_report_and_the_report_can_be_made_again() {
    let home = tempfile::tempdir().expect("a directory");
    let first = home.path().join("first");
    let flag = format!("--report={}", first.display());
    let text = good(&run(&[
        &flag,
        "--suite=quick --num=1000 --rounds=1 --engine=cairndb,null --verbose",
    ]));
    has(&text, "\n## Rules of fairness\n");
    let page = std::fs::read_to_string(first.join("index.html")).expect("written");
    assert!(page.contains("1. Baseline Performance"));
    assert!(page.contains("--suite=quick"), "the command line is shown");

    let second = home.path().join("second");
    let source = format!("--render={}", first.join("report.json").display());
    let output = run(&[&source, &format!("--report={}", second.display())]);
    good(&output);
    assert!(stdout(&output).contains("\n1C fillseq "));
    for name in FORMS {
        let read = |dir: &std::path::Path| std::fs::read(dir.join(name)).expect("written");
        assert!(read(&first) == read(&second), "{name} differs");
    }
}

#[test]
fn a_list_has_a_report_too_and_no_summary() {
    let home = tempfile::tempdir().expect("a directory");
    let flag = format!("--report={}", home.path().display());
    let output = run(&[&flag, "--benchmarks=fillseq,readseq --num=1000"]);
    good(&output);
    assert!(!stdout(&output).contains("best peer"));
    let page = std::fs::read_to_string(home.path().join("index.html")).expect("written");
    assert!(page.contains("\"label\":\"readseq\""));
}

#[test]
fn what_is_no_report_is_refused_by_its_line() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("records.jsonl");
    let record = r#"{"engine":"lmdb","workload":"fillseq","status":"ok"}"#;
    std::fs::write(&file, format!("{record}\n{record}x\n")).expect("room");
    let output = run(&[&format!("--render={}", file.display())]);
    assert!(!output.status.success());
    let reported = stderr(&output);
    has(&reported, "records.jsonl: line 2: not a result: ");
    let output = run(&["--render=nowhere.json"]);
    begins(&stderr(&output), "nowhere.json: ");
}
