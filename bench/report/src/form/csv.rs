//! `report.csv`: one line per row of statistics, in the format of RFC 4180.

use serde_json::Value;

use crate::model::{Model, RowModel};

const HEAD: &str = "suite,section,workload,instance,state,data,threads,file_system,engine,engine_version,variant,\
durability,status,reason,ranked,aggregate,rounds,ops_per_sec_min,ops_per_sec,ops_per_sec_max,times_baseline,\
times_leveldb,best_peer,times_best_peer,ties_best_peer,standing,counted,by_hand,writer_ops_per_sec";

/// Returns the whole file.
pub(crate) fn sheet(model: &Model) -> String {
    let mut text = format!("{HEAD}\r\n");
    for row in &model.results {
        text.push_str(&line(row).join(","));
        text.push_str("\r\n");
    }
    text
}

/// Returns the fields of a row, from its form in `report.json`.
fn line(row: &RowModel) -> Vec<String> {
    let row = serde_json::to_value(row).unwrap_or_default();
    let rate = &row["ops_per_sec"];
    let value = |name: &str| match name {
        "rounds" => &rate["rounds"],
        "ops_per_sec_min" => &rate["low"],
        "ops_per_sec" => &rate["middle"],
        "ops_per_sec_max" => &rate["high"],
        "writer_ops_per_sec" => &row[name]["middle"],
        name => &row[name],
    };
    let cell = |name| match value(name) {
        Value::Null => String::new(),
        Value::String(text) => field(text),
        other => other.to_string(),
    };
    HEAD.split(',').map(cell).collect()
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
    use crate::model;
    use crate::run::Run;

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
        let run = Run::new(ReportInput::read(text).expect("a record"));
        let model = model::of(&run);
        assert_eq!(line(&model.results[0]).len(), HEAD.split(',').count());
        assert!(sheet(&model).contains("failed,\"a, b\",false"));
    }
}
