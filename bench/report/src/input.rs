//! The input of a report: the lines of `--json`, read and checked.
//!
//! A line is a result, or an object with a `type`: `machine` (one at the start of each run; a
//! second one means that the run was stopped and resumed), `suite` (its sections, and how its
//! rounds are aggregated), `build` (an engine's library and how it was built), `note` (a `text` the
//! reader must know, such as rounds that were left out) or `end` (the suite is complete).

use std::io::BufRead;

use bench_core::result::outline::{Aggregate, Outline, SuiteEnd};
use bench_core::result::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

/// Maximum length of a line; a record with a day of intervals takes less than a megabyte.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Facts about the machine, the program and the command line, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Machine {
    /// Facts as written in the line.
    pub(crate) facts: Map<String, Value>,
}

impl Machine {
    /// Returns a fact as text, if present.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.facts.get(name).and_then(words)
    }

    /// Returns a fact as a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.facts.get(name)?.as_u64()
    }

    /// Returns a boolean fact.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.facts.get(name)?.as_bool()
    }
}

/// The code of an engine: the file it was loaded from and how it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Build {
    /// Engine.
    pub(crate) engine: String,
    /// Version that the engine reports.
    pub(crate) version: String,
    /// File that was loaded; `None` if the engine is part of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) library: Option<String>,
    /// Size of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) library_bytes: Option<u64>,
    /// Whether assertions are compiled in; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) assertions: Option<bool>,
    /// Evidence for `assertions`, or the reason it is unknown.
    pub(crate) evidence: String,
}

/// Returns a value as text: strings unchanged, list elements separated by spaces, `None` for null.
pub(crate) fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(words).collect::<Vec<_>>().join(" ")),
        other => Some(other.to_string()),
    }
}

/// All input of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReportInput {
    /// Machine lines, one per start of the run.
    pub(crate) machines: Vec<Machine>,
    /// Suites that were run, without duplicates.
    pub(crate) suites: Vec<Outline>,
    /// Builds of the engines' libraries, without duplicates.
    pub(crate) builds: Vec<Build>,
    /// Names of the suites that completed.
    pub(crate) ended: Vec<String>,
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
    /// The results, in the order of completion.
    pub(crate) records: Vec<Record>,
    /// Aggregation of rounds into one figure, if chosen explicitly.
    pub(crate) aggregate: Option<Aggregate>,
}

impl ReportInput {
    /// Reads JSON lines.
    pub(crate) fn read(mut input: impl BufRead) -> Result<Self, Error> {
        let mut source = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut limited = std::io::Read::take(&mut input, LINE_BYTES_MAX);
            let read = limited
                .read_until(b'\n', &mut line)
                .map_err(|error| Error::line(number, error))?;
            if read == 0 {
                break;
            }
            if line.len() as u64 == LINE_BYTES_MAX {
                return Err(Error::line(number, "longer than 64 MB"));
            }
            source
                .line(&line)
                .map_err(|what| Error::line(number, what))?;
        }
        Ok(source)
    }

    /// Returns the outline of a suite.
    pub(crate) fn outline(&self, suite: Option<&str>) -> Option<&Outline> {
        let name = suite?;
        self.suites.iter().find(|outline| outline.name == name)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        if text.trim().is_empty() {
            return Ok(());
        }
        let wrong = |error: serde_json::Error| format!("not a result: {error}");
        let object: Map<String, Value> = serde_json::from_str(text).map_err(wrong)?;
        match object.get("type") {
            None => self.result(object),
            Some(Value::String(kind)) => match kind.as_str() {
                "machine" => {
                    self.machine(object);
                    Ok(())
                }
                Outline::KIND => self.suite(object),
                "build" => self.build(object),
                "note" => self.note(&object),
                SuiteEnd::KIND => self.end(object),
                other => Err(format!(
                    "type {other:?} is none of \"machine\", \"suite\", \"build\", \"note\" and \"end\""
                )),
            },
            Some(other) => Err(format!("type {other} is not a string")),
        }
    }

    fn result(&mut self, object: Map<String, Value>) -> Result<(), String> {
        for name in ["engine", "workload", "status"] {
            if !object.get(name).is_some_and(Value::is_string) {
                return Err(format!("not a result: no {name}"));
            }
        }
        let record = Record::deserialize(Value::Object(object))
            .map_err(|error| format!("not a result: {error}"))?;
        // Further records mean that the suite has not ended.
        self.ended
            .retain(|suite| record.suite.as_ref() != Some(suite));
        self.records.push(record);
        Ok(())
    }

    fn machine(&mut self, mut facts: Map<String, Value>) {
        facts.remove("type");
        self.machines.push(Machine { facts });
    }

    fn suite(&mut self, object: Map<String, Value>) -> Result<(), String> {
        let outline = Outline::deserialize(Value::Object(object))
            .map_err(|error| format!("not a suite: {error}"))?;
        // A resumed run may repeat its suite.
        self.suites.retain(|known| known.name != outline.name);
        self.suites.push(outline);
        Ok(())
    }

    fn build(&mut self, object: Map<String, Value>) -> Result<(), String> {
        let build = Build::deserialize(Value::Object(object))
            .map_err(|error| format!("not a build: {error}"))?;
        if !self.builds.contains(&build) {
            self.builds.push(build);
        }
        Ok(())
    }

    fn end(&mut self, object: Map<String, Value>) -> Result<(), String> {
        let end = SuiteEnd::deserialize(Value::Object(object))
            .map_err(|error| format!("not the end of a suite: {error}"))?;
        if !self.ended.contains(&end.suite) {
            self.ended.push(end.suite);
        }
        Ok(())
    }

    fn note(&mut self, object: &Map<String, Value>) -> Result<(), String> {
        let text = object
            .get("text")
            .and_then(Value::as_str)
            .ok_or("a note without text")?;
        if !self.notes.iter().any(|known| known == text) {
            self.notes.push(text.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"engine":"lmdb","workload":"fillseq","status":"ok","round":1}"#;

    fn refusal(text: &str) -> String {
        ReportInput::read(text.as_bytes())
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn lines_of_three_kinds_are_read() {
        let text = format!(
            "{}\n{ROW}\n\n{}\n",
            r#"{"type":"machine","cpu":"x","command":["a","b"],"cpus":2}"#,
            r#"{"type":"note","text":"round 3 was left out"}"#
        );
        let source = ReportInput::read(text.as_bytes()).expect("well formed");
        assert_eq!(source.machines[0].text("command").as_deref(), Some("a b"));
        assert_eq!(source.machines[0].number("cpus"), Some(2));
        assert_eq!(source.machines[0].text("type"), None);
        assert_eq!(source.notes, ["round 3 was left out"]);
        assert_eq!(source.records[0].engine, "lmdb");
    }

    #[test]
    fn a_malformed_line_is_refused_with_its_number() {
        assert!(refusal(&format!("{ROW}\n{{\"engine\":")).starts_with("line 2: not a result"));
        assert!(refusal("{}").starts_with("line 1: not a result: no engine"));
        assert!(refusal("[]").starts_with("line 1: "));
        assert_eq!(
            refusal("{\"type\":\"other\"}"),
            "line 1: type \"other\" is none of \"machine\", \"suite\", \"build\", \"note\" and \"end\""
        );
        assert_eq!(refusal("{\"type\":3}"), "line 1: type 3 is not a string");
        assert_eq!(
            refusal("{\"type\":\"note\"}"),
            "line 1: a note without text"
        );
        let negative = ROW.replace("\"round\":1", "\"round\":-1");
        assert!(refusal(&negative).contains("line 1: not a result: "));
        let error = ReportInput::read(&b"\n\xff\n"[..]).expect_err("refused");
        assert_eq!(error.to_string(), "line 2: not UTF-8");
    }

    #[test]
    fn nothing_is_read_from_nothing() {
        assert_eq!(
            ReportInput::read(&b""[..]).expect("empty"),
            ReportInput::default()
        );
    }
}
