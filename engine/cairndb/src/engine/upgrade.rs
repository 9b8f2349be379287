//! Conversion of LevelDB's directories, from the options of an open.

use std::path::Path;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_convert::{Owner, Progress, Recovery, Target, UpgradePlan, UpgradeReport, owner};

use crate::engine::configure::{database_settings, validate};
use crate::state::budget::Budget;
use crate::state::options::Options;

/// Opens the directory at `path`, which must exist, and prepares everything that writing its tables
/// takes.
fn target(options: &Options, path: &Path) -> Result<Target> {
    validate(options)?;
    let env = options.environment();
    Ok(Target {
        dir: env.open_dir(path, false)?,
        env,
        settings: database_settings(options, Budget::new(options.memory_budget)),
        recovery: if options.upgrade.without_log {
            Recovery::WithoutLog
        } else {
            Recovery::Strict
        },
    })
}

/// Returns what a conversion would do.
///
/// # Errors
/// See [`cairndb_convert::plan`].
pub(crate) fn plan(options: &Options, path: &Path) -> Result<UpgradePlan> {
    let planned = target(options, path).and_then(|target| cairndb_convert::plan(&target));
    planned.map_err(|error| error.directory(path))
}

/// Converts the database at `path`.
///
/// # Errors
/// See [`cairndb_convert::upgrade`]; `ReadOnly` if the options are read-only.
pub(crate) fn upgrade(
    options: &Options,
    path: &Path,
    progress: &mut Progress<'_>,
) -> Result<UpgradeReport> {
    if options.read_only {
        let message = "a read-only open does not convert a LevelDB database; open it for writing";
        return Err(Error::new(ErrorKind::ReadOnly, message).path(path));
    }
    let upgraded =
        target(options, path).and_then(|target| cairndb_convert::upgrade(&target, progress));
    upgraded.map_err(|error| error.directory(path))
}

/// Converts the database at `path` before it is opened, if the options ask for that and it is
/// LevelDB's. Everything else is left to the open.
///
/// # Errors
/// As [`upgrade`].
pub(super) fn before_open(options: &Options, path: &Path) -> Result<()> {
    if !options.upgrade.leveldb || options.error_if_exists {
        return Ok(());
    }
    let target = match target(options, path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match owner(&*target.dir)? {
        Owner::None => Ok(()),
        Owner::Ours if options.read_only => Ok(()),
        Owner::Ours | Owner::LevelDb => upgrade(options, path, &mut |_| {}).map(drop),
    }
}
