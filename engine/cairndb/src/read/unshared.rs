//! What two views of different databases do not share: where their values may differ.
//!
//! A fork shares table files with the database that it is of. A key that has no entry outside of
//! the shared tables, and is in no range that only one side has deleted, has the same value on
//! both sides: the same entries in the same order decide about it. Files are compared by device
//! and number on the device, since each database gives out the same names.

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_base::{Order, Result, SeqNo};

use crate::read::source::{MergeSource, RunCursor};
use crate::read::view::View;
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::version::TableHandle;

/// Part of the tables' bytes, of both sides, from which on every key is compared: a walk through
/// both costs less than a walk through this part and a look at each of its keys.
const UNSHARED_SHARE: u64 = 2;

/// The entries that only one of two views has.
#[derive(Debug)]
pub(crate) struct Unshared {
    /// Sources of entries of each side, in any order.
    pub(crate) sources: [Vec<MergeSource>; 2],
    /// Ranges that only one side has deleted, by their starts.
    pub(crate) ranges: Vec<Deleted>,
}

/// What makes the entries of two tables the same: the file, and the limit on its numbers.
type Identity = (u64, u64, u32, SeqNo);

fn identity(table: &TableHandle) -> Result<Option<Identity>> {
    let found = table.file_id()?;
    Ok(found.map(|id| (id.0, id.1, table.record.checksum, table.limit())))
}

fn identities(view: &View) -> Result<BTreeSet<Identity>> {
    let found = view.version.tables().map(|table| identity(table));
    let found = found.filter_map(Result::transpose).collect();
    view.context().with_directory(found)
}

/// Returns the entries of `view` outside of the tables `shared`, the bytes of its tables, and of
/// those that are not shared.
fn sources_of(view: &View, shared: &BTreeSet<Identity>) -> Result<(Vec<MergeSource>, u64, u64)> {
    let order = &view.context().order;
    let mut sources = Vec::new();
    for part in std::iter::once(&view.mutable).chain(&view.immutables) {
        if !part.is_empty() {
            sources.push(MergeSource::Mem(part.cursor()));
        }
    }
    let (mut all, mut own) = (0, 0);
    for run in &view.version.runs {
        let mut tables = Vec::new();
        for table in run.tables() {
            if identity(table)?.is_none_or(|it| !shared.contains(&it)) {
                tables.push(Arc::clone(table));
            }
        }
        all += run.bytes();
        if !tables.is_empty() {
            let part = Arc::new(run.with_tables(tables, order));
            own += part.bytes();
            let cursor = RunCursor::new(part, order.clone());
            sources.push(MergeSource::Run(Box::new(cursor)));
        }
    }
    Ok((sources, all, own))
}

/// Returns what the views of one section, each with its sequence number, do not share, or `None` if
/// that is most of what they have.
///
/// # Errors
/// `Io`.
pub(crate) fn unshared([one, other]: [(&View, SeqNo); 2]) -> Result<Option<Unshared>> {
    let ours = identities(one.0)?;
    let theirs = identities(other.0)?;
    let shared = ours.intersection(&theirs).copied().collect();
    let (one_sources, one_all, one_own) = sources_of(one.0, &shared)?;
    let (other_sources, other_all, other_own) = sources_of(other.0, &shared)?;
    let (all, own) = (one_all + other_all, one_own + other_own);
    if shared.is_empty() || own > all / UNSHARED_SHARE {
        return Ok(None);
    }
    let order = &one.0.context().order;
    Ok(Some(Unshared {
        sources: [one_sources, other_sources],
        ranges: ranges_of_one(order, [one, other]),
    }))
}

/// Returns the ranges that only one side has deleted.
fn ranges_of_one(order: &Order, sides: [(&View, SeqNo); 2]) -> Vec<Deleted> {
    let [ours, theirs] = sides.map(|(view, seq)| view.readers.ranges.at(seq).0);
    if ours.is(&theirs) {
        return Vec::new();
    }
    let ends = |it: &Deleted| (it.seq, Arc::clone(&it.start), it.end.clone());
    let only = |all: &RangeMap, other: &RangeMap| -> Vec<Deleted> {
        let known: BTreeSet<_> = other.iter().map(ends).collect();
        let all = all.iter();
        all.filter(|it| !known.contains(&ends(it)))
            .cloned()
            .collect()
    };
    let mut found = only(&ours, &theirs);
    found.extend(only(&theirs, &ours));
    found.sort_by(|a, b| order.compare(&a.start, &b.start));
    found
}
