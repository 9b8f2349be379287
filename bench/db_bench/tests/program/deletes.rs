//! The suite of deletions.

use crate::common::{good, run_in};
use crate::suites::results;

#[test]
fn every_row_of_deletes_runs_and_counts_what_cursors_pass() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("deletes.json");
    let words = [
        "--suite=deletes --num=4000 --rounds=1 --engine=cairndb,null",
        &format!("--json={}", json.display()),
    ];
    good(&run_in(home.path(), &words));
    let rows = results(&json);
    // Of two engines, 13 rows with one thread, ten with four and fifteen around deleted ranges, at
    // full speed and with each turn timed.
    assert_eq!(rows.len(), 2 * 2 * (13 + 10 + 15));
    for row in &rows {
        let number = |name: &str| row[name].as_u64().unwrap_or(0);
        assert!(row["status"] == "ok", "{row}");
        if row["section"]
            .as_str()
            .is_some_and(|name| name.ends_with("ranges"))
        {
            let ranges = row["workload"] == "deleteranges";
            assert!(!ranges || [1, 10, 10_000].contains(&number("ops")), "{row}");
            continue;
        }
        assert!(number("ops") == 2000, "{row}");
        assert!(
            number("late_ns") > 0 && number("disk_bytes") < 1 << 30,
            "{row}"
        );
        if row["engine"] == "cairndb" {
            assert_eq!(row["verified"], true, "{row}");
            let name = row["workload"].as_str().expect("a text");
            // At least one seek steps over what was deleted before the first turn.
            let least = if name.starts_with("delete") { 1000 } else { 0 };
            assert!(row["passed_entries"].as_u64() >= Some(least), "{row}");
        }
    }
}
