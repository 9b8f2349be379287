//! The suite mode: sections as data, every engine, several rounds, one table at the end.

mod file;
mod job;
mod journal;
mod plan;
mod run;
mod turn;

use std::path::Path;

use bench_core::outline::{self, Note, Outline};

use crate::config::Config;
use crate::machine::Machine;
use crate::output::{Output, print, tell};
use crate::report;
use crate::table;

use file::File;
use job::{Asked, Job};
use journal::Journal;
use run::Run;

/// What the program does with a suite, before anything has run.
struct Plan {
    file: File,
    outline: Outline,
    jobs: Vec<Job>,
    left_out: Vec<String>,
}

/// Runs the suite and prints its table; gives whether everything asked for was there and right.
pub(crate) fn run(config: &Config, name: &str) -> Result<bool, String> {
    let plan = plan(config, name)?;
    let machine = Machine::here(&config.bases, config.allocator.as_deref());
    let (mut output, journal) = open(config, &plan.outline)?;
    output.object(&machine)?;
    if journal.records.is_empty() {
        output.object(&plan.outline)?;
    }
    for line in machine.summary(&config.bases[0]) {
        tell(&format!("{line}\n"));
    }
    let mut run = Run::new(config, &plan.file, &plan.outline, output, journal);
    run.everything(&plan.jobs)?;
    for text in &plan.left_out {
        run.note(text.clone())?;
    }
    for line in machine.summary(&config.bases[0]) {
        print(&format!("{line}\n"));
    }
    let results = run.finish();
    let shape = table::Shape {
        outline: &plan.outline,
        rounds: results.rounds,
        columns: report::terminal(),
    };
    print(&table::render(
        &shape,
        &results.rows,
        &results.absent,
        &results.notes,
    ));
    tell(&format!("took {:.0} s\n", results.seconds));
    let good = !results.rows.any_failed() && !results.crashed;
    Ok(good && (results.absent.is_empty() || !config.named))
}

/// Reads the suite and lays out what is to be done.
fn plan(config: &Config, name: &str) -> Result<Plan, String> {
    let file = file::read(name)?;
    refuse_shuffle(config, &file)?;
    let asked = Asked {
        num: config.num,
        rounds: config.suite_rounds,
        directories: config.bases.len(),
    };
    let (jobs, left_out) = job::jobs(&file, asked);
    let outline = outline(config, name, &file);
    Ok(Plan {
        file,
        outline,
        jobs,
        left_out,
    })
}

/// Refuses `--shuffle` beside a section that draws some keys more often.
fn refuse_shuffle(config: &Config, file: &File) -> Result<(), String> {
    if !config.plan.shuffle {
        return Ok(());
    }
    for section in &file.section {
        if let Some(word) = &section.distribution
            && word.get_ref() != "uniform"
        {
            return Err(format!(
                "--shuffle takes every key once and section {:?} says distribution = {:?}",
                section.name.get_ref(),
                word.get_ref()
            ));
        }
    }
    Ok(())
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
        rounds: config.suite_rounds.unwrap_or(file.rounds),
        aggregate: config.aggregate.unwrap_or(file.aggregate),
        engines: config.engines.clone(),
        directories: config
            .bases
            .iter()
            .map(|base| base.display().to_string())
            .collect(),
        sections: file.section.iter().map(section).collect(),
        variants: file.variant.iter().map(variant).collect(),
    }
}

/// Opens the files of results, new or to be gone on with.
fn open(config: &Config, outline: &Outline) -> Result<(Output, Journal), String> {
    let (json, csv) = (config.json.as_deref(), config.csv.as_deref());
    // A run that was stopped before its first line has left nothing to go on with.
    let there = json.is_some_and(|path| std::fs::metadata(path).is_ok_and(|data| data.len() > 0));
    if !config.resume || !there {
        return Ok((Output::create(json, csv)?, Journal::default()));
    }
    let json = json.unwrap_or_else(|| Path::new(""));
    let journal = Journal::read(json, outline)?;
    let mut output = Output::resume(json, csv, &journal.records)?;
    let text = format!(
        "this run was stopped and resumed: {} finished rows were kept, databases were made again as far as needed",
        journal.records.len()
    );
    tell(&format!("{text}\n"));
    output.object(&Note { text })?;
    Ok((output, journal))
}
