//! The suite mode: runs the sections of a suite file over every engine in several rounds, and
//! prints one report at the end.

mod file;
mod fingerprint;
mod job;
mod journal;
mod lock;
mod more_rounds;
mod progress;
mod results;
mod run;
mod run_plan;
mod turn;

use std::path::Path;
use std::time::Instant;

use bench_core::result::outline::Outline;

use crate::config::Config;
use crate::machine::Machine;
use crate::output::{Output, notify, print};
use crate::resume::Resume;

use journal::Journal;
use run::Run;
use run_plan::RunPlan;

/// Runs the suite. Returns whether everything requested was available and correct, and the lines of
/// the results.
pub(crate) fn run(config: &Config, name: &str) -> Result<(bool, String), String> {
    let (plan, kept_rounds) = match config
        .json
        .as_deref()
        .filter(|_| config.resume == Resume::AddRounds)
    {
        Some(json) => more_rounds::plan(config, name, json)?,
        None => (RunPlan::new(config, name, config.suite_rounds)?, 0),
    };
    let _results = config.json.as_deref().map(lock::results).transpose()?;
    let mut journal = journal(config, &plan.outline)?;
    journal.kept_rounds = kept_rounds;
    let mut run = Run::new(config, &plan.file, &plan.outline, &journal);
    if run.is_complete(&plan.jobs) {
        show(config, &journal)?;
    } else {
        let json = config.json.as_deref().unwrap_or_else(|| Path::new(""));
        journal.check_builds(json, &plan.outline)?;
        let _directories = lock::directories(&config.bases)?;
        measure(config, &plan, &journal, &mut run)?;
    }
    let (results, lines) = run.finish();
    let good = !results.failed && (results.absent.is_empty() || !config.named);
    Ok((good, lines))
}

/// Runs what remains to be run.
fn measure(
    config: &Config,
    plan: &RunPlan,
    journal: &Journal,
    run: &mut Run<'_>,
) -> Result<(), String> {
    let begun = Instant::now();
    let machine = Machine::here(&config.bases, config.allocator.as_deref());
    run.begin(output(config, journal)?, &machine)?;
    for line in machine.summary(&config.bases[0]) {
        notify(&format!("{line}\n"));
    }
    if let Some(json) = &config.json {
        notify(&after_a_stop(config, json));
    }
    run.everything(&plan.jobs)?;
    for text in &plan.left_out {
        run.note(text.clone(), None)?;
    }
    run.close()?;
    notify(&format!("took {:.0} s\n", begun.elapsed().as_secs_f64()));
    Ok(())
}

/// Prints the commands that a user may want after stopping the run.
fn after_a_stop(config: &Config, json: &Path) -> String {
    let mut words: Vec<String> = std::env::args().collect();
    let program = words.first().cloned().unwrap_or_default();
    // Its time limits would count from an old build.
    words.retain(|word| !word.starts_with("--started="));
    if config.resume == Resume::Never {
        words.push("--resume".into());
    }
    let report = config.report.as_ref();
    let report = report.map(|dir| format!(" --report={}", dir.display()));
    format!(
        "Ctrl-C stops the run. To make a report of the finished part:\n  {program} --render={}{}\nTo resume:\n  {}\n",
        json.display(),
        report.unwrap_or_default(),
        words.join(" ")
    )
}

/// Reports that nothing remains to be run, and leaves the file unchanged.
fn show(config: &Config, journal: &Journal) -> Result<(), String> {
    let json = config.json.as_deref().unwrap_or_else(|| Path::new(""));
    print(&format!(
        "{} is complete, {}: nothing was run; remove that file to measure again\n",
        json.display(),
        journal.origin()
    ));
    Output::again(config.csv.as_deref(), &journal.records).map(|_| ())
}

/// Returns the results of earlier processes, if the run is to be resumed.
fn journal(config: &Config, outline: &Outline) -> Result<Journal, String> {
    let json = config
        .json
        .as_deref()
        .filter(|_| config.resume != Resume::Never);
    let journal = json.map(|path| Journal::read(path, outline)).transpose()?;
    Ok(journal.flatten().unwrap_or_default())
}

/// Opens the result files, either new or to be continued.
fn output(config: &Config, journal: &Journal) -> Result<Output, String> {
    let csv = config.csv.as_deref();
    match config.json.as_deref() {
        Some(json) if journal.is_begun() => {
            journal.cut(json)?;
            Output::resume(json, csv, &journal.records)
        }
        json => Output::create(json, csv),
    }
}
