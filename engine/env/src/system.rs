//! Clock, randomness and memory size, from the operating system.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// Returns monotonic nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds * SECOND_NS + nanos
}

/// Returns a random number from the kernel. Before its pool is ready (early boot) or if the call is
/// filtered, the standard library's per-process keys are used: a salt must be distinct, not secret.
pub(crate) fn random_u64() -> u64 {
    kernel_random().unwrap_or_else(|| RandomState::new().hash_one(now_ns()))
}

#[cfg(target_os = "linux")]
fn kernel_random() -> Option<u64> {
    let mut bytes = [0u8; 8];
    let flags = rustix::rand::GetRandomFlags::NONBLOCK;
    match rustix::rand::getrandom(&mut bytes[..], flags) {
        Ok(8) => Some(u64::from_le_bytes(bytes)),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn kernel_random() -> Option<u64> {
    None
}

/// Returns the physical memory, or the control group's limit if that is lower. Queried at most once
/// a second, because it reads a dozen small files.
pub(crate) fn memory_bytes() -> u64 {
    static BYTES: AtomicU64 = AtomicU64::new(0);
    static READ_NS: AtomicU64 = AtomicU64::new(0);
    let (known, now) = (BYTES.load(Ordering::Relaxed), now_ns());
    // Several threads may read at once; each stores what is true now.
    if known > 0 && now.saturating_sub(READ_NS.load(Ordering::Relaxed)) < SECOND_NS {
        return known;
    }
    let bytes = read_memory_bytes();
    BYTES.store(bytes, Ordering::Relaxed);
    READ_NS.store(now, Ordering::Relaxed);
    bytes
}

fn read_memory_bytes() -> u64 {
    let limit = std::fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| cgroup_limit(&text, Path::new("/sys/fs/cgroup")));
    limit.map_or(physical_bytes(), |limit| limit.min(physical_bytes()))
}

/// Returns a quarter of the descriptors that this process may open: the program around the store
/// needs some, and so do the store's logs and writers.
pub(crate) fn open_files_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(4096, |limit| (limit / 4).clamp(16, 4096))
}

#[cfg(target_os = "linux")]
fn physical_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    u64::from(info.totalram) * u64::from(info.mem_unit)
}

/// Without `sysinfo`: an amount that any current machine has.
#[cfg(not(target_os = "linux"))]
fn physical_bytes() -> u64 {
    4 << 30
}

/// Returns the smallest memory limit between this process's control group and the root, for version
/// 2 (`memory.max`) and version 1 (`memory.limit_in_bytes`); `None` if there is none.
fn cgroup_limit(own_groups: &str, mount: &Path) -> Option<u64> {
    let mut least = None;
    for line in own_groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (base, file) = if controllers.is_empty() {
            (mount.to_path_buf(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (mount.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        // Inside a container the group's path may not exist below the mount, but its tail may:
        // every ancestor is tried, the base itself last.
        let mut group = Path::new(group.trim_start_matches('/'));
        loop {
            let limit = std::fs::read_to_string(base.join(group).join(file))
                .ok()
                .and_then(|text| text.trim().parse::<u64>().ok());
            least = match (least, limit) {
                (Some(a), Some(b)) => Some(u64::min(a, b)),
                (a, b) => a.or(b),
            };
            match group.parent() {
                Some(parent) => group = parent,
                None => break,
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_advances_and_randomness_varies() {
        let (a, b) = (now_ns(), now_ns());
        assert!(a > 0 && b >= a);
        assert_ne!(random_u64(), random_u64());
        assert!(memory_bytes() > 1 << 24);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "creates a fake control group tree"
    )]
    fn cgroup_limit_takes_the_least_ancestor() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(cgroup_limit("0::/a/b\n", root.path()), None);
        put("a/b/memory.max", "max\n");
        put("a/memory.max", "1000\n");
        put("memory.max", "5000\n");
        assert_eq!(cgroup_limit("0::/a/b\n", root.path()), Some(1000));
        assert_eq!(cgroup_limit("0::/elsewhere\n", root.path()), Some(5000));
        put("memory/x/memory.limit_in_bytes", "77\n");
        let old = "3:cpu:/x\n7:memory,hugetlb:/x\nnonsense\n";
        assert_eq!(cgroup_limit(old, root.path()), Some(77));
    }
}
