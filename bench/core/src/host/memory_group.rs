//! A control group that limits the memory of this process, page cache included.
//!
//! The first to touch a page of a file is charged for it, so a store that is loaded inside the
//! group has no more of its files in memory than the group allows. What the process allocated
//! before it entered stays with the group it came from: the harness's own memory does not count.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";
/// Minimum limit in bytes: below, programs are killed rather than slowed.
pub const BYTES_MIN: u64 = 128 << 20;

/// The group that this process is in, until it is dropped.
#[derive(Debug)]
pub struct MemoryGroup {
    group: PathBuf,
    parent: PathBuf,
}

impl MemoryGroup {
    /// Moves this process into a new group that may use so many bytes.
    ///
    /// # Errors
    /// Why there is none: usually missing rights.
    pub fn enter(bytes: u64) -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let (parent, file) = parent_of(&own, Path::new(MOUNT))
            .ok_or("this system has no control groups for memory")?;
        let group = parent.join(name_of(std::process::id()));
        let entered = make(&group, file, bytes);
        if let Err(error) = entered {
            // It is empty.
            let _ = fs::remove_dir(&group);
            return Err(format!("{}: {error}", group.display()));
        }
        Ok(Self { group, parent })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Otherwise the parent process removes it.
        if join(&self.parent).is_ok() {
            let _ = fs::remove_dir(&self.group);
        }
    }
}

fn make(group: &Path, file: &str, bytes: u64) -> std::io::Result<()> {
    fs::create_dir(group)?;
    fs::write(group.join(file), bytes.to_string())?;
    join(group)
}

fn join(group: &Path) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

fn name_of(process: u32) -> String {
    format!("db_bench-{process}")
}

/// Removes the group of a process that has ended without doing so.
pub fn remove_of(process: u32) {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some((parent, _)) = parent_of(&own, Path::new(MOUNT)) {
        // There is none, usually.
        let _ = fs::remove_dir(parent.join(name_of(process)));
    }
}

/// Returns the group below which a new one is made, and the file of its limit: for version 1 the
/// process's own, for version 2 the one above, because only groups without processes have limits
/// for those below.
fn parent_of(own: &str, mount: &Path) -> Option<(PathBuf, &'static str)> {
    let fields = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    let groups: Vec<_> = own.lines().filter_map(fields).collect();
    let in_v1 = groups
        .iter()
        .find(|(controllers, _)| controllers.split(',').any(|it| it == "memory"));
    let below = |base: &Path, group: &str| base.join(group.trim_start_matches('/'));
    if let Some((_, group)) = in_v1 {
        let base = mount.join("memory");
        let parent = below(&base, group);
        // Inside a container the path is that of the host.
        let parent = if parent.is_dir() { parent } else { base };
        return Some((parent, "memory.limit_in_bytes"));
    }
    let (_, group) = groups
        .iter()
        .find(|(controllers, _)| controllers.is_empty())?;
    let mut parent = below(mount, group);
    if parent != mount {
        parent.pop();
    }
    let delegated = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let has_memory = delegated.split_whitespace().any(|it| it == "memory");
    has_memory.then_some((parent, "memory.max"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_made_where_limits_are_delegated() {
        let mount = tempfile::tempdir().expect("a directory");
        let mount = mount.path();
        let both = "4:memory:/a/b\n0::/x\n";
        let first = parent_of(both, mount);
        assert_eq!(first, Some((mount.join("memory"), "memory.limit_in_bytes")));
        fs::create_dir_all(mount.join("memory/a/b")).expect("made");
        let (parent, _) = parent_of(both, mount).expect("version 1");
        assert_eq!(parent, mount.join("memory/a/b"));
        assert_eq!(parent_of("0::/x/y\n", mount), None);
        fs::create_dir_all(mount.join("x/y")).expect("made");
        fs::write(mount.join("x/cgroup.subtree_control"), "cpu memory\n").expect("written");
        let second = parent_of("0::/x/y\n", mount);
        assert_eq!(second, Some((mount.join("x"), "memory.max")));
    }
}
