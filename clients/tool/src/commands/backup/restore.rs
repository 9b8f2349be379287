//! `restore`: makes a database as it was at some moment.

use std::path::Path;
use std::time::SystemTime;

use cairndb_backup::{Contents, Moment, Repository, Restore as Restoration, RestoreReport};
use humantime::format_rfc3339_millis;
use serde_json::json;

use super::{failure, repository};
use crate::arguments::backup::Restore;
use crate::database::{open_with, options_for};
use crate::failure::{Failure, Result};
use crate::message::notify;
use crate::output::{counted, print, print_json, size};
use crate::progress::watched;

/// Makes a database as it was at some moment.
pub(in crate::commands) fn restore(arguments: &Restore) -> Result<()> {
    let path = &arguments.directory;
    if arguments.if_missing && path.join("CURRENT").exists() {
        return print([format!(
            "{} has a database; nothing was restored",
            path.display()
        )]);
    }
    let repository = repository(&arguments.at, false)?;
    let restoration = restoration(arguments, &repository)?;
    let restored = watched("restoring", || restoration.run(path));
    let report = restored.map_err(failure)?;
    for error in &report.damage {
        notify(&format!("{error}\ncairn: it was done without"));
    }
    if report.lacks_unlogged {
        notify(
            "writes at durability None, which are not in the log, are missing up to this moment",
        );
    }
    let contents = if arguments.unread {
        None
    } else {
        Some(read(path)?)
    };
    print_report(arguments, &report, contents.as_ref())
}

/// Returns the restore that the arguments ask for.
fn restoration<'r>(arguments: &Restore, repository: &'r Repository) -> Result<Restoration<'r>> {
    let mut restoration = Restoration::new(repository);
    if let Some(moment) = &arguments.to {
        restoration = restoration.to(moment_of(moment)?);
    }
    if !arguments.keyspace.is_empty() {
        let names = arguments.keyspace.iter().filter(|name| !name.is_empty());
        let default = arguments.keyspace.iter().any(String::is_empty);
        restoration = restoration.only(names.cloned(), default);
    }
    Ok(restoration)
}

fn print_report(
    arguments: &Restore,
    report: &RestoreReport,
    contents: Option<&Contents>,
) -> Result<()> {
    let shown = |time: SystemTime| format_rfc3339_millis(time).to_string();
    let time = report.time.map(shown);
    if arguments.json {
        let report = json!({
            "place": report.place.to_string(),
            "time": time,
            "files": report.files,
            "bytes": report.bytes,
            "changes": report.changes,
            "entries": contents.map(|it| it.entries),
            "hash": contents.map(|it| &it.hash),
        });
        return print_json(&report.to_string());
    }
    let time = time.map_or_else(String::new, |time| format!(", {time}"));
    let mut lines = vec![format!(
        "restored to {}{time}: {} in {}, then {}",
        report.place,
        size(report.bytes),
        counted(report.files, "file", "files"),
        counted(report.changes, "change", "changes"),
    )];
    if let Some(contents) = contents {
        let entries = counted(contents.entries, "entry", "entries");
        lines.push(format!("{entries}, hash {}", contents.hash));
    }
    print(lines)
}

/// Opens the new database, which applies the changes, and reads all of it.
fn read(path: &Path) -> Result<Contents> {
    let db = open_with(path, &options_for(path))?;
    let contents = watched("verifying", || Contents::of(&db));
    let contents = contents.map_err(Failure::of(path))?;
    db.close().map_err(Failure::of(path))?;
    Ok(contents)
}

/// Returns the moment that a text names.
fn moment_of(text: &str) -> Result<Moment> {
    if let Ok(seq) = text.parse() {
        return Ok(Moment::Seq(seq));
    }
    if let Ok(time) = humantime::parse_rfc3339_weak(text) {
        return Ok(Moment::Time(time));
    }
    text.parse().map(Moment::Place).map_err(|_| {
        Failure::usage(format!(
            "\"{text}\" is no sequence number, no place, and no time in UTC such as \
             2026-11-30T08:15:00Z"
        ))
    })
}
