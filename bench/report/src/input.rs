//! The input of a report: the lines of `--json`, read and checked.
//!
//! A line is a result, or an object with a `type`: `machine` (one at the start of each run; a
//! second one means that the run was stopped and resumed), `suite` (its sections, and how its
//! rounds are aggregated), `build` (an engine's library and how it was built), `note` (a `text` the
//! reader must know, such as rounds that were left out) or `end` (the suite is complete).

use bench_core::result::outline::Outline;
use bench_core::result::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

/// The version of the layout of `report.json`.
pub(crate) const VERSION: u32 = 1;

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
    pub(crate) library: Option<String>,
    /// Size of the file.
    pub(crate) library_bytes: Option<u64>,
    /// Whether assertions are compiled in; `None` if unknown.
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

/// All input of a report, and the part of `report.json` that is read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportInput {
    /// The version of the layout of `report.json`.
    pub(crate) report: u32,
    /// Machine lines, one per start of the run.
    #[serde(default)]
    pub(crate) machines: Vec<Machine>,
    /// Suites that were run, without duplicates.
    #[serde(default)]
    pub(crate) suites: Vec<Outline>,
    /// Builds of the engines' libraries, without duplicates.
    #[serde(default)]
    pub(crate) builds: Vec<Build>,
    /// Names of the suites that completed.
    #[serde(default)]
    pub(crate) ended: Vec<String>,
    /// Notes for the reader.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// The results, in the order of completion.
    pub(crate) records: Vec<Record>,
}

impl ReportInput {
    /// Reads JSON lines.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let mut source = Self {
            report: VERSION,
            ..Self::default()
        };
        for (number, line) in (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let read = source.line(line);
            read.map_err(|what| Error::new(format!("line {number}: {what}")))?;
        }
        Ok(source)
    }

    /// Returns the outline of a suite.
    pub(crate) fn outline(&self, suite: Option<&str>) -> Option<&Outline> {
        let name = suite?;
        self.suites.iter().find(|outline| outline.name == name)
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let wrong = |error: serde_json::Error| format!("not a result: {error}");
        let object: Value = serde_json::from_str(text).map_err(wrong)?;
        if object.get("type").is_none() {
            return self.result(object);
        }
        match serde_json::from_value(object).map_err(wrong)? {
            Line::Machine(machine) => self.machines.push(machine),
            Line::Suite(mut outline) => {
                Outline::KIND.clone_into(&mut outline.kind);
                // A resumed run may repeat its suite.
                self.suites.retain(|known| known.name != outline.name);
                self.suites.push(outline);
            }
            Line::Build(build) => add(&mut self.builds, build),
            Line::Note { text } => add(&mut self.notes, text),
            Line::End { suite } => add(&mut self.ended, suite),
        }
        Ok(())
    }

    fn result(&mut self, object: Value) -> Result<(), String> {
        for name in ["engine", "workload", "status"] {
            if !object.get(name).is_some_and(Value::is_string) {
                return Err(format!("not a result: no {name}"));
            }
        }
        let record =
            Record::deserialize(object).map_err(|error| format!("not a result: {error}"))?;
        // Further records mean that the suite has not ended.
        self.ended
            .retain(|suite| record.suite.as_ref() != Some(suite));
        self.records.push(record);
        Ok(())
    }
}

/// A line that is not a result.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Machine(Machine),
    Suite(Outline),
    Build(Build),
    Note { text: String },
    End { suite: String },
}

/// Adds an element to a list that does not hold it yet.
fn add<T: PartialEq>(list: &mut Vec<T>, element: T) {
    if !list.contains(&element) {
        list.push(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"engine":"lmdb","workload":"fillseq","status":"ok","round":1}"#;

    fn refusal(text: &str) -> String {
        ReportInput::read(text).expect_err("refused").to_string()
    }

    #[test]
    fn lines_of_three_kinds_are_read() {
        let text = format!(
            "{}\n{ROW}\n\n{}\n",
            r#"{"type":"machine","cpu":"x","command":["a","b"],"cpus":2}"#,
            r#"{"type":"note","text":"round 3 was left out"}"#
        );
        let source = ReportInput::read(&text).expect("well formed");
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
        assert!(
            refusal("{\"type\":\"other\"}")
                .contains("line 1: not a result: unknown variant `other`")
        );
        assert!(refusal("{\"type\":3}").starts_with("line 1: not a result: "));
        assert!(refusal("{\"type\":\"note\"}").contains("missing field `text`"));
        let negative = ROW.replace("\"round\":1", "\"round\":-1");
        assert!(refusal(&negative).contains("line 1: not a result: "));
    }

    #[test]
    fn nothing_is_read_from_nothing() {
        let source = ReportInput::read("").expect("empty");
        assert!(source.records.is_empty() && source.machines.is_empty());
    }
}
