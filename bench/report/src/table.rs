//! Records grouped into a table per workload and a row per engine and variant.

pub(crate) mod comparison;
pub(crate) mod standing;

use bench_core::result::outline::Aggregate;
use bench_core::result::record::{Record, Status};
use bench_core::result::spread::Spread;
use bench_core::workload::catalog;
use bench_core::workload::definition::{Action, Workload};
use serde::Serialize;

use crate::engine;
use crate::list::distinct;
use crate::number;

/// The properties that all rows of a table share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Key {
    /// Suite.
    pub(crate) suite: Option<String>,
    /// Section of the suite.
    pub(crate) section: Option<String>,
    /// Workload.
    pub(crate) workload: String,
    /// Occurrence of the workload in the run.
    pub(crate) instance: u32,
    /// Data set.
    pub(crate) data: Option<String>,
    /// Number of measured threads.
    pub(crate) threads: Option<u32>,
    /// File system of the database.
    pub(crate) file_system: Option<String>,
}

impl Key {
    fn of(record: &Record) -> Self {
        Self {
            suite: record.suite.clone(),
            section: record.section.clone(),
            workload: record.workload.clone(),
            instance: record.instance,
            data: record.data.clone(),
            threads: record.threads,
            file_system: record.file_system.clone(),
        }
    }

    /// Returns whether a record belongs to this table; a field missing in an unreached row matches
    /// any value.
    fn takes(&self, record: &Record) -> bool {
        fn fits<T: PartialEq>(here: Option<&T>, there: Option<&T>) -> bool {
            here.is_none() || there.is_none() || here == there
        }
        self.suite == record.suite
            && self.section == record.section
            && self.workload == record.workload
            && self.instance == record.instance
            && fits(self.data.as_ref(), record.data.as_ref())
            && fits(self.file_system.as_ref(), record.file_system.as_ref())
            && fits(self.threads.as_ref(), record.threads.as_ref())
    }
}

/// The states of the store that reads encounter: as the preceding writes left it, and after a
/// compaction of everything.
const AS_LEFT: Option<&str> = Some("as left");
pub(crate) const COMPACTED: Option<&str> = Some("compacted");

/// The outcome of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Measured.
    Measured(Spread),
    /// Not run, with the reason.
    Skipped(String),
    /// Wrong or aborted, with the reason.
    Failed(String),
}

/// One engine in one variant.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Engine.
    pub(crate) engine: String,
    /// Variant of its settings.
    pub(crate) variant: Option<String>,
    /// Records of the row, except those of a separate pass for latencies.
    pub(crate) records: Vec<Record>,
    /// Records of a pass that timed every call, if another pass gave the rates.
    pub(crate) timed: Vec<Record>,
    /// Outcome of the row.
    pub(crate) outcome: Outcome,
    /// Reason the rows of this table are not compared, if they are not.
    pub(crate) apart: Option<&'static str>,
}

/// One workload.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Properties that all rows share.
    pub(crate) key: Key,
    /// State of the store; `None` if the rows do not only read.
    pub(crate) state: Option<&'static str>,
    /// Whether the same rows ran in another directory too.
    pub(crate) elsewhere: bool,
    /// Rows in the order of styles, variants after their engine.
    pub(crate) rows: Vec<Row>,
}

impl Row {
    /// Returns the title with the mark of a row that merges by hand, and with the variant, unless
    /// it is the plain one.
    pub(crate) fn title(&self) -> String {
        let mark = if self.by_hand() { engine::BY_HAND } else { "" };
        let title = format!("{}{mark}", engine::title(&self.engine));
        match self.variant.as_deref().filter(|_| !self.is_plain()) {
            Some(variant) => format!("{title} ({variant})"),
            None => title,
        }
    }

    /// Returns whether the row has the engine's ordinary settings.
    pub(crate) fn is_plain(&self) -> bool {
        self.variant.as_deref().is_none_or(is_plain)
    }

    /// Returns the rate, if it was measured.
    pub(crate) const fn rate(&self) -> Option<&Spread> {
        match &self.outcome {
            Outcome::Measured(spread) => Some(spread),
            _ => None,
        }
    }

    /// Returns whether the row is ranked.
    pub(crate) fn is_ranked(&self) -> bool {
        self.rate().is_some() && self.unranked().is_none()
    }

    /// Returns the reason a row is shown without a rank.
    pub(crate) fn unranked(&self) -> Option<&'static str> {
        let below = |record: &Record| record.durability.as_deref() == Some("below_os");
        if self.engine == engine::HARNESS {
            Some("stores nothing")
        } else if self.engine == engine::BARE {
            Some("not a store: a bare loop")
        } else if self.apart.is_some() {
            self.apart
        } else if self.records.iter().any(below) {
            Some("below Os")
        } else if self.records.iter().any(|record| record.placement.is_some()) {
            Some("over a network")
        } else if self.first(|record| record.offered_per_sec).is_some() {
            Some("open loop")
        } else {
            let mut records = self.records.iter();
            let unranked = records.any(|record| record.ranked == Some(false));
            unranked.then_some("not ranked")
        }
    }

    /// Returns the spread of a figure over the rounds.
    pub(crate) fn figure(
        &self,
        aggregate: Aggregate,
        figure: impl Fn(&Record) -> Option<f64>,
    ) -> Option<Spread> {
        Spread::of(self.records.iter().filter_map(figure), aggregate)
    }

    /// Returns the rates of the concurrent writer, if there was one; the middle is the median.
    pub(crate) fn writer(&self) -> Option<Spread> {
        self.rate()?;
        self.figure(Aggregate::Median, Record::writer_rate)
    }

    /// Returns whether the row merged with a read and a put because the engine has no merge
    /// operation.
    pub(crate) fn by_hand(&self) -> bool {
        let mut all = self.records.iter().chain(&self.timed);
        all.any(|record| record.by_hand)
    }

    /// Returns the number of rounds that the row ran in.
    pub(crate) fn rounds(&self) -> usize {
        distinct(self.records.iter().map(|record| record.round)).len()
    }

    /// Returns a field of the first record that has it.
    pub(crate) fn first<T>(&self, field: impl Fn(&Record) -> Option<T>) -> Option<T> {
        self.records.iter().find_map(field)
    }

    /// Returns the record whose rate is nearest to the figure.
    pub(crate) fn typical(&self) -> Option<&Record> {
        let middle = self.rate()?.middle;
        let off = |it: &Record| {
            it.rate()
                .map_or(f64::INFINITY, |rate| (rate - middle).abs())
        };
        self.records.iter().min_by(|a, b| off(a).total_cmp(&off(b)))
    }
}

fn is_plain(variant: &str) -> bool {
    matches!(variant, "" | "main" | "default" | "fair")
}

impl Table {
    /// Returns the workload of the catalogue, if known.
    pub(crate) fn workload(&self) -> Option<&'static Workload> {
        catalog::named(&self.key.workload)
    }

    /// Returns whether the workload is an event, reported as a time and not as a rate.
    pub(crate) fn is_event(&self) -> bool {
        self.workload().is_some_and(Workload::is_event)
    }

    /// Returns whether the rows compare stores.
    pub(crate) fn compares(&self) -> bool {
        self.rows.iter().all(|row| row.apart.is_none())
    }

    /// Returns the unit of the rates.
    pub(crate) fn unit(&self) -> &'static str {
        match self.workload() {
            Some(workload) if workload.is_event() => "time",
            Some(workload) if workload.batch > 1 => "entries/sec",
            _ => "ops/sec",
        }
    }

    /// Formats a rate of this table, or the time of an event.
    pub(crate) fn amount(&self, rate: f64) -> String {
        if self.is_event() && rate > 0.0 {
            number::time(1e9 / rate)
        } else {
            number::short(rate)
        }
    }

    /// Returns the rows of stores; those of the harness and of the bare loop are reported
    /// separately.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| engine::is_store(&row.engine))
    }

    /// Returns the row of an engine with its ordinary settings, or else any of its rows.
    pub(crate) fn row(&self, engine: &str) -> Option<&Row> {
        let mut rows = self.rows.iter().filter(|row| row.engine == engine);
        let first = rows.clone().next()?;
        rows.find(|row| row.is_plain()).or(Some(first))
    }

    /// Returns the time of one operation of one thread in nanoseconds.
    pub(crate) fn nanoseconds(&self, row: &Row) -> Option<f64> {
        let rate = row.rate()?.middle;
        let threads = number::float(u64::from(self.key.threads.unwrap_or(1).max(1)));
        (rate > 0.0).then(|| 1e9 * threads / rate)
    }
}

/// Groups records into tables, in order of first appearance.
pub(crate) fn tables(records: &[Record], choose: impl Fn(&Record) -> Aggregate) -> Vec<Table> {
    let states = states(records);
    let mut tables: Vec<Table> = Vec::new();
    // Records that name their data or threads come first, so that the others find a table to join.
    let (known, unknown): (Vec<_>, Vec<_>) = (0..records.len())
        .partition(|&index| records[index].data.is_some() || records[index].threads.is_some());
    for index in known.into_iter().chain(unknown) {
        let record = &records[index];
        if is_text(record) || is_beside_the_point(record) {
            continue;
        }
        let takes = |table: &Table| {
            table.key.takes(record) && (record.state.is_none() || table.state == states[index])
        };
        let at = tables.iter().position(takes);
        let at = at.unwrap_or_else(|| {
            tables.push(Table {
                key: Key::of(record),
                state: states[index],
                elsewhere: false,
                rows: Vec::new(),
            });
            tables.len() - 1
        });
        tables[at].add(record);
    }
    for at in 0..tables.len() {
        let (one, state) = (&tables[at].key, tables[at].state);
        let elsewhere = tables.iter().any(|other| {
            let placed = Key {
                file_system: one.file_system.clone(),
                ..other.key.clone()
            };
            placed == *one && other.state == state && other.key.file_system != one.file_system
        });
        tables[at].elsewhere = elsewhere;
    }
    for table in &mut tables {
        for row in &mut table.rows {
            row.conclude(choose(&row.records[0]));
        }
        table.rows.sort_by(|a, b| order(a).cmp(&order(b)));
    }
    tables
}

/// Returns the sort key of a row: styles in their order, unknown engines by name, plain settings
/// first.
fn order(row: &Row) -> (usize, &str, bool, Option<&str>) {
    let variant = row.variant.as_deref();
    (
        engine::index(&row.engine),
        &row.engine,
        !row.is_plain(),
        variant,
    )
}

/// Returns whether the row only printed text.
fn is_text(record: &Record) -> bool {
    record.status == Status::Ok && catalog::named(&record.workload).is_some_and(Workload::is_text)
}

/// Returns whether the record is a skipped row of the bare loop.
fn is_beside_the_point(record: &Record) -> bool {
    record.status == Status::Skipped && record.engine == engine::BARE
}

impl Table {
    fn add(&mut self, record: &Record) {
        let same = |row: &Row| row.engine == record.engine && row.variant == record.variant;
        let at = self.rows.iter().position(same).or_else(|| {
            // A row that was lost before its child reported its variant.
            let lost = record.variant.is_none() && record.status == Status::Failed;
            lost.then(|| self.rows.iter().position(|row| row.engine == record.engine))
                .flatten()
        });
        let at = at.unwrap_or_else(|| {
            self.rows.push(Row {
                engine: record.engine.clone(),
                variant: record.variant.clone(),
                records: Vec::new(),
                timed: Vec::new(),
                outcome: Outcome::Skipped(String::new()),
                apart: None,
            });
            self.rows.len() - 1
        });
        let key = &mut self.key;
        key.data = key.data.take().or_else(|| record.data.clone());
        key.threads = key.threads.or(record.threads);
        key.file_system = key
            .file_system
            .take()
            .or_else(|| record.file_system.clone());
        self.rows[at].records.push(record.clone());
    }
}

impl Row {
    /// Computes the outcome from all records. A row that ran several times in a round has as many
    /// records of that round, and all count.
    fn conclude(&mut self, aggregate: Aggregate) {
        let timed = |record: &Record| {
            record.pass.is_some() || record.wall_ns.is_none() && record.p50_ns.is_some()
        };
        let mut rated = self.records.iter().filter(|record| !timed(record));
        if rated.any(|record| record.rate().is_some()) {
            let records = std::mem::take(&mut self.records).into_iter();
            (self.timed, self.records) = records.partition(timed);
        }
        self.outcome = self.judged(aggregate);
    }

    fn judged(&self, aggregate: Aggregate) -> Outcome {
        let reason = |record: &Record| {
            let reason = record.reason.clone();
            reason.unwrap_or_else(|| "no reason given".into())
        };
        let all = || self.records.iter().chain(&self.timed);
        if let Some(record) = all().find(|record| record.status == Status::Failed) {
            return Outcome::Failed(reason(record));
        }
        let good = self.records.iter();
        let good = good.filter(|record| record.status == Status::Ok);
        if let Some(spread) = Spread::of(good.filter_map(Record::rate), aggregate) {
            return Outcome::Measured(spread);
        }
        match all().find(|record| record.status == Status::Skipped) {
            Some(record) => Outcome::Skipped(reason(record)),
            None => Outcome::Skipped("nothing was measured".into()),
        }
    }
}

/// Returns for each record whether everything had been compacted when it started. A record that
/// does not state it is derived from those before: the rows of one engine, variant, section and
/// round follow one another.
fn states(records: &[Record]) -> Vec<Option<&'static str>> {
    let mut compacted = Vec::new();
    let mut states = Vec::with_capacity(records.len());
    for record in records {
        let (of, at) = (record.suite.as_ref(), record.section.as_ref());
        let run = (
            &record.engine,
            record.variant.as_ref(),
            of,
            at,
            record.round,
        );
        let at = compacted.iter().position(|other| *other == run);
        let Some(workload) = catalog::named(&record.workload) else {
            states.push(None);
            continue;
        };
        states.push(match record.state.as_deref() {
            Some("compacted") => COMPACTED,
            Some("as left") => AS_LEFT,
            _ if !workload.only_reads() => None,
            _ if at.is_some() => COMPACTED,
            _ => AS_LEFT,
        });
        if workload.action == Action::Compact && at.is_none() {
            compacted.push(run);
        } else if workload.changes()
            && let Some(at) = at
        {
            compacted.swap_remove(at);
        }
    }
    states
}
