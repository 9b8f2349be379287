//! Single facts from the kernel's files of names and values.

/// Returns the value of the last line of a `/proc` file that starts with `name`.
pub(super) fn value(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().rev().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the value of a line of `/proc/meminfo` in bytes.
pub(super) fn kib(name: &str) -> Option<u64> {
    let text = value("/proc/meminfo", name)?;
    let kib: u64 = text.split(' ').next()?.parse().ok()?;
    Some(kib << 10)
}
