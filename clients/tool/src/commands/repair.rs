//! `repair`: what is intact of a damaged database, in a new directory.

use cairndb::{ErrorKind, RepairOptions};

use crate::arguments::Repair;
use crate::database::options_for;
use crate::failure::{Failure, Result};
use crate::output::{print_json, print_text};
use crate::progress::watched;

/// Repairs a database into a new directory, or prints what a repair would do. Fails if something is
/// lost or in doubt, after the report.
pub(super) fn repair(arguments: &Repair) -> Result<()> {
    let path = &arguments.directory;
    // A dry run does not touch the target.
    let target = arguments.target.as_deref().unwrap_or(path);
    let mut entries = std::fs::read_dir(target).into_iter().flatten();
    if !arguments.dry_run && entries.next().is_some() {
        return Err(Failure::other(format!(
            "{} is not empty; choose another directory for the new database",
            target.display()
        )));
    }
    let settings = RepairOptions::new(&options_for(path))
        .dry_run(arguments.dry_run)
        .include_unnamed(arguments.include_unnamed);
    let repaired = watched("repairing", || cairndb::repair(path, target, &settings));
    let report = repaired.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::NoSpace => {
                "\ncairn: what was written is removed; free some space on the file system and try again"
            }
            ErrorKind::NotFound if path.is_dir() => "",
            _ => return Failure::of(path)(error),
        };
        let target = target.display();
        Failure::other(format!("{target} cannot be written: {error}{advice}"))
    })?;
    if arguments.json {
        print_json(report.to_json().trim_end())?;
    } else {
        print_text(report.to_string().trim_end())?;
    }
    if report.is_complete() {
        return Ok(());
    }
    let path = path.display();
    let kept = match &arguments.target {
        Some(target) if !arguments.dry_run => {
            format!("; {} holds what was kept", target.display())
        }
        _ => String::new(),
    };
    Err(Failure::damaged(format!(
        "something in {path} is lost or in doubt, as the report says{kept}"
    )))
}
