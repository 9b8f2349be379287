//! The report: what was read, the model made from it, and the output formats.

use std::path::Path;

use crate::error::Error;
use crate::form::{csv, html, json, markdown, terminal};
use crate::input::ReportInput;
use crate::model::{self, Model};
use crate::run::Run;

/// Report of one run of the benchmark.
#[derive(Clone, Debug)]
pub struct Report {
    source: ReportInput,
    model: Model,
}

impl Report {
    /// Reads a `report.json`, or the lines of `--json`: records, machines, suites, notes.
    ///
    /// # Errors
    /// If the text is neither, or a report of another version; the error names the line.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let source = if json::is_report(text) {
            json::read(text)?
        } else {
            ReportInput::read(text)?
        };
        let run = Run::new(source);
        let model = model::of(&run);
        Ok(Self {
            source: run.source,
            model,
        })
    }

    /// Returns the page: one file without external resources, which draws itself from its data and
    /// shows the summary if it cannot.
    pub fn html(&self) -> String {
        html::page(&self.model)
    }

    /// Returns the report in Markdown.
    pub fn markdown(&self) -> String {
        markdown::page(&self.model)
    }

    /// Returns the statistics as CSV, one line for each engine, variant and workload.
    pub fn csv(&self) -> String {
        csv::sheet(&self.model)
    }

    /// Returns everything as JSON: records, notes, machines, and the model made from them.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, Error> {
        json::write(&self.source, &self.model)
    }

    /// Returns a summary that fits a screen: at most 56 lines of at most `width` columns, and never
    /// more than 120 columns.
    pub fn summary(&self, width: usize) -> String {
        terminal::summary(&self.model, width)
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
