//! The JSON file of a run as a journal: it records what earlier processes finished before they were
//! stopped.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::Path;

use bench_core::result::civil_date::civil;
use bench_core::result::outline::{Fact, Note, Outline, SuiteEnd};
use bench_core::result::record::Record;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fingerprint;

/// Earlier results, by key.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Positions of the results.
    known: HashMap<String, usize>,
    /// Results in the order of the file.
    pub(crate) records: Vec<Record>,
    /// Notes for the reader.
    pub(crate) notes: Vec<Note>,
    /// Machine lines, one for each process that worked on the run.
    begun: Vec<Begun>,
    /// Outline of the run.
    pub(super) outline: Option<Outline>,
    /// Whether the last line marks the run as complete.
    pub(super) ended: bool,
    /// Length of the complete lines in bytes.
    pub(super) bytes: usize,
    /// Rounds of a complete run to which this one adds rounds, or 0.
    pub(crate) kept_rounds: u32,
}

/// Returns the key of a record: the row that it is a result of. The plain settings of an engine
/// with several variants have a name in records but none in suites.
pub(crate) fn key(record: &Record) -> String {
    let fair = bench_core::workload::settings::Variant::Fair.word();
    let variant = record.variant.as_ref().filter(|name| *name != fair);
    let (names, numbers) = (
        (&record.engine, variant, &record.data, &record.file_system),
        (record.instance, record.round),
    );
    let place = (&record.section, &record.workload, &record.pass);
    json!([names, place, numbers]).to_string()
}

/// The relevant fields of a machine line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Begun {
    started_at: u64,
    db_bench: String,
    commit: String,
}

fn of_another_run(path: &Path, what: &str) -> String {
    format!(
        "--resume: {} was written by a different run: {what}; use the same settings, or remove that file to start over",
        path.display()
    )
}

impl Journal {
    /// Reads the file; returns `None` if a run was stopped before it had written its outline.
    pub(crate) fn read(path: &Path, outline: &Outline) -> Result<Option<Self>, String> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|error| format!("--resume: {shown}: {error}"))?;
        let journal = Self::parse(&text).map_err(|what| format!("--resume: {shown}:{what}"))?;
        let Some(found) = &journal.outline else {
            let stopped = journal.records.is_empty() && journal.notes.is_empty();
            let machine = br#"{"type":"machine","#;
            let torn = text.starts_with(machine) || machine.starts_with(&text);
            return if stopped && torn {
                Ok(None)
            } else {
                Err(format!("--resume: {shown} is not a result of a suite"))
            };
        };
        match fingerprint::difference_but_builds(found, outline) {
            Some(what) => Err(of_another_run(path, &what)),
            None => Ok(Some(journal)),
        }
    }

    /// Reads whole lines; an error names the line.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let end = text.iter().rposition(|&byte| byte == b'\n');
        let mut journal = Self {
            bytes: end.map_or(0, |at| at + 1),
            ..Self::default()
        };
        let lines = text[..journal.bytes].split(|&byte| byte == b'\n');
        for (at, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let added = journal.line(line);
            added.map_err(|error| format!("{}: {error}", at + 1))?;
        }
        Ok(journal)
    }

    /// Refuses to continue a run started by another build.
    pub(crate) fn check_builds(&self, path: &Path, outline: &Outline) -> Result<(), String> {
        let begun = self.outline.as_ref();
        match begun.and_then(|begun| fingerprint::difference(begun, outline)) {
            Some(what) => Err(of_another_run(path, &what)),
            None => Ok(()),
        }
    }

    /// Adds a line.
    fn line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let value: Value = serde_json::from_slice(line)?;
        self.ended = false;
        match value.get("type").and_then(Value::as_str) {
            None => {
                let record: Record = serde_json::from_value(value)?;
                self.known.insert(key(&record), self.records.len());
                self.records.push(record);
            }
            Some(Outline::KIND) => self.outline = Some(serde_json::from_value(value)?),
            Some(SuiteEnd::KIND) => self.ended = true,
            Some("note") => self.notes.push(serde_json::from_value(value)?),
            Some("machine") => self.begun.push(serde_json::from_value(value)?),
            Some(_) => {}
        }
        Ok(())
    }

    /// Returns whether there is anything to resume.
    pub(crate) const fn is_begun(&self) -> bool {
        self.bytes > 0
    }

    /// Removes an incomplete last line.
    pub(crate) fn cut(&self, path: &Path) -> Result<(), String> {
        let cut = OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(self.bytes as u64));
        cut.map_err(|error| format!("--resume: {}: {error}", path.display()))
    }

    /// Returns the result with this key.
    pub(super) fn result(&self, key: &str) -> Option<&Record> {
        self.known.get(key).map(|&at| &self.records[at])
    }

    /// Returns the last round, if `planned` rounds were planned.
    pub(super) fn last_round(&self, planned: u32) -> u32 {
        let left_out = self.facts().find_map(|fact| match fact {
            Fact::Rounds(from) => Some(from.saturating_sub(1)),
            _ => None,
        });
        left_out.unwrap_or(planned)
    }

    /// Returns the relevant facts from earlier processes.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.notes.iter().filter_map(|note| note.fact.as_ref())
    }

    /// Returns when the run was started, and by which builds.
    pub(crate) fn origin(&self) -> String {
        let began = self.begun.first().map_or(0, |begun| begun.started_at);
        let ([year, month, day, hour, minute, _], _) = civil(began);
        let mut builds: Vec<String> = Vec::new();
        for begun in &self.begun {
            let build = format!("{} ({})", begun.db_bench, begun.commit);
            if !builds.contains(&build) {
                builds.push(build);
            }
        }
        format!(
            "started on {year}-{month:02}-{day:02} at {hour:02}:{minute:02} UTC by db_bench {}",
            builds.join(" and ")
        )
    }
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::{ends, has};

    use bench_core::result::outline::Fingerprint;

    use super::*;

    fn outline(num: u64) -> Outline {
        Outline {
            kind: Outline::KIND.into(),
            name: "own".into(),
            num,
            fingerprint: Some(Fingerprint::default()),
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

    fn read(path: &Path, outline: &Outline) -> Journal {
        let journal = Journal::read(path, outline).expect("fits");
        journal.expect("a run")
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
        let journal = read(file.path(), &outline(5));
        assert_eq!(journal.records, std::slice::from_ref(&record));
        let asked = Record {
            variant: None,
            ..record
        };
        assert!(journal.result(&key(&asked)).is_some());
        journal.cut(file.path()).expect("cut");
        let text = std::fs::read_to_string(file.path()).expect("there");
        ends(&text, "}\n");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn another_run_and_another_file_are_refused() {
        let refusal = |file: &tempfile::NamedTempFile| {
            Journal::read(file.path(), &outline(6)).expect_err("refused")
        };
        let other = refusal(&file(&[line(&outline(5))], ""));
        has(&other, "num 5 there, 6 here");
        let mut older = outline(6);
        older.fingerprint = None;
        let older = refusal(&file(&[line(&older)], ""));
        has(&older, "does not record what determines");
        let none = refusal(&file(&[], "letters"));
        has(&none, "is not a result of a suite");
        let broken = refusal(&file(&["{}\n".into(), "{\n".into()], ""));
        has(&broken, ":2: ");
    }

    #[test]
    fn a_run_that_was_stopped_at_its_first_line_is_begun_again() {
        let machine = r#"{"type":"machine","db_bench":"0.1.0","commit":"abc","started_at":86461}"#;
        for text in [
            "",
            r#"{"ty"#,
            machine,
            &format!("{machine}\n{{\"type\":\"sui"),
        ] {
            let file = file(&[], text);
            let journal = Journal::read(file.path(), &outline(5)).expect("fits");
            assert!(journal.is_none(), "{text}");
        }
        let file = file(&[format!("{machine}\n"), line(&outline(5))], "");
        let origin = read(file.path(), &outline(5)).origin();
        assert_eq!(
            origin,
            "started on 1970-01-02 at 00:01 UTC by db_bench 0.1.0 (abc)"
        );
    }
}
