//! Verification of the answers and the contents of a store against the model.

use super::totals::Totals;
use crate::engine::{Cursor, Durability, Role, Session, Store};
use crate::fault::Fault;
use crate::measure::byte_sum::{ScanSum, bind, fold};
use crate::measure::loops::Task;
use crate::workload::definition::{Action, Workload};
use crate::workload::key;
use crate::workload::model::{ABSENT, Expected, Model};
use crate::workload::plan::Plan;

/// Compares a store with its model.
pub(super) struct Judge<'j, S> {
    pub(super) plan: &'j Plan,
    pub(super) model: &'j Model,
    /// Number of keyspaces that the store was opened with.
    pub(super) keyspaces: u32,
    /// Whether the model knows the expected contents; if not, nothing counts as wrong.
    pub(super) judged: bool,
    /// The store, if it is open.
    pub(super) store: Option<&'j S>,
}

impl<S: Store> Judge<'_, S> {
    /// Compares what a row has stored or read with the model, after the clock has stopped and all
    /// costs have been recorded.
    pub(super) fn row(&self, workload: &Workload, totals: &mut Totals) -> Result<(), Fault> {
        let scanned = match workload.action {
            Action::Scan { backward } => Some(backward),
            Action::Iterate => Some(false),
            _ => None,
        };
        if let Some(backward) = scanned.filter(|_| self.judged) {
            let expected = self.model.scan(Task::ops(self.plan, workload), backward);
            for sum in totals.take_scans() {
                self.judge_scan(totals, sum, expected)?;
            }
            return Ok(());
        }
        match workload.action {
            // Reads after a compaction thus start as warm as reads after writes, whether or not an
            // engine maps files, and a compaction that lost entries is detected.
            Action::Open | Action::Compact => {
                self.check(totals)?;
                totals.found = None;
                Ok(())
            }
            _ if workload.changes() => self.check(totals),
            _ => Ok(()),
        }
    }

    /// Compares the sums of a scan with the expected sums; if they differ, searches for the first
    /// wrong entry.
    fn judge_scan(
        &self,
        totals: &mut Totals,
        sum: ScanSum,
        expected: Expected,
    ) -> Result<(), Fault> {
        let total_is_right = sum.total == expected.total || !expected.exact;
        if sum.entries == expected.entries && total_is_right && sum.disorders == 0 {
            return Ok(());
        }
        let summary = format!(
            "a scan returned {} entries where {} were expected, {} out of order",
            sum.entries, expected.entries, sum.disorders
        );
        let detail = self
            .first_difference()?
            .map_or(String::new(), |text| format!("; {text}"));
        totals.wrong.add(|| format!("{summary}{detail}"));
        Ok(())
    }

    /// Scans the whole store, outside any clock, and checks it.
    pub(super) fn check(&self, totals: &mut Totals) -> Result<(), Fault> {
        let Some(store) = self.store.filter(|_| self.judged) else {
            return Ok(());
        };
        let mut session = store.session(Role::single(Durability::Os))?;
        let (keyspaces, mut sum) = (self.keyspaces, ScanSum::default());
        for keyspace in 0..keyspaces.max(1) {
            if keyspaces > 0 {
                session.enter(keyspace)?;
            }
            let mut cursor = session.cursor()?;
            cursor.first()?;
            while cursor.valid() {
                let key = fold(cursor.key());
                sum.total = sum.total.wrapping_add(bind(key, fold(cursor.value()?)));
                sum.entries += 1;
                cursor.next()?;
            }
            cursor.check()?;
        }
        drop(session);
        totals.found.get_or_insert(sum.entries);
        self.judge_scan(totals, sum, self.model.scan(u64::MAX, false))
    }

    /// Returns the first entry that is missing, unexpected or wrong.
    fn first_difference(&self) -> Result<Option<String>, Fault> {
        let model = self.model;
        // Over keyspaces, the sums have to do.
        let Some(store) = self.store.filter(|_| self.keyspaces == 0) else {
            return Ok(None);
        };
        let mut session = store.session(Role::single(Durability::Os))?;
        let mut cursor = session.cursor()?;
        cursor.first()?;
        let mut next = 0;
        let present = |from: usize| (from..model.keys()).find(|&at| model.load(at).is_present());
        while cursor.valid() {
            let found = model
                .layout()
                .index_of(cursor.key())
                .and_then(|index| usize::try_from(index).ok());
            let Some(found) = found.filter(|&found| found < model.keys()) else {
                return Ok(Some(format!(
                    "key {} was never written",
                    key::show(cursor.key())
                )));
            };
            let answer = fold(cursor.value()?);
            match present(next) {
                Some(wanted) if wanted < found => {
                    return Ok(Some(model.describe(
                        wanted as u64,
                        model.load(wanted),
                        ABSENT,
                    )));
                }
                Some(wanted) if wanted == found => {
                    let word = model.load(found);
                    if !model.allows(word, word, answer) {
                        return Ok(Some(model.describe(found as u64, word, answer)));
                    }
                }
                _ => {
                    return Ok(Some(model.describe(
                        found as u64,
                        model.load(found),
                        answer,
                    )));
                }
            }
            next = found + 1;
            cursor.next()?;
        }
        Ok(present(next).map(|wanted| model.describe(wanted as u64, model.load(wanted), ABSENT)))
    }
}
