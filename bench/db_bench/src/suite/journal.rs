//! The JSON file of a run as a journal: what an earlier process had finished when it was stopped.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::Path;

use bench_core::outline::Outline;
use bench_core::record::{Record, Status};
use serde_json::Value;

/// Results of before, by what they are results of.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    known: HashMap<Key, Status>,
    /// In the order of the file.
    pub(crate) records: Vec<Record>,
}

/// What a record of a suite is the result of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    engine: String,
    variant: Option<String>,
    data: Option<String>,
    file_system: Option<String>,
    section: Option<String>,
    workload: String,
    instance: u32,
    round: u32,
    pass: Option<String>,
}

impl Key {
    /// The key of a record. The plain settings of an engine with several sets have a name in records
    /// and none in suites.
    pub(crate) fn of(record: &Record) -> Self {
        let fair = bench_core::settings::Variant::Fair.word();
        Self {
            engine: record.engine.clone(),
            variant: record.variant.clone().filter(|name| name != fair),
            data: record.data.clone(),
            file_system: record.file_system.clone(),
            section: record.section.clone(),
            workload: record.workload.clone(),
            instance: record.instance,
            round: record.round,
            pass: record.pass.clone(),
        }
    }
}

impl Journal {
    /// Reads the file and cuts off a last line that was not finished.
    pub(crate) fn read(path: &Path, outline: &Outline) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|error| format!("--resume: {shown}: {error}"))?;
        let whole = text
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut journal = Self::default();
        let mut found = None;
        for (at, line) in text[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let wrong = |error: serde_json::Error| format!("--resume: {shown}:{}: {error}", at + 1);
            let value: Value = serde_json::from_slice(line).map_err(wrong)?;
            match value.get("type").and_then(Value::as_str) {
                None => {
                    let record: Record = serde_json::from_value(value).map_err(wrong)?;
                    journal.known.insert(Key::of(&record), record.status);
                    journal.records.push(record);
                }
                Some(Outline::KIND) => {
                    found = Some(serde_json::from_value::<Outline>(value).map_err(wrong)?);
                }
                Some(_) => {}
            }
        }
        let found = found.ok_or_else(|| format!("--resume: {shown} is no result of a suite"))?;
        if let Some(what) = difference(&found, outline) {
            return Err(format!(
                "--resume: {shown} was written by another run: {what}; run it as that one was, or without --resume"
            ));
        }
        let cut = OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(whole as u64));
        cut.map_err(|error| format!("--resume: {shown}: {error}"))?;
        Ok(journal)
    }

    /// How the row ended, if it did.
    pub(crate) fn status(&self, key: &Key) -> Option<Status> {
        self.known.get(key).copied()
    }
}

/// What two runs differ in, if anything.
fn difference(before: &Outline, now: &Outline) -> Option<String> {
    let differ = |what: &str, before: &str, now: &str| {
        (before != now).then(|| format!("{what} {before} there, {now} here"))
    };
    differ("suite", &before.name, &now.name)
        .or_else(|| differ("num", &before.num.to_string(), &now.num.to_string()))
        .or_else(|| {
            differ(
                "rounds",
                &before.rounds.to_string(),
                &now.rounds.to_string(),
            )
        })
        .or_else(|| differ("aggregate", before.aggregate.word(), now.aggregate.word()))
        .or_else(|| differ("engines", &before.engines.join(","), &now.engines.join(",")))
        .or_else(|| {
            differ(
                "directories",
                &before.directories.join(","),
                &now.directories.join(","),
            )
        })
        .or_else(|| (before != now).then(|| "its sections are not those of this suite".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(num: u64) -> Outline {
        Outline {
            kind: Outline::KIND.into(),
            name: "own".into(),
            num,
            ..Outline::default()
        }
    }

    fn file(lines: &[String], tail: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), lines.concat() + tail).expect("written");
        file
    }

    fn line(object: &impl serde::Serialize) -> String {
        serde_json::to_string(object).expect("plain data") + "\n"
    }

    #[test]
    fn whole_lines_are_kept_and_a_torn_one_is_cut() {
        let record = Record {
            engine: "null".into(),
            workload: "fillseq".into(),
            variant: Some("fair".into()),
            ..Record::default()
        };
        let file = file(&[line(&outline(5)), line(&record)], "{\"engine\":\"nu");
        let journal = Journal::read(file.path(), &outline(5)).expect("fits");
        assert_eq!(journal.records, std::slice::from_ref(&record));
        let asked = Record {
            variant: None,
            ..record
        };
        assert_eq!(journal.status(&Key::of(&asked)), Some(Status::Ok));
        let text = std::fs::read_to_string(file.path()).expect("there");
        assert!(text.ends_with("}\n"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn another_run_and_another_file_are_refused() {
        let refusal = |file: &tempfile::NamedTempFile| {
            Journal::read(file.path(), &outline(6)).expect_err("refused")
        };
        let other = refusal(&file(&[line(&outline(5))], ""));
        assert!(other.contains("num 5 there, 6 here"), "{other}");
        let none = refusal(&file(&[], ""));
        assert!(none.contains("is no result of a suite"), "{none}");
        let broken = refusal(&file(&["{}\n".into(), "{\n".into()], ""));
        assert!(broken.contains(":2: "), "{broken}");
    }
}
