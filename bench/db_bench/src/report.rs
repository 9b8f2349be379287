//! Reports, made from the records of the run that has just ended or of an earlier one.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::engines::programs;
use crate::output::{notify, print, status};
use bench_report::{Comparison, Report};

/// Width assumed if that of the terminal is unknown.
const COLUMNS_DEFAULT: usize = 120;

/// Writes the report of the run that has just ended.
pub(crate) fn write(config: &Config, dir: &Path) -> Result<(), String> {
    let Some(records) = &config.json else {
        return Ok(());
    };
    let report = read(records)?;
    report.write(dir).map_err(|error| error.to_string())
}

/// Prints the path of the report's page.
pub(crate) fn print_place(dir: &Path) {
    notify(&format!("report: {}\n", dir.join("index.html").display()));
}

/// Returns what a run prints at its end: a suite a summary, or with `--verbose` the whole report;
/// with `--against` the comparison instead, which is returned as well. It is made from the file of
/// `--json` if there is one, and else from the lines of this run: a pipe cannot be read again.
pub(crate) fn shown(config: &Config, lines: &str) -> Result<(String, Option<Comparison>), String> {
    let file = config.json.as_deref().filter(|records| records.is_file());
    if let Some([engine, other]) = programs::against() {
        let read = file.map(contents).transpose()?;
        let lines = read.as_deref().unwrap_or(lines);
        let compared = Comparison::of_builds(lines, engine, other);
        let compared = compared.map_err(|error| error.to_string())?;
        return Ok((compared.text(), Some(compared)));
    }
    if config.suite.is_none() {
        return Ok((String::new(), None));
    }
    let report = match file {
        Some(records) => read(records)?,
        None => Report::from_text(lines).map_err(|error| error.to_string())?,
    };
    Ok((text(&report, config.verbose), None))
}

/// Compares two files of records.
pub(crate) fn compare(old: &Path, new: &Path) -> Result<Comparison, String> {
    Comparison::of_files(&contents(new)?, &contents(old)?).map_err(|error| error.to_string())
}

/// Returns the summary of a report, or all of it as Markdown.
fn text(report: &Report, verbose: bool) -> String {
    if verbose {
        return report.markdown();
    }
    report.summary(terminal().unwrap_or(COLUMNS_DEFAULT))
}

/// Makes the report of a file again, and prints it.
pub(crate) fn render(file: &Path, dir: Option<&Path>, verbose: bool) -> Result<(), String> {
    let report = read(file)?;
    print(&text(&report, verbose));
    let beside = || file.parent().map(Path::to_owned).unwrap_or_default();
    let dir: PathBuf = dir.map_or_else(beside, Path::to_owned);
    report.write(&dir).map_err(|error| error.to_string())?;
    print_place(&dir);
    Ok(())
}

fn read(file: &Path) -> Result<Report, String> {
    let text = contents(file)?;
    Report::from_text(&text).map_err(|error| format!("{}: {error}", file.display()))
}

fn contents(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the width of the terminal that stdout goes to, as set by the shell or reported by the
/// terminal; `None` if stdout goes elsewhere or the width is unknown.
fn terminal() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let set = std::env::var("COLUMNS").ok();
    let set = set.and_then(|text| text.parse().ok());
    set.filter(|&columns: &usize| columns > 0)
        .or_else(|| status::width(&stdout))
}
