//! The fingerprint of a suite: what determines its figures, and the differences between two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bench_core::host::library::fingerprint;
use bench_core::result::outline::{Fingerprint, Outline, Settings};
use serde_json::{Value, json};

use super::file::File;
use super::job::{Entry, Job, Part};
use crate::config::Config;
use crate::engines::programs;
use crate::{child, machine};

/// The running program, even if its file has been replaced since.
const PROGRAM: &str = "/proc/self/exe";

/// Prefix of the entries about engines that were available.
const BUILD: &str = "build of ";
/// The entry about this program.
const OWN_BUILD: &str = "db_bench";

/// Parts of a plan that are recorded elsewhere, differ between turns, or change no figure.
#[rustfmt::skip]
const UNCOUNTED: &[&str] = &[
    "engine", "library", "benchmarks", "resume_at", "lost", "db", "reads", "writes", "deletes",
    "format", "use_existing_db", "histogram", "confidence_interval_only", "progress", "every",
    "round", "suite", "section", "label",
];

/// Returns what determines the figures of these jobs.
pub(super) fn of(config: &Config, file: &File, jobs: &[Job]) -> Fingerprint {
    let mut named: BTreeMap<String, Vec<Settings>> = BTreeMap::new();
    for job in jobs {
        let parts = job.parts.iter().map(|part| settings(job, part));
        named.insert(name(job, config), parts.collect());
    }
    let mut everywhere = common(named.values().flatten());
    for settings in named.values_mut().flatten() {
        settings.retain(|key, _| !everywhere.contains_key(key));
    }
    let limit = config
        .row_timeout
        .map_or(file.row_timeout, |limit| limit.as_secs());
    everywhere.insert("row_timeout".into(), limit.into());
    let systems = config.bases.iter().map(|base| machine::file_system(base));
    everywhere.insert("file_systems".into(), json!(systems.collect::<Vec<_>>()));
    if let Some(path) = &config.allocator {
        everywhere.insert("allocator".into(), json!(path));
    }
    for (engine, path) in config.libraries() {
        everywhere.insert(format!("library of {engine}"), json!(path));
    }
    // Only a run with a file of results can be resumed.
    if config.json.is_some() {
        everywhere.extend(builds(config));
    }
    Fingerprint {
        everywhere,
        jobs: named,
    }
}

/// Returns the measured code: this program and the available libraries.
fn builds(config: &Config) -> Settings {
    let reported = |path: &Path| fingerprint(path).unwrap_or_else(|error| error.to_string());
    let mut builds = Settings::new();
    builds.insert(OWN_BUILD.into(), reported(Path::new(PROGRAM)).into());
    for engine in &config.engines {
        let mut named = config.libraries().iter();
        let library = named.find_map(|(name, path)| (name == engine).then_some(path.as_path()));
        let Ok((version, library)) = child::build(engine, library) else {
            continue;
        };
        let path = library.and_then(|library| library.path);
        let program = programs::of(engine).map(|program| program.path.display().to_string());
        let path = path.or(program);
        let file = path.map_or(String::new(), |path| {
            format!(", {path} of {}", reported(Path::new(&path)))
        });
        builds.insert(format!("{BUILD}{engine}"), (version + &file).into());
    }
    builds
}

/// Returns the name of a database in an error message.
fn name(job: &Job, config: &Config) -> String {
    let mut words = vec![format!("section {}", job.section)];
    words.extend(job.label.clone());
    let data = job.parts.first().map(|part| part.plan.data.word());
    words.extend(data.filter(|data| data != "synthetic"));
    if config.bases.len() > 1 {
        words.push(config.bases[job.directory].display().to_string());
    }
    words.join(", ")
}

/// Returns all settings of one process.
fn settings(job: &Job, part: &Part) -> Settings {
    let mut settings = match serde_json::to_value(&part.plan) {
        Ok(Value::Object(fields)) => fields.into_iter().collect(),
        _ => Settings::new(),
    };
    settings.retain(|name, _| !UNCOUNTED.contains(&name.as_str()));
    let entry = |entry: &Entry| match &entry.shown {
        Some(shown) => format!("{}: {}", shown.section, entry.workload),
        None => entry.workload.clone(),
    };
    let workloads: Vec<String> = part.entries.iter().map(entry).collect();
    settings.insert("workloads".into(), json!(workloads));
    settings.insert("rounds".into(), json!(job.rounds));
    settings.insert("latency".into(), json!(job.latency));
    settings.insert("engines".into(), json!(job.engines));
    settings
}

/// Returns the settings that all have with the same value.
fn common<'s>(mut all: impl Iterator<Item = &'s Settings>) -> Settings {
    let mut same = all.next().cloned().unwrap_or_default();
    for other in all {
        same.retain(|name, value| other.get(name) == Some(value));
    }
    same
}

/// Returns the difference between two runs besides the measured code, if any: any build shows
/// complete results.
pub(super) fn difference_but_builds(before: &Outline, now: &Outline) -> Option<String> {
    let plain = |outline: &Outline| {
        let mut outline = outline.clone();
        if let Some(fingerprint) = &mut outline.fingerprint {
            let build = |key: &str| key == OWN_BUILD || key.starts_with(BUILD);
            fingerprint.everywhere.retain(|key, _| !build(key));
        }
        outline
    };
    difference(&plain(before), &plain(now))
}

/// Returns the difference between two runs, if any.
pub(super) fn difference(before: &Outline, now: &Outline) -> Option<String> {
    let plain = |outline: &Outline| {
        let fingerprint = None;
        serde_json::to_value(Outline {
            fingerprint,
            ..outline.clone()
        })
        .unwrap_or_default()
    };
    let reported = differing("", &plain(before), &plain(now));
    reported.or_else(|| match (&before.fingerprint, &now.fingerprint) {
        (Some(before), Some(now)) => differing_settings(before, now),
        (None, Some(_)) => Some(
            "it does not record what determines its figures: an older db_bench wrote it".into(),
        ),
        (_, None) => None,
    })
}

/// Returns the difference between two runs with the same outline.
fn differing_settings(before: &Fingerprint, now: &Fingerprint) -> Option<String> {
    let names: BTreeSet<&String> = before.jobs.keys().chain(now.jobs.keys()).collect();
    let none = Vec::new();
    names.into_iter().find_map(|name| {
        let parts = |of: &'_ Fingerprint| of.jobs.get(name).unwrap_or(&none).clone();
        let (one, other) = (parts(before), parts(now));
        if one.len() != other.len() {
            let (one, other) = (one.len(), other.len());
            return Some(format!("{one} processes there, {other} here, in {name}"));
        }
        let mut pairs = one.iter().zip(&other);
        pairs.find_map(|(one, other)| process((one, before), (other, now), name))
    })
}

/// Returns the difference between two processes, each including the settings that are the same
/// everywhere in its run.
fn process(
    (one, before): (&Settings, &Fingerprint),
    (other, now): (&Settings, &Fingerprint),
    name: &str,
) -> Option<String> {
    let value = |key: &String, own: &Settings, of: &Fingerprint| {
        let found = own.get(key).or_else(|| of.everywhere.get(key));
        found.cloned().unwrap_or_default()
    };
    let keys: BTreeSet<&String> = [one, other, &before.everywhere, &now.everywhere]
        .into_iter()
        .flat_map(Settings::keys)
        .collect();
    // An engine that was absent stays absent.
    let absent = |key: &&String| key.starts_with(BUILD) && !before.everywhere.contains_key(*key);
    keys.into_iter().filter(|key| !absent(key)).find_map(|key| {
        let reported = differing(key, &value(key, one, before), &value(key, other, now))?;
        let own = one.contains_key(key) || other.contains_key(key);
        Some(if own {
            format!("{reported}, in {name}")
        } else {
            reported
        })
    })
}

/// Returns the first place where two values differ, with both values.
fn differing(path: &str, before: &Value, now: &Value) -> Option<String> {
    if before == now {
        return None;
    }
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match (before, now) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let none = Value::Null;
            let get = |of: &serde_json::Map<String, Value>, key: &String| {
                of.get(key).unwrap_or(&none).clone()
            };
            keys.into_iter()
                .find_map(|key| differing(&below(key), &get(one, key), &get(other, key)))
        }
        (Value::Array(one), Value::Array(other))
            if one.len() == other.len() && one.iter().all(Value::is_object) =>
        {
            let pairs = one.iter().zip(other).enumerate();
            let name = |at: usize, value: &Value| {
                let name = value["name"].as_str().map(str::to_owned);
                name.unwrap_or_else(|| at.to_string())
            };
            pairs
                .into_iter()
                .find_map(|(at, (one, other))| differing(&below(&name(at, one)), one, other))
        }
        _ => Some(format!(
            "{path} {} there, {} here",
            words(before),
            words(now)
        )),
    }
}

/// Formats a value for a message.
fn words(value: &Value) -> String {
    match value {
        Value::Null => "not given".into(),
        Value::String(text) if text.is_empty() => "nothing".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_object) => {
            let names = list.iter().map(|item| words(&item["name"]));
            names.collect::<Vec<_>>().join(",")
        }
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
