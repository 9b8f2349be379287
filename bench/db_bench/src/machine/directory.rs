//! The place of databases: file system, mount, device and free space of a directory.

use std::path::{Path, PathBuf};

use bench_core::host::process;
use bench_core::sparse;
use serde::Serialize;

sparse! {
    /// One directory of `--db`.
    #[derive(Clone, Debug, Default, Serialize)]
    pub(crate) struct Directory {
        path: String,
        pub(super) file_system: Option<String>,
        mount_options: Option<String>,
        device: Option<String>,
        pub(super) write_cache: Option<String>,
        free_bytes: Option<u64>,
    }
}

impl Directory {
    /// Returns the facts about the mount that `path` is on, or will be on when created.
    pub(crate) fn at(path: &Path) -> Self {
        let mount = mount(path);
        let there = existing(path);
        let free = there
            .as_deref()
            .and_then(|there| rustix::fs::statvfs(there).ok());
        Self {
            path: path.display().to_string(),
            file_system: file_system(path),
            mount_options: mount.as_ref().map(|mount| mount.options.clone()),
            device: mount.map(|mount| mount.device),
            write_cache: there.as_deref().and_then(process::write_cache),
            free_bytes: free.map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize)),
        }
    }
}

/// Returns the file system type of `path`, which may not exist yet: that of its mount, or, if the
/// mount is not listed, as in a chroot, that of the number reported by the file system.
pub(crate) fn file_system(path: &Path) -> Option<String> {
    mount(path).map(|mount| mount.kind).or_else(|| {
        let stat = rustix::fs::statfs(existing(path)?).ok()?;
        // Negative if the field has 32 bits and the number uses all of them; not reported then.
        let magic = u64::try_from(stat.f_type).ok()?;
        let (_, kind) = MAGICS.iter().find(|(number, _)| *number == magic)?;
        Some((*kind).to_owned())
    })
}

/// Numbers of file systems from the kernel's `magic.h`, and their types.
#[rustfmt::skip]
const MAGICS: [(u64, &str); 9] = [
    (0xef53, "ext2/3/4"), (0x5846_5342, "xfs"), (0x9123_683e, "btrfs"), (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"), (0x794c_7630, "overlay"), (0x0102_1994, "tmpfs"), (0x0102_1997, "9p"),
    (0x6969, "nfs"),
];

/// A line of the kernel's list of mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    kind: String,
    options: String,
}

/// Returns the directory itself, or its nearest existing ancestor.
fn existing(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find_map(|above| above.canonicalize().ok())
        .or_else(|| std::env::current_dir().ok())
}

fn mount(path: &Path) -> Option<Mount> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    mount_of(&mounts, &existing(path)?)
}

/// Returns the mount with the longest mount point above `path`; of several on one mount point, the
/// last hides the others.
fn mount_of(mounts: &str, path: &Path) -> Option<Mount> {
    let parse = |line: &str| {
        let mut fields = line.split(' ').map(plain);
        let (device, at) = (fields.next()?, fields.next()?);
        let (kind, options) = (fields.next()?, fields.next()?);
        let mount = Mount {
            device,
            kind,
            options,
        };
        path.starts_with(&at).then_some((at.len(), mount))
    };
    let above = mounts.lines().filter_map(parse);
    above
        .max_by_key(|(length, _)| *length)
        .map(|(_, mount)| mount)
}

/// Decodes a field of the list: spaces and similar characters are octal escapes there.
fn plain(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        if let Some(code) = code {
            text.push(char::from(code));
            text.push_str(&part[3..]);
        } else {
            text.push('\\');
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/vda / ext4 rw,relatime,discard 0 0\n\
        tmpfs /tmp tmpfs rw,nosuid 0 0\n\
        /dev/vdb /mnt/my\\040disk xfs rw,noatime 0 0\n\
        tmpfs /mnt/my\\040disk tmpfs ro 0 0\n";

    #[test]
    fn the_last_of_the_longest_mounts_counts() {
        let of = |path: &str| mount_of(MOUNTS, Path::new(path)).expect("the root at least");
        assert_eq!(of("/srv/db").device, "/dev/vda");
        assert_eq!(of("/srv/db").options, "rw,relatime,discard");
        assert_eq!(of("/tmp/db").kind, "tmpfs");
        assert_eq!(
            of("/tmpfs").kind,
            "ext4",
            "a name that only starts with the same letters"
        );
        assert_eq!(of("/mnt/my disk/db").options, "ro");
        assert_eq!(mount_of("", Path::new("/")), None);
    }

    #[test]
    fn escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(plain("a\\040b\\134"), "a b\\");
        assert_eq!(plain("a\\b\\9"), "a\\b\\9");
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_reported_by_the_one_above() {
        let home = tempfile::tempdir().expect("a directory");
        let there = Directory::at(home.path());
        let later = Directory::at(&home.path().join("a/b"));
        assert!(there.file_system.is_some() && there.free_bytes > Some(0));
        assert_eq!(later.device, there.device);
        assert_eq!(later.mount_options, there.mount_options);
        assert!(later.path.ends_with("a/b"));
    }
}
