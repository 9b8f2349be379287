//! `upgrade`: conversion of a LevelDB database in place.

use std::path::Path;

use cairndb::leveldb::{self, UpgradeOptions, UpgradeOutcome, UpgradePlan, UpgradeReport};

use super::originals;
use crate::arguments::Upgrade;
use crate::database::options_for;
use crate::failure::{Failure, Result};
use crate::output::{counted, print, size};
use crate::progress::watched;

/// Converts a LevelDB database, or prints the plan.
pub(super) fn upgrade(arguments: &Upgrade) -> Result<()> {
    let path = &arguments.directory;
    let options = options_for(path).upgrade_without_log(arguments.without_log);
    if arguments.dry_run {
        let plan = leveldb::plan(path, &options).map_err(Failure::of_leveldb(path))?;
        return print(planned(&plan));
    }
    let settings = UpgradeOptions::new(options);
    let report = watched("converting", || leveldb::upgrade(path, settings));
    let report = report.map_err(Failure::of_leveldb(path))?;
    print(done(path, &report, arguments.drop_original))?;
    if arguments.drop_original {
        return originals::drop_original(path, arguments.yes);
    }
    Ok(())
}

/// Returns the lines of a report.
fn done(path: &Path, report: &UpgradeReport, drops: bool) -> Vec<String> {
    let path = path.display();
    let mut lines = vec![match report.outcome {
        UpgradeOutcome::Converted => format!(
            "converted {} into {}; LevelDB's files are in {path}/leveldb-original",
            counted(report.entries, "entry", "entries"),
            counted(report.tables, "table", "tables"),
        ),
        UpgradeOutcome::Finished => "finished a conversion that was interrupted".to_owned(),
        _ if drops => return Vec::new(),
        _ => format!("nothing to do: {path} is a CairnDB database"),
    }];
    if report.torn {
        let torn = "a crash had torn the end of LevelDB's newest log; what followed was dropped";
        lines.push(torn.to_owned());
    }
    let logs = report.missing_logs.iter();
    lines.extend(logs.map(|log| format!("{log} was missing; every write in it is lost")));
    lines
}

/// Returns the lines of a plan.
fn planned(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    let free = plan.free_bytes.map(|free| {
        let enough = if plan.fits() { "enough" } else { "too little" };
        format!("free space       {}, {enough}", size(free))
    });
    let lines = [
        Some(format!("LevelDB's files  {}", size(plan.source_bytes))),
        Some(format!(
            "new files        at most about {}; deleted and overwritten entries are counted, too",
            size(plan.target_bytes)
        )),
        free,
        Some(format!(
            "duration         about {:.1} s",
            plan.duration.as_secs_f64()
        )),
    ];
    lines.into_iter().flatten()
}
