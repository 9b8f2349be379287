//! The origin of the figures: stores, machine, options, what the harness costs, and what could not
//! be measured.

use std::fmt::Write as _;

use bench_core::workload::definition::{Action, Values};
use serde_json::Value;

use crate::engine;
use crate::input::{Build, words};
use crate::list::distinct;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::sheets::sheet::Sheet;
use crate::table::{Outcome, Table, standing};

/// Maximum cost of a fill or point read in the null engine, in nanoseconds.
const POINT_NS: f64 = 25.0;
/// Maximum cost of a scan step in the null engine, in nanoseconds.
const SCAN_NS: f64 = 5.0;

/// Names of the options in which stores report their codec.
const CODECS: [&str; 4] = ["compression", "codec", "block_compressor", "compressor"];

/// Returns the cost of the harness itself: the rows of the engine that stores nothing.
pub(super) fn harness(run: &Run, prose: &'static str) -> Sheet {
    let line = |table: &Table| {
        let own = table.nanoseconds(table.row(engine::HARNESS)?)?;
        let allowed = allowed(table);
        let over = allowed.is_some_and(|allowed| own > allowed);
        let ranking = standing::ranking(table);
        let fastest = ranking.first().and_then(|(row, _)| table.nanoseconds(row));
        let part = fastest.map(|fastest| format!("{:.0} %", 100.0 * own / fastest));
        Some(vec![
            outline::full_label(run, table),
            format!("{}{}", number::time(own), if over { " (over)" } else { "" }),
            allowed.map(number::time).unwrap_or_default(),
            fastest.map(number::time).unwrap_or_default(),
            part.unwrap_or_default(),
        ])
    };
    let head = [
        "Row",
        "null, per operation",
        "allowed",
        "fastest ranked, per operation",
        "harness's part",
    ];
    let lines: Vec<Vec<String>> = run.tables.iter().filter_map(line).collect();
    let head = if lines.is_empty() { &[][..] } else { &head };
    Sheet::new("What the harness costs", prose, head, lines)
}

/// Returns the maximum cost of the row, if limited.
fn allowed(table: &Table) -> Option<f64> {
    let workload = table.workload()?;
    match workload.action {
        _ if workload.sync || workload.values == Values::Large => None,
        Action::Scan { .. } => Some(SCAN_NS),
        Action::Fill(_) | Action::Get(_) => Some(POINT_NS),
        _ => None,
    }
}

/// Returns the stores with their libraries: more than one line if a library changed between two
/// starts.
pub(super) fn stores(run: &Run, prose: &'static str) -> Sheet {
    let mut lines = Vec::new();
    for engine in &run.engines() {
        let engine = engine.as_str();
        let records = || {
            let records = run.source.records.iter();
            records.filter(move |record| record.engine == engine)
        };
        let options = || records().flat_map(|record| &record.options);
        let codec = options().find(|(name, _)| CODECS.contains(&name.as_str()));
        let builds = run
            .source
            .builds
            .iter()
            .filter(|build| build.engine == engine);
        let mut builds: Vec<Build> = builds.cloned().collect();
        if builds.is_empty() {
            let version = records().find_map(|record| record.engine_version.clone());
            builds.push(Build {
                version: version.unwrap_or_default(),
                ..Build::default()
            });
        }
        for build in builds {
            let size = build
                .library_bytes
                .map(|it| format!(" ({} bytes)", number::thousands(it)));
            let library = build.library.unwrap_or_else(|| "none loaded".to_owned());
            let assertions = match build.assertions {
                Some(true) => "on",
                Some(false) => "off",
                None => "unknown",
            };
            let source = engine::source(engine);
            lines.push(vec![
                engine::title(engine).to_owned(),
                build.version,
                codec.map(|(_, value)| value.clone()).unwrap_or_default(),
                format!("{library}{}", size.unwrap_or_default()),
                assertions.to_owned(),
                build.evidence,
                source.unwrap_or_else(|| "an adapter outside this tree".to_owned()),
            ]);
        }
    }
    let head = [
        "Store",
        "Version",
        "Codec in the first rows",
        "Library",
        "Assertions",
        "Evidence",
        "Adapter",
    ];
    Sheet::new("Stores", prose, &head, lines)
}

/// Returns the settings that ran in addition to the plain ones.
pub(super) fn variants(run: &Run) -> Sheet {
    let variants = run.source.suites.iter().flat_map(|suite| &suite.variants);
    let lines = distinct(variants.map(|it| vec![it.name.clone(), it.about.clone()]));
    let head = ["Label after a store's name", "Settings"];
    Sheet::new("Variants", "", &head, lines)
}

/// Returns the facts about the machine, the program and the databases' directories, for each start.
pub(super) fn machines(run: &Run) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    for (at, machine) in run.source.machines.iter().enumerate() {
        let mut lines = Vec::new();
        for (key, value) in &machine.facts {
            let parts = value
                .as_array()
                .filter(|parts| parts.iter().all(Value::is_object));
            let parts = parts.map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
            let name = key.replace('_', " ");
            lines.extend(
                parts
                    .iter()
                    .filter_map(|part| Some(vec![name.clone(), fact(key, part)?])),
            );
        }
        let title = format!("Machine and program, start {}", at + 1);
        sheets.push(Sheet::new(&title, "", &["Fact", "Value"], lines));
    }
    sheets
}

/// Returns a fact as text.
fn fact(key: &str, value: &Value) -> Option<String> {
    match (value, value.as_u64()) {
        (Value::Bool(yes), _) => Some(if *yes { "yes" } else { "no" }.into()),
        (_, Some(bytes)) if key.ends_with("_bytes") => Some(number::memory(bytes)),
        (_, Some(time)) if key == "started_at" => Some(format!("{} ({time} s)", number::day(time))),
        (Value::Object(parts), _) => {
            let part = |(key, value): (&String, &Value)| {
                Some(format!("{}: {}", key.replace('_', " "), fact(key, value)?))
            };
            Some(parts.iter().filter_map(part).collect::<Vec<_>>().join(", "))
        }
        _ => words(value),
    }
}

/// Returns the distinct options of every engine, each with the places where it ran with them.
pub(super) fn options(run: &Run, prose: &'static str) -> Sheet {
    let several = run.suites().len() > 1;
    let mut found: Vec<(&str, String, Vec<String>)> = Vec::new();
    for record in run
        .source
        .records
        .iter()
        .filter(|record| !record.options.is_empty())
    {
        let mut place = match (&record.suite, &record.section) {
            (Some(suite), Some(section)) if several => format!("{suite} {section}"),
            (_, Some(section)) => section.clone(),
            (Some(suite), None) => suite.clone(),
            (None, None) => "all rows".to_owned(),
        };
        if let Some(variant) = &record.variant {
            // Writing to a String cannot fail.
            let _ = write!(place, " ({variant})");
        }
        let options = record
            .options
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let options = options.collect::<Vec<_>>().join(" ");
        let engine = record.engine.as_str();
        match found
            .iter_mut()
            .find(|(of, known, _)| *of == engine && *known == options)
        {
            Some((.., places)) if places.contains(&place) => {}
            Some((.., places)) => places.push(place),
            None => found.push((engine, options, vec![place])),
        }
    }
    found.retain(|(engine, ..)| engine::is_store(engine));
    found.sort_by_key(|(engine, ..)| (engine::index(engine), *engine));
    let lines = found.into_iter().map(|(engine, options, places)| {
        vec![engine::title(engine).to_owned(), places.join(", "), options]
    });
    let head = ["Store", "Where", "Options in effect"];
    Sheet::new("Options", prose, &head, lines.collect())
}

/// Returns the rows that were skipped or failed: store, reason, and labels, each reason once.
fn without_figure(run: &Run) -> Vec<(&str, String, Vec<String>)> {
    let mut groups: Vec<(&str, String, Vec<String>)> = Vec::new();
    for table in run.all_tables() {
        for row in &table.rows {
            let why = match &row.outcome {
                Outcome::Failed(reason) => format!("failed: {reason}"),
                Outcome::Skipped(reason) if engine::is_store(&row.engine) => {
                    format!("skipped: {reason}")
                }
                _ => continue,
            };
            let label = outline::full_label(run, table);
            let engine = row.engine.as_str();
            let mut known = groups.iter_mut();
            match known.find(|(of, text, _)| *of == engine && *text == why) {
                Some((.., labels)) => labels.push(label),
                None => groups.push((engine, why, vec![label])),
            }
        }
    }
    groups.sort_by_key(|(engine, ..)| engine::index(engine));
    groups
}

/// Returns the failed rows with the reason. Rows of one engine with one reason are reported
/// together.
pub(crate) fn failures(run: &Run) -> Vec<String> {
    let text = |(engine, why, labels): (&str, String, Vec<String>)| {
        let reason = why.strip_prefix("failed: ")?;
        let more = match labels.len() {
            1 => String::new(),
            count => format!(" and {} more rows", count - 1),
        };
        Some(format!(
            "{}, {}{more}: {reason}",
            engine::title(engine),
            labels[0]
        ))
    };
    without_figure(run).into_iter().filter_map(text).collect()
}

/// Returns the rows without a figure.
pub(super) fn missing(run: &Run) -> Sheet {
    let rows = || run.all_tables().flat_map(|table| &table.rows);
    let line = |(engine, why, labels): (&str, String, Vec<String>)| {
        let all = rows().filter(|row| row.engine == engine).count();
        let places = match labels.len() {
            count if count > 1 && count == all => format!("all its {count} rows"),
            _ => distinct(labels).join("; "),
        };
        vec![engine::title(engine).to_owned(), why, places]
    };
    let head = ["Store", "Why", "Rows"];
    let lines = without_figure(run).into_iter().map(line).collect();
    Sheet::new("Rows without a figure", "", &head, lines)
}
