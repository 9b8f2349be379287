//! What an interrupted copy has saved: both stores, the last key, and what was copied up to it.

use std::path::PathBuf;

use cairndb_base::hash64;
use serde::{Deserialize, Serialize};

use crate::store::Opened;
use crate::transfer::Contents;
use crate::transfer::saved::{Base64Bytes, Saved, beside};

/// How far a copy is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Identities of both stores, which hold no secret.
    pub(super) from: String,
    pub(super) to: String,
    /// The last key: the target holds what the source does up to it.
    pub(super) last: Option<Base64Bytes>,
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
