//! Suite files: TOML with every key checked and every name looked up; errors name the file and
//! line.

mod bounds;

use std::path::Path;

use bench_core::result::outline::Aggregate;
use bench_core::workload::catalog;
use bench_core::workload::plan::Distribution;
use bench_core::workload::rate::Rate;
use bench_core::workload::step::Step;
use serde::Deserialize;
use toml::Spanned;

use crate::engines;
use crate::flags::nearest;

/// The built-in suites.
const BUILT_IN: &[(&str, &str)] = &[
    ("quick", include_str!("../../../suites/quick.toml")),
    (
        "leveldb-2011",
        include_str!("../../../suites/leveldb-2011.toml"),
    ),
    (
        "wiredtiger",
        include_str!("../../../suites/wiredtiger.toml"),
    ),
    ("rocksdb", include_str!("../../../suites/rocksdb.toml")),
    ("ycsb", include_str!("../../../suites/ycsb.toml")),
    ("scale", include_str!("../../../suites/scale.toml")),
    ("shapes", include_str!("../../../suites/shapes.toml")),
    ("deletes", include_str!("../../../suites/deletes.toml")),
    ("keyspaces", include_str!("../../../suites/keyspaces.toml")),
    ("readers", include_str!("../../../suites/readers.toml")),
    ("cold", include_str!("../../../suites/cold.toml")),
    (
        "beyond-memory",
        include_str!("../../../suites/beyond-memory.toml"),
    ),
    ("threads", include_str!("../../../suites/threads.toml")),
    ("values", include_str!("../../../suites/values.toml")),
    ("twitter", include_str!("../../../suites/twitter.toml")),
    ("mixgraph", include_str!("../../../suites/mixgraph.toml")),
    ("latency", include_str!("../../../suites/latency.toml")),
    ("limits", include_str!("../../../suites/limits.toml")),
];

/// A whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// Title for the head of a report.
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) about: String,
    /// Number of entries, unless `--num` is given.
    #[serde(default = "million")]
    pub(crate) num: u64,
    #[serde(default = "three")]
    pub(crate) rounds: u32,
    #[serde(default)]
    pub(crate) aggregate: Aggregate,
    /// Time limit of a row in seconds.
    #[serde(default = "ten_minutes")]
    pub(crate) row_timeout: u64,
    /// Seconds after which no round starts; 0 for no limit.
    #[serde(default)]
    pub(crate) rounds_begin_within: u64,
    /// Seconds within which the last round has to end, estimated from those before it; 0 for no
    /// limit.
    #[serde(default)]
    pub(crate) rounds_end_within: u64,
    /// Data sets; every section runs over each of them.
    #[serde(default = "synthetic")]
    pub(crate) data: Vec<Spanned<String>>,
    /// Whether a pass that times each operation follows the rounds.
    #[serde(default = "yes")]
    pub(crate) latency: bool,
    #[serde(default)]
    pub(crate) variant: Vec<Variant>,
    pub(crate) section: Vec<Section>,
}

/// Settings that run in addition to the plain ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) name: Spanned<String>,
    #[serde(default)]
    pub(crate) about: String,
    /// Engines that have the variant.
    pub(crate) engines: Vec<Spanned<String>>,
    /// The engine's own set of settings.
    #[serde(default)]
    pub(crate) settings: bench_core::workload::settings::Variant,
    pub(crate) bloom_bits: Option<u32>,
    pub(crate) write_mb: Option<u64>,
    pub(crate) cache_mb: Option<u64>,
    /// Whether the figures of the variant may be compared with all others.
    #[serde(default = "yes")]
    pub(crate) ranked: bool,
}

/// The larger share of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Split {
    /// The write buffer.
    #[default]
    Writes,
    /// The cache.
    Reads,
    /// Neither: half each.
    Even,
}

/// A section. An `over` section inherits omitted settings from the section that it continues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent keys of a file")]
pub(crate) struct Section {
    pub(crate) name: Spanned<String>,
    #[serde(default)]
    pub(crate) chapter: String,
    #[serde(default)]
    pub(crate) heading: String,
    #[serde(default)]
    pub(crate) table: String,
    #[serde(default)]
    pub(crate) about: String,
    /// Workloads to run, in order; `SECTION: WORKLOAD` is shown under another section.
    #[serde(default)]
    pub(crate) workloads: Vec<Spanned<String>>,
    /// Workloads that prepare the database, without being shown.
    #[serde(default)]
    pub(crate) before: Vec<Spanned<String>>,
    /// The section whose database this one continues, in a separate process. Without it, the
    /// section starts with an empty directory.
    pub(crate) over: Option<Spanned<String>>,
    /// The section whose first workload the figures are divided by.
    pub(crate) baseline: Option<Spanned<String>>,
    pub(crate) memory_mb: Option<u64>,
    /// Memory that the process may use with its page cache; no limit by default.
    pub(crate) limit_mb: Option<u64>,
    /// Whether the database is dropped from the page cache before each of `workloads`.
    #[serde(default)]
    pub(crate) cold: bool,
    pub(crate) split: Option<Split>,
    pub(crate) key_size: Option<usize>,
    pub(crate) value_size: Option<usize>,
    pub(crate) compression: Option<bool>,
    pub(crate) sync: Option<bool>,
    pub(crate) threads: Option<u32>,
    /// Number of entries as a multiple of the suite's.
    pub(crate) times: Option<f64>,
    /// Number of operations of each thread of `workloads`, as a multiple of the number of entries;
    /// 1 by default.
    pub(crate) ops: Option<f64>,
    /// Number of entries of each write in those of `workloads` that are not named after batches;
    /// by default `--batch_size`.
    pub(crate) batch_size: Option<u64>,
    /// Distribution of random keys in `workloads`, but not in `before`; by default that of
    /// `--distribution` or the workload.
    pub(crate) distribution: Option<Distribution>,
    /// Number of entries read after each seek of `workloads`; by default `--seek_nexts`.
    pub(crate) seek_nexts: Option<u64>,
    /// Whether they are read backwards.
    #[serde(default)]
    pub(crate) reverse_iterator: bool,
    /// Operations of `workloads` that begin per second, or a percentage of what a closed loop did
    /// just before; by default `--rate`.
    pub(crate) rate: Option<Spanned<String>>,
    /// Bytes per second that the writers of `workloads` write at most; no limit by default.
    pub(crate) write_rate: Option<u64>,
    /// Number of keyspaces that the keys are spread over; 0 by default.
    pub(crate) keyspaces: Option<u32>,
    /// Number of ranges that `deleteranges` deletes; by default `--ranges`.
    pub(crate) ranges: Option<u32>,
    pub(crate) data: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(crate) variants: Vec<Spanned<String>>,
    /// Engines that run the section; all by default.
    pub(crate) engines: Option<Vec<Spanned<String>>>,
    /// Number of rounds, if fewer than the suite's.
    pub(crate) rounds: Option<u32>,
    pub(crate) latency: Option<bool>,
    /// Whether the section runs in each directory of `--db=DIR1,DIR2`; without a second directory
    /// it is left out.
    #[serde(default)]
    pub(crate) each_db: bool,
    /// Whether the process is killed by SIGKILL after its last call, and another process checks the
    /// acknowledged writes.
    #[serde(default)]
    pub(crate) kill: bool,
}

impl File {
    /// Restricts the suite to one data set. Returns what had to be left out: a section with its own
    /// data set would only repeat the others.
    pub(crate) fn over_data(&mut self, word: &str) -> Vec<String> {
        let mut left_out = Vec::new();
        let usual: Vec<String> = self
            .data
            .iter()
            .map(|data| data.get_ref().clone())
            .collect();
        self.section.retain_mut(|section| {
            let Some(own) = section.data.take() else {
                return true;
            };
            if own.iter().any(|data| usual.contains(data.get_ref())) {
                return true;
            }
            let (name, own) = (section.name.get_ref(), own[0].get_ref());
            left_out.push(format!(
                "section {name}: left out, because it repeats others with the data set {own} and --data is {word}"
            ));
            false
        });
        self.data = vec![Spanned::new(0..0, word.to_owned())];
        left_out
    }
}

const fn million() -> u64 {
    1_000_000
}

const fn three() -> u32 {
    3
}

const fn ten_minutes() -> u64 {
    600
}

const fn yes() -> bool {
    true
}

fn synthetic() -> Vec<Spanned<String>> {
    vec![Spanned::new(0..0, "synthetic".to_owned())]
}

/// The text of a suite and its origin, for error messages.
struct SuiteText<'s> {
    name: &'s str,
    text: &'s str,
}

/// Reads a built-in suite by its name, or the file at that path.
pub(crate) fn read(name: &str) -> Result<File, String> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(&format!("{name}.toml"), text);
    }
    let path = Path::new(name);
    if name.contains('/') || path.extension().is_some_and(|end| end == "toml") || path.is_file() {
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("--suite={name}: {error}"))?;
        return parse(name, &text);
    }
    let names: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
    Err(format!(
        "--suite={name}: {} or your own file is allowed{}",
        names.join(", "),
        nearest(name, names.iter().copied())
    ))
}

/// Returns the name used in records: that of the file, without folder and extension.
pub(crate) fn plain_name(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or_else(
        || name.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

fn parse(name: &str, text: &str) -> Result<File, String> {
    let source = SuiteText { name, text };
    let file: File = toml::from_str(text).map_err(|error| source.malformed(&error))?;
    source.check(&file)?;
    Ok(file)
}

impl SuiteText<'_> {
    /// Returns an error message with file and line.
    fn refuse(&self, at: usize, what: &str) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("{}:{line}: {what}", self.name)
    }

    /// Returns the error of the TOML reader, with the nearest key or word if one is unknown.
    fn malformed(&self, error: &toml::de::Error) -> String {
        let message = error.message().trim_end();
        let at = error.span().map_or(0, |span| span.start);
        let mut words = message.split('`').skip(1).step_by(2);
        let hint = if message.starts_with("unknown") {
            let wrong = words.next().unwrap_or_default();
            nearest(wrong, words)
        } else {
            String::new()
        };
        self.refuse(at, &format!("{message}{hint}"))
    }

    /// Refuses a name that is not in a list.
    fn among<'n>(
        &self,
        what: &str,
        name: &Spanned<String>,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), String> {
        let text = name.get_ref().as_str();
        if known.clone().any(|known| known == text) {
            return Ok(());
        }
        let hint = nearest(text, known);
        Err(self.refuse(
            name.span().start,
            &format!("{what} {text:?} is unknown{hint}"),
        ))
    }

    fn check(&self, file: &File) -> Result<(), String> {
        if file.section.is_empty() {
            return Err(self.refuse(0, "a suite needs a [[section]]"));
        }
        self.numbers(file)?;
        for data in &file.data {
            self.data_set(data)?;
        }
        for variant in &file.variant {
            for engine in &variant.engines {
                self.among("engine", engine, engines::names())?;
            }
            self.numbers_of_variant(variant)?;
        }
        for (at, section) in file.section.iter().enumerate() {
            let name = section.name.get_ref();
            let twice = file.section[..at]
                .iter()
                .any(|other| other.name.get_ref() == name);
            if twice || name.is_empty() || name.contains(':') {
                let what = format!(
                    "section {name:?}: a name must be unique and nonempty, without a colon"
                );
                return Err(self.refuse(section.name.span().start, &what));
            }
            self.section(file, at)?;
        }
        Ok(())
    }

    fn section(&self, file: &File, at: usize) -> Result<(), String> {
        let section = &file.section[at];
        let sections = file
            .section
            .iter()
            .map(|section| section.name.get_ref().as_str());
        for entry in section.workloads.iter().chain(&section.before) {
            self.workload(entry, sections.clone())?;
        }
        for data in section.data.iter().flatten() {
            self.data_set(data)?;
        }
        for engine in section.engines.iter().flatten() {
            self.among("engine", engine, engines::names())?;
        }
        if let Some(rate) = &section.rate
            && Rate::parse(rate.get_ref()).is_none()
        {
            let what = format!(
                "rate {:?}: give operations per second, or a percentage such as \"50%\"",
                rate.get_ref()
            );
            return Err(self.refuse(rate.span().start, &what));
        }
        let variants = file
            .variant
            .iter()
            .map(|variant| variant.name.get_ref().as_str());
        for variant in &section.variants {
            self.among("variant", variant, variants.clone())?;
        }
        if let Some(baseline) = &section.baseline {
            self.among("section", baseline, sections.clone())?;
        }
        if let Some(over) = &section.over {
            self.among("section above this one", over, sections.take(at))?;
        }
        if section.kill && section.workloads.len() != 1 {
            let what = "a section with kill = true has one workload";
            return Err(self.refuse(section.name.span().start, what));
        }
        self.numbers_of_section(file, section)
    }

    /// Checks a data set.
    fn data_set(&self, data: &Spanned<String>) -> Result<(), String> {
        self.among(
            "data set",
            data,
            ["synthetic", "json", "random", "pareto"].into_iter(),
        )
    }

    /// Checks an entry of a list: a workload, or a section and a workload.
    fn workload<'n>(
        &self,
        entry: &Spanned<String>,
        sections: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), String> {
        let (section, workload) = split(entry.get_ref());
        let start = entry.span().start;
        if let Some(section) = section {
            let name = Spanned::new(entry.span(), section.to_owned());
            self.among("section", &name, sections)?;
        }
        let step = Step::parse(workload).map_err(|what| self.refuse(start, &what))?;
        let name = Spanned::new(entry.span(), step.name.clone());
        self.among(
            "workload",
            &name,
            catalog::CATALOG.iter().map(|known| known.name),
        )?;
        if step.repeats != 1 || step.warmups != 0 {
            let what = format!("{workload}: a suite repeats workloads by rounds, not by suffixes");
            return Err(self.refuse(start, &what));
        }
        if catalog::named(workload).is_some_and(bench_core::workload::definition::Workload::is_text)
        {
            let what = format!("{workload} prints text and has no result to show");
            return Err(self.refuse(start, &what));
        }
        Ok(())
    }
}

/// Splits `SECTION: WORKLOAD`.
pub(crate) fn split(entry: &str) -> (Option<&str>, &str) {
    match entry.split_once(':') {
        Some((section, workload)) => (Some(section.trim()), workload.trim()),
        None => (None, entry),
    }
}

#[cfg(test)]
mod tests;
