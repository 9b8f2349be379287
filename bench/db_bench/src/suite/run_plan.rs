//! `RunPlan`: what the program will do with a suite, before anything has run.

use bench_core::result::outline::{self, Aggregate, Outline};
use bench_core::workload::plan::{Data, Distribution};

use super::file::{self, File};
use super::fingerprint;
use super::job::{self, Job, SuiteFlags};
use crate::config::Config;
use crate::flags::bounds;

/// What the program will do with a suite, before anything has run.
pub(super) struct RunPlan {
    pub(super) file: File,
    pub(super) outline: Outline,
    pub(super) jobs: Vec<Job>,
    pub(super) left_out: Vec<String>,
}

impl RunPlan {
    /// Reads the suite and plans the run. `rounds` replaces the suite's number of rounds.
    pub(super) fn new(config: &Config, name: &str, rounds: Option<u32>) -> Result<RunPlan, String> {
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
        let (jobs, apart) = job::jobs(&file, asked, &config.plan);
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
        Ok(RunPlan {
            file,
            outline,
            jobs,
            left_out,
        })
    }
}

/// Refuses `--shuffle` with a section that draws some keys more often than others.
fn refuse_shuffle(config: &Config, file: &File) -> Result<(), String> {
    let skewed = |it: &&file::Section| {
        it.distribution
            .is_some_and(|it| it != Distribution::Uniform)
    };
    match file.section.iter().find(skewed) {
        Some(section) if config.plan.shuffle => Err(format!(
            "--shuffle takes every key once, but section {:?} has another distribution",
            section.name.get_ref()
        )),
        _ => Ok(()),
    }
}

/// Returns the section and the number of entries of the first part with more than `most` entries.
fn larger(jobs: &[Job], most: u64) -> Option<(&str, u64)> {
    let mut parts = jobs.iter().flat_map(|job| {
        let parts = job.parts.iter();
        parts.map(move |part| (job.section.as_str(), part.plan.num))
    });
    parts.find(|(_, num)| *num > most)
}

/// Refuses `--num` if a section takes a multiple of it that no flag would allow.
fn refuse_more_than_are_drawn(config: &Config, jobs: &[Job]) -> Result<(), String> {
    let (_, most) = bounds("num");
    match larger(jobs, most) {
        None => Ok(()),
        Some((section, entries)) => Err(format!(
            "--num={}: section {section} would have {entries} entries, and at most {most} are \
             allowed",
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
