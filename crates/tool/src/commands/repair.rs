//! `repair`: what is intact of a damaged database, in a new directory.

use cairndb::{ErrorKind, RepairOptions};

use crate::arguments::Repair;
use crate::database::options_for;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Meter;
use crate::terminal;

/// Repairs a database into a new directory, or prints what a repair would do. Fails if something is
/// lost or in doubt, after the report.
pub(super) fn repair(arguments: &Repair) -> Result<(), Failure> {
    let path = &arguments.directory;
    // A dry run does not touch the target.
    let target = arguments.target.as_deref().unwrap_or(path);
    let meter = Meter::over("repairing", path);
    let options = options_for(path).env(meter.env());
    let settings = RepairOptions::new(&options)
        .dry_run(arguments.dry_run)
        .include_unnamed(arguments.include_unnamed);
    let repaired = cairndb::repair(path, target, &settings);
    meter.finish();
    let report = repaired.map_err(|error| {
        let is_target = match error.kind() {
            ErrorKind::NoSpace => true,
            ErrorKind::NotFound => path.is_dir(),
            _ => false,
        };
        if is_target {
            let target = target.display();
            return Failure::Other(format!("{target} cannot be written: {error}"));
        }
        Failure::of(path)(error)
    })?;
    let mut output = Output::stdout()?;
    if arguments.json {
        output.line(report.to_json().trim_end())?;
    } else {
        let columns = terminal::columns();
        for line in report.to_string().trim_end().lines() {
            for part in terminal::wrapped(line, columns) {
                output.line(&part)?;
            }
        }
    }
    output.finish()?;
    if report.is_complete() {
        return Ok(());
    }
    Err(Failure::Incomplete(path.clone()))
}
