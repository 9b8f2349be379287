//! The suite mode: runs the sections of a suite file over every engine in several rounds, and
//! prints one table at the end.

mod file;
mod fingerprint;
mod job;
mod journal;
mod lock;
mod more_rounds;
mod plan;
mod progress;
mod results;
mod run;
mod turn;

use std::path::Path;
use std::time::Instant;

use bench_core::result::outline::{self, Aggregate, Outline};
use bench_core::workload::plan::Data;

use crate::config::Config;
use crate::flags::bounds;
use crate::machine::Machine;
use crate::output::detail::Detail;
use crate::output::{Output, notify, print};
use crate::report;
use crate::table;

use file::File;
use job::{Job, SuiteFlags};
use journal::Journal;
use run::Run;

/// What the program will do with a suite, before anything has run.
struct Plan {
    file: File,
    outline: Outline,
    jobs: Vec<Job>,
    left_out: Vec<String>,
}

/// Runs the suite. Returns whether everything requested was available and correct, and what to
/// print: a summary, or with `--verbose` the whole table.
pub(crate) fn run(config: &Config, name: &str) -> Result<(bool, String), String> {
    let (plan, kept_rounds) = match config.json.as_deref().filter(|_| config.add_rounds) {
        Some(json) => more_rounds::plan(config, name, json)?,
        None => (plan(config, name, config.suite_rounds)?, 0),
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
    let results = run.finish();
    let text = if config.detail == Detail::Full {
        let shape = table::Shape {
            outline: &plan.outline,
            rounds: results.rounds,
            columns: report::terminal(),
        };
        table::render(&shape, &results.rows, &results.absent, &results.notes)
    } else {
        let absent = results.absent.iter();
        let absent = absent.map(|(engine, reason)| format!("{engine} was not run: {reason}"));
        let notes: Vec<String> = results.notes.iter().cloned().chain(absent).collect();
        report::summary(config, &results.rows, &notes, &plan.outline)?
    };
    let good = !results.rows.any_failed() && !results.crashed;
    let good = good && (results.absent.is_empty() || !config.named);
    Ok((good, text))
}

/// Runs what remains to be run.
fn measure(
    config: &Config,
    plan: &Plan,
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
    if config.detail == Detail::Full {
        for line in machine.summary(&config.bases[0]) {
            print(&format!("{line}\n"));
        }
    }
    notify(&format!("took {:.0} s\n", begun.elapsed().as_secs_f64()));
    Ok(())
}

/// Prints the commands that a user may want after stopping the run.
fn after_a_stop(config: &Config, json: &Path) -> String {
    let mut words: Vec<String> = std::env::args().collect();
    let program = words.first().cloned().unwrap_or_default();
    // Its time limits would count from an old build.
    words.retain(|word| !word.starts_with("--started="));
    if !config.resume {
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
    Output::again(config.csv.as_deref(), &journal.records)
}

/// Reads the suite and plans the run. `rounds` replaces the suite's number of rounds.
fn plan(config: &Config, name: &str, rounds: Option<u32>) -> Result<Plan, String> {
    let mut file = file::read(name)?;
    let mut left_out = match &config.data {
        Some(word) => file.over_data(word),
        None => Vec::new(),
    };
    refuse_shuffle(config, &file)?;
    let asked = SuiteFlags {
        num: config.num,
        rounds,
        directories: config.bases.len(),
    };
    let (jobs, apart) = job::jobs(&file, asked);
    left_out.extend(apart);
    refuse_more_than_are_drawn(config, &jobs)?;
    refuse_more_than_a_file_has(config, &jobs)?;
    let fingerprint = Some(fingerprint::of(config, &file, &jobs));
    let mut outline = outline(config, name, &file);
    outline.rounds = rounds.unwrap_or(outline.rounds);
    let outline = Outline {
        fingerprint,
        fewer_rounds: job::fewer_rounds(&jobs, outline.rounds),
        ..outline
    };
    Ok(Plan {
        file,
        outline,
        jobs,
        left_out,
    })
}

/// Refuses `--shuffle` with a section that draws some keys more often than others.
fn refuse_shuffle(config: &Config, file: &File) -> Result<(), String> {
    if !config.plan.shuffle {
        return Ok(());
    }
    for section in &file.section {
        if let Some(word) = &section.distribution
            && word.get_ref() != "uniform"
        {
            return Err(format!(
                "--shuffle takes every key once, but section {:?} has distribution = {:?}",
                section.name.get_ref(),
                word.get_ref()
            ));
        }
    }
    Ok(())
}

/// Returns the section and the number of entries of the first part with more than `most` entries.
fn larger(jobs: &[Job], most: u64) -> Option<(&str, u64)> {
    let mut parts = jobs.iter().flat_map(|job| {
        let parts = job.parts.iter();
        parts.map(move |part| (job.section.as_str(), part.settings.num))
    });
    parts.find(|(_, num)| *num > most)
}

/// Refuses `--num` if a section takes a multiple of it that no flag would allow.
fn refuse_more_than_are_drawn(config: &Config, jobs: &[Job]) -> Result<(), String> {
    let (_, most) = bounds("num");
    match larger(jobs, most) {
        None => Ok(()),
        Some((section, entries)) => Err(format!(
            "--num={}: section {section} would have {entries} entries, and at most {most} are allowed",
            config.num.unwrap_or_default()
        )),
    }
}

/// Refuses a section that needs more entries than the data file has.
fn refuse_more_than_a_file_has(config: &Config, jobs: &[Job]) -> Result<(), String> {
    let Data::File { path, .. } = &config.plan.data else {
        return Ok(());
    };
    match larger(jobs, config.plan.num) {
        None => Ok(()),
        Some((section, num)) => Err(format!(
            "--data={}: section {section} needs {num} entries, and there are only {}",
            path.display(),
            config.plan.num
        )),
    }
}

fn outline(config: &Config, name: &str, file: &File) -> Outline {
    let section = |section: &file::Section| outline::Section {
        name: section.name.get_ref().clone(),
        chapter: section.chapter.clone(),
        heading: section.heading.clone(),
        table: section.table.clone(),
        about: section.about.clone(),
        baseline: section.baseline.as_ref().map(|name| name.get_ref().clone()),
    };
    let trims = |aggregate| aggregate == Aggregate::Trimmed;
    let variant = |variant: &file::Variant| outline::Named {
        name: variant.name.get_ref().clone(),
        about: variant.about.clone(),
    };
    Outline {
        kind: Outline::KIND.to_owned(),
        name: file::plain_name(name),
        title: file.title.clone(),
        about: file.about.clone(),
        num: config.num.unwrap_or(file.num),
        rounds: file.rounds,
        aggregate: config.aggregate.unwrap_or(file.aggregate),
        aggregate_asked: config
            .aggregate
            .is_some_and(|asked| trims(asked) != trims(file.aggregate)),
        engines: config.engines.clone(),
        directories: config
            .bases
            .iter()
            .map(|base| base.display().to_string())
            .collect(),
        sections: file.section.iter().map(section).collect(),
        variants: file.variant.iter().map(variant).collect(),
        fewer_rounds: Vec::new(),
        fingerprint: None,
    }
}

/// Returns the results of earlier processes, if the run is to be resumed.
fn journal(config: &Config, outline: &Outline) -> Result<Journal, String> {
    let json = config.json.as_deref().filter(|_| config.resume);
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
