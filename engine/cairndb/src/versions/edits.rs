//! Manifest edits of whole versions.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use cairndb_base::SeqNo;
use cairndb_format::manifest::{DeletedRange, VersionEdit};

use crate::state::context::ReadContext;
use crate::state::keyspaces::Keyspaces;
use crate::state::lineage::Stored;
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::sections::{Section, Sections};
use crate::state::version::Version;

/// Returns the deleted ranges of `now` that `before` lacks, by sequence number.
pub(crate) fn ranges_not_in(
    now: &Sections<RangeMap>,
    before: &Sections<RangeMap>,
) -> Vec<DeletedRange> {
    let mut found = Vec::new();
    for section in Section::ALL {
        if now[section].is(&before[section]) {
            continue;
        }
        let known: BTreeSet<_> = before[section].iter().map(ends_of).collect();
        let new = now[section]
            .iter()
            .filter(|it| !known.contains(&ends_of(it)));
        found.extend(new.map(|range| DeletedRange {
            section: section as u8,
            seq: range.seq,
            start: range.start.to_vec(),
            end: range.end.as_deref().unwrap_or_default().to_vec(),
        }));
    }
    found.sort_by_key(|range| range.seq);
    found
}

fn ends_of(range: &Deleted) -> (SeqNo, &[u8], Option<&[u8]>) {
    (range.seq, &range.start, range.end.as_deref())
}

/// Returns the edit that builds `version` from an empty one, except for numbers and the log.
pub(crate) fn edit_of(
    version: &Version,
    context: &ReadContext,
    stored: &Stored,
    keyspaces: &Keyspaces,
) -> VersionEdit {
    let operator = context.merge_operator.as_ref();
    let operator = operator.map(|operator| operator.name());
    let settled = version.values.values();
    let settled = settled.filter(|handle| handle.settled.load(Ordering::Relaxed));
    let whole = version.values.values();
    let whole = whole.map(|handle| (handle.number, handle.whole.load(Ordering::Relaxed)));
    VersionEdit {
        comparator: Some(context.order.name().to_owned()),
        merge_operator: operator
            .or(stored.merge_operator.as_deref())
            .map(str::to_owned),
        incarnations: stored.lineage.incarnations().to_vec(),
        added_tables: version.tables().map(|table| table.record.clone()).collect(),
        runs: Some(version.runs.iter().map(|run| run.id).collect()),
        added_values: version.values.keys().copied().collect(),
        settled_values: settled.map(|handle| handle.number).collect(),
        value_sizes: whole.filter(|(_, bytes)| *bytes > 0).collect(),
        created_keyspaces: keyspaces.records(),
        dropped_keyspaces: keyspaces.last_numbers(),
        deleted_ranges: ranges_not_in(&version.ranges, &Sections::default()),
        ..VersionEdit::default()
    }
}
