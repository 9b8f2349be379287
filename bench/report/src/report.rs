//! The report: records, the tables they make, and the forms it is written in.

use std::io::BufRead;
use std::path::Path;

use bench_core::outline::{Aggregate, Outline};
use bench_core::record::Status;

use crate::document::Block;
use crate::error::Error;
use crate::source::Source;
use crate::table::{self, Table};
use crate::{chapter, html, json, markdown, sheet, terminal};

/// Everything one run of the benchmark has to say.
#[derive(Clone, Debug)]
pub struct Report {
    pub(crate) source: Source,
    pub(crate) tables: Vec<Table>,
}

impl Report {
    /// Reads the lines of `--json`: records, machines, notes.
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

    pub(crate) fn of(source: Source) -> Self {
        let tables = table::tables(&source.records, |record| {
            aggregate(&source, record.suite.as_deref())
        });
        Self { source, tables }
    }

    /// The same with another way to make one figure of several rounds.
    #[must_use]
    pub fn aggregated(mut self, aggregate: Aggregate) -> Self {
        self.source.aggregate = Some(aggregate);
        Self::of(self.source)
    }

    /// The same with something more that the reader must know.
    #[must_use]
    pub fn noted(mut self, text: impl Into<String>) -> Self {
        self.source.notes.push(text.into());
        self
    }

    /// How the rounds of a table become one figure.
    pub(crate) fn aggregate(&self, table: &Table) -> Aggregate {
        aggregate(&self.source, table.key.suite.as_deref())
    }

    /// The outline of a suite, where the records came with it.
    pub(crate) fn outline(&self, suite: Option<&str>) -> Option<&Outline> {
        self.source.outline(suite)
    }

    /// Whether any row failed.
    pub fn any_failed(&self) -> bool {
        let mut records = self.source.records.iter();
        records.any(|record| record.status == Status::Failed)
    }

    /// The page, one file without script or outside resource.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The same in Markdown.
    pub fn markdown(&self) -> String {
        markdown::page(&self.document())
    }

    /// Statistics, one line for each engine, variant and workload.
    pub fn csv(&self) -> String {
        sheet::sheet(self)
    }

    /// Everything: records, notes, machines, and the statistics made from them.
    ///
    /// # Errors
    /// When a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, Error> {
        json::write(self)
    }

    /// Bars and verdicts for a terminal of this many columns.
    pub fn summary(&self, width: usize) -> String {
        terminal::summary(self, width)
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

    /// The report as blocks.
    pub(crate) fn document(&self) -> Vec<Block> {
        chapter::all(self)
    }
}

/// How rounds become one figure: as was chosen, else as the suite says.
fn aggregate(source: &Source, suite: Option<&str>) -> Aggregate {
    let said = || source.outline(suite).map(|outline| outline.aggregate);
    source.aggregate.or_else(said).unwrap_or_default()
}
