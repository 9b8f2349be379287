//! `backup`, `restore`, `backups`, `verify-backup` and `prune`.

mod listing;
mod restore;

use std::time::{Duration, Instant};

use cairndb::env::RealEnv;
use cairndb::{Db, Error, ErrorKind};
use cairndb_backup::{Backup, BackupOptions, BackupReport, Key, Repository, Retention, open_place};

use crate::arguments::backup::{self as arguments, At, Prune};
use crate::database::{open_to_change, options_for, refuse_other_stores};
use crate::failure::{Failure, Result};
use crate::message::notify;
use crate::output::{counted, print, size};
use crate::progress::{interrupt, watched};
pub(super) use listing::{backups, verify};
pub(super) use restore::restore;

/// The environment variable with the key of encrypted backups.
const KEY: &str = "CAIRN_BACKUP_KEY";
/// The longest time between two attempts while a place cannot be reached.
const PATIENCE_MAX: Duration = Duration::from_mins(1);
/// Time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

fn open_repository(at: &At, create: bool) -> cairndb::Result<Repository> {
    let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
    let key = key.map(|key| Key::parse(&key)).transpose();
    let key = key.map_err(|error| error.found(KEY))?;
    let place = open_place(&at.place, create)?;
    let open = if create {
        Repository::open_or_create
    } else {
        Repository::open
    };
    Ok(open(RealEnv::new(), place, key)?.bandwidth(at.bandwidth))
}

fn repository(at: &At, create: bool) -> Result<Repository> {
    open_repository(at, create).map_err(failure)
}

/// Returns the failure for an error, which names the place or directory.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: Error) -> Failure {
    Failure::of_kind(error.kind(), error.to_string())
}

/// Backs up a database once, or until Ctrl-C.
pub(super) fn backup(arguments: &arguments::Backup) -> Result<()> {
    let options = options_of(arguments);
    check_place(arguments)?;
    if arguments.follow {
        return follow(arguments, options);
    }
    refuse_other_stores(&arguments.directory)?;
    let (db, repository) = open(arguments, &options)?;
    let backed_up = watched("backing up", || {
        let mut backup = Backup::begin(&db, &repository, options)?;
        backup.catch_up()?;
        let report = backup.report();
        backup.end().map(|_| report)
    });
    let report = backed_up.map_err(failure)?;
    db.close().map_err(Failure::of(&arguments.directory))?;
    print([done(&report)])
}

/// Refuses a place inside the database's directory.
fn check_place(arguments: &arguments::Backup) -> Result<()> {
    let absolute = |path: &str| std::path::absolute(path).ok();
    let place = absolute(arguments.at.place.trim_start_matches("file://"));
    let own = std::path::absolute(&arguments.directory).ok();
    let inside = place.is_some_and(|place| own.is_some_and(|own| place.starts_with(own)));
    if inside && !arguments.at.place.contains("://") {
        return Err(Failure::usage(
            "the place is inside the database's directory; choose another",
        ));
    }
    Ok(())
}

/// Opens a database and the place. A database that no process has open is opened for writing only
/// to have it keep the log: a program that starts meanwhile must not be kept out for as long as a
/// backup takes.
fn open(arguments: &arguments::Backup, options: &BackupOptions) -> Result<(Db, Repository)> {
    let path = &arguments.directory;
    let opened = watched("opening", || options_for(path).open(path));
    let writer = match opened {
        Err(error) if error.kind() == ErrorKind::Locked => None,
        opened => Some(opened.map_err(Failure::of(path))?),
    };
    let repository = repository(&arguments.at, true)?;
    if let Some(db) = writer {
        Backup::hold(&db, &repository, options).map_err(failure)?;
        let closed = db.flush().and_then(|()| db.close());
        closed.map_err(Failure::of(path))?;
    }
    let followed = watched("opening", || options_for(path).follow().open(path));
    match followed {
        // Processes cannot share memory there.
        Err(error) if error.kind() == ErrorKind::NotSupported => {
            Ok((open_to_change(path)?, repository))
        }
        followed => Ok((followed.map_err(Failure::of(path))?, repository)),
    }
}

fn options_of(arguments: &arguments::Backup) -> BackupOptions {
    let mut options = BackupOptions::new().take_over(arguments.take_over);
    if let Some(bytes) = arguments.base_bytes {
        options = options.base_bytes(bytes);
    }
    if arguments.changes_only {
        options = options.changes_only();
    }
    if let Some(bytes) = arguments.log_bytes {
        options = options.log_bytes_max(bytes);
    }
    options
}

fn done(report: &BackupReport) -> String {
    let place = report
        .place
        .map_or_else(String::new, |place| format!(" to {}", place.seq));
    format!(
        "backed up{place}: {} and {}, {} in {}",
        counted(report.changes, "change", "changes"),
        counted(report.bases, "base", "bases"),
        size(report.bytes),
        counted(report.objects, "object", "objects"),
    )
}

/// Backs up what is written until Ctrl-C, then the rest. Goes on after errors that may pass.
fn follow(arguments: &arguments::Backup, options: BackupOptions) -> Result<()> {
    let path = &arguments.directory;
    refuse_other_stores(path)?;
    let mut patience = arguments.interval.max(LOOK);
    let mut total = BackupReport::default();
    let mut failed = false;
    loop {
        let ended = follow_until_error(arguments, options, &mut total, &mut patience, &mut failed);
        let error = match ended {
            Ok(()) => return print([done(&total)]),
            Err(error) => error,
        };
        let passes = [
            ErrorKind::Locked,
            ErrorKind::Io,
            ErrorKind::NoSpace,
            ErrorKind::Revoked,
            ErrorKind::Closed,
        ];
        if interrupt::is_asked() || !passes.contains(&error.kind()) {
            return Err(failure(error));
        }
        let kept = match error.kind() {
            ErrorKind::Revoked => "",
            _ => "; the log is kept meanwhile",
        };
        notify(&format!(
            "{error}\ncairn: the next attempt is in {} seconds{kept}",
            patience.as_secs().max(1)
        ));
        failed = true;
        wait(Instant::now() + patience);
        patience = (patience * 2).min(PATIENCE_MAX);
    }
}

fn follow_until_error(
    arguments: &arguments::Backup,
    options: BackupOptions,
    total: &mut BackupReport,
    patience: &mut Duration,
    failed: &mut bool,
) -> cairndb::Result<()> {
    let path = &arguments.directory;
    let db = options_for(path).follow().open(path)?;
    let repository = open_repository(&arguments.at, true)?;
    let mut backup = Backup::begin(&db, &repository, options)?;
    let before = *total;
    while !interrupt::is_asked() {
        let next = Instant::now() + arguments.interval;
        backup.advance(Duration::ZERO)?;
        *patience = arguments.interval.max(LOOK);
        if std::mem::take(failed) {
            notify("backing up again");
        }
        *total = before.and(&backup.report());
        wait(next);
    }
    backup.catch_up()?;
    *total = before.and(&backup.report());
    backup.end()?;
    db.close()
}

/// Waits until a moment, or Ctrl-C.
fn wait(until: Instant) {
    while !interrupt::is_asked() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::park_timeout(left.min(LOOK));
    }
}

/// Removes old backups.
pub(super) fn prune(arguments: &Prune) -> Result<()> {
    let repository = repository(&arguments.at, false)?;
    let mut retention = Retention::new().bases(arguments.bases);
    if let Some(age) = arguments.age {
        retention = retention.age(age);
    }
    let pruned = watched("pruning", || repository.prune(retention, arguments.dry_run));
    let report = pruned.map_err(failure)?;
    print([format!(
        "{} {}, {}; {} left",
        if arguments.dry_run {
            "would remove"
        } else {
            "removed"
        },
        counted(report.objects, "object", "objects"),
        size(report.bytes),
        counted(report.bases, "base", "bases"),
    )])
}
