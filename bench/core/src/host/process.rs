//! Kernel counters of this process and its disk: memory, CPU time, bytes written, flushes.
//!
//! Everything is read from `/proc` and `/sys`; what a kernel does not offer is `None`, never zero.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::measure::ticker::Ticker;

/// Counters that only grow; rows take the difference of two readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub sys_ns: u64,
    /// Bytes the process caused to be written to the device, as the kernel counts them.
    pub io_write_bytes: Option<u64>,
    /// Cache flushes of the device that holds the database; other processes' count too.
    pub flushes: Option<u64>,
}

impl Counters {
    /// Reads them now; `stat` is the file [`device_stat`] found.
    pub fn read(stat: Option<&Path>) -> Self {
        let (user_ns, sys_ns) = cpu();
        Self {
            user_ns,
            sys_ns,
            io_write_bytes: written(),
            flushes: stat.and_then(flushes),
        }
    }
}

/// What was handed to the page cache to be written, less what was removed before it was.
fn written() -> Option<u64> {
    let io = Path::new("/proc/self/io");
    let cancelled = field(io, "cancelled_write_bytes:").unwrap_or(0);
    Some(field(io, "write_bytes:")?.saturating_sub(cancelled))
}

/// CPU time of all threads, including finished ones, user and system together.
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// CPU time in user mode and in the kernel. The clock is exact; the kernel's tick counts only
/// provide the proportion of the two.
fn cpu() -> (u64, u64) {
    let total = cpu_ns();
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in brackets and may hold blanks.
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let tick = |index: usize| {
        rest.split(' ')
            .nth(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (user, sys) = (tick(11).unwrap_or(1), tick(12).unwrap_or(0));
    let share = u128::from(total) * u128::from(sys) / u128::from((user + sys).max(1));
    let sys_ns = u64::try_from(share).unwrap_or(0);
    (total - sys_ns, sys_ns)
}

/// The number after `name` in a file of lines.
fn field(path: &Path, name: &str) -> Option<u64> {
    number_after(&std::fs::read_to_string(path).ok()?, name)
}

/// The number after `name` in a text of lines.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The folder of the block device below `dir` in the kernel's own tree.
fn disk(dir: &Path) -> Option<PathBuf> {
    let stat = rustix::fs::stat(dir).ok()?;
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition has neither a queue of its own nor flushes: its parent does.
    if device.join("queue").exists() {
        Some(device)
    } else {
        Some(device.parent()?.to_path_buf())
    }
}

/// The write cache of the disk below `dir`: `write back` or `write through`.
pub fn write_cache(dir: &Path) -> Option<String> {
    let cache = std::fs::read_to_string(disk(dir)?.join("queue/write_cache")).ok()?;
    Some(cache.trim().to_owned())
}

/// The statistics file of the block device below `dir`, if it has a write cache to flush.
pub fn device_stat(dir: &Path) -> Option<PathBuf> {
    let cache = write_cache(dir)?;
    (cache == "write back").then(|| disk(dir).map(|disk| disk.join("stat")))?
}

/// Flush requests completed, the sixteenth field.
fn flushes(stat: &Path) -> Option<u64> {
    std::fs::read_to_string(stat)
        .ok()?
        .split_whitespace()
        .nth(15)?
        .parse()
        .ok()
}

/// Resident memory now: anonymous and file-backed bytes. Slower and more exact than the sampler.
pub fn resident() -> (Option<u64>, Option<u64>) {
    let rollup = Path::new("/proc/self/smaps_rollup");
    let anonymous = field(rollup, "Anonymous:").map(|kib| kib << 10);
    let total = field(rollup, "Rss:").map(|kib| kib << 10);
    let status = Path::new("/proc/self/status");
    let anonymous = anonymous.or_else(|| field(status, "RssAnon:").map(|kib| kib << 10));
    let mapped = match (total, anonymous) {
        (Some(total), Some(anonymous)) => Some(total.saturating_sub(anonymous)),
        _ => field(status, "RssFile:").map(|kib| kib << 10),
    };
    (anonymous, mapped)
}

/// Bytes allocated by every file below `dir`.
///
/// # Errors
/// As the system reports it; a file that vanishes meanwhile counts nothing.
pub fn disk_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let Ok(stat) = rustix::fs::lstat(&path) else {
            continue;
        };
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            bytes += disk_bytes(&path)?;
        } else {
            // st_blocks counts units of 512 bytes on every file system.
            bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
    }
    Ok(bytes)
}

/// How often the sampler looks: 50 times a second at about 30 us each.
const SAMPLE: Duration = Duration::from_millis(20);

/// The name of the sampler's thread.
pub const SAMPLER_THREAD: &str = "rss";

/// Peak resident memory: anonymous, and of mapped files.
#[derive(Debug, Default)]
struct Peaks {
    anonymous: AtomicU64,
    mapped: AtomicU64,
}

impl Peaks {
    /// Relaxed, as everything here: a sample more or less on either side of a restart does not
    /// matter.
    fn restart(&self) {
        self.anonymous.store(0, Ordering::Relaxed);
        self.mapped.store(0, Ordering::Relaxed);
    }

    fn sample(&self) {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
            return;
        };
        for (peak, name) in [(&self.anonymous, "RssAnon:"), (&self.mapped, "RssFile:")] {
            if let Some(kib) = number_after(&status, name) {
                peak.fetch_max(kib << 10, Ordering::Relaxed);
            }
        }
    }
}

/// A thread that records the peak of resident memory. Anonymous memory is what an engine's limit is
/// compared with. The system can reclaim mapped files at any time, and an idle engine releases a
/// mapped log, so both peaks are reported.
#[derive(Debug)]
pub struct Sampler {
    peaks: Arc<Peaks>,
    reset: Arc<AtomicBool>,
    /// None where no thread could be started: then the peaks have the memory of the moment.
    _ticker: Option<Ticker>,
}

impl Sampler {
    /// Starts sampling.
    pub fn start() -> Self {
        let peaks = Arc::new(Peaks::default());
        let reset = Arc::new(AtomicBool::new(false));
        let (shared_peaks, shared_reset) = (Arc::clone(&peaks), Arc::clone(&reset));
        let sample = move || {
            if shared_reset.swap(false, Ordering::Relaxed) {
                shared_peaks.restart();
            }
            shared_peaks.sample();
        };
        Self {
            peaks,
            reset,
            _ticker: Ticker::start(SAMPLER_THREAD, SAMPLE, sample).ok(),
        }
    }

    /// Forgets the peaks so far.
    pub fn restart(&self) {
        self.peaks.restart();
        self.reset.store(true, Ordering::Relaxed);
    }

    /// The highest anonymous and mapped memory seen since [`Sampler::restart`], the exact figures
    /// of this moment included.
    pub fn peaks(&self) -> (Option<u64>, Option<u64>) {
        let (anonymous, mapped) = resident();
        let highest = |now: Option<u64>, seen: &AtomicU64| {
            now.map(|now| now.max(seen.load(Ordering::Relaxed)))
        };
        (
            highest(anonymous, &self.peaks.anonymous),
            highest(mapped, &self.peaks.mapped),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_with_work() {
        let before = Counters::read(None);
        let mut sum = 0u64;
        for i in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(i));
        }
        let after = Counters::read(None);
        assert!(
            after.user_ns + after.sys_ns > before.user_ns + before.sys_ns,
            "{sum}"
        );
    }

    #[test]
    fn a_touched_buffer_is_seen_by_the_exact_figure() {
        let before = resident().0.expect("Linux tells");
        let buffer = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident().0.expect("Linux tells");
        assert!(
            after >= before + (60 << 20),
            "{before} then {after} with {}",
            buffer.len()
        );
    }

    #[test]
    fn allocated_bytes_of_a_directory_are_counted_with_its_folders() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("in")).expect("a folder");
        std::fs::write(dir.path().join("in/file"), vec![1; 100_000]).expect("a file");
        let file = std::fs::File::open(dir.path().join("in/file")).expect("open");
        file.sync_all()
            .expect("blocks are allocated when written back");
        let bytes = disk_bytes(dir.path()).expect("readable");
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
