//! `db_bench`: the workloads of LevelDB's and RocksDB's `db_bench`, over several stores.
//!
//! The parent process reads the flags and prints; each engine and round runs in its own child
//! process over its own directory, so that engines share no memory and no threads, and a crash of
//! one does not affect the others.
//!
//! This is a library, so that a program with additional engines is one line: a call of `main` with
//! them.

mod child;
mod classic;
mod config;
mod engines;
mod flags;
mod machine;
mod output;
mod report;
mod resume;
mod suite;
mod supervise;
mod turn_order;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::output::{notify, print};

use bench_report::Comparison;

pub use engines::extra::{Extra, Run};

/// Runs the whole program, as parent or as child, with these engines in addition to its own.
pub fn main(extra: &'static [Extra]) -> ExitCode {
    engines::extra::register(extra);
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == child::WORD) {
        return child::main(&words[1..]);
    }
    match run(&words) {
        Ok(Ending::Good) => ExitCode::SUCCESS,
        Ok(Ending::Bad) => ExitCode::FAILURE,
        Ok(Ending::Worse) => ExitCode::from(WORSE),
        Err(sentence) => {
            notify(&format!("{sentence}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Status if a row is worse than in the other build or file.
const WORSE: u8 = 3;

/// How a command line ended.
enum Ending {
    Good,
    /// Something requested was absent or wrong.
    Bad,
    /// A row is worse than in the other build or file.
    Worse,
}

impl Ending {
    fn of(good: bool, compared: Option<&Comparison>) -> Ending {
        match compared {
            _ if !good => Ending::Bad,
            Some(compared) if compared.is_worse() => Ending::Worse,
            _ => Ending::Good,
        }
    }
}

/// Executes a command line.
fn run(words: &[String]) -> Result<Ending, String> {
    if let [flag, old, new] = words
        && flag.trim_start_matches('-') == "compare"
    {
        let compared = report::compare(Path::new(old), Path::new(new))?;
        print(&compared.text());
        return Ok(Ending::of(true, Some(&compared)));
    }
    if words.iter().any(|word| word == "-h") {
        print(&flags::help());
        return Ok(Ending::Good);
    }
    let given = flags::parse(words)?;
    for warning in &given.warnings {
        notify(&format!("warning: {warning}\n"));
    }
    let version = || format!("db_bench {}\n", env!("CARGO_PKG_VERSION"));
    let texts: [(_, fn() -> String); 3] =
        [("help", flags::help), ("version", version), ("list", list)];
    if let Some((_, text)) = texts.iter().find(|(flag, _)| given.is_on(flag)) {
        print(&text());
        return Ok(Ending::Good);
    }
    if let Some(file) = given.given("render") {
        let dir = given.given("report").map(Path::new);
        report::render(Path::new(file), dir, given.is_on("verbose"))?;
        return Ok(Ending::Good);
    }
    if given.given("compare").is_some() {
        return Err("--compare OLD.json NEW.json: name two files, and no other flag".into());
    }
    let config = config::Config::new(&given)?;
    if let Some(seed) = config.chosen_seed {
        print(&format!("Set seed to {seed} because --seed was 0\n"));
    }
    let (good, lines) = match &config.suite {
        Some(name) => suite::run(&config, name)?,
        None => classic::run(&config)?,
    };
    let (summary, compared) = report::shown(&config, &lines)?;
    let written = match &config.report {
        Some(dir) => report::write(&config, dir),
        None => Ok(()),
    };
    // Done last, even if no report could be written.
    print(&summary);
    written?;
    if let Some(dir) = &config.report {
        report::print_place(dir);
    }
    Ok(Ending::of(good, compared.as_ref()))
}

/// Returns the engines with the status of each, and the workloads.
fn list() -> String {
    let mut text = String::from("engines:\n");
    for name in engines::names() {
        let build = child::build(name, None).map(|(version, _)| format!("version {version}"));
        let found = build.unwrap_or_else(|reason| reason);
        // Writing to a String cannot fail, here and below.
        let _ = match engines::stands_for(name) {
            Some(what) => writeln!(text, "  {name:<16} {found}, {what}"),
            None => writeln!(text, "  {name:<16} {found}"),
        };
    }
    text.push_str("workloads:\n");
    text.push_str(&flags::workloads());
    text
}
