//! External values stay text, whatever they contain.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{data, page, report, row, with};

/// Prefix of every hostile value; unescaped, it would start a tag.
const TAG: &str = "<zq";

/// Returns a run in which every string is the given one.
fn run(text: &str) -> Vec<Value> {
    let text = format!("{TAG}{text}");
    let mut lines = vec![
        json!({
            "type": "machine", "cpu": text, "command": [text, text], "kernel": text, (text.clone()): text,
            "db_bench": text, "commit": text, "compiler": text, "flags": text, "load_average": text,
            "governor": text, "directories": [{"path": text, "device": text, "mount_options": text}, text, 5],
        }),
        json!({"type": "build", "engine": "lmdb", "version": text, "library": text, "evidence": text}),
        json!({"type": "build", "engine": text, "library": text, "assertions": true, "evidence": text}),
        json!({"type": "note", "text": text}),
        json!({
            "type": "suite", "name": text, "title": text, "about": text,
            "sections": [{"name": text, "chapter": text, "heading": text, "table": text, "about": text}],
            "variants": [{"name": text, "about": text}],
        }),
    ];
    for (engine, workload) in [
        ("cairndb", "fillrandom"),
        ("lmdb", &text),
        (&text, "readrandom"),
    ] {
        for status in ["ok", "failed", "skipped"] {
            let mut record = row(engine, &text, workload, 1, 1e6);
            record = with(record, "status", status);
            for field in [
                "suite",
                "variant",
                "reason",
                "durability",
                "data",
                "engine_version",
                "file_system",
            ] {
                record = with(record, field, text.clone());
            }
            if status != "ok" {
                record = with(record, "variant", status);
            }
            record = with(record, "options", json!([[text, text]]));
            record = with(record, "p50_ns", 5);
            lines.push(with(record, "intervals", json!([1, 2, 3, 4, 5])));
        }
    }
    lines
}

/// Checks that a page has the elements of its template and no others: that its data is whole JSON
/// without a tag, and that nothing in its summary is one.
fn is_safe(html: &str) {
    assert!(!html.contains(TAG), "{html}");
    let (head, rest) = html.split_once("id=\"data\">").expect("data");
    let (inner, tail) = rest.split_once("</script>").expect("its end");
    assert!(!inner.contains('<'));
    assert!(data(html)["rows"].is_array());
    let plain = row("lmdb", "1A", "readseq", 1, 1e6);
    let template = report(&[plain]).html();
    assert_eq!(
        tail,
        template
            .split_once("id=\"data\">")
            .expect("data")
            .1
            .split_once("</script>")
            .expect("its end")
            .1
    );
    let tags = |text: &str| text.matches('<').count();
    assert_eq!(
        tags(head),
        tags(template.split_once("id=\"data\">").expect("data").0)
    );
}

#[test]
fn known_attacks_stay_text() {
    for attack in [
        "<script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='x",
        "</style><script>",
        "</pre>",
        "<!--<script>",
        "/*script*/<!--summary-->/*data*/",
        "]]>",
        "&lt;script&gt;",
        "\u{202e}\u{0}\u{1b}[2J",
        "\u{2028}\u{2029}",
        "|`*_[x](javascript:y)",
    ] {
        let report = report(&run(attack));
        is_safe(&report.html());
        assert!(!report.markdown().contains(TAG), "{attack}");
        assert!(!report.summary(120).contains('\u{1b}'), "{attack}");
        assert!(
            page(&run(attack)).contains(&format!("{TAG}{attack}")),
            "kept whole"
        );
    }
}

#[test]
fn very_long_names_are_kept_whole() {
    let name = "n".repeat(5000);
    let lines = [row(&name, "1A", "readseq", 1, 1e6)];
    assert!(page(&lines).contains(&name));
    let summary = report(&lines).summary(80);
    assert!(summary.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn fields_that_are_missing_are_empty() {
    let line = json!({"engine": "lmdb", "workload": "fillrandom", "status": "ok"});
    assert!(page(&[line]).contains("skipped\nnothing was measured"));
}

#[test]
fn numbers_without_sense_make_no_panic() {
    let zero = with(row("lmdb", "1A", "readseq", 1, 1e6), "wall_ns", 0);
    let huge = with(row("leveldb", "1A", "readseq", 1, 1e6), "ops", u64::MAX);
    let tiny = with(row("sqlite3", "1A", "readseq", 1, 1e6), "wall_ns", u64::MAX);
    let none = with(row("rocksdb", "1A", "readseq", 1, 1e6), "ops", 0);
    let mut lines = vec![zero, huge, tiny, none];
    for line in &mut lines {
        for field in [
            "cpu_user_ns",
            "cpu_sys_ns",
            "disk_bytes",
            "anon_rss_peak",
            "settle_ns",
            "p50_ns",
            "max_ns",
        ] {
            line[field] = u64::MAX.into();
        }
        line["user_bytes"] = 1.into();
        line["live_bytes"] = 0.into();
        line["intervals"] = json!([u64::MAX, 0, u64::MAX, 1, 2]);
    }
    let text = report(&lines).markdown();
    assert!(!text.contains("NaN") && !text.contains("inf |"), "{text}");
    assert!(text.contains("LevelDB"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Checks that no value becomes markup in the page or the Markdown, or a control character on
    /// the terminal.
    #[test]
    fn no_value_becomes_markup(text in any::<String>()) {
        let report = report(&run(&text));
        is_safe(&report.html());
        prop_assert!(!report.markdown().contains(TAG));
        prop_assert!(!report.summary(100).chars().any(|letter| letter.is_control() && letter != '\n'));
    }
}
