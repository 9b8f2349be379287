//! What the machine is, for the header and the first JSON line.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench_core::civil::Civil;
use bench_core::process;
use serde::Serialize;

/// The first object of `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    #[serde(rename = "type")]
    kind: &'static str,
    db_bench: &'static str,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    cpus: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cache: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_system: Option<String>,
    assertions: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_cache: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<u64>,
}

/// The value of the last line of a `/proc` file that begins with `name`.
fn value(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().rev().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

impl Machine {
    /// This machine, with the file system that `db` is or will be on.
    pub(crate) fn here(db: &Path, allocator: Option<&Path>) -> Self {
        let kernel = rustix::system::uname();
        let kib = value("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Self {
            kind: "machine",
            db_bench: env!("CARGO_PKG_VERSION"),
            command: std::env::args().collect(),
            cpu: value("/proc/cpuinfo", "model name"),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            cpu_cache: value("/proc/cpuinfo", "cache size"),
            memory_bytes: kib.map(|kib| kib << 10),
            kernel: format!(
                "{} {}",
                kernel.sysname().to_string_lossy(),
                kernel.release().to_string_lossy()
            ),
            file_system: file_system(db),
            assertions: cfg!(debug_assertions),
            write_cache: write_cache(db),
            allocator: allocator.map(|path| path.display().to_string()),
            started_at: Some(now().as_secs()),
        }
    }

    /// The machine and the place in two lines, for the head of a table.
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

    /// LevelDB's lines about the environment, the engine's first.
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

/// The clock of the system since 1970; one that stands before that year says 0.
pub(crate) fn now() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO)
}

/// The type of the file system with the longest mount point above `path`.
pub(crate) fn file_system(path: &Path) -> Option<String> {
    let path = path
        .ancestors()
        .find_map(|above| above.canonicalize().ok())
        .or_else(|| std::env::current_dir().ok())?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (at, kind) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        path.starts_with(&at).then_some((at.len(), kind))
    };
    mounts.lines().filter_map(mount).max().map(|(_, kind)| kind)
}

/// The write cache of the disk below `path`, as the kernel sees it: `write back` or `write through`.
fn write_cache(path: &Path) -> Option<String> {
    let path = path.ancestors().find(|above| above.exists())?;
    process::write_cache(path)
}

/// Seconds since 1970 in the form of C's `ctime`, in universal time.
fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let at = Civil::of(seconds);
    let month = usize::try_from(at.month - 1).unwrap_or(0);
    format!(
        "{} {} {:2} {:02}:{:02}:{:02} {}",
        DAYS[at.weekday], MONTHS[month], at.day, at.hour, at.minute, at.second, at.year
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date(1_311_811_199), "Wed Jul 27 23:59:59 2011");
    }

    #[test]
    fn header_has_levels_columns() {
        let header = Machine::here(Path::new("."), None).header("LevelDB", "1.23");
        assert!(
            header.starts_with("LevelDB:    version 1.23\nDate:       "),
            "{header}"
        );
    }
}
