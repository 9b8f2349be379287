//! Provenance of program, machine and libraries, and the meaning of assertions in a peer.

use serde_json::{Value, json};

use crate::common::{machine, report, rounds, with};

fn build(engine: &str, assertions: Option<bool>) -> Value {
    let mut line = json!({
        "type": "build", "engine": engine, "version": "9.8", "library": format!("/lib/lib{engine}.so.9.8"),
        "library_bytes": 123_456, "evidence": "it says so",
    });
    if let Some(assertions) = assertions {
        line["assertions"] = assertions.into();
    }
    line
}

fn reported() -> Value {
    let mut line = machine();
    for (field, value) in [
        ("commit", "0123456789abcdef0123456789abcdef01234567-dirty"),
        ("compiler", "rustc 1.95.0"),
        ("target", "x86_64-unknown-linux-gnu"),
        ("profile", "release"),
        ("opt_level", "3"),
        ("load_average", "0.10 0.20 0.30"),
        ("huge_pages", "madvise"),
    ] {
        line = with(line, field, value);
    }
    with(
        line,
        "directories",
        json!([
            {"path": "/fast", "file_system": "xfs", "device": "/dev/a", "mount_options": "rw,noatime", "free_bytes": 5 << 20},
            {"path": "/slow", "file_system": "ext4", "device": "/dev/b"},
        ]),
    )
}

#[test]
fn the_program_the_machine_and_each_directory_are_reported_in_every_form() {
    let mut lines = vec![reported()];
    lines.extend(rounds("cairndb", "1A", "readseq", 1e6));
    let report = report(&lines);
    let json = report.json().expect("plain data");
    for text in [report.html(), report.markdown(), json] {
        for fact in [
            "0123456789abcdef0123456789abcdef01234567-dirty",
            "rustc 1.95.0",
            "0.10 0.20 0.30",
            "/dev/b",
            "rw,noatime",
        ] {
            assert!(
                text.contains(fact) || text.contains(&fact.replace('_', "\\_")),
                "{fact}"
            );
        }
    }
    let html = report.html();
    assert!(html.contains("(the sources differed from it)"));
    assert!(html.contains("Clock governor: the kernel shows none."));
    assert!(html.contains(">5.00 MB<"));
}

#[test]
fn libraries_are_reported_with_their_assertions_and_how_that_is_known() {
    let mut lines = vec![
        reported(),
        build("leveldb", Some(true)),
        build("lmdb", Some(false)),
        build("sqlite3", None),
    ];
    for engine in ["cairndb", "leveldb", "lmdb", "sqlite3"] {
        lines.extend(rounds(engine, "1A", "readseq", 1e6));
    }
    let report = report(&lines);
    let html = report.html();
    assert!(html.contains("/lib/libleveldb.so.9.8 (123,456 bytes)"));
    assert!(html.contains(r#"<td class="bad">on</td>"#));
    assert!(html.contains(r#"<td class="faint">unknown</td>"#));
    assert!(html.contains("<b>LMDB:</b> it says so."));
    assert!(html.contains("LevelDB has them compiled into its library"));
    assert!(report.markdown().contains("/lib/libleveldb.so.9.8"));
}

#[test]
fn without_assertions_in_a_peer_the_biases_say_so() {
    let mut lines = vec![build("lmdb", Some(false)), build("cairndb", Some(true))];
    for engine in ["cairndb", "lmdb"] {
        lines.extend(rounds(engine, "1A", "readseq", 1e6));
    }
    let html = report(&lines).html();
    assert!(html.contains("Assertions favour no store, as far as known."));
}

#[test]
fn a_library_that_changed_between_two_starts_is_reported_twice() {
    let mut lines = vec![build("lmdb", Some(false)), build("lmdb", Some(false))];
    lines.push(with(build("lmdb", Some(false)), "version", "9.9"));
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    let html = report(&lines).html();
    assert_eq!(html.matches("/lib/liblmdb.so.9.8 (").count(), 2);
}
