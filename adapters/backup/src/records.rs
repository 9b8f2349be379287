//! What the objects of a backup state, apart from contents of files: a chain of numbered records.
//!
//! Record after record is created under the next number, which only one program can do. A record
//! has changes, names a base, or says what was pruned. Layout: `docs/format/backup.md`.

use cairndb::Place as At;
use cairndb::physical::Logged;
use cairndb_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Folder of the records.
pub(crate) const CHAIN: &str = "chain";
/// Folder of the bases.
pub(crate) const BASES: &str = "bases";
/// Folder of the contents of files.
pub(crate) const DATA: &str = "data";

/// Returns the name of a record.
pub(crate) fn chain_name(number: u64) -> String {
    format!("{CHAIN}/{number:020}")
}

/// Returns the name of a record within its folder.
pub(crate) fn number_name(number: u64) -> String {
    format!("{number:020}")
}

/// A record of the chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Hash of the record before, in hexadecimal digits; empty for the first one.
    pub(crate) previous: String,
    /// Who has written it.
    pub(crate) writer: Writer,
    /// When, in milliseconds since 1970.
    pub(crate) written_ms: u64,
    pub(crate) body: Body,
}

/// A program that writes to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Writer {
    /// A random number.
    pub(crate) session: u64,
    pub(crate) host: String,
    pub(crate) process: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    Changes(Piece),
    Base { object: String },
    Prune(Prune),
}

/// A part of the history: the changes after one sequence number up to another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Number of the record; 0 in the record itself.
    #[serde(default)]
    pub(crate) number: u64,
    /// Number of the timeline: another begins where the history does not continue.
    pub(crate) timeline: u32,
    pub(crate) incarnation: u64,
    pub(crate) after: u64,
    pub(crate) until: u64,
    /// Times of the first and the last change that has one, in milliseconds since 1970; 0 if none.
    pub(crate) from_ms: u64,
    pub(crate) to_ms: u64,
    pub(crate) changes: u64,
    /// Bytes of the changes.
    pub(crate) bytes: u64,
    /// Last number of a write that was not logged, or 0: only a later base has it.
    pub(crate) unlogged: u64,
    /// Parts of value files that the changes point into, and no earlier record has.
    pub(crate) extents: Vec<FileExtent>,
}

/// A part of a value file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileExtent {
    pub(crate) file: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) object: String,
}

/// The files that hold a database up to a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Base {
    pub(crate) number: u64,
    pub(crate) timeline: u32,
    pub(crate) incarnation: u64,
    /// Everything up to this sequence number is in the tables.
    pub(crate) seq: u64,
    /// With later changes, it restores moments from this one on.
    pub(crate) restorable: u64,
    /// When it was made, in milliseconds since 1970.
    pub(crate) taken_ms: u64,
    /// Time of the last change before it was made, or 0.
    pub(crate) time_ms: u64,
    pub(crate) entries: u64,
    pub(crate) tables: Vec<Table>,
    pub(crate) extents: Vec<FileExtent>,
    /// The base before, and the changes since.
    pub(crate) previous: Option<String>,
    pub(crate) pieces: Vec<Piece>,
    /// The first record, and the first base, that was not pruned when it was made.
    pub(crate) first: u64,
    pub(crate) kept_from: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Checksum of its meta page.
    pub(crate) checksum: u32,
    pub(crate) object: String,
}

/// What is about to be removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Prune {
    /// Records and bases before these are not needed any more.
    pub(crate) first: u64,
    pub(crate) kept_from: u64,
    /// Neither are these objects with contents of files.
    pub(crate) objects: Vec<String>,
}

/// A change in a piece.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) seq: u64,
    pub(crate) time_ms: u64,
    pub(crate) logged: Logged,
}

/// Returns contents with a header, which describes the rest.
pub(crate) fn with_header(header: &impl Serialize, rest: &[u8]) -> Vec<u8> {
    let header = serde_json::to_vec(header).expect("the header has only numbers and texts");
    let len = u32::try_from(header.len()).expect("the header of a record is far below 4 GiB");
    [&len.to_le_bytes()[..], &header, rest].concat()
}

/// Splits contents into header and rest.
///
/// # Errors
/// `Corruption`; `FormatTooNew` if the header is of a newer version.
pub(crate) fn parse<'b, T: Deserialize<'b>>(contents: &'b [u8]) -> Result<(T, &'b [u8])> {
    let short = || Error::corruption("the object has no header");
    let (len, rest) = contents.split_first_chunk::<4>().ok_or_else(short)?;
    let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
    let (header, rest) = rest.split_at_checked(len).ok_or_else(short)?;
    let parsed = serde_json::from_slice(header).map_err(|error| {
        let message =
            "the header of the object cannot be read; a newer version may have written it";
        Error::new(ErrorKind::FormatTooNew, message).source_error(error)
    });
    Ok((parsed?, rest))
}

/// Length of the fixed part of a change.
const CHANGE_BYTES: usize = 1 + 8 + 8 + 8 + 4;

/// Appends a change to the contents of a piece.
pub(crate) fn add_change(place: At, time_ms: u64, logged: &Logged, out: &mut Vec<u8>) {
    let (kind, first, bytes) = match logged {
        Logged::Batch { first, payload, .. } => (0, *first, payload),
        Logged::Edit(edit) => (1, place.seq, edit),
        _ => unreachable!("every kind of change is encoded"),
    };
    out.push(kind);
    for number in [place.seq, time_ms, first] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let len = u32::try_from(bytes.len()).expect("a batch is below 4 GiB");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes the next change of a piece.
///
/// # Errors
/// `Corruption`.
pub(crate) fn take_change(from: &mut &[u8]) -> Result<Option<Change>> {
    if from.is_empty() {
        return Ok(None);
    }
    let bad = || Error::corruption("the changes of the record cannot be read");
    let (head, rest) = from.split_first_chunk::<CHANGE_BYTES>().ok_or_else(bad)?;
    let number = |at: usize| {
        let bytes: [u8; 8] = head[at..at + 8].try_into().unwrap_or_default();
        u64::from_le_bytes(bytes)
    };
    let (seq, time_ms, first) = (number(1), number(9), number(17));
    let len: [u8; 4] = head[25..].try_into().map_err(|_| bad())?;
    let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
    let (bytes, rest) = rest.split_at_checked(len).ok_or_else(bad)?;
    *from = rest;
    let logged = match head[0] {
        0 => Logged::batch(first, bytes.to_vec()),
        1 => Logged::Edit(bytes.to_vec()),
        _ => return Err(bad()),
    };
    Ok(Some(Change {
        seq,
        time_ms,
        logged,
    }))
}
