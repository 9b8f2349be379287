//! The figures that `cairn stats` shows: sizes of files, and the properties of the database.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb_format::name::FileKind;
use serde_json::Value;

use crate::commands::originals;
use crate::failure::{Failure, ORIGINAL};

/// Bytes of the files in a directory, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) tables: u64,
    pub(super) values: u64,
    pub(super) logs: u64,
    pub(super) manifests: u64,
    pub(super) others: u64,
}

impl Files {
    /// Adds up the sizes of the regular files at `path`. The properties do not give those of log
    /// and manifest in a handle that only reads.
    fn of(path: &Path) -> cairndb::Result<Files> {
        let dir = RealEnv::new().open_dir(path, false)?;
        let mut files = Files::default();
        for name in dir.list()? {
            let kind = match FileKind::parse(&name) {
                Some(FileKind::Table(_)) => &mut files.tables,
                Some(FileKind::Value(_)) => &mut files.values,
                Some(FileKind::Log(_)) => &mut files.logs,
                Some(FileKind::Manifest(_)) => &mut files.manifests,
                _ => &mut files.others,
            };
            // A link or a directory is not one of the database's files.
            *kind += dir.size_of(&name).ok().flatten().unwrap_or(0);
        }
        Ok(files)
    }

    pub(super) fn total(&self) -> u64 {
        self.tables + self.values + self.logs + self.manifests + self.others
    }
}

/// What `cairn stats` shows.
pub(super) struct Figures {
    pub(super) files: Files,
    pub(super) space: Value,
    pub(super) stats: Value,
    pub(super) stalls: Value,
    /// The runs, from the newest.
    pub(super) runs: Value,
    /// Bytes of LevelDB's files; `None` if the database was not converted or they were removed.
    pub(super) original: Option<u64>,
}

impl Figures {
    /// Reads the figures of the open database in `path`.
    pub(super) fn read(db: &Db, path: &Path) -> Result<Figures, Failure> {
        Ok(Figures {
            files: Files::of(path).map_err(Failure::of(path))?,
            space: property(db, "cairndb.space")?,
            stats: property(db, "cairndb.stats")?,
            stalls: property(db, "cairndb.stalls")?,
            runs: property(db, "cairndb.runs")?,
            original: original_bytes(path).map_err(Failure::of(path))?,
        })
    }
}

fn property(db: &Db, name: &str) -> Result<Value, Failure> {
    let text = db.property(name).unwrap_or_default();
    serde_json::from_str(&text)
        .map_err(|error| Failure::Other(format!("the property {name} is not JSON: {error}")))
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
