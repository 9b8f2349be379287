//! Facts about the machine, from the kernel's files of names and values.

/// Returns the value of the last line of a `/proc` file that starts with `name`.
pub fn value(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().rev().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the value of a line of `/proc/meminfo` in bytes.
pub fn kib(name: &str) -> Option<u64> {
    let text = value("/proc/meminfo", name)?;
    let kib: u64 = text.split(' ').next()?.parse().ok()?;
    Some(kib << 10)
}

/// Returns the name of the processor.
pub fn cpu() -> Option<String> {
    value("/proc/cpuinfo", "model name")
}

/// Returns the number of processors.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the name and the release of the kernel.
pub fn kernel() -> String {
    let kernel = rustix::system::uname();
    let (name, release) = (kernel.sysname(), kernel.release());
    format!("{} {}", name.to_string_lossy(), release.to_string_lossy())
}
