use super::*;
use crate::host::test_text::begins;

#[test]
fn cells_are_quoted_where_they_must_be() {
    let record = Record {
        engine: "a \"b\", c".into(),
        suite: Some("x".into()),
        status: Status::Failed,
        reason: Some("y".into()),
        intervals: vec![1, 2],
        by_hand: true,
        options: vec![("o".into(), "p".into()), ("q".into(), "r".into())],
        ..Record::default()
    };
    let line = record.to_csv();
    begins(&line, r#""a ""b"", c",,x,"#);
    for part in [",failed,y,", ",1 2,", ",true,", ",o=p q=r,"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

#[test]
fn what_was_not_measured_is_left_out() {
    let empty = serde_json::to_value(Record::default()).expect("plain data");
    let names: Vec<&String> = empty.as_object().expect("an object").keys().collect();
    let wanted = ["engine", "instance", "round", "status", "workload"];
    assert_eq!(names, wanted);
    let line = Record::default().to_csv();
    assert_eq!(line.split(',').count(), Record::FIELDS.len());
    let filled = line.split(',').filter(|cell| !cell.is_empty());
    assert_eq!(filled.collect::<Vec<_>>(), ["0", "0", "ok"]);
}
