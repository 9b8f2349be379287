//! The text form of values, entries and reports in scripts.

use std::fmt::Write;

use cairndb::OpenReport;

/// Minimum number of equal consecutive bytes that are printed as a count.
const REPEATED_MIN: usize = 8;

/// Parses the text form of a value.
pub(crate) fn value_of(text: &str) -> Result<Vec<u8>, String> {
    let mut value = Vec::new();
    for part in text.split('+') {
        match part.split_once('*') {
            None => value.extend_from_slice(part.as_bytes()),
            Some((count, letters)) => {
                let count = count
                    .parse()
                    .map_err(|_| format!("invalid count in `{part}`"))?;
                value.extend(letters.as_bytes().repeat(count));
            }
        }
    }
    Ok(value)
}

/// Returns the text form of `value`.
pub(crate) fn spelled(value: &[u8]) -> String {
    let mut text = String::new();
    let mut literal_before = true;
    for run in value.chunk_by(|a, b| a == b) {
        let repeated = run.len() >= REPEATED_MIN;
        if !text.is_empty() && (repeated || !literal_before) {
            text.push('+');
        }
        if repeated {
            let _ = write!(text, "{}*", run.len());
        }
        let shown = if repeated { &run[..1] } else { run };
        let _ = write!(text, "{}", shown.escape_ascii());
        literal_before = !repeated;
    }
    text
}

/// Returns the text form of entries, with one line for neighbours with the same value.
pub(crate) fn entries(entries: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut text = String::new();
    for alike in entries.chunk_by(|a, b| a.1 == b.1) {
        let (first, last) = (
            alike[0].0.escape_ascii(),
            alike[alike.len() - 1].0.escape_ascii(),
        );
        let value = spelled(&alike[0].1);
        let _ = match alike.len() {
            1 => writeln!(text, "{first} = {value}"),
            2 => writeln!(text, "{first}, {last} = {value}"),
            count => writeln!(text, "{first} to {last} ({count}) = {value}"),
        };
    }
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        text
    }
}

/// Returns the text form of an open report.
pub(crate) fn report(report: &OpenReport) -> String {
    let mut text = String::new();
    if report.created {
        text.push_str("created\n");
    } else if report.clean {
        text.push_str("clean\n");
    } else {
        let (records, entries) = (report.replayed_records, report.replayed_entries);
        let _ = writeln!(text, "replayed: {records} records, {entries} entries");
    }
    if report.unlogged_lost > 0 {
        let _ = writeln!(text, "unlogged writes lost: {}", report.unlogged_lost);
    }
    if let Some(cut) = &report.log_cut {
        let _ = writeln!(
            text,
            "log cut: {} at {}: {}",
            cut.file, cut.offset, cut.reason
        );
    }
    if let Some(cut) = &report.manifest_cut {
        let _ = writeln!(text, "manifest cut: {} at {}", cut.file, cut.offset);
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "skipped: {}: {}", skipped.file, skipped.reason);
    }
    text
}
