//! Facts about the machine, for the header and the first JSON line.

mod build;
mod directory;
mod state;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench_core::host::facts::{cpu, cpus, kernel, kib, value};
use bench_core::result::civil_date::civil;
use rustix::system::uname;
use serde::Serialize;

use build::{BUILD, Build};
use directory::Directory;
use state::MachineState;

pub(crate) use directory::file_system;

/// The first object of `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    #[serde(rename = "type")]
    kind: &'static str,
    db_bench: &'static str,
    #[serde(flatten)]
    build: Build,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    cpus: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cache: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    kernel: String,
    kernel_build: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_system: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_cache: Option<String>,
    /// Every directory of `--db`; the fields outside this list belong to the first.
    directories: Vec<Directory>,
    #[serde(flatten)]
    state: MachineState,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<u64>,
}

impl Machine {
    /// Returns the facts about this machine and about the file systems of the directories of
    /// `--db`.
    pub(crate) fn here(bases: &[PathBuf], allocator: Option<&Path>) -> Self {
        let directories: Vec<Directory> = bases.iter().map(|base| Directory::at(base)).collect();
        let first = directories.first().cloned().unwrap_or_default();
        Self {
            kind: "machine",
            db_bench: env!("CARGO_PKG_VERSION"),
            build: BUILD,
            command: std::env::args().collect(),
            cpu: cpu(),
            cpus: cpus(),
            cpu_cache: value("/proc/cpuinfo", "cache size"),
            memory_bytes: kib("MemTotal"),
            kernel: kernel(),
            kernel_build: uname().version().to_string_lossy().into_owned(),
            file_system: first.file_system,
            write_cache: first.write_cache,
            directories,
            state: MachineState::now(),
            allocator: allocator.map(|path| path.display().to_string()),
            started_at: Some(now().as_secs()),
        }
    }

    /// Returns the machine and the place of the databases in two lines, for the head of a table.
    pub(crate) fn summary(&self, db: &Path) -> [String; 2] {
        let cpu = self.cpu.as_deref().unwrap_or("unknown processor");
        let file_system = self.file_system.as_deref().unwrap_or("unknown file system");
        [
            format!(
                "db_bench {} on {} * {cpu}, {}",
                self.db_bench, self.cpus, self.kernel
            ),
            format!("databases in {} ({file_system})", db.display()),
        ]
    }

    /// Returns LevelDB's lines about the environment, the engine's first.
    pub(crate) fn header(&self, title: &str, version: &str) -> String {
        let mut text = format!("{:<11} version {version}\n", format!("{title}:"));
        if let Some(seconds) = self.started_at {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "Date:       {}", date(seconds));
        }
        if let Some(cpu) = &self.cpu {
            let _ = writeln!(text, "CPU:        {} * {cpu}", self.cpus);
            let _ = writeln!(
                text,
                "CPUCache:   {}",
                self.cpu_cache.as_deref().unwrap_or_default()
            );
        }
        text
    }
}

/// Returns the system clock as time since 1970; 0 if it is set before that year.
pub(crate) fn now() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO)
}

/// Formats seconds since 1970 like C's `ctime`, in UTC.
fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let ([year, month, day, hour, minute, second], weekday) = civil(seconds);
    let (weekday, month) = (
        DAYS[weekday],
        MONTHS[usize::try_from(month - 1).unwrap_or(0)],
    );
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::begins;

    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date(1_311_811_199), "Wed Jul 27 23:59:59 2011");
    }

    #[test]
    fn header_has_levels_columns() {
        let header = Machine::here(&[PathBuf::from(".")], None).header("LevelDB", "1.23");
        begins(&header, "LevelDB:    version 1.23\nDate:       ");
    }
}
