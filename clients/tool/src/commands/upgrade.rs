//! `upgrade`: conversion of a LevelDB database in place.

use std::path::Path;

use cairndb::leveldb::{self, UpgradeOptions, UpgradeOutcome, UpgradePlan, UpgradeReport};

use super::originals;
use crate::arguments::Upgrade;
use crate::database::options_for;
use crate::failure::Failure;
use crate::output::{Output, counted, size};
use crate::progress::watched;

/// Converts a LevelDB database, or prints the plan.
pub(super) fn upgrade(arguments: &Upgrade) -> Result<(), Failure> {
    let path = &arguments.directory;
    let options = options_for(path).upgrade_without_log(arguments.without_log);
    let mut output = Output::stdout()?;
    if arguments.dry_run {
        let plan = leveldb::plan(path, &options).map_err(Failure::of_leveldb(path))?;
        print_plan(&plan, &mut output)?;
        return output.finish();
    }
    let settings = UpgradeOptions::new(options);
    let report = watched("converting", || leveldb::upgrade(path, settings));
    let report = report.map_err(Failure::of_leveldb(path))?;
    print_report(path, &report, arguments.drop_original, &mut output)?;
    output.finish()?;
    if arguments.drop_original {
        return originals::drop_original(path, arguments.yes);
    }
    Ok(())
}

fn print_report(
    path: &Path,
    report: &UpgradeReport,
    drops: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let path = path.display();
    let line = match report.outcome {
        UpgradeOutcome::Converted => format!(
            "converted {} into {}; LevelDB's files are in {path}/leveldb-original",
            counted(report.entries, "entry", "entries"),
            counted(report.tables, "table", "tables"),
        ),
        UpgradeOutcome::Finished => "finished a conversion that was interrupted".to_owned(),
        _ if drops => return Ok(()),
        _ => format!("nothing to do: {path} is a CairnDB database"),
    };
    output.line(&line)?;
    if report.torn {
        let torn = "a crash had torn the end of LevelDB's newest log; what followed was dropped";
        output.line(torn)?;
    }
    for log in &report.missing_logs {
        output.line(&format!("{log} was missing; every write in it is lost"))?;
    }
    Ok(())
}

fn print_plan(plan: &UpgradePlan, output: &mut Output) -> Result<(), Failure> {
    output.line(&format!("LevelDB's files  {}", size(plan.source_bytes)))?;
    output.line(&format!(
        "new files        at most about {}; deleted and overwritten entries are counted, too",
        size(plan.target_bytes)
    ))?;
    if let Some(free) = plan.free_bytes {
        let enough = if plan.fits() { "enough" } else { "too little" };
        output.line(&format!("free space       {}, {enough}", size(free)))?;
    }
    let seconds = plan.duration.as_secs_f64();
    output.line(&format!("duration         about {seconds:.1} s"))
}
