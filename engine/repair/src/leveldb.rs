//! Repair of LevelDB's directories.
//!
//! LevelDB stores the sequence number of every entry, so the order of versions never depends on the
//! manifest. What depends on it is which tables and logs are in use: an obsolete one may hold keys
//! whose tombstones have been dropped since. Tables that an intact manifest does not name are
//! therefore set apart, as in our own directories.

pub(super) mod chain;
mod log;
mod survey;
mod table;

use std::collections::VecDeque;
use std::sync::Arc;

use cairndb_base::{Error, Order, Result};
use cairndb_env::Dir;
use cairndb_leveldb::{FileName, TableSalvage, TableStep};

use self::chain::LevelChain;
use self::log::LevelLogs;
use self::survey::LevelSurvey;
use self::table::LevelTable;
use crate::findings::{Findings, include};
use crate::log::runs::Runs;
use crate::merge::source::{MergeSource, Sources, Stated};
use crate::report::{DoubtKind, KeySpan, Loss, Unnamed};

/// A LevelDB directory to be repaired.
pub(super) struct LevelSource<'a> {
    dir: &'a Arc<dyn Dir>,
    order: Order,
    survey: LevelSurvey,
    include_unnamed: bool,
}

impl<'a> LevelSource<'a> {
    /// Examines the directory.
    ///
    /// # Errors
    /// `InvalidArgument` if the manifest names another comparator; errors of listing.
    pub(super) fn new(
        dir: &'a Arc<dyn Dir>,
        order: &Order,
        include_unnamed: bool,
        findings: &mut Findings,
    ) -> Result<LevelSource<'a>> {
        let survey = LevelSurvey::new(&**dir, findings)?;
        if let Some(stored) = survey.comparator()
            && !is_same_order(stored, order)
        {
            return Err(Error::invalid(
                "the database has another comparator; repair it with the one it was created with",
            )
            .expected(stored)
            .found(order.name()));
        }
        Ok(LevelSource {
            dir,
            order: order.clone(),
            survey,
            include_unnamed,
        })
    }

    /// Adds the sources of all logs and tables. Returns the last sequence number that is known.
    ///
    /// # Errors
    /// The errors of writing runs.
    pub(super) fn add_sources(
        &self,
        runs: &mut Runs,
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Result<Stated> {
        let known = self.survey.last_seq();
        let first = (!self.survey.is_partial()).then_some(known);
        let mut logs = LevelLogs::new(&**self.dir, first, runs, findings);
        for log in self.survey.missing_logs() {
            logs.miss(&log);
        }
        for log in self.survey.logs() {
            logs.read(&log)?;
        }
        let last_seq = known.max(logs.finish());
        let sources = &mut sources[0];
        for (_, run) in runs.finish()? {
            sources.push(MergeSource::log(run)?);
        }
        for tables in self.chained(self.tables(findings)?) {
            let chain = LevelChain::new(self.dir, &self.order, tables, findings)?;
            sources.push(MergeSource::LevelTables(Box::new(chain)));
        }
        Ok(Stated {
            last_seq,
            ..Stated::default()
        })
    }

    /// Returns the tables to be read, and reports the others.
    fn tables(&self, findings: &mut Findings) -> Result<Vec<LevelTable>> {
        let mut tables = Vec::new();
        for (number, table) in self.survey.missing() {
            findings.lose(Loss {
                file: FileName::Table(number).to_string(),
                offset: 0,
                bytes: table.bytes,
                keys: KeySpan::between(0, table.smallest, table.largest),
                older: true,
                reason: "the table is missing".to_owned(),
            });
        }
        for (number, file) in &self.survey.tables {
            let mut table = self.survey.table(&**self.dir, *number, file);
            if self.survey.is_named(*number) {
                tables.push(table);
                continue;
            }
            let in_doubt = self.survey.may_be_live(*number);
            let included = in_doubt || self.include_unnamed;
            let (entries, keys) = self.scan(&table)?;
            if self.survey.has_manifest() {
                report_unnamed(&table, entries, &keys, included, findings);
            }
            if included {
                table.smallest = keys.first;
                table.largest = keys.last;
                tables.push(table);
            }
        }
        Ok(tables)
    }

    /// Returns the number of readable entries of a table, and their span.
    fn scan(&self, table: &LevelTable) -> Result<(u64, KeySpan)> {
        let Ok(file) = self.dir.open_read(&table.file) else {
            return Ok((0, KeySpan::default()));
        };
        let mut salvage = TableSalvage::new(file, &*table.file, &self.order)?;
        let (mut entries, mut span) = (0, None);
        while let Some(step) = salvage.advance()? {
            if let TableStep::Block(mut block) = step {
                while block.valid() {
                    include(&mut span, 0, block.key(), &self.order);
                    entries += 1;
                    block.next();
                }
            }
        }
        Ok((entries, span.unwrap_or_default()))
    }

    /// Distributes tables to lists that share no key.
    fn chained(&self, mut tables: Vec<LevelTable>) -> Vec<VecDeque<LevelTable>> {
        tables.sort_by(|a, b| match (&a.smallest, &b.smallest) {
            (Some(a), Some(b)) => self.order.compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let mut chains: Vec<VecDeque<LevelTable>> = Vec::new();
        for table in tables {
            let fits = |chain: &&mut VecDeque<LevelTable>| {
                let last = chain.back().and_then(|last| last.largest.as_ref());
                let ends = last.zip(table.smallest.as_ref());
                ends.is_some_and(|(last, first)| self.order.compare(last, first).is_lt())
            };
            match chains.iter_mut().find(fits) {
                Some(chain) => chain.push_back(table),
                None => chains.push(VecDeque::from([table])),
            }
        }
        chains
    }
}

/// Reports a table that the manifest does not name.
fn report_unnamed(
    table: &LevelTable,
    entries: u64,
    keys: &KeySpan,
    included: bool,
    findings: &mut Findings,
) {
    if included && entries > 0 {
        let reason = format!(
            "{} is included although the manifest does not name it: its entries may have been \
             deleted",
            table.file
        );
        findings.doubt(DoubtKind::Replaced, keys.clone(), reason);
    }
    findings.report.unnamed.push(Unnamed {
        file: table.file.clone(),
        bytes: table.bytes,
        entries,
        keys: keys.clone(),
        included,
    });
}

/// Returns whether `order` is the one that LevelDB calls `stored`.
fn is_same_order(stored: &str, order: &Order) -> bool {
    match order {
        Order::Bytewise => stored == "leveldb.BytewiseComparator",
        Order::Custom(_) => stored == order.name(),
    }
}
