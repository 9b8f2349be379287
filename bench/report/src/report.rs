//! The report: records, the tables they make, and the forms it is written in.

use std::io::BufRead;
use std::path::Path;

use bench_core::result::outline::Aggregate;
use bench_core::result::record::Status;

use crate::chapter;
use crate::error::Error;
use crate::form::{csv, html, json, markdown, terminal};
use crate::input::Source;
use crate::run::Run;

/// Everything one run of the benchmark has to say.
#[derive(Clone, Debug)]
pub struct Report {
    run: Run,
}

impl Report {
    /// Reads the lines of `--json`: records, machines, suites, notes.
    ///
    /// # Errors
    /// When a line cannot be read or is none of these; the error names its number.
    pub fn from_records(input: impl BufRead) -> Result<Self, Error> {
        Ok(Self::of(Source::read(input)?))
    }

    /// Reads a `report.json`.
    ///
    /// # Errors
    /// When it is not one, or of a later version; the error says where.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Ok(Self::of(json::read(text)?))
    }

    /// Reads either of the two.
    ///
    /// # Errors
    /// As those of [`Report::from_records`] and [`Report::from_json`].
    pub fn from_text(text: &str) -> Result<Self, Error> {
        if json::is_report(text) {
            Self::from_json(text)
        } else {
            Self::from_records(text.as_bytes())
        }
    }

    fn of(source: Source) -> Self {
        Self {
            run: Run::new(source),
        }
    }

    /// The same with another way to make one figure of several rounds.
    #[must_use]
    pub fn aggregated(self, aggregate: Aggregate) -> Self {
        let mut source = self.run.source;
        source.aggregate = Some(aggregate);
        Self::of(source)
    }

    /// The same with one more note for the reader.
    #[must_use]
    pub fn noted(mut self, text: impl Into<String>) -> Self {
        self.run.source.notes.push(text.into());
        self
    }

    /// Whether any row failed.
    pub fn any_failed(&self) -> bool {
        let mut records = self.run.source.records.iter();
        records.any(|record| record.status == Status::Failed)
    }

    /// The page, one file without script or outside resource.
    pub fn html(&self) -> String {
        html::page(&chapter::all(&self.run))
    }

    /// The same in Markdown.
    pub fn markdown(&self) -> String {
        markdown::page(&chapter::all(&self.run))
    }

    /// Statistics, one line for each engine, variant and workload.
    pub fn csv(&self) -> String {
        csv::sheet(&self.run)
    }

    /// Everything: records, notes, machines, and the statistics made from them.
    ///
    /// # Errors
    /// When a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, Error> {
        json::write(&self.run)
    }

    /// Every table as bars, for a terminal of this many columns.
    pub fn bars(&self, width: usize) -> String {
        terminal::bars(&self.run, width)
    }

    /// What fits a screen: at most 56 lines of at most this many columns, and never more than 120.
    pub fn summary(&self, width: usize) -> String {
        terminal::summary(&self.run, width)
    }

    /// Writes the four forms into a directory, which is made when it is not there.
    ///
    /// # Errors
    /// When the directory or a file cannot be written; the error names it.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(dir).map_err(|error| Error::at(dir, error))?;
        let files = [
            ("report.json", self.json()?),
            ("report.csv", self.csv()),
            ("report.md", self.markdown()),
            ("index.html", self.html()),
        ];
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::write(&path, text).map_err(|error| Error::at(&path, error))?;
        }
        Ok(())
    }
}
