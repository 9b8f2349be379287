//! `report.json`: the records as they came, and the model made from them.
//!
//! When the file is read back, everything is computed from the records again; the rest is for
//! people, scripts and the page.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::input::{ReportInput, VERSION};
use crate::model::Model;

/// Returns the whole file: an object of lists, each element on a line of its own.
pub(crate) fn write(source: &ReportInput, model: &Model) -> Result<String, Error> {
    let mut members = object(source)?;
    members.extend(object(model)?);
    // The version comes first: it distinguishes the file from records.
    members.remove("report");
    let mut text = format!("{{\n\"report\": {VERSION}");
    for (name, value) in members {
        let shown = match &value {
            Value::Array(items) => {
                let lines: Vec<String> = items.iter().map(|item| format!("\n{item}")).collect();
                format!("[{}]", lines.join(","))
            }
            other => other.to_string(),
        };
        // Writing to a String cannot fail.
        let _ = write!(text, ",\n\"{name}\": {shown}");
    }
    text.push_str("\n}\n");
    Ok(text)
}

fn object(value: &impl Serialize) -> Result<Map<String, Value>, Error> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Error::new("the report is no object")),
        Err(error) => Err(Error::new(format!("the report as JSON: {error}"))),
    }
}

/// Returns whether a text is a `report.json` and not lines of records, based on its first member.
pub(crate) fn is_report(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{').unwrap_or_default();
    inner.trim_start().starts_with("\"report\"")
}

/// Reads the file back.
pub(crate) fn read(text: &str) -> Result<ReportInput, Error> {
    let source: ReportInput =
        serde_json::from_str(text).map_err(|error| Error::new(format!("not a report: {error}")))?;
    if source.report != VERSION {
        return Err(Error::new(format!(
            "a report of version {}; this program reads version {VERSION}",
            source.report
        )));
    }
    Ok(source)
}
