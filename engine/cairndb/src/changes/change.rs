//! What a consumer of changes receives.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cairndb_base::{Error, Kind, Result, SeqNo};

use crate::state::batch::BatchEntry;
use crate::state::options::Durability;

/// A place in the history of a database: after it, a consumer continues.
///
/// Store it together with what was made of the changes up to it, in one transaction of the target:
/// then each change is applied exactly once, whatever is killed. Its text form can be parsed again.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// let place = db.place()?;
/// assert_eq!(place.to_string().parse::<cairndb::Place>()?, place);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of the incarnation: a part of the history in which no write was lost.
    pub incarnation: u64,
    /// Sequence number of the last write before the place.
    pub seq: SeqNo,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.incarnation, self.seq)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Place> {
        let parts = text.split_once('-').and_then(|(incarnation, seq)| {
            let incarnation = u64::from_str_radix(incarnation, 16).ok()?;
            let seq = seq.parse().ok()?;
            Some(Place { incarnation, seq })
        });
        parts.ok_or_else(|| {
            Error::invalid("a place has the form INCARNATION-NUMBER; pass one that was returned")
                .found(text)
        })
    }
}

/// One change of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The place after the change.
    pub place: Place,
    /// Time of the write, to within 100 ms. `None` if nobody needed the changes then.
    pub time: Option<SystemTime>,
    /// `Sync` if no loss of power takes the change back, otherwise `Os`.
    pub durability: Durability,
    /// What happened.
    pub kind: ChangeKind,
}

/// What happened in a change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A batch or a single write, whole.
    Batch(ChangedEntries),
    /// Writes that were not logged ([`Durability::None`]). What they wrote is not known; a snapshot
    /// has it once it was flushed.
    Unlogged {
        /// Number of entries.
        entries: u64,
    },
    /// A keyspace was created.
    KeyspaceCreated {
        /// Its name.
        name: Arc<str>,
    },
    /// A keyspace was dropped, with all its entries.
    KeyspaceDropped {
        /// Its name.
        name: Arc<str>,
    },
    /// A batch, or an event of a keyspace, as it is on disk
    /// ([`ChangesOptions::as_logged`](crate::ChangesOptions::as_logged)).
    Logged(Logged),
}

/// A change as it is on disk, for backups.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Logged {
    /// The payload of a record of the log. Its last entry has the number of the change's place.
    Batch {
        /// Sequence number of its first entry.
        first: SeqNo,
        /// The entries.
        payload: Vec<u8>,
        /// (file, end): value files that it points to, and where the last of these values ends.
        values: Vec<(u64, u64)>,
    },
    /// An edit of the manifest.
    Edit(Vec<u8>),
}

/// The entries of a batch, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct ChangedEntries {
    /// Keys and values.
    bytes: Vec<u8>,
    entries: Vec<ChangedEntry>,
}

#[derive(Clone, Debug)]
struct ChangedEntry {
    keyspace: Option<Arc<str>>,
    kind: Kind,
    key: Range<usize>,
    /// The value, the operand, or the end of a range; `None` if the range has none.
    value: Option<Range<usize>>,
}

impl ChangedEntries {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are none: a batch is never empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the entries, each with the name of its keyspace, which is `None` for the
    /// default one.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, BatchEntry<'_>)> {
        self.entries.iter().map(|entry| {
            let key = &self.bytes[entry.key.clone()];
            let value = entry.value.clone().map(|value| &self.bytes[value]);
            let known = value.unwrap_or_default();
            let write = match entry.kind {
                Kind::Delete | Kind::TimeMark => BatchEntry::Delete { key },
                Kind::Merge => BatchEntry::Merge {
                    key,
                    operand: known,
                },
                Kind::RangeDelete => BatchEntry::DeleteRange {
                    from: key,
                    to: value,
                },
                Kind::Put | Kind::Pointer => BatchEntry::Put { key, value: known },
            };
            (entry.keyspace.as_deref(), write)
        })
    }

    pub(super) fn add(
        &mut self,
        keyspace: Option<Arc<str>>,
        kind: Kind,
        key: &[u8],
        value: Option<&[u8]>,
    ) {
        let mut append = |part: &[u8]| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(part);
            start..self.bytes.len()
        };
        let (key, value) = (append(key), value.map(append));
        self.entries.push(ChangedEntry {
            keyspace,
            kind,
            key,
            value,
        });
    }
}

impl Logged {
    /// Returns a batch whose first entry has the number `first`.
    pub fn batch(first: SeqNo, payload: Vec<u8>) -> Logged {
        Logged::Batch {
            first,
            payload,
            values: Vec::new(),
        }
    }
}

/// Returns the time that a mark states.
pub(super) fn time_of(mark: &[u8]) -> Option<SystemTime> {
    let ms = u64::from_le_bytes(mark.try_into().ok()?);
    UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}
