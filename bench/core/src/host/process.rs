//! Kernel counters of this process and its disk: memory, CPU time, bytes written, flushes.
//!
//! Everything is read from `/proc` and `/sys`; a counter that the kernel does not provide is
//! `None`, never zero.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::measure::ticker::Ticker;

/// Counters of the bytes that this process read and wrote.
const IO: &str = "/proc/self/io";

/// Monotonic counters; rows use the difference of two readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub sys_ns: u64,
    /// Bytes the process caused to be written to the device, as the kernel counts them.
    pub io_write_bytes: Option<u64>,
    /// Bytes the process caused to be read from the device.
    pub io_read_bytes: Option<u64>,
    /// Cache flushes of the device that contains the database, including those of other processes.
    pub flushes: Option<u64>,
}

impl Counters {
    /// Reads the counters now; `stat` is the file that [`device_stat`] returned.
    pub fn read(stat: Option<&Path>) -> Self {
        let (user_ns, sys_ns) = cpu();
        Self {
            user_ns,
            sys_ns,
            io_write_bytes: written(),
            io_read_bytes: field(Path::new(IO), "read_bytes:"),
            flushes: stat.and_then(flushes),
        }
    }
}

/// Returns the bytes that were given to the page cache for writing, minus those removed before they
/// were written.
fn written() -> Option<u64> {
    let io = Path::new(IO);
    let cancelled = field(io, "cancelled_write_bytes:").unwrap_or(0);
    Some(field(io, "write_bytes:")?.saturating_sub(cancelled))
}

/// Returns the user and system CPU time of all threads, including finished ones.
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Returns the CPU time in user mode and in the kernel. The clock is exact; the kernel's tick
/// counts only provide the proportion of the two.
fn cpu() -> (u64, u64) {
    let total = cpu_ns();
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in parentheses and may contain spaces.
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

/// Returns the number after `name` in a line of a file.
fn field(path: &Path, name: &str) -> Option<u64> {
    number_after(&std::fs::read_to_string(path).ok()?, name)
}

/// Returns the number after `name` in a line of a text.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the sysfs folder of the block device that contains `dir`.
fn disk(dir: &Path) -> Option<PathBuf> {
    let stat = rustix::fs::stat(dir).ok()?;
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition has no queue or flush counter of its own: its parent does.
    if device.join("queue").exists() {
        Some(device)
    } else {
        Some(device.parent()?.to_path_buf())
    }
}

/// Returns the write cache mode of the disk that contains `dir`: `write back` or `write through`.
pub fn write_cache(dir: &Path) -> Option<String> {
    let cache = std::fs::read_to_string(disk(dir)?.join("queue/write_cache")).ok()?;
    Some(cache.trim().to_owned())
}

/// Returns the statistics file of the block device that contains `dir`, if the device has a write
/// cache to flush.
pub fn device_stat(dir: &Path) -> Option<PathBuf> {
    let cache = write_cache(dir)?;
    (cache == "write back").then(|| disk(dir).map(|disk| disk.join("stat")))?
}

/// Returns the number of completed flush requests, the sixteenth field.
fn flushes(stat: &Path) -> Option<u64> {
    std::fs::read_to_string(stat)
        .ok()?
        .split_whitespace()
        .nth(15)?
        .parse()
        .ok()
}

/// Returns the current resident memory: anonymous and file-backed bytes. Slower and more exact than
/// the sampler.
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

/// Returns the number of bytes allocated to all files below `dir`.
///
/// # Errors
/// As reported by the system; a file that disappears during the walk is not counted.
pub fn disk_bytes(dir: &Path) -> std::io::Result<u64> {
    disk_bytes_of(dir, &|_| true)
}

/// Returns the bytes allocated for the files in a directory and below whose path is `wanted`.
///
/// # Errors
/// If a directory cannot be read.
pub fn disk_bytes_of(dir: &Path, wanted: &dyn Fn(&Path) -> bool) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let Ok(stat) = rustix::fs::lstat(&path) else {
            continue;
        };
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            bytes += disk_bytes_of(&path, wanted)?;
        } else if wanted(&path) {
            // st_blocks counts units of 512 bytes on every file system.
            bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
    }
    Ok(bytes)
}

/// Sampling interval: 50 samples per second at about 30 us each.
const SAMPLE: Duration = Duration::from_millis(20);

/// The name of the sampler's thread.
pub const SAMPLER_THREAD: &str = "rss";

/// Peak resident memory: anonymous and file-backed.
#[derive(Debug, Default)]
struct Peaks {
    anonymous: AtomicU64,
    mapped: AtomicU64,
}

impl Peaks {
    /// Relaxed, like all accesses here: it does not matter on which side of a restart a sample
    /// falls.
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

/// A thread that records the peak of resident memory. An engine's limit is compared with anonymous
/// memory. The system can reclaim mapped files at any time, and an idle engine releases a mapped
/// log, so both peaks are reported.
#[derive(Debug)]
pub struct Sampler {
    peaks: Arc<Peaks>,
    reset: Arc<AtomicBool>,
    /// `None` if the thread could not be started: the peaks are then the current memory.
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

    /// Resets the peaks.
    pub fn restart(&self) {
        self.peaks.restart();
        self.reset.store(true, Ordering::Relaxed);
    }

    /// Returns the peak anonymous and mapped memory since [`Sampler::restart`], including the exact
    /// current values.
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
        let before = resident().0.expect("reported by Linux");
        let buffer = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident().0.expect("reported by Linux");
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
