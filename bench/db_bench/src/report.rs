//! Reports, made from the records of the run that has just ended or of an earlier one.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::output::{notify, print, status};
use bench_report::Report;

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

/// Returns what a suite prints at its end. The report is made from the file of `--json` if there is
/// one, and else from the lines of this run: a pipe cannot be read again.
pub(crate) fn shown(config: &Config, lines: &str) -> Result<String, String> {
    let report = match &config.json {
        Some(records) if records.is_file() => read(records)?,
        _ => Report::from_text(lines).map_err(|error| error.to_string())?,
    };
    Ok(text(&report, config.verbose))
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
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Report::from_text(&text).map_err(|error| format!("{}: {error}", file.display()))
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
