//! External values stay text, whatever they contain.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{report, row, with};

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

#[test]
fn known_attacks_stay_text() {
    for attack in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='x",
        "</style><script>",
        "<!--",
        "]]>",
        "&lt;script&gt;",
        "\u{202e}\u{0}\u{1b}[2J",
        "|`*_[x](javascript:y)",
    ] {
        let report = report(&run(attack));
        let html = report.html();
        assert!(!html.contains(TAG), "{attack}");
        assert!(!html.contains("<script"), "{attack}");
        assert!(!html.contains("<img"), "{attack}");
        assert!(!report.markdown().contains(TAG), "{attack}");
        assert!(!report.bars(120).contains('\u{1b}'), "{attack}");
    }
}

#[test]
fn very_long_names_are_kept_whole() {
    let name = "n".repeat(5000);
    let report = report(&[row(&name, "1A", "readseq", 1, 1e6)]);
    assert!(report.html().contains(&name));
    assert!(
        report
            .bars(80)
            .lines()
            .all(|line| line.chars().count() <= 80 || line.contains(&name))
    );
}

#[test]
fn fields_that_are_missing_are_dashes() {
    let line = json!({"engine": "lmdb", "workload": "fillrandom", "status": "ok"});
    let html = report(&[line]).html();
    assert!(html.contains("skipped"));
    assert!(html.contains("nothing was measured"));
}

#[test]
fn numbers_without_sense_make_no_bar_and_no_panic() {
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
    let report = report(&lines);
    let html = report.html();
    assert!(
        !html.contains("NaN") && !html.contains("inf"),
        "no meaningless number is shown"
    );
    assert!(report.bars(80).contains("LevelDB"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Checks that no `<` of a value reaches the page or the Markdown, and that none of its quotes
    /// ends an attribute.
    #[test]
    fn no_value_becomes_markup(text in any::<String>()) {
        let report = report(&run(&text));
        let html = report.html();
        prop_assert!(!html.contains(TAG));
        let plain = report_html_without(&html);
        prop_assert_eq!(plain.matches('<').count(), plain.matches('>').count());
        prop_assert!(!report.markdown().contains(TAG));
        prop_assert!(!report.bars(100).chars().any(|letter| letter.is_control() && letter != '\n'));
    }
}

/// Returns the page without its style sheet, whose selectors contain `>`.
fn report_html_without(html: &str) -> String {
    let (head, rest) = html.split_once("<style>").expect("a style sheet");
    let (_, tail) = rest.split_once("</style>").expect("its end");
    format!("{head}{tail}")
}
