//! `Kept`: a segment that only readers of changes need, and how the manifest describes them.

use cairndb_base::SeqNo;
use cairndb_format::manifest::{KeptSegment, KeyspaceEvent, Lease, SegmentRecord, VersionEdit};

/// A segment of which everything is in tables.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) record: SegmentRecord,
    /// Offset at which its records end.
    pub(crate) end: u64,
    /// The last sequence number that it may contain.
    pub(crate) last_seq: SeqNo,
    /// Smallest number of a value file that its pointers may refer to; the maximum if there is
    /// none.
    pub(crate) first_values: u64,
}

/// What a pass of the persister changes. It takes effect with [`History::carry_out`], once the
/// manifest has it.
#[derive(Debug)]
pub(crate) struct Change {
    /// What was kept, and the segments that are in tables now, oldest first.
    pub(super) all: Vec<Kept>,
    /// How many of them, from the first one on, nobody needs.
    pub(super) released: usize,
    /// Whether the manifest has another list of kept segments.
    pub(super) is_new: bool,
    /// Those that are kept in files that the manifest does not name yet.
    pub(super) copied: Vec<SegmentRecord>,
    pub(super) leases: Vec<Lease>,
    pub(super) noted: bool,
}

impl Change {
    fn list(&self) -> Vec<KeptSegment> {
        listed(&self.all[self.released..])
    }

    /// Adds the change to an edit.
    pub(crate) fn describe(&self, edit: &mut VersionEdit) {
        let released = self.all[..self.released].iter();
        edit.retired_segments = released.map(|kept| kept.record.segment).collect();
        edit.added_segments.extend(&self.copied);
        edit.kept_segments = self.is_new.then(|| self.list());
        edit.leases = (!self.noted).then(|| self.leases.clone());
    }

    /// Adds the result of the change to an edit that describes everything else.
    pub(crate) fn describe_result(&self, edit: &mut VersionEdit, events: Vec<KeyspaceEvent>) {
        describe(edit, &self.all[self.released..], &self.leases, events);
    }
}

pub(super) fn listed(kept: &[Kept]) -> Vec<KeptSegment> {
    let kept = kept.iter();
    kept.map(|kept| KeptSegment {
        segment: kept.record.segment,
        end: kept.end,
        first_values: match kept.first_values {
            u64::MAX => 0,
            first => first,
        },
    })
    .collect()
}

/// Adds what is kept to an edit that describes everything else. The edit's own segments are live.
pub(super) fn describe(
    edit: &mut VersionEdit,
    kept: &[Kept],
    leases: &[Lease],
    events: Vec<KeyspaceEvent>,
) {
    let records = kept.iter().map(|kept| kept.record);
    edit.added_segments.splice(0..0, records);
    edit.kept_segments = (!kept.is_empty()).then(|| listed(kept));
    edit.leases = (!leases.is_empty()).then(|| leases.to_vec());
    edit.keyspace_events = events;
}
