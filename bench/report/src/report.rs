//! The report: records, the tables made from them, and the output formats.

use std::io::BufRead;
use std::path::Path;

use bench_core::result::outline::Aggregate;
use bench_core::result::record::Status;

use crate::chapter;
use crate::error::Error;
use crate::form::{csv, html, json, markdown, terminal};
use crate::input::ReportInput;
use crate::run::Run;

/// Report of one run of the benchmark.
#[derive(Clone, Debug)]
pub struct Report {
    run: Run,
}

impl Report {
    /// Reads the lines of `--json`: records, machines, suites, notes.
    ///
    /// # Errors
    /// If a line cannot be read or is none of these; the error names the line number.
    pub fn from_records(input: impl BufRead) -> Result<Self, Error> {
        Ok(Self::of(ReportInput::read(input)?))
    }

    /// Reads a `report.json`.
    ///
    /// # Errors
    /// If the text is not a report or has another version; the error names the position.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Ok(Self::of(json::read(text)?))
    }

    /// Reads a `report.json` or the lines of `--json`.
    ///
    /// # Errors
    /// Same as [`Report::from_records`] and [`Report::from_json`].
    pub fn from_text(text: &str) -> Result<Self, Error> {
        if json::is_report(text) {
            Self::from_json(text)
        } else {
            Self::from_records(text.as_bytes())
        }
    }

    fn of(source: ReportInput) -> Self {
        Self {
            run: Run::new(source),
        }
    }

    /// Returns the report with another aggregation of rounds.
    #[must_use]
    pub fn aggregated(self, aggregate: Aggregate) -> Self {
        let mut source = self.run.source;
        source.aggregate = Some(aggregate);
        Self::of(source)
    }

    /// Returns the report with one more note for the reader.
    #[must_use]
    pub fn noted(mut self, text: impl Into<String>) -> Self {
        self.run.source.notes.push(text.into());
        self
    }

    /// Returns whether any row failed.
    pub fn any_failed(&self) -> bool {
        let mut records = self.run.source.records.iter();
        records.any(|record| record.status == Status::Failed)
    }

    /// Returns the HTML page: one file without scripts or external resources.
    pub fn html(&self) -> String {
        html::page(&chapter::all(&self.run))
    }

    /// Returns the report in Markdown.
    pub fn markdown(&self) -> String {
        markdown::page(&chapter::all(&self.run))
    }

    /// Returns the statistics as CSV, one line for each engine, variant and workload.
    pub fn csv(&self) -> String {
        csv::sheet(&self.run)
    }

    /// Returns everything as JSON: records, notes, machines, and the statistics made from them.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, Error> {
        json::write(&self.run)
    }

    /// Returns every table as bars, for a terminal of `width` columns.
    pub fn bars(&self, width: usize) -> String {
        terminal::bars(&self.run, width)
    }

    /// Returns a summary that fits a screen: at most 56 lines of at most `width` columns, and never
    /// more than 120 columns.
    pub fn summary(&self, width: usize) -> String {
        terminal::summary(&self.run, width)
    }

    /// Writes the four files into a directory, which is created if missing.
    ///
    /// # Errors
    /// If the directory or a file cannot be written; the error names it.
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
