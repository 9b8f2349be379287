//! Checks that the columns of the CSV file are the fields of the record.

use super::*;

/// Returns a record with every field; a new field does not compile until it is added here.
fn full() -> Record {
    Record {
        engine: "a \"b\", c".into(),
        engine_version: Some("x".into()),
        suite: Some("x".into()),
        section: Some("x".into()),
        workload: "a \"b\", c".into(),
        instance: 1,
        round: 1,
        variant: Some("x".into()),
        state: Some("x".into()),
        pass: Some("x".into()),
        status: Status::Failed,
        reason: Some("x".into()),
        durability: Some("x".into()),
        ranked: Some(true),
        verified: Some(true),
        placement: Some("x".into()),
        round_trips: Some(7),
        data: Some("x".into()),
        compression: Some(true),
        memory_bytes: Some(7),
        key_bytes: Some(7),
        value_bytes: Some(7),
        threads: Some(8),
        ops: Some(7),
        bytes: Some(7),
        user_bytes: Some(7),
        found: Some(7),
        wall_ns: Some(7),
        cpu_user_ns: Some(7),
        cpu_sys_ns: Some(7),
        settle_ns: Some(7),
        disk_bytes: Some(7),
        live_bytes: Some(7),
        io_write_bytes: Some(7),
        engine_write_bytes: Some(7),
        fsyncs: Some(7),
        anon_rss_peak: Some(7),
        anon_rss_base: Some(7),
        mapped_rss_peak: Some(7),
        page_cache_bytes: Some(7),
        p50_ns: Some(7),
        p90_ns: Some(7),
        p99_ns: Some(7),
        p999_ns: Some(7),
        p9999_ns: Some(7),
        max_ns: Some(7),
        intervals: vec![1, 2],
        writer_ops: Some(7),
        late_ns: Some(7),
        passed_entries: Some(7),
        by_hand: true,
        seed: Some(8),
        options: vec![("o".into(), "p".into()), ("q".into(), "r".into())],
        file_system: Some("x".into()),
        started_at: Some(7),
    }
}

#[test]
fn every_field_is_a_column() {
    let object = serde_json::to_value(full()).expect("plain data");
    let mut names: Vec<&str> = object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let mut columns = Record::FIELDS.to_vec();
    names.sort_unstable();
    columns.sort_unstable();
    assert_eq!(names, columns);
}

#[test]
fn cells_are_quoted_where_they_must_be() {
    let line = full().to_csv();
    assert!(line.starts_with(r#""a ""b"", c",x,"#), "{line}");
    assert!(line.contains(",failed,x,"), "{line}");
    assert!(
        line.contains(",1 2,") && line.contains(",o=p q=r,"),
        "{line}"
    );
    let empty = Record::default().to_csv();
    let filled = empty.split(',').filter(|cell| !cell.is_empty());
    assert_eq!(filled.collect::<Vec<_>>(), ["0", "0", "ok"]);
}
