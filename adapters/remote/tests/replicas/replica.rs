//! The replay: from the feed of a source to a target, each change once.

use std::fmt;
use std::time::Duration;

use cairndb::{BatchEntry, Change, ChangeKind, ChangesOptions, Db, Durability, Place};

/// The name of the lease.
const LEASE: &str = "replica";
/// Changes from one acknowledgement to the next.
const ACKNOWLEDGED_EACH: u64 = 50;
/// How long the consumer waits for a change before it looks whether it should end.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a target stores in addition to the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The place of the last change.
    pub(crate) place: Place,
    /// Number of changes that were applied.
    pub(crate) changes: u64,
    /// Number of entries that were applied. The creation or drop of a keyspace is one too.
    pub(crate) entries: u64,
    /// Number of notes of the time, which have numbers among the entries.
    pub(crate) marks: u64,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State { place, .. } = self;
        write!(
            f,
            "{place} {} {} {}",
            self.changes, self.entries, self.marks
        )
    }
}

impl State {
    pub(crate) fn parse(stored: &[u8]) -> Result<State, Trouble> {
        let wrong = || Trouble::Wrong(format!("a state of {}", stored.escape_ascii()));
        let text = std::str::from_utf8(stored).map_err(|_| wrong())?;
        let parts: Vec<&str> = text.split(' ').collect();
        let [place, changes, entries, marks] = parts[..] else {
            return Err(wrong());
        };
        Ok(State {
            place: place.parse().map_err(|_| wrong())?,
            changes: changes.parse().map_err(|_| wrong())?,
            entries: entries.parse().map_err(|_| wrong())?,
            marks: marks.parse().map_err(|_| wrong())?,
        })
    }

    /// Returns the state after `change`, which must be the next one. `last` is the one before it,
    /// if the same feed delivered that.
    fn after(self, change: &Change, last: Option<&Change>) -> Result<State, Trouble> {
        let entries = match &change.kind {
            ChangeKind::Batch(entries) => entries.len() as u64,
            ChangeKind::KeyspaceCreated { .. } | ChangeKind::KeyspaceDropped { .. } => 1,
            other => return Err(Trouble::Wrong(format!("{other:?}: all writes are logged"))),
        };
        let (before, place) = (self.place, change.place);
        // A record may begin with a note of the time, which has a number too. A batch for a
        // keyspace that was dropped meanwhile leaves the note only.
        let marks = place.seq.checked_sub(before.seq + entries);
        let noted = matches!(change.kind, ChangeKind::Batch(_))
            && last.is_some_and(|last| change.time != last.time);
        let marks = marks.filter(|marks| (u64::from(noted)..=NOTES_MAX).contains(marks));
        // Each open after a kill begins an incarnation.
        let same = last.is_none_or(|last| last.place.incarnation == place.incarnation);
        let Some(marks) = marks.filter(|_| same) else {
            let what = "a hole or a repetition";
            let text = format!("{what}: {entries} entries from {before} to {place}");
            return Err(Trouble::Wrong(text));
        };
        Ok(State {
            place,
            changes: self.changes + 1,
            entries: self.entries + entries,
            marks: self.marks + marks,
        })
    }
}

/// Number of notes that may precede a record.
const NOTES_MAX: u64 = 4;

/// Why a replay ended early.
pub(crate) enum Trouble {
    /// The target is gone, or does not know: continue after the place that it has stored.
    Again(String),
    /// The feed was revoked, which its lease rules out.
    Revoked(String),
    /// Something else that must not happen.
    Wrong(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Again(why) => write!(f, "the target is gone: {why}"),
            Trouble::Revoked(why) => write!(f, "revoked in spite of the lease: {why}"),
            Trouble::Wrong(why) => f.write_str(why),
        }
    }
}

impl From<cairndb::Error> for Trouble {
    fn from(error: cairndb::Error) -> Trouble {
        match error.kind() {
            cairndb::ErrorKind::Revoked => Trouble::Revoked(error.to_string()),
            _ => Trouble::Wrong(error.to_string()),
        }
    }
}

/// One write to a target. All keyspaces of the source share the target's keys: see [`place_of`].
#[derive(Clone, Debug)]
pub(crate) enum Write<'c> {
    Put(Vec<u8>, &'c [u8]),
    Delete(Vec<u8>),
    Append(Vec<u8>, &'c [u8]),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// Returns the key of the target for a key of the source.
pub(crate) fn place_of(keyspace: Option<&str>, key: &[u8]) -> Vec<u8> {
    let name = keyspace.unwrap_or_default().as_bytes();
    [name, b"\0", key].concat()
}

/// Returns the first key of the target after those of a keyspace.
fn end_of(keyspace: Option<&str>) -> Vec<u8> {
    let name = keyspace.unwrap_or_default().as_bytes();
    [name, b"\x01"].concat()
}

/// Returns the writes that a change is for a target, in their order.
fn writes(kind: &ChangeKind) -> Vec<Write<'_>> {
    match kind {
        ChangeKind::Batch(entries) => entries
            .iter()
            .map(|(space, entry)| match entry {
                BatchEntry::Put { key, value } => Write::Put(place_of(space, key), value),
                BatchEntry::Merge { key, operand } => Write::Append(place_of(space, key), operand),
                BatchEntry::DeleteRange { from, to } => {
                    let end = to.map_or_else(|| end_of(space), |to| place_of(space, to));
                    Write::DeleteRange(place_of(space, from), end)
                }
                BatchEntry::Delete { key } => Write::Delete(place_of(space, key)),
                other => unreachable!("{other:?}"),
            })
            .collect(),
        ChangeKind::KeyspaceDropped { name } => {
            let name = Some(&**name);
            vec![Write::DeleteRange(place_of(name, b""), end_of(name))]
        }
        _ => Vec::new(),
    }
}

/// Keys and values in key order.
pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// What is kept in step.
pub(crate) trait Target {
    /// Returns what was last stored with a change, `None` before the first one.
    fn state(&mut self) -> Result<Option<State>, Trouble>;

    /// Applies `writes` and stores `after`, in one transaction. Does nothing if the stored state is
    /// not `before`, because an earlier transaction was applied late.
    fn apply(
        &mut self,
        writes: &[Write<'_>],
        before: Option<State>,
        after: State,
    ) -> Result<(), Trouble>;

    /// Makes everything durable that was applied.
    fn sync(&mut self) -> Result<(), Trouble>;

    /// Returns all entries, without the state.
    fn contents(&mut self) -> Result<Entries, Trouble>;
}

/// Creates the lease, before anything is written.
pub(crate) fn lease(source: &Db) -> cairndb::Result<()> {
    source
        .changes(&ChangesOptions::new().lease(LEASE))
        .map(drop)
}

/// Applies changes of `source` to `target`, after the place that is stored there, while `goes_on`
/// returns true. Its argument is the state after each change, and `None` if there is nothing to
/// deliver for now. Returns the last state.
pub(crate) fn consume(
    source: &Db,
    target: &mut dyn Target,
    durability: Durability,
    goes_on: &mut dyn FnMut(Option<State>) -> bool,
) -> Result<Option<State>, Trouble> {
    let mut stored = target.state()?;
    let mut options = ChangesOptions::new()
        .lease(LEASE)
        .durability(durability)
        .sync_interval(Duration::from_millis(5));
    if let Some(state) = stored {
        options = options.after(state.place);
    }
    let mut changes = source.changes(&options)?;
    let begin = State {
        place: changes.place(),
        changes: 0,
        entries: 0,
        marks: 0,
    };
    let mut last: Option<Change> = None;
    loop {
        let Some(change) = changes.next_within(PATIENCE)? else {
            if goes_on(None) {
                continue;
            }
            return Ok(stored);
        };
        if durability == Durability::Sync && change.durability != Durability::Sync {
            return Err(Trouble::Wrong(format!("{change:?} may be taken back")));
        }
        let after = stored.unwrap_or(begin).after(&change, last.as_ref())?;
        target.apply(&writes(&change.kind), stored, after)?;
        stored = Some(after);
        if after.changes.is_multiple_of(ACKNOWLEDGED_EACH) {
            target.sync()?;
            changes.acknowledge(after.place)?;
        }
        last = Some(change);
        if !goes_on(stored) {
            return Ok(stored);
        }
    }
}
