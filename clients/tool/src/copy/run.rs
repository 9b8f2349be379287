//! A copy from its beginning, or from the saved key, to its verified end.

use cairndb_store::{ErrorKind, Read, Snapshot};

use super::copier::Copier;
use super::state;
use super::verify::verify;
use crate::arguments::Copy;
use crate::failure::{Failure, Result};
use crate::range::Range;
use crate::store::{Access, Opened, identity, open};
use crate::transfer::Contents;

/// What messages call the arguments.
const FROM: &str = "FROM-URL";
const TO: &str = "TO-URL";

/// What a copy has done.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) from: String,
    pub(crate) to: String,
    /// What both stores hold in the range.
    pub(crate) contents: Contents,
    /// Keys that were written or deleted in the target.
    pub(crate) changed: u64,
}

/// Copies the entries of the range, and compares both stores.
pub(crate) fn copy(job: &Copy, range: &Range) -> Result<Copied> {
    let source = open(FROM, &job.source, Access::Copy)?;
    if !source.keyspaces.is_empty() {
        return Err(Failure::other(format!(
            "{} has keyspaces, which stores have not: `cairn dump` and `cairn load` move them all",
            source.name
        )));
    }
    let to = identity(TO, &job.target)?;
    if source.identity == to {
        return Err(Failure::usage(format!(
            "{FROM} and {TO} are the same store"
        )));
    }
    if is_inside(&source.identity, &to) || is_inside(&to, &source.identity) {
        return Err(Failure::usage(format!(
            "{FROM} and {TO} overlap: the keys of one are among those of the other"
        )));
    }
    let target = open(TO, &job.target, Access::Create)?;
    let saved = state::file(&target, job.state.as_ref());
    if job.restart {
        saved.remove()?;
    }
    let view = View::of(&source)?;
    let mut copier = Copier::begin((job, range), &saved, &source, &target)?;
    copier.run(view.reader(&source))?;
    let (state, mut pace) = copier.end();
    let from = (view.reader(&source), &source);
    let contents = verify(from, &target, range, state.copied.bytes, &mut pace)?;
    drop(view);
    target.close()?;
    source.close()?;
    saved.remove()?;
    Ok(Copied {
        from: source.name,
        to: target.name,
        contents,
        changed: state.changed,
    })
}

/// Returns whether the keys of `inner` are among those of `outer`, because its prefix in etcd
/// begins with the other one. A copy would then write into what it reads, or delete it.
fn is_inside(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer.trim_end_matches('/'));
    outer.starts_with("etcd:") && rest.is_some_and(|rest| rest.starts_with('/'))
}

/// One state of the source, if it has snapshots: what is copied is then also what is compared,
/// although others write.
struct View(Option<Box<dyn Snapshot>>);

impl View {
    fn of(source: &Opened) -> Result<View> {
        match source.store.snapshot() {
            Ok(snapshot) => Ok(View(Some(snapshot))),
            Err(error) if error.kind() == ErrorKind::NotSupported => Ok(View(None)),
            Err(error) => Err(source.failure()(error)),
        }
    }

    fn reader<'a>(&'a self, source: &'a Opened) -> &'a dyn Read {
        match &self.0 {
            Some(snapshot) => &**snapshot,
            None => &*source.store,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    #[test]
    fn prefixes_overlap_at_slashes() {
        for (inner, outer, expected) in [
            ("etcd://a/p/q", "etcd://a/p", true),
            ("etcd://a/p/q", "etcd://a/p/", true),
            ("etcd://a/p/", "etcd://a/p", true),
            ("etcd://a/p", "etcd://a/p/q", false),
            ("etcd://a/pq", "etcd://a/p", false),
            ("etcd://b/p/q", "etcd://a/p", false),
            ("file:/a/b", "file:/a", false),
            ("postgres://a/db/t/u", "postgres://a/db/t", false),
        ] {
            assert_eq!(is_inside(inner, outer), expected, "{inner} {outer}");
        }
    }
}
