//! Turns a suite into the jobs that run it: lists, databases, processes.
//!
//! A job is one database: a section that starts with an empty directory and the sections `over` it,
//! in file order, with one variant and one data set, in one directory. Each part of it is a list
//! for one child process. The jobs are a pure function of the file and the flags.

use std::collections::BTreeMap;

use bench_core::result::outline::FewerRounds;
use bench_core::workload::catalog;
use bench_core::workload::plan::{Data, Distribution, Plan};
use bench_core::workload::rate::Rate;
use bench_core::workload::settings::{Memory, Variant};

use super::file::{self, File, Section, Split};

const MIB: u64 = 1 << 20;
const MEMORY_MB_DEFAULT: u64 = 4;

/// The workload that compacts, and the state after it.
pub(super) const COMPACT: &str = "compact";
pub(super) const COMPACTED: &str = "compacted";

/// One database, for every engine and round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Job {
    /// Section that creates the database.
    pub(crate) section: String,
    /// Engines that run the job; all by default.
    pub(crate) engines: Option<Vec<String>>,
    /// Name of the variant; `None` for the plain settings.
    pub(crate) label: Option<String>,
    /// Rounds.
    pub(crate) rounds: u32,
    /// Whether the pass that times each operation also runs the job.
    pub(crate) latency: bool,
    /// Directory of `--db` that the job runs in.
    pub(crate) directory: usize,
    /// Lists of the job, in order.
    pub(crate) parts: Vec<Part>,
}

/// The list of one child process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Everything that does not differ between engines and rounds.
    pub(crate) plan: Plan,
    pub(crate) entries: Vec<Entry>,
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) workload: String,
    /// Label of its result; `None` for entries that only prepare a state.
    pub(crate) shown: Option<Shown>,
}

/// The label of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) section: String,
    /// Occurrence of the workload in its section.
    pub(crate) instance: u32,
    pub(crate) state: Option<&'static str>,
}

/// The flags that apply to a suite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuiteFlags {
    pub(crate) num: Option<u64>,
    pub(crate) rounds: Option<u32>,
    pub(crate) directories: usize,
}

/// Returns the jobs of a suite in the order of execution, and what had to be left out. `base` has
/// the settings that only flags set.
pub(crate) fn jobs(file: &File, asked: SuiteFlags, base: &Plan) -> (Vec<Job>, Vec<String>) {
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for root in file.section.iter().filter(|section| section.over.is_none()) {
        let chain = chain(file, root);
        if chain.iter().all(|section| section.workloads.is_empty()) {
            continue;
        }
        if root.each_db && asked.directories < 2 {
            left_out.push(format!(
                "section {}: left out, because it compares the directories of --db=DIR1,DIR2",
                root.name.get_ref()
            ));
            continue;
        }
        let directories = if root.each_db { asked.directories } else { 1 };
        let data = root.data.as_ref().unwrap_or(&file.data);
        let plain = std::iter::once(None);
        let named = root
            .variants
            .iter()
            .map(|name| Some(name.get_ref().as_str()));
        for variant in plain.chain(named) {
            let variant = variant.and_then(|name| {
                file.variant
                    .iter()
                    .find(|known| known.name.get_ref() == name)
            });
            for data in data {
                for directory in 0..directories {
                    let maker = Maker {
                        file,
                        asked,
                        variant,
                        data: Data::named(data.get_ref()).unwrap_or_else(|| base.data.clone()),
                        base,
                    };
                    jobs.push(maker.job(&chain, directory));
                }
            }
        }
    }
    number(&mut jobs);
    (jobs, left_out)
}

/// Returns the sections and data sets whose rows have fewer than this number of rounds.
pub(crate) fn fewer_rounds(jobs: &[Job], rounds: u32) -> Vec<FewerRounds> {
    let mut most: BTreeMap<(&str, String), u32> = BTreeMap::new();
    for job in jobs {
        for part in &job.parts {
            for shown in part.entries.iter().filter_map(|entry| entry.shown.as_ref()) {
                let key = (shown.section.as_str(), part.plan.data.word());
                let known = most.entry(key).or_insert(0);
                *known = job.rounds.max(*known);
            }
        }
    }
    let fewer = most.into_iter().filter(|(_, own)| *own < rounds);
    let reported = fewer.map(|((section, data), rounds)| FewerRounds {
        section: section.to_owned(),
        data,
        rounds,
    });
    reported.collect()
}

/// Numbers the occurrences of each workload in its section, for each variant, data set and
/// directory.
fn number(jobs: &mut [Job]) {
    let mut counts = std::collections::HashMap::new();
    for job in jobs {
        for part in &mut job.parts {
            for entry in &mut part.entries {
                let Some(shown) = &mut entry.shown else {
                    continue;
                };
                let count = counts
                    .entry((
                        job.label.clone(),
                        part.plan.data.word(),
                        job.directory,
                        shown.section.clone(),
                        entry.workload.clone(),
                    ))
                    .or_insert(0);
                *count += 1;
                shown.instance = *count;
            }
        }
    }
}

/// The sections over one database, the first of which creates it.
fn chain<'f>(file: &'f File, root: &'f Section) -> Vec<&'f Section> {
    let mut chain = vec![root];
    for section in &file.section {
        let over = section.over.as_ref().map(toml::Spanned::get_ref);
        if chain.iter().any(|below| Some(below.name.get_ref()) == over) {
            chain.push(section);
        }
    }
    chain
}

/// Creates the jobs of one database.
struct Maker<'f> {
    file: &'f File,
    asked: SuiteFlags,
    variant: Option<&'f file::Variant>,
    data: Data,
    base: &'f Plan,
}

impl Maker<'_> {
    fn job(&self, chain: &[&Section], directory: usize) -> Job {
        let root = chain[0];
        let mut parts: Vec<Part> = chain
            .iter()
            .flat_map(|section| self.parts(chain, section))
            .collect();
        label(&mut parts);
        let rounds = self.asked.rounds.unwrap_or(self.file.rounds);
        let killed = chain.iter().any(|section| section.kill);
        Job {
            section: root.name.get_ref().clone(),
            engines: self.engines(root),
            label: self.variant.map(|variant| variant.name.get_ref().clone()),
            rounds: root.rounds.map_or(rounds, |own| own.min(rounds)),
            latency: root.latency.unwrap_or(self.file.latency) && !killed,
            directory,
            parts,
        }
    }

    /// Returns the engines of a section that have the variant; `None` for all.
    fn engines(&self, root: &Section) -> Option<Vec<String>> {
        let of_variant = self.variant.map(|variant| names(&variant.engines));
        let of_section = root.engines.as_deref().map(names);
        match (of_variant, of_section) {
            (Some(mut engines), Some(wanted)) => {
                engines.retain(|name| wanted.contains(name));
                Some(engines)
            }
            (engines, None) | (None, engines) => engines,
        }
    }

    /// Returns the lists of one section: entries that prepare its state, entries it runs, and
    /// entries that check what a kill left.
    fn parts(&self, chain: &[&Section], section: &Section) -> Vec<Part> {
        let plan = self.plan(chain, section);
        let part = |plan: &Plan, entries: Vec<Entry>| Part {
            plan: Plan {
                benchmarks: entries.iter().map(|it| it.workload.clone()).collect(),
                ..plan.clone()
            },
            entries,
        };
        let before = Plan {
            memory: self.memory(chain, section, Split::Writes),
            batch_size: self.base.batch_size,
            rate: self.base.rate,
            write_rate_limit: self.base.write_rate_limit,
            threads: 1,
            distribution: Some(Distribution::Uniform),
            ..with_ops(plan.clone(), plan.num)
        };
        let killed = Plan {
            kill: section.kill,
            ..plan.clone()
        };
        let made = section.before.iter().map(|name| hidden(name.get_ref()));
        let own = section
            .workloads
            .iter()
            .map(|entry| shown(section, entry.get_ref()));
        let mut parts = vec![part(&before, made.collect()), part(&killed, own.collect())];
        if section.kill {
            parts.push(part(&plan, vec![hidden("verify")]));
        }
        parts.retain(|part| !part.entries.is_empty());
        parts
    }

    /// Returns the plan of a section without its list: its own settings, else those of the section
    /// it continues, else those of flags.
    fn plan(&self, chain: &[&Section], section: &Section) -> Plan {
        let (base, variant) = (self.base, self.variant);
        let num = self.asked.num.unwrap_or(self.file.num);
        let split = section.split.unwrap_or_default();
        let num = scaled(num, inherited(chain, section, |section| section.times));
        let value_size = inherited(chain, section, |section| section.value_size).unwrap_or(100);
        let distribution = inherited(chain, section, |section| section.distribution);
        let plan = Plan {
            num,
            memory: self.memory(chain, section, split),
            memory_limit: inherited(chain, section, |it| it.limit_mb).unwrap_or(0) * MIB,
            cold: section.cold,
            key_len: inherited(chain, section, |it| it.key_size).unwrap_or(base.key_len),
            batch_size: section.batch_size.unwrap_or(base.batch_size),
            // Records of a file have fixed sizes.
            value_size: match &self.data {
                Data::File { .. } => base.value_size,
                Data::Synthetic | Data::Json | Data::Random | Data::Pareto => value_size,
            },
            compression: inherited(chain, section, |it| it.compression).unwrap_or(true),
            sync: section.sync.unwrap_or(false),
            threads: section.threads.unwrap_or(1),
            bloom_bits: variant.and_then(|variant| variant.bloom_bits),
            variant: variant.map_or(Variant::Fair, |variant| variant.settings),
            label: variant.map(|variant| variant.name.get_ref().clone()),
            ranked: variant.is_none_or(|variant| variant.ranked),
            data: self.data.clone(),
            distribution: distribution.or(base.distribution),
            seek_nexts: section.seek_nexts.unwrap_or(base.seek_nexts),
            reverse_iterator: section.reverse_iterator || base.reverse_iterator,
            rate: section.rate.as_ref().map_or(base.rate, |rate| {
                // Checked when the file was read.
                Rate::parse(rate.get_ref()).unwrap_or_default()
            }),
            write_rate_limit: section.write_rate.unwrap_or(base.write_rate_limit),
            keyspaces: inherited(chain, section, |it| it.keyspaces).unwrap_or(0),
            ranges: inherited(chain, section, |it| it.ranges).unwrap_or(base.ranges),
            progress: false,
            ..base.clone()
        };
        with_ops(plan, scaled(num, section.ops))
    }

    fn memory(&self, chain: &[&Section], section: &Section, split: Split) -> Memory {
        let total = inherited(chain, section, |section| section.memory_mb);
        let total = total.unwrap_or(MEMORY_MB_DEFAULT) * MIB;
        let plain = match split {
            Split::Writes => Memory::split(total, false),
            Split::Reads => Memory::split(total, true),
            Split::Even => Memory::even(total),
        };
        let share = |share: fn(&file::Variant) -> Option<u64>| {
            self.variant.and_then(share).map(|share| share * MIB)
        };
        match (
            share(|variant| variant.write_mb),
            share(|variant| variant.cache_mb),
        ) {
            (None, None) => plain,
            (write, cache) => Memory::shares(
                write.unwrap_or(plain.write_bytes),
                cache.unwrap_or(plain.cache_bytes),
            ),
        }
    }
}

/// Returns a plan with this number of operations of each thread.
fn with_ops(plan: Plan, ops: u64) -> Plan {
    Plan {
        reads: ops,
        writes: ops,
        deletes: ops,
        ..plan
    }
}

/// Returns an entry of a section's list, shown under that section or under the one it names.
fn shown(section: &Section, entry: &str) -> Entry {
    let (under, workload) = file::split(entry);
    Entry {
        workload: workload.to_owned(),
        shown: Some(Shown {
            section: under.unwrap_or(section.name.get_ref()).to_owned(),
            instance: 0,
            state: None,
        }),
    }
}

/// Returns an entry that only prepares a state.
fn hidden(workload: &str) -> Entry {
    Entry {
        workload: workload.to_owned(),
        shown: None,
    }
}

fn names(list: &[toml::Spanned<String>]) -> Vec<String> {
    list.iter().map(|name| name.get_ref().clone()).collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of entries times a small positive number"
)]
pub(super) fn scaled(num: u64, times: Option<f64>) -> u64 {
    times.map_or(num, |times| ((num as f64 * times) as u64).max(1))
}

/// Returns a value of a section, else that of the section it is over, recursively.
fn inherited<T>(
    chain: &[&Section],
    section: &Section,
    get: impl Fn(&Section) -> Option<T>,
) -> Option<T> {
    let mut at = Some(section);
    while let Some(here) = at {
        if let Some(value) = get(here) {
            return Some(value);
        }
        let over = here.over.as_ref().map(toml::Spanned::get_ref);
        at = chain
            .iter()
            .copied()
            .find(|below| Some(below.name.get_ref()) == over);
    }
    None
}

/// Labels reads as before or after a compaction.
fn label(parts: &mut [Part]) {
    let compacts = parts
        .iter()
        .flat_map(|part| &part.entries)
        .any(|entry| entry.workload == COMPACT);
    let mut compacted = false;
    for entry in parts.iter_mut().flat_map(|part| &mut part.entries) {
        let known = catalog::named(&entry.workload);
        compacted &= known.is_none_or(|workload| !workload.changes());
        let reads = known.is_some_and(|workload| {
            !workload.changes() && !workload.is_engineless() && !workload.is_event()
        });
        if let Some(shown) = &mut entry.shown {
            shown.state = match (reads && compacts, compacted) {
                (false, _) => None,
                (true, false) => Some("as left"),
                (true, true) => Some(COMPACTED),
            };
        }
        compacted |= entry.workload == COMPACT;
    }
}

#[cfg(test)]
mod tests;
