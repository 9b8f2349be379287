//! An estimate of the number of keys in a range, from the index of each table and the heads of
//! memtable keys, without a scan.

use std::sync::Arc;

use cairndb_base::{HeadRule, Order, Result, SEQ_MAX};
use cairndb_mem::Memtable;

use crate::engine::properties::{Ends, Properties};
use crate::state::sections::Section;
use crate::state::version::TableHandle;

/// Number of memtable entries that are counted one by one. More are estimated.
const ENTRIES_WALKED: u64 = 4096;

impl Properties<'_> {
    /// Returns about how many keys of `section` are in `[from, to)`.
    pub(crate) fn estimate_count(&self, section: Section, ends: Ends<'_>) -> Result<u64> {
        self.base.health.check_read()?;
        let order = &self.base.opener.orders[section];
        let view = Arc::clone(&self.base.versions.view_of(section));
        let mut total = 0;
        for table in view.version.tables() {
            self.base.health.check_read()?;
            total += in_table(table, order, ends)?;
        }
        let parts = std::iter::once(&view.mutable).chain(&view.immutables);
        Ok(total
            + parts
                .map(|part| in_memtable(part, order, ends))
                .sum::<u64>())
    }
}

/// Returns about how many keys of a range the table adds: its entries there, without those that are
/// known to be hidden, and without two for each deletion, which hides one of an older table.
fn in_table(table: &TableHandle, order: &Order, (from, to): Ends<'_>) -> Result<u64> {
    let record = &table.record;
    if from.is_some_and(|from| order.compare(&record.largest, from).is_lt())
        || to.is_some_and(|to| order.compare(&record.smallest, to).is_ge())
    {
        return Ok(0);
    }
    let from = from.filter(|from| order.compare(&record.smallest, from).is_lt());
    let to = to.filter(|to| order.compare(&record.largest, to).is_ge());
    let found = if from.is_none() && to.is_none() {
        record.entries
    } else {
        table.table()?.estimate_entries(from, to)?
    };
    let dead = record.hidden.entries.saturating_add(2 * record.deletes);
    let live = u128::from(record.entries.saturating_sub(dead));
    let live = u128::from(found) * live / u128::from(record.entries.max(1));
    Ok(u64::try_from(live).unwrap_or(u64::MAX))
}

/// Returns about how many entries of a range the memtable has.
fn in_memtable(part: &Arc<Memtable>, order: &Order, (from, to): Ends<'_>) -> u64 {
    let mut cursor = part.cursor();
    match from {
        Some(from) => cursor.seek(from, SEQ_MAX),
        None => cursor.seek_to_first(),
    }
    let mut walked = 0;
    while cursor.valid() && walked < ENTRIES_WALKED {
        if to.is_some_and(|to| order.compare(cursor.key(), to).is_ge()) {
            return walked;
        }
        walked += 1;
        cursor.next();
    }
    if !cursor.valid() {
        return walked;
    }
    let len = part.len() as u64;
    let share = share_of(part, order, (from, to));
    // Of a memtable with a custom order no more is known than that there are more.
    share.map_or(len, |(some, all)| {
        let found = u128::from(len) * u128::from(some) / u128::from(all);
        u64::try_from(found).unwrap_or(len).clamp(walked, len)
    })
}

/// Returns the range's share of the memtable's keys, as a fraction, if keys between the first and
/// the last one were evenly distributed as numbers.
fn share_of(part: &Arc<Memtable>, order: &Order, (from, to): Ends<'_>) -> Option<(u64, u64)> {
    let rule = HeadRule::new(order, part.common_prefix().to_vec());
    let mut cursor = part.cursor();
    cursor.seek_to_first();
    let first = rule.head(cursor.key());
    cursor.seek_to_last();
    let last = rule.head(cursor.key());
    let start = from.map_or(first, |from| rule.head(from).max(first));
    let end = to.map_or(last, |to| rule.head(to).min(last));
    let all = last.checked_sub(first).filter(|all| *all > 0)?;
    Some((end.saturating_sub(start).min(all), all))
}
