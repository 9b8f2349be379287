//! Reports: made from the records of a run that has ended, or again from what an earlier one left.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use bench_report::Report;

use crate::config::Config;
use crate::output::{print, tell};

/// Columns of the summary when nobody says how wide the terminal is.
const COLUMNS_DEFAULT: usize = 120;

/// Writes the report of the run that has just ended, and prints its summary after a suite.
pub(crate) fn write(config: &Config, dir: &Path) -> Result<(), String> {
    let Some(records) = &config.json else {
        return Ok(());
    };
    let report = read(records)?;
    if config.suite.is_some() {
        print(&report.summary(columns()));
    }
    report.write(dir).map_err(|error| error.to_string())?;
    tell(&format!("report: {}\n", dir.join("index.html").display()));
    Ok(())
}

/// Makes the report of a file again and prints its summary.
pub(crate) fn render(file: &Path, dir: Option<&Path>) -> Result<(), String> {
    let report = read(file)?;
    print(&report.summary(columns()));
    let beside = || file.parent().map(Path::to_owned).unwrap_or_default();
    let dir: PathBuf = dir.map_or_else(beside, Path::to_owned);
    report.write(&dir).map_err(|error| error.to_string())?;
    tell(&format!("report: {}\n", dir.join("index.html").display()));
    Ok(())
}

fn read(file: &Path) -> Result<Report, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Report::from_text(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Columns of the terminal, as the shell tells them, or of a page.
fn columns() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = told().filter(|_| std::io::stdout().is_terminal());
    columns.unwrap_or(COLUMNS_DEFAULT)
}
