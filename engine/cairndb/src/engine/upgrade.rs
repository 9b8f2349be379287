//! Conversion of LevelDB's directories, from the options of an open.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, PageCache, Result};
use cairndb_env::{Env, RealEnv};
use cairndb_leveldb::Recovery;
use cairndb_mem::ClockCache;

use crate::engine::configure::{context, opener, settings, validate};
use crate::state::budget::Budget;
use crate::state::files::reaper::Reaper;
use crate::state::options::Options;
use crate::upgrade::UpgradeTarget;
use crate::upgrade::identify::{Owner, owner};
use crate::upgrade::protocol;
use crate::upgrade::report::{Progress, UpgradePlan, UpgradeReport};

/// Opens the directory at `path`, which must exist, and prepares everything that writing its tables
/// takes.
fn target(options: &Options, path: &Path) -> Result<UpgradeTarget> {
    validate(options)?;
    let env: Arc<dyn Env> = match &options.env {
        Some(env) => Arc::clone(env),
        None => RealEnv::new(),
    };
    let dir = env.open_dir(path, false)?;
    let budget = Budget::new(options.memory_budget);
    let cache: Arc<dyn PageCache> = Arc::new(ClockCache::new(budget.cache));
    // Tables are read back by descriptor: in a mapping, an I/O error would kill the process.
    let unmapped = options.clone().mapped(false);
    let opener = opener(&unmapped, &*env, &dir, &cache, &Arc::new(Reaper::default()));
    Ok(UpgradeTarget {
        settings: settings(options, budget, &opener),
        context: context(options, path),
        recovery: if options.upgrade.without_log {
            Recovery::WithoutLog
        } else {
            Recovery::Strict
        },
        env,
        dir,
        opener,
    })
}

/// Returns what a conversion would do.
///
/// # Errors
/// See [`protocol::plan`].
pub(crate) fn plan(options: &Options, path: &Path) -> Result<UpgradePlan> {
    let planned = target(options, path).and_then(|target| protocol::plan(&target));
    planned.map_err(|error| error.directory(path))
}

/// Converts the database at `path`.
///
/// # Errors
/// See [`protocol::upgrade`]; `ReadOnly` if the options are read-only.
pub(crate) fn upgrade(
    options: &Options,
    path: &Path,
    progress: &mut Progress<'_>,
) -> Result<UpgradeReport> {
    if options.read_only {
        let message = "a read-only open does not convert a LevelDB database; open it for writing";
        return Err(Error::new(ErrorKind::ReadOnly, message).path(path));
    }
    let upgraded = target(options, path).and_then(|target| protocol::upgrade(&target, progress));
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
