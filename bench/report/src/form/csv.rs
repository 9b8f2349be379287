//! `report.csv`: one line per row of statistics, in the format of RFC 4180.

use crate::form::json::{self, Statistics};
use crate::run::Run;

const HEAD: &str = "suite,section,workload,instance,state,data,threads,file_system,engine,engine_version,variant,\
durability,status,reason,ranked,aggregate,rounds,ops_per_sec_min,ops_per_sec,ops_per_sec_max,times_baseline,\
times_leveldb,best_peer,times_best_peer,ties_best_peer,standing,counted,by_hand,writer_ops_per_sec";

/// Returns the whole file.
pub(crate) fn sheet(run: &Run) -> String {
    let mut text = format!("{HEAD}\r\n");
    for row in json::statistics(run) {
        text.push_str(&line(&row).join(","));
        text.push_str("\r\n");
    }
    text
}

fn line(row: &Statistics) -> Vec<String> {
    let word = |text: &Option<String>| text.as_deref().map(field).unwrap_or_default();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let rate = row.ops_per_sec;
    vec![
        word(&row.suite),
        word(&row.section),
        field(&row.workload),
        row.instance.to_string(),
        row.state.unwrap_or_default().to_owned(),
        word(&row.data),
        row.threads
            .map(|threads| threads.to_string())
            .unwrap_or_default(),
        word(&row.file_system),
        field(&row.engine),
        word(&row.engine_version),
        word(&row.variant),
        word(&row.durability),
        row.status.to_owned(),
        word(&row.reason),
        row.ranked.to_string(),
        format!("{:?}", row.aggregate).to_lowercase(),
        rate.map(|rate| rate.rounds.to_string()).unwrap_or_default(),
        number(rate.map(|rate| rate.low)),
        number(rate.map(|rate| rate.middle)),
        number(rate.map(|rate| rate.high)),
        number(row.times_baseline),
        number(row.times_leveldb),
        word(&row.best_peer),
        number(row.times_best_peer),
        row.ties_best_peer
            .map(|ties| ties.to_string())
            .unwrap_or_default(),
        row.standing.unwrap_or_default().to_owned(),
        row.counted.to_string(),
        row.by_hand.to_string(),
        number(row.writer_ops_per_sec.map(|rate| rate.middle)),
    ]
}

/// Returns a string as a field, quoted if needed, and never starting like a formula, which a
/// spreadsheet would run.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) || formula {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ReportInput;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(field("two\nlines"), "\"two\nlines\"");
        assert_eq!(field("=1+1"), "\"'=1+1\"");
    }

    #[test]
    fn lines_have_as_many_fields_as_the_head() {
        let text = r#"{"engine":"lmdb","workload":"fillseq","status":"failed","reason":"a, b"}"#;
        let run = Run::new(ReportInput::read(text.as_bytes()).expect("a record"));
        let row = &json::statistics(&run)[0];
        assert_eq!(line(row).len(), HEAD.split(',').count());
        assert!(sheet(&run).contains("failed,\"a, b\",false"));
    }
}
