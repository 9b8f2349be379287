//! Manifest edits of whole versions.

use std::sync::atomic::Ordering;

use cairndb_format::manifest::VersionEdit;

use crate::state::context::ReadContext;
use crate::state::keyspaces::Keyspaces;
use crate::state::version::Version;

/// Returns the edit that builds `version` from an empty one, except for numbers and the log.
pub(crate) fn edit_of(
    version: &Version,
    context: &ReadContext,
    stored_operator: Option<&str>,
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
        merge_operator: operator.or(stored_operator).map(str::to_owned),
        added_tables: version.tables().map(|table| table.record.clone()).collect(),
        runs: Some(version.runs.iter().map(|run| run.id).collect()),
        added_values: version.values.keys().copied().collect(),
        settled_values: settled.map(|handle| handle.number).collect(),
        value_sizes: whole.filter(|(_, bytes)| *bytes > 0).collect(),
        created_keyspaces: keyspaces.records(),
        dropped_keyspaces: keyspaces.last_numbers(),
        ..VersionEdit::default()
    }
}
