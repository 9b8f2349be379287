//! `upgrade`: conversion of a LevelDB database in place.

use cairndb::leveldb::{self, UpgradeOptions, UpgradeOutcome, UpgradePlan};

use crate::arguments::Upgrade;
use crate::database::options;
use crate::failure::Failure;
use crate::output::{Output, counted};

/// Converts a LevelDB database, or prints the plan.
pub(super) fn upgrade(arguments: &Upgrade) -> Result<(), Failure> {
    let path = &arguments.directory;
    let mut output = Output::stdout()?;
    if arguments.dry_run {
        let plan = leveldb::plan(path, &options()).map_err(Failure::of_leveldb(path))?;
        print_plan(&plan, &mut output)?;
        return output.finish();
    }
    let report = leveldb::upgrade(path, UpgradeOptions::new(options()));
    let report = report.map_err(Failure::of_leveldb(path))?;
    let path = path.display();
    let line = match report.outcome {
        UpgradeOutcome::Converted => format!(
            "converted {} into {}; LevelDB's files are in {path}/leveldb-original",
            counted(report.entries, "entry", "entries"),
            counted(report.tables, "table", "tables"),
        ),
        UpgradeOutcome::Finished => "finished a conversion that was interrupted".to_owned(),
        _ => format!("nothing to do: {path} is a CairnDB database"),
    };
    output.line(&line)?;
    if report.torn {
        output
            .line("a crash had torn the end of LevelDB's newest log; what followed was dropped")?;
    }
    output.finish()
}

fn print_plan(plan: &UpgradePlan, output: &mut Output) -> Result<(), Failure> {
    output.line(&format!("LevelDB's files  {} bytes", plan.source_bytes))?;
    output.line(&format!(
        "new files        about {} bytes",
        plan.target_bytes
    ))?;
    if let Some(free) = plan.free_bytes {
        let enough = if plan.fits() { "enough" } else { "too little" };
        output.line(&format!("free space       {free} bytes, {enough}"))?;
    }
    let seconds = plan.duration.as_secs_f64();
    output.line(&format!("duration         about {seconds:.1} s"))
}
