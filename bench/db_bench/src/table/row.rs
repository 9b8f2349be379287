//! The rows of a suite's table: records of the rounds of one workload, and their figures.

use bench_core::result::outline::{Aggregate, Outline};
use bench_core::result::record::{Record, Status};
use bench_core::result::result_line::median;
use bench_core::result::spread::Spread;
use bench_core::workload::catalog;
use bench_core::workload::definition::Workload;
use bench_core::workload::settings::Variant;

/// The store of this project.
pub(super) const OURS: &str = "cairndb";
/// The store of this project, through its C library.
pub(super) const OURS_IN_C: &str = "cairndb-c";
/// The engine that shows what the harness costs.
pub(super) const HARNESS: &str = "null";
/// The engine that shows what the disk and the system calls cost.
pub(super) const BARE: &str = "disk";

/// Rows in the order of their first result, each with all its records.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(super) list: Vec<Row>,
    /// Failed records of the pass that times each operation.
    failed_timings: Vec<Record>,
    failed: bool,
}

/// One workload in one section of the suite.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) section: String,
    pub(super) label: String,
    pub(super) workload: String,
    pub(super) instance: u32,
    pub(super) records: Vec<Record>,
}

impl Rows {
    /// Adds a record to its row.
    pub(crate) fn add(&mut self, record: Record) {
        self.failed |= record.status == Status::Failed;
        if record.pass.is_some() {
            if record.status == Status::Failed {
                self.failed_timings.push(record);
            }
            return;
        }
        let label = label(&record);
        let section = record.section.clone().unwrap_or_default();
        let row = self.list.iter_mut().find(|row| {
            row.section == section && row.label == label && row.instance == record.instance
        });
        match row {
            Some(row) => row.records.push(record),
            None => self.list.push(Row {
                section,
                label,
                workload: record.workload.clone(),
                instance: record.instance,
                records: vec![record],
            }),
        }
    }

    /// Returns the records of all rounds, and the failed ones of the pass that times each
    /// operation.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        let rounds = self.list.iter().flat_map(|row| &row.records);
        rounds.chain(&self.failed_timings)
    }

    /// Returns whether any row failed.
    pub(crate) const fn any_failed(&self) -> bool {
        self.failed
    }

    /// Returns the row with plain settings that corresponds to one of a variant.
    pub(super) fn plain_of(&self, row: &Row) -> Option<&Row> {
        let (variant, data, place) = row.setting()?;
        variant.filter(|name| !is_plain(name))?;
        self.list.iter().find(|other| {
            let plain = other
                .setting()
                .is_some_and(|(own, other_data, other_place)| {
                    own.is_none_or(is_plain) && (other_data, other_place) == (data, place)
                });
            plain
                && other.section == row.section
                && other.workload == row.workload
                && other.instance == row.instance
                && other.is_compacted() == row.is_compacted()
        })
    }

    /// Returns the rows of a section that are shown: all, or, if the suite counts the last instance
    /// only, the last instance of each workload.
    pub(super) fn shown(&self, section: &str, outline: &Outline) -> Vec<&Row> {
        let here: Vec<&Row> = self
            .list
            .iter()
            .filter(|row| row.section == section)
            .collect();
        let last = |row: &Row| {
            let same = here
                .iter()
                .filter(|other| other.workload == row.workload && other.setting() == row.setting());
            same.map(|other| other.instance).max() == Some(row.instance)
        };
        if outline.last_instance_counts() {
            here.iter().copied().filter(|row| last(row)).collect()
        } else {
            here
        }
    }
}

impl Row {
    /// Returns the properties that a row shares with its other instances.
    fn setting(&self) -> Option<(Option<&str>, Option<&str>, Option<&str>)> {
        let record = self.records.first()?;
        Some((
            record.variant.as_deref(),
            record.data.as_deref(),
            record.file_system.as_deref(),
        ))
    }

    /// Returns whether everything had been compacted before.
    fn is_compacted(&self) -> bool {
        let record = self.records.first();
        record.is_some_and(|record| record.state.as_deref() == Some("compacted"))
    }

    /// Returns whether another row was run with the same data, settings and sizes, over a database
    /// in the same state.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let sizes = |row: &Self| {
            let mut known = row.records.iter();
            known.find_map(|record| Some((record.key_bytes?, record.value_bytes?)))
        };
        self.setting() == other.setting()
            && self.is_compacted() == other.is_compacted()
            && sizes(self) == sizes(other)
    }

    pub(super) fn of<'r>(&'r self, engine: &'r str) -> impl Iterator<Item = &'r Record> {
        self.records
            .iter()
            .filter(move |record| record.engine == engine)
    }

    pub(super) fn rates(&self, engine: &str, aggregate: Aggregate) -> Option<Spread> {
        let good = self.of(engine).filter(|record| record.status == Status::Ok);
        Spread::of(good.filter_map(Record::rate), aggregate)
    }

    /// Returns the rates of the concurrent writer; the middle is the median.
    pub(super) fn writer(&self, engine: &str) -> Option<Spread> {
        let good = self.of(engine).filter(|record| record.status == Status::Ok);
        Spread::of(good.filter_map(Record::writer_rate), Aggregate::Median)
    }

    /// Returns whether any engine's readers had a concurrent writer.
    pub(super) fn has_writer(&self) -> bool {
        let mut records = self.records.iter();
        records.any(|record| record.status == Status::Ok && record.writer_rate().is_some())
    }

    /// Returns whether an engine merged with a read and a put.
    pub(super) fn by_hand(&self, engine: &str) -> bool {
        self.of(engine).any(|record| record.by_hand)
    }

    /// Returns whether an engine's figures may be compared. Figures of the harness and of the bare
    /// loop have no mark.
    pub(super) fn is_ranked(&self, engine: &str) -> bool {
        [HARNESS, BARE].contains(&engine)
            || self.of(engine).all(|record| record.ranked != Some(false))
    }

    /// Returns a figure's median over the rounds.
    #[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
    pub(super) fn middle(
        &self,
        engine: &str,
        figure: impl Fn(&Record) -> Option<u64>,
    ) -> Option<f64> {
        let values: Vec<f64> = self
            .of(engine)
            .filter_map(figure)
            .map(|value| value as f64)
            .collect();
        (!values.is_empty()).then(|| median(&values))
    }
}

/// Returns the name of a row: its workload, and what distinguishes it from others of that name.
pub(crate) fn label(record: &Record) -> String {
    let mut text = record.workload.clone();
    if record.state.as_deref() == Some("compacted") {
        text.push_str(", after compact");
    }
    let data = record.data.as_deref().filter(|&data| data != "synthetic");
    let variant = record.variant.as_deref();
    let variant = variant.filter(|name| !is_plain(name));
    // Several directories are distinguished by file system and path.
    let place = record
        .file_system
        .as_deref()
        .filter(|place| place.contains(", "));
    for part in [data, variant, place].into_iter().flatten() {
        text.push_str(" [");
        text.push_str(part);
        text.push(']');
    }
    text
}

/// Returns whether a variant is the one of plain settings.
fn is_plain(variant: &str) -> bool {
    variant == Variant::Fair.word()
}

/// Returns whether a workload is one event, shown as a time and not as a rate.
pub(super) fn is_event(workload: &str) -> bool {
    catalog::named(workload).is_some_and(Workload::is_event)
}
