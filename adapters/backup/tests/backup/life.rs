//! What the tests do with a place: open it, back up to it, restore from it.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::Env;
use cairndb::{Db, Options, Result};
use cairndb_backup::{Directory, Key, Moment, Repository, Restore, RestoreReport};

use crate::model::{Model, check, contents};

pub(crate) const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Opens the backups at `path`.
pub(crate) fn repository(env: &Arc<dyn Env>, path: &Path, key: Option<&str>) -> Result<Repository> {
    let key = key.map(Key::parse).transpose()?;
    let place = Directory::open(Arc::clone(env), path, true)?;
    Repository::open_or_create(Arc::clone(env), Box::new(place), key)
}

/// Opens a small database.
pub(crate) fn open(env: &Arc<dyn Env>, path: &Path) -> Result<Db> {
    let options = Options::new()
        .create_if_missing(true)
        .memory_budget(1 << 20);
    options.env(Arc::clone(env)).open(path)
}

/// Restores a moment, and compares it with the model.
pub(crate) fn check_moment(
    repository: &Repository,
    env: &Arc<dyn Env>,
    to: &Path,
    (model, seq): (&Model, u64),
    about: &dyn std::fmt::Display,
) -> RestoreReport {
    let report = Restore::new(repository).to(Moment::Seq(seq)).run(to);
    let report = report.unwrap_or_else(|error| panic!("{about}, moment {seq}: {error}"));
    assert!(report.place.seq <= seq, "{about}");
    let db = open(env, to).unwrap();
    check(
        &contents(&db),
        model.at(seq),
        &format_args!("{about}, moment {seq}, {report:?}"),
    );
    db.close().unwrap();
    report
}
