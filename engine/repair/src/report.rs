//! The report of a repair.

mod json;
mod text;

/// Keys from `first` to `last`, both included, in the order of the database. The ends need not be
/// keys of it: a table records short keys outside of its long ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySpan {
    /// The first key; `None` if the span has no lower bound.
    pub first: Option<Vec<u8>>,
    /// The last key; `None` if the span has no upper bound.
    pub last: Option<Vec<u8>>,
    /// Names of the keyspaces, in the order in which they were created: `first` is a key of the
    /// first one, `last` of the last. Empty for the default keyspace, and for all keys.
    pub keyspaces: Vec<String>,
    /// Section of the keys while they are still in their stored form.
    pub(crate) section: u8,
}

impl KeySpan {
    /// Returns the span of all keys.
    pub fn all() -> KeySpan {
        KeySpan::default()
    }

    /// Returns the span of one key of the default keyspace.
    pub fn one(key: &[u8]) -> KeySpan {
        KeySpan::stored(0, key)
    }

    /// Returns the span of one stored key.
    pub(crate) fn stored(section: u8, key: &[u8]) -> KeySpan {
        KeySpan::between(section, Some(key.to_vec()), Some(key.to_vec()))
    }

    /// Returns the span between two stored keys of a section.
    pub(crate) fn between(section: u8, first: Option<Vec<u8>>, last: Option<Vec<u8>>) -> KeySpan {
        KeySpan {
            first,
            last,
            section,
            keyspaces: Vec::new(),
        }
    }

    /// Returns whether the span is that of all keys of all keyspaces.
    pub fn is_all(&self) -> bool {
        self.first.is_none() && self.last.is_none() && self.keyspaces.is_empty()
    }
}

/// Counters of what a repair kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Number of keys with a value in the new database.
    pub keys: u64,
    /// Number of bytes of these keys and their values.
    pub bytes: u64,
    /// Number of large values among them, which are in value files.
    pub large_values: u64,
    /// Number of tables from which at least one entry was read.
    pub tables: u64,
    /// Number of entries read from tables, each version and tombstone counted.
    pub table_entries: u64,
    /// Number of log records read.
    pub log_records: u64,
    /// Number of entries in these records that no table holds, according to the manifest.
    pub log_entries: u64,
}

/// Bytes that could not be read, and the keys whose entries they may have held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Name of the file in the source directory.
    pub file: String,
    /// Offset of the first lost byte.
    pub offset: u64,
    /// Number of lost bytes; 0 if it is not known.
    pub bytes: u64,
    /// Keys whose entries may have been lost. Keys outside of this span lost nothing here.
    pub keys: KeySpan,
    /// Whether older versions of these keys may be in the new database, and keys that had been
    /// deleted: an older file may hold them, and what replaced or deleted them may be lost. In any
    /// case, a key with merge operands has the value of those that are left.
    pub older: bool,
    /// Reason, as a human-readable phrase.
    pub reason: String,
}

/// The kind of a [`Doubt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DoubtKind {
    /// The database was not closed, and nothing shows whether the end of its log was longer.
    /// LevelDB never records that a database was closed, so every report of a LevelDB directory has
    /// this doubt.
    LogEnd,
    /// The order of versions of these keys is not known: an older version may be in the new
    /// database, or a deleted key, or a merge operand may count twice.
    Order,
    /// A table of these keys may have been replaced, or hold deleted ranges: deleted keys may be in
    /// the new database.
    Replaced,
    /// Edits of the manifest are lost: files that it named may be missing in the report, deleted
    /// ranges may be in the new database, and a merge operand that is both in a table and in the
    /// log may count twice.
    Manifest,
}

impl DoubtKind {
    /// Returns the kind as one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            DoubtKind::LogEnd => "log-end",
            DoubtKind::Order => "order",
            DoubtKind::Replaced => "replaced",
            DoubtKind::Manifest => "manifest",
        }
    }
}

/// Keys about which it cannot be determined whether something is lost or out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Doubt {
    /// The kind of the doubt.
    pub kind: DoubtKind,
    /// The keys.
    pub keys: KeySpan,
    /// Reason, as a human-readable phrase.
    pub reason: String,
}

/// A file that the manifest does not name. Its entries are not in the new database, unless
/// `RepairOptions::include_unnamed` was set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unnamed {
    /// Name of the file in the source directory.
    pub file: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of entries that can be read in it.
    pub entries: u64,
    /// Keys of these entries.
    pub keys: KeySpan,
    /// Whether its entries were included.
    pub included: bool,
}

/// Damage that lost no entry, such as that of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HarmlessDamage {
    /// Name of the file in the source directory.
    pub file: String,
    /// Offset of the damage.
    pub offset: u64,
    /// Description, as a human-readable phrase.
    pub reason: String,
}

/// Report of a repair: what is kept, what is lost, and what is not known.
///
/// Its `Display` is text for people; [`RepairReport::to_json`] is for programs.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let parent = tempfile::tempdir().unwrap();
/// # let (source, target) = (parent.path().join("damaged"), parent.path().join("repaired"));
/// let db = cairndb::Db::open(&source)?;
/// db.put(b"granite", b"grey")?;
/// db.close()?;
/// let options = cairndb::RepairOptions::new(&cairndb::Options::new());
/// let report = cairndb::repair(&source, &target, &options)?;
/// println!("{report}");
/// assert!(report.is_complete());
/// assert_eq!(report.kept.keys, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Name of the manifest that was used; `None` if no manifest was readable.
    pub manifest: Option<String>,
    /// What is kept.
    pub kept: Kept,
    /// What is lost. If there are more than ten thousand, neighbours in one file are joined.
    pub lost: Vec<Loss>,
    /// What cannot be determined.
    pub doubts: Vec<Doubt>,
    /// Tables and value files that the manifest does not name.
    pub unnamed: Vec<Unnamed>,
    /// Damage that lost nothing.
    pub harmless: Vec<HarmlessDamage>,
}

impl RepairReport {
    /// Returns whether every entry of the damaged database is known to be in the new one: nothing
    /// is lost, and nothing is in doubt.
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.doubts.is_empty()
    }
}
