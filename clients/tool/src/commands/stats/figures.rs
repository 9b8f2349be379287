//! The figures that `cairn stats` shows: sizes of files, and the properties of the database.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Dir, Env, RealEnv};
use cairndb_format::name::FileKind;
use serde_json::Value;

use crate::commands::originals;
use crate::failure::{Failure, ORIGINAL, Result};

/// Bytes of the files in a directory, by kind.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Files(Vec<(&'static str, u64)>);

impl Files {
    /// Adds up the sizes of the regular files. `kind` returns the place of a name's kind in
    /// `kinds`, whose last one is that of all other files. The properties do not give the sizes of
    /// log and manifest in a handle that only reads.
    pub(in crate::commands) fn of<const N: usize>(
        dir: &dyn Dir,
        kinds: [&'static str; N],
        kind: impl Fn(&str) -> Option<usize>,
    ) -> cairndb::Result<Files> {
        let mut files = kinds.map(|kind| (kind, 0));
        for found in dir.list()? {
            // A link or a directory is not one of the database's files.
            let bytes = dir.size_of(&found).ok().flatten().unwrap_or(0);
            files[kind(&found).unwrap_or(N - 1)].1 += bytes;
        }
        Ok(Files(files.to_vec()))
    }

    /// Returns the kinds, after the total.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let total = self.0.iter().map(|(_, bytes)| bytes).sum();
        [("total", total)].into_iter().chain(self.0.clone())
    }

    pub(in crate::commands) fn json(&self) -> Value {
        self.all().collect()
    }
}

/// Returns the files of a CairnDB database.
fn files(path: &Path) -> cairndb::Result<Files> {
    let kinds = ["tables", "value_files", "logs", "manifests", "others"];
    let dir = RealEnv::new().open_dir(path, false)?;
    Files::of(&*dir, kinds, |found| match FileKind::parse(found)? {
        FileKind::Table(_) => Some(0),
        FileKind::Value(_) => Some(1),
        FileKind::Log(_) => Some(2),
        FileKind::Manifest(_) => Some(3),
        _ => None,
    })
}

/// What `cairn stats` shows.
pub(super) struct Figures {
    pub(super) files: Files,
    pub(super) space: Value,
    pub(super) stats: Value,
    pub(super) stalls: Value,
    /// The runs, from the newest.
    pub(super) runs: Value,
    /// Names of the keyspaces besides the default one.
    pub(super) keyspaces: Vec<String>,
    /// Bytes of LevelDB's files; `None` if the database was not converted or they were removed.
    pub(super) original: Option<u64>,
}

impl Figures {
    /// Reads the figures of the open database in `path`.
    pub(super) fn read(db: &Db, path: &Path) -> Result<Figures> {
        Ok(Figures {
            files: files(path).map_err(Failure::of(path))?,
            space: property(db, "cairndb.space")?,
            stats: property(db, "cairndb.stats")?,
            stalls: property(db, "cairndb.stalls")?,
            runs: property(db, "cairndb.runs")?,
            keyspaces: db.keyspaces(),
            original: original_bytes(path).map_err(Failure::of(path))?,
        })
    }
}

fn property(db: &Db, name: &str) -> Result<Value> {
    let text = db.property(name).unwrap_or_default();
    serde_json::from_str(&text)
        .map_err(|error| Failure::other(format!("the property {name} is not JSON: {error}")))
}

/// Returns the bytes of LevelDB's files in the directory of a converted database.
fn original_bytes(path: &Path) -> cairndb::Result<Option<u64>> {
    let original = path.join(ORIGINAL);
    if !original.is_dir() {
        return Ok(None);
    }
    let dir = RealEnv::new().open_dir(&original, false)?;
    originals::sizes(&*dir).map(|(bytes, _)| Some(bytes))
}
