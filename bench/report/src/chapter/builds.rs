//! The builds compared: the program, the machine's settings, and each store's library.

use std::fmt::Write as _;

use crate::chapter::provenance::settings;
use crate::chapter::{directories, overview};
use crate::document::{Block, Cell, Grid, Item, Line, Tone};
use crate::engine_style;
use crate::input::{Build, Machine};
use crate::number;
use crate::run::Run;

/// Names of the options in which stores report their codec.
const CODECS: [&str; 4] = ["compression", "codec", "block_compressor", "compressor"];

/// Returns the chapter.
pub(crate) fn builds(run: &Run) -> Vec<Block> {
    if run.engines().is_empty() {
        return Vec::new();
    }
    let machine = run.source.machines.first();
    let allocator = machine.and_then(|machine| machine.text("allocator"));
    let mut blocks = vec![Block::heading(2, "Custom Build Specifications")];
    blocks.extend(machine.and_then(program).map(Block::Text));
    blocks.extend(machine.and_then(state).map(Block::Text));
    blocks.extend(machine.and_then(directories::grid));
    blocks.push(Block::text(format!(
        "The stores\u{2019} libraries are loaded at run time and report their own versions; the file is the \
         one that the kernel reports as mapped. The allocator is {}, for every store alike. Every option in \
         effect is listed by section under Provenance.",
        allocator.as_deref().unwrap_or("the system\u{2019}s")
    )));
    blocks.push(Block::Grid(stores(run)));
    blocks.extend(evidence(run));
    blocks.extend(variants(run));
    blocks
}

/// Returns the sources and tools that `db_bench` itself was built with.
fn program(machine: &Machine) -> Option<String> {
    let version = machine.text("db_bench")?;
    let commit = machine.text("commit")?;
    let mut text = match commit.as_str() {
        "unknown" => {
            format!("db_bench {version} was built outside its repository, from an unknown commit")
        }
        commit => format!("db_bench {version} and CairnDB are of commit {commit}"),
    };
    if commit.ends_with("-dirty") {
        text.push_str(" (the sources differed from it)");
    }
    // Writing to a String cannot fail, here and below.
    if let Some(compiler) = machine.text("compiler") {
        let _ = write!(text, ", compiled by {compiler}");
    }
    if let Some(target) = machine.text("target") {
        let _ = write!(text, " for {target}");
    }
    if let Some(profile) = machine.text("profile") {
        let _ = write!(text, " in cargo\u{2019}s profile {profile}");
    }
    if let Some(level) = machine.text("opt_level") {
        let _ = write!(text, " (optimisation level {level})");
    }
    match machine.text("flags") {
        Some(flags) => {
            let _ = write!(text, " with the flags {flags}");
        }
        None => text.push_str(" without further flags"),
    }
    text.push('.');
    Some(text)
}

/// Returns the settings and the load of the machine.
fn state(machine: &Machine) -> Option<String> {
    // Older programs did not record it.
    let load = machine.text("load_average")?;
    let or = |name: &str, none: &str| machine.text(name).unwrap_or_else(|| none.to_owned());
    let mut text = format!(
        "Clock governor: {}. Turbo: {}. Transparent huge pages: {}. Load average before the start: {load}.",
        or("governor", "the kernel shows none"),
        or("turbo", "not reported by the kernel"),
        or("huge_pages", "not reported by the kernel"),
    );
    if let Some(bytes) = machine.number("memory_available_bytes") {
        let _ = write!(text, " Memory available then: {}", number::memory(bytes));
        if let Some(bytes) = machine.number("memory_free_bytes") {
            let _ = write!(text, ", of it free: {}", number::memory(bytes));
        }
        text.push('.');
    }
    if machine.flag("virtual_machine") == Some(true) {
        text.push_str(
            " It is a virtual machine: the load of its neighbours and the guarantees of its disk are not visible from inside.",
        );
    }
    Some(text)
}

/// Returns the builds of an engine: more than one if the library changed between two starts.
fn of<'r>(run: &'r Run, engine: &str) -> Vec<&'r Build> {
    let builds = run.source.builds.iter();
    builds.filter(|build| build.engine == engine).collect()
}

fn stores(run: &Run) -> Grid {
    let mut lines = Vec::new();
    for engine in run.engines() {
        let codec = settings(run, &engine).first().and_then(|(_, options)| {
            let found = options
                .iter()
                .find(|(name, _)| CODECS.contains(&name.as_str()))?;
            Some(found.1.clone())
        });
        let builds = of(run, &engine);
        for build in &builds {
            lines.push(Line::Cells(vec![
                Cell::name(crate::document::Name::plain(&engine)),
                Cell::reported(Some(build.version.clone()).filter(|version| !version.is_empty())),
                Cell::reported(codec.clone()),
                Cell::plain(place(build, &engine)),
                asserting(build),
            ]));
        }
        if builds.is_empty() {
            lines.push(Line::Cells(vec![
                Cell::name(crate::document::Name::plain(&engine)),
                Cell::reported(overview::version(run, &engine)),
                Cell::reported(codec),
                Cell::reported(None),
                Cell::reported(None),
            ]));
        }
    }
    let head = [
        "Store",
        "Version",
        "Codec in the first rows",
        "Library",
        "Assertions",
    ];
    Grid {
        head: head.map(str::to_owned).to_vec(),
        lines,
    }
}

fn place(build: &Build, engine: &str) -> String {
    match (&build.library, build.library_bytes) {
        (Some(path), Some(bytes)) => format!("{path} ({} bytes)", number::thousands(bytes)),
        (Some(path), None) => path.clone(),
        (None, _) if engine == engine_style::OURS => {
            "compiled into db_bench, called as Rust".to_owned()
        }
        (None, _) => "compiled into the program, or not recorded".to_owned(),
    }
}

fn asserting(build: &Build) -> Cell {
    match build.assertions {
        Some(true) => Cell::toned("on", Tone::Bad),
        Some(false) => Cell::plain("off"),
        None => Cell::toned("unknown", Tone::Faint),
    }
}

/// Returns the evidence for assertions in each library.
fn evidence(run: &Run) -> Vec<Block> {
    let engines = run.engines();
    let of_all = engines.iter().flat_map(|engine| of(run, engine));
    let items: Vec<Item> = of_all
        .filter(|build| build.library.is_some())
        .map(|build| {
            let title = format!("{}:", engine_style::title(&build.engine));
            Item::new(title, format!("{}.", build.evidence))
        })
        .collect();
    if items.is_empty() {
        return Vec::new();
    }
    vec![
        Block::text(
            "Assertions slow a store down and are disabled in release builds. The evidence:",
        ),
        Block::List(items),
    ]
}

/// Returns the titles of stores other than ours whose library has assertions.
pub(super) fn peers_asserting(run: &Run) -> Vec<String> {
    let has = |engine: &String| {
        let builds = of(run, engine);
        let on = builds.iter().any(|build| build.assertions == Some(true));
        on && engine != engine_style::OURS && engine != engine_style::OURS_IN_C
    };
    let engines = run.engines().into_iter().filter(has);
    engines
        .map(|engine| engine_style::title(&engine).to_owned())
        .collect()
}

/// Returns the settings that ran in addition to the plain ones.
fn variants(run: &Run) -> Vec<Block> {
    let mut items: Vec<(&str, &str)> = Vec::new();
    for variant in run.source.suites.iter().flat_map(|suite| &suite.variants) {
        let item = (variant.name.as_str(), variant.about.as_str());
        if !items.contains(&item) {
            items.push(item);
        }
    }
    if items.is_empty() {
        return Vec::new();
    }
    let items = items
        .iter()
        .map(|(name, about)| Item::new(*name, *about))
        .collect();
    vec![
        Block::text("Rows with a label after the store\u{2019}s name have other settings:"),
        Block::List(items),
    ]
}
