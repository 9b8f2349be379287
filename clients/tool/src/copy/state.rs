//! What an interrupted copy has saved: both stores, the last key, and what was copied up to it.

use std::ops::Bound;
use std::path::PathBuf;

use cairndb_base::hash64;
use cairndb_store::Scan;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::range::Range;
use crate::store::Opened;
use crate::transfer::Contents;
use crate::transfer::saved::{Saved, base64, beside};

/// How far a copy is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CopyState {
    /// Identities of both stores, which hold no secret.
    pub(super) from: String,
    pub(super) to: String,
    /// The keys that are copied.
    #[serde(default)]
    pub(super) range: Range,
    /// Whether the copy may replace and delete what the target held.
    #[serde(default)]
    pub(super) overwrite: bool,
    /// The last key: the target holds what the source does up to it.
    #[serde(default, with = "base64")]
    pub(super) last: Option<Vec<u8>>,
    /// The entries of the source up to it.
    pub(super) copied: Contents,
    /// Keys that were written or deleted in the target.
    pub(super) changed: u64,
}

/// Returns the file in which a copy into `target` saves its position: beside a database, otherwise
/// in the working directory.
pub(super) fn file(target: &Opened, given: Option<&PathBuf>) -> Saved {
    const ENDING: &str = ".cairn-copy";
    Saved::at(match (given, &target.directory) {
        (Some(path), _) => path.clone(),
        (None, Some(directory)) => beside(directory, ENDING),
        (None, None) => {
            let last = target.identity.rsplit('/').next().unwrap_or_default();
            let readable = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
            let last: String = last.chars().filter(readable).take(40).collect();
            let hash = hash64(target.identity.as_bytes());
            PathBuf::from(format!("{last}-{hash:016x}{ENDING}"))
        }
    })
}

/// Checks that a saved position belongs to these stores and this range, and that the target still
/// holds its key.
pub(super) fn check(
    state: &CopyState,
    range: &Range,
    saved: &Saved,
    source: &Opened,
    target: &Opened,
) -> Result<()> {
    let file = saved.path().display();
    if (&state.from, &state.to) != (&source.identity, &target.identity) {
        return Err(Failure::other(format!(
            "{file} was left by a copy from {} to {}; finish that one, name another file with \
             --state, or begin again with --restart, and with --overwrite if the target holds \
             entries",
            state.from, state.to
        )));
    }
    if state.range.bounds() != range.bounds() {
        return Err(Failure::other(format!(
            "{file} was left by a copy of another range of keys; finish that one, name another \
             file with --state, or begin again with --restart, and with --overwrite if the target \
             holds entries"
        )));
    }
    let held = match &state.last {
        // An overwriting copy may have ended with keys that it deleted.
        Some(key) if state.copied.entries > 0 => {
            holds(target, (range.bounds().0, Bound::Included(key)))?
        }
        _ => true,
    };
    if held {
        return Ok(());
    }
    Err(Failure::other(format!(
        "{} is empty, but {file} says that entries were copied into it; begin again with --restart",
        target.name
    )))
}

pub(super) fn check_empty(target: &Opened, range: &Range) -> Result<()> {
    if !holds(target, range.bounds())? {
        return Ok(());
    }
    Err(Failure::other(format!(
        "{} holds entries already; pass --overwrite to replace them with those of the source, and \
         to delete those that it does not hold",
        target.name
    )))
}

/// Returns whether a store holds an entry of a range.
fn holds(store: &Opened, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<bool> {
    let first = store.scan(&Scan::range(range).limit(1))?.next();
    Ok(first.transpose().map_err(store.failure())?.is_some())
}
