//! What a suite tells of a row as it ends.

use bench_core::record::{Record, Status};

use crate::table;

/// One line of progress.
pub(super) fn progress(record: &Record) -> String {
    let what = match (record.status, record.rate()) {
        (Status::Ok, Some(rate)) => table::amount(&record.workload, rate),
        (Status::Ok, None) => "timed".to_owned(),
        _ => record.reason.clone().unwrap_or_default(),
    };
    let section = record.section.as_deref().unwrap_or_default();
    let pass = if record.rate().is_none() && record.status == Status::Ok {
        "timing ".to_owned()
    } else {
        format!("round {}", record.round)
    };
    format!(
        "{pass} {section:<9} {:<16} {:<28} {what}\n",
        record.engine,
        table::label(record)
    )
}
