//! Decides which tables are read, and how old each is.
//!
//! With a manifest, the age of a table is the place of its run. A table that the manifest does not
//! name was replaced or never finished, and is set apart: it may hold keys that have been deleted
//! since. It is included only if the manifest is proved to be out of date, or has lost edits; its
//! place is then the most likely one, and the report says so.
//!
//! Without a manifest, every table is read. A table of a higher number was written later, but may
//! hold older entries than one written before it: the order is a guess, which the report states for
//! each key that several tables hold.
//!
//! The section of a table is in its meta block and in the manifest.

pub(super) mod chain;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use cairndb_base::limits::KEYSPACE_BYTES;
use cairndb_base::{Error, ErrorKind, FileNumber, Result, SEQ_MAX, SeqNo, watch};
use cairndb_env::Dir;
use cairndb_format::manifest::{DeletedRange, TableRecord};
use cairndb_format::name;
use cairndb_format::table::{Dictionary, Salvaged, TableFacts, TableSalvage, is_table_number};

use crate::described::{Described, NEWEST_TABLES};
use crate::findings::{Findings, include};
use crate::keyspaces::{Keyspaces, SECTIONS, number_of};
use crate::ranges::meets;
use crate::report::{DoubtKind, KeySpan, Loss, Unnamed};
use crate::survey::{Survey, opened};

/// How one table is read.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) number: u64,
    /// Name of its file in the source.
    pub(super) file: String,
    /// Section of its keys; `None` if it is not known.
    pub(super) section: Option<u8>,
    /// Smaller is newer.
    pub(super) age: usize,
    /// Whether the age is a guess.
    pub(super) guessed: bool,
    /// Deletions of ranges were applied up to this sequence number. `SEQ_MAX` without a record, as
    /// none must hide what may be newer.
    pub(super) ranges_applied: SeqNo,
    /// Entries with larger sequence numbers are not of this database: it is a fork of a snapshot.
    pub(super) seq_limit: SeqNo,
    /// Number of entries, if it is known.
    pub(super) entries: Option<u64>,
    pub(super) smallest: Option<Vec<u8>>,
    pub(super) largest: Option<Vec<u8>>,
    /// Number of pages that hold data, if it is known.
    pub(super) data_pages: Option<u32>,
    pub(super) dictionary: Option<Arc<Dictionary>>,
    /// Whether the file is shorter than the table was.
    pub(super) is_cut: bool,
    /// Length of the whole table; 0 if it is not known.
    pub(super) bytes: u64,
}

impl Plan {
    /// Returns the plan of a table of which nothing is known but its number and age.
    fn new(number: u64, age: usize) -> Plan {
        Plan {
            number,
            file: name::table(FileNumber(number)),
            section: None,
            age,
            guessed: false,
            ranges_applied: SEQ_MAX,
            seq_limit: SEQ_MAX,
            entries: None,
            smallest: None,
            largest: None,
            data_pages: None,
            dictionary: None,
            is_cut: false,
            bytes: 0,
        }
    }

    /// Returns the loss of the whole file.
    pub(super) fn loss_of_file(&self, reason: &str, older: bool) -> Loss {
        Loss {
            file: self.file.clone(),
            offset: 0,
            bytes: self.bytes,
            keys: self.span(self.smallest.clone(), self.largest.clone()),
            older,
            reason: reason.to_owned(),
        }
    }

    /// Returns a span of the table's keys.
    pub(super) fn span(&self, first: Option<Vec<u8>>, last: Option<Vec<u8>>) -> KeySpan {
        KeySpan::between(self.section.unwrap_or_default(), first, last)
    }

    fn add_record(&mut self, record: &TableRecord) {
        self.section = Some(record.section);
        self.ranges_applied = record.ranges_applied;
        self.seq_limit = record.seq_limit.unwrap_or(SEQ_MAX);
        self.entries = Some(record.entries);
        self.smallest = Some(record.smallest.clone());
        self.largest = Some(record.largest.clone());
        self.bytes = record.bytes;
    }

    fn add_facts(&mut self, facts: TableFacts) {
        self.section = Some(facts.summary.section);
        self.entries = Some(facts.summary.entries);
        self.smallest = Some(facts.summary.smallest);
        self.largest = Some(facts.summary.largest);
        self.data_pages = Some(facts.data_pages);
        self.dictionary = Some(facts.dictionary);
    }
}

/// Replaces ages by consecutive numbers from 1, in the same order. Tables of one age whose order is
/// a guess get ages of their own: a higher number is assumed to be newer.
fn rank(plans: &mut [Plan]) {
    let place = |plan: &Plan| {
        let guess = plan.guessed.then_some(std::cmp::Reverse(plan.number));
        (plan.age, guess)
    };
    let mut places: Vec<_> = plans.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    for plan in plans {
        plan.age = 1 + places.partition_point(|other| *other < place(plan));
    }
}

/// The plan of all tables of a source.
pub(super) struct Planner<'a> {
    pub(super) dir: &'a Arc<dyn Dir>,
    pub(super) keyspaces: &'a Keyspaces,
    pub(super) survey: &'a Survey,
    pub(super) described: Option<&'a Described>,
    pub(super) ranges: &'a [DeletedRange],
    pub(super) include_unnamed: bool,
    /// Whether the log begins after what the manifest knows to be in tables.
    pub(super) log_is_later: bool,
}

/// Tables that share no key, in key order.
pub(super) type KeyOrdered = VecDeque<Arc<Plan>>;

/// Tables to be read, by section: each list shares no key and is in key order.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) chains: [Vec<KeyOrdered>; SECTIONS],
    /// Age from which on no table is older.
    pub(super) oldest: usize,
}

impl Planner<'_> {
    /// Plans the tables, and reports those that are missing or set apart.
    ///
    /// # Errors
    /// `FormatTooNew`; `InvalidArgument` if a table has another key order and no manifest does.
    pub(super) fn plan(&self, findings: &mut Findings) -> Result<Tables> {
        let mut plans = match self.described {
            Some(described) => self.described_plans(described, findings)?,
            None => self.guessed_plans(findings)?,
        };
        rank(&mut plans);
        let oldest = plans.iter().map(|plan| plan.age).max().unwrap_or(0);
        let mut met = findings.met.clone();
        let bounds = |plan: &Plan| [plan.smallest.clone(), plan.largest.clone()];
        let stored = plans.iter().filter(|plan| plan.section > Some(0));
        let keys = stored.flat_map(bounds).flatten();
        met.extend(
            keys.filter(|it| it.len() >= KEYSPACE_BYTES)
                .map(|it| number_of(&it)),
        );
        for plan in &mut plans {
            if plan.smallest.is_none() || plan.largest.is_none() {
                plan.section = Some(self.section_of(plan, &met)?);
                let (_, span) = self.scan(plan)?;
                let span = span.unwrap_or_default();
                plan.smallest = span.first;
                plan.largest = span.last;
            }
        }
        self.doubt_deletions(&plans, findings);
        let mut chains = <[Vec<KeyOrdered>; SECTIONS]>::default();
        for (section, chains) in (0..).zip(&mut chains) {
            let own = plans.extract_if(.., |plan| plan.section.unwrap_or_default() == section);
            *chains = self.chained(section, own.collect());
        }
        Ok(Tables { chains, oldest })
    }

    /// Reports tables without a record in which entries of deleted ranges may be kept.
    fn doubt_deletions(&self, plans: &[Plan], findings: &mut Findings) {
        for plan in plans.iter().filter(|plan| plan.ranges_applied == SEQ_MAX) {
            let section = plan.section.unwrap_or_default();
            let order = self.keyspaces.order(section);
            let bounds = plan.smallest.as_deref().zip(plan.largest.as_deref());
            let has = |(first, last)| {
                let mut own = self.ranges.iter().filter(|range| range.section == section);
                own.any(|range| meets(range, order, first, last))
            };
            if bounds.is_some_and(has) {
                let keys = plan.span(plan.smallest.clone(), plan.largest.clone());
                let reason = format!(
                    "no manifest says which deletions of ranges are applied in {}: keys that they \
                     deleted may be back",
                    plan.file
                );
                findings.doubt(DoubtKind::Replaced, keys, reason);
            }
        }
    }

    /// Returns the section of a table. Without a meta block, it is that of which the bounds are
    /// keys; `met` are numbers of keyspaces that other files have.
    fn section_of(&self, plan: &Plan, met: &BTreeSet<u32>) -> Result<u8> {
        if let Some(section) = plan.section {
            return Ok(section);
        }
        for section in [1, 2] {
            let assumed = Plan {
                section: Some(section),
                ..plan.clone()
            };
            let (_, span) = self.scan(&assumed)?;
            if span.is_some_and(|span| self.keyspaces.are_keys_of(section, &span, met)) {
                return Ok(section);
            }
        }
        Ok(0)
    }

    /// Returns the plan of a file, from its meta block if that is intact.
    fn plan_of(&self, number: u64, age: usize, findings: &mut Findings) -> Result<Plan> {
        let mut plan = Plan::new(number, age);
        if let Some(file) = self.survey.tables.get(&number) {
            plan.file.clone_from(file);
        }
        let facts = opened(&**self.dir, &plan.file)
            .inspect(|file| plan.bytes = file.size())
            .and_then(|file| TableFacts::read(&file, FileNumber(number)));
        match facts {
            Ok(facts) if facts.order != self.keyspaces.order(facts.summary.section).name() => {
                return Err(Error::invalid(
                    "a table has another comparator; repair with the one it was written with",
                )
                .file(plan.file)
                .expected(facts.order)
                .found(self.keyspaces.order(facts.summary.section).name()));
            }
            Ok(facts) => plan.add_facts(facts),
            Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(error),
            Err(error) => {
                plan.is_cut = true;
                findings.note(
                    plan.file.clone(),
                    error.file_offset().unwrap_or(0),
                    error.message(),
                );
            }
        }
        Ok(plan)
    }

    /// Plans the tables that the manifest names, and the others if they must be included.
    fn described_plans(&self, described: &Described, findings: &mut Findings) -> Result<Vec<Plan>> {
        let mut plans = Vec::new();
        let mut hole_age = None;
        for (number, record) in &described.tables {
            let age = described.age_of(record.run);
            if !self.survey.tables.contains_key(number) {
                let mut plan = Plan::new(*number, age);
                plan.add_record(record);
                let older = age < described.oldest_age().saturating_sub(1);
                findings.lose(plan.loss_of_file("the table is missing", older));
                hole_age = hole_age.max(Some(age));
                continue;
            }
            let mut plan = self.plan_of(*number, age, findings)?;
            plan.is_cut = plan.is_cut && plan.bytes < record.bytes;
            plan.add_record(record);
            plans.push(plan);
        }
        let later_table =
            self.survey.tables.keys().any(|number| {
                *number >= described.next_file && !described.tables.contains_key(number)
            });
        let is_old = hole_age.is_some()
            || self.log_is_later
            || self.has_recycled_segment(described)
            || described.closed && self.has_table_after(described);
        if is_old && later_table && !described.is_damaged() {
            let reason = "the manifest is an old copy: what replaced or deleted these keys may be \
                          missing";
            findings.doubt(DoubtKind::Manifest, KeySpan::all(), reason);
        }
        let unnamed = self.survey.tables.keys();
        for number in unnamed.filter(|number| !described.tables.contains_key(number)) {
            let lost_edit = described.is_damaged() && !described.removed.contains(number);
            let later = is_old && *number >= described.next_file;
            let newest = *number >= described.next_file;
            let age = match (lost_edit || later, hole_age) {
                (true, Some(age)) => age,
                (true, None) if newest => NEWEST_TABLES,
                _ => described.oldest_age(),
            };
            let mut plan = self.plan_of(*number, age, findings)?;
            plan.guessed = true;
            let included = lost_edit || later || self.include_unnamed;
            self.report_unnamed(&plan, included, findings)?;
            if included {
                plans.push(plan);
            }
        }
        Ok(plans)
    }

    /// Plans all tables: a higher number is assumed to be newer.
    fn guessed_plans(&self, findings: &mut Findings) -> Result<Vec<Plan>> {
        let mut plans = Vec::new();
        for number in self.survey.tables.keys() {
            let mut plan = self.plan_of(*number, NEWEST_TABLES, findings)?;
            plan.guessed = true;
            plans.push(plan);
        }
        findings.doubt(
            DoubtKind::Replaced,
            KeySpan::all(),
            "no manifest is readable: tables and log segments that had been replaced cannot be \
             recognised, deletions of ranges that it held are lost, and keys that had been deleted \
             may be back",
        );
        Ok(plans)
    }

    /// Returns whether the file of a live segment holds a later segment. That happens only once the
    /// edit that retires the segment is durable, so the manifest is an old copy.
    fn has_recycled_segment(&self, described: &Described) -> bool {
        described.segments.values().any(|segment| {
            let named = name::log(FileNumber(segment.file));
            let mut logs = self.survey.logs.iter();
            let header = logs
                .find(|log| log.name == named && log.intact)
                .and_then(|log| log.header);
            header.is_some_and(|header| {
                header.salt != segment.salt && header.start_seq > segment.start_seq
            })
        })
    }

    /// Returns whether a table was written after the last edit. After a clean close, another edit
    /// precedes it, so the manifest is an old copy.
    fn has_table_after(&self, described: &Described) -> bool {
        let mut later = self.survey.tables.range(described.next_file..);
        later.any(|(number, found)| {
            let is_table = |file| is_table_number(&file, FileNumber(*number));
            opened(&**self.dir, found)
                .and_then(is_table)
                .unwrap_or(false)
        })
    }

    fn report_unnamed(&self, plan: &Plan, included: bool, findings: &mut Findings) -> Result<()> {
        let (entries, span) = self.scan(plan)?;
        let keys = span.unwrap_or_default();
        if included && entries > 0 {
            findings.doubt(
                DoubtKind::Replaced,
                keys.clone(),
                format!(
                    "{} is included although the manifest does not name it: its entries may be \
                     older than others, or deleted",
                    plan.file
                ),
            );
        }
        findings.report.unnamed.push(Unnamed {
            file: plan.file.clone(),
            bytes: plan.bytes,
            entries,
            keys,
            included,
        });
        Ok(())
    }

    /// Reads all intact pages of a table. Returns the number of entries, and their span.
    fn scan(&self, plan: &Plan) -> Result<(u64, Option<KeySpan>)> {
        let Ok(file) = opened(&**self.dir, &plan.file) else {
            return Ok((0, None));
        };
        let number = FileNumber(plan.number);
        let section = plan.section.unwrap_or_default();
        let order = self.keyspaces.order(section);
        let mut salvage = TableSalvage::new(file, number, order, None);
        let (mut entries, mut span, mut key) = (0, None, Vec::new());
        while let Some((_, salvaged)) = salvage.advance()? {
            watch::check()?;
            if let Salvaged::Entries(page) = salvaged {
                entries += page.count() as u64;
                for index in [0, page.count() - 1] {
                    page.key_into(index, &mut key);
                    include(&mut span, section, &key, order);
                }
            }
        }
        Ok((entries, span))
    }

    /// Distributes tables to as few chains as needed.
    fn chained(&self, section: u8, mut plans: Vec<Plan>) -> Vec<KeyOrdered> {
        let order = self.keyspaces.order(section);
        // Without a bound nothing in the table is readable.
        let bounds = |plan: &Plan| plan.smallest.clone().zip(plan.largest.clone());
        plans.sort_by(|a, b| match (&a.smallest, &b.smallest) {
            (Some(a), Some(b)) => order.compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let mut chains: Vec<(Option<Vec<u8>>, KeyOrdered)> = Vec::new();
        for plan in plans {
            let fits = |last: &Option<Vec<u8>>| match (last, &plan.smallest) {
                (Some(last), Some(smallest)) => order.compare(last, smallest).is_lt(),
                _ => false,
            };
            let largest = bounds(&plan).map(|(_, largest)| largest);
            match chains.iter_mut().find(|(last, _)| fits(last)) {
                Some((last, chain)) => {
                    *last = largest;
                    chain.push_back(Arc::new(plan));
                }
                None => chains.push((largest, VecDeque::from([Arc::new(plan)]))),
            }
        }
        chains.into_iter().map(|(_, chain)| chain).collect()
    }
}
