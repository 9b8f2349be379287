//! The workloads of the Yahoo! Cloud Serving Benchmark, over a filled store.
//!
//! Records are appended in key order (`insertorder=ordered` in the original). A zipfian choice is
//! scattered over all records; "latest" counts back from the newest. An update writes a whole
//! value. Mixes of other origins differ in what the catalogue says.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::short_scan::{Walk, walk};
use super::{Worker, position};
use crate::engine::{Cursor, Session};
use crate::fault::Fault;
use crate::workload::definition::Mix;
use crate::workload::model::Word;
use crate::workload::plan::Distribution;
use crate::workload::pool::ValueStream;

/// Maximum length of a scan.
const SCAN_MAX: u32 = 100;
/// Shape, scale and bound of the lengths of `mixgraph`'s scans, half of which read 27 entries or
/// more and one in twenty 10,000.
const GRAPH_SCAN: (f64, f64, u64) = (2.517, 14.236, 10_000);

/// Counts of the operations performed.
#[derive(Debug, Default)]
struct Counts {
    reads: u64,
    updates: u64,
    inserts: u64,
    scans: u64,
    modified: u64,
    deletes: u64,
    found: u64,
}

impl Counts {
    /// Returns the text of the line; operations that are not in the mix are omitted.
    fn message(&self) -> String {
        let mut text = String::from("(");
        for (name, count) in [
            ("reads", self.reads),
            ("updates", self.updates),
            ("inserts", self.inserts),
            ("scans", self.scans),
            ("read-modify-writes", self.modified),
            ("deletes", self.deletes),
        ] {
            if count > 0 {
                // Writing to a String cannot fail.
                let _ = write!(text, " {name}:{count}");
            }
        }
        let _ = write!(text, " found:{})", self.found);
        text
    }
}

impl<S: Session> Worker<'_, S> {
    /// Repeatedly draws an operation and its record.
    pub(super) fn ycsb(&mut self, mix: Mix) -> Result<String, Fault> {
        let mut values = self.values();
        let mut counts = Counts::default();
        while self.meter.wants() {
            self.ycsb_operation(mix, &mut values, &mut counts)?;
            self.meter.op();
        }
        self.meter.found = counts.found;
        self.count_bytes();
        Ok(counts.message())
    }

    fn ycsb_operation(
        &mut self,
        mix: Mix,
        values: &mut ValueStream<'_>,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let mut choice = self.random.uniform(100);
        let mut is = |share: u32| {
            let chosen = choice < share;
            choice = choice.wrapping_sub(share);
            chosen
        };
        if is(mix.read) {
            let index = self.record();
            counts.found += u64::from(self.read(index)?);
            counts.reads += 1;
        } else if is(mix.update) {
            let index = self.record();
            self.put_next(index, values)?;
            counts.updates += 1;
        } else if is(mix.insert) {
            let index = self.new_record();
            self.put_next(index, values)?;
            counts.inserts += 1;
        } else if is(mix.scan) {
            counts.found += self.ycsb_scan(mix)?;
            counts.scans += 1;
        } else if is(mix.delete) {
            let index = self.record();
            self.write(index, Word::ABSENT, Session::delete)?;
            self.meter.user_bytes += self.key.len() as u64;
            counts.deletes += 1;
        } else {
            let index = self.record();
            counts.found += u64::from(self.read(index)?);
            self.put_next(index, values)?;
            counts.modified += 1;
        }
        Ok(())
    }

    /// Draws one of the existing records.
    fn record(&mut self) -> u64 {
        let task = self.task;
        let index = self.draw();
        if task.distribution() == Distribution::Latest {
            // Relaxed: a record that is currently being added may be missed or found; both are
            // correct.
            let newest = task.next_record.load(Ordering::Relaxed);
            let added = newest.min(task.model.keys() as u64) - task.records;
            return index + added;
        }
        index
    }

    /// Returns the key after the last one, or the last one if there is no more space.
    fn new_record(&mut self) -> u64 {
        let next = self.task.next_record.fetch_add(1, Ordering::Relaxed);
        next.min(self.task.model.keys() as u64 - 1)
    }

    /// Scans 1 to 100 entries, or as many as `mixgraph` says. Returns their number.
    fn ycsb_scan(&mut self, mix: Mix) -> Result<u64, Fault> {
        let from = self.record();
        let entries = if mix.graph {
            let (shape, scale, bound) = GRAPH_SCAN;
            self.random.pareto(shape, scale) % bound
        } else {
            u64::from(1 + self.random.uniform(SCAN_MAX))
        };
        debug_assert!(position(from) < self.task.model.keys(), "a record");
        self.settle();
        self.key.set(from);
        let mut cursor = self.session.cursor()?;
        cursor.seek(self.key.bytes())?;
        let found = walk(
            self.task,
            &mut cursor,
            Walk {
                from,
                entries,
                backward: false,
            },
            &mut self.meter,
        )?;
        cursor.check()?;
        Ok(found)
    }
}
