//! Damage that only a real directory can have: names that do not refer to files, and files without
//! permissions.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

use bench_core::host::test_skip::unable;
use cairndb::{ErrorKind, Options, destroy, verify};
use cairndb_testkit::damage::Image;

use crate::own::is_named;
use crate::own_images::{closed, live};

/// The replacement of a file.
#[derive(Clone, Copy, Debug)]
enum Instead {
    Nothing,
    Directory,
    Link,
    LinkOutside,
    DanglingLink,
    Fifo,
    Socket,
}

const ALL: [Instead; 7] = [
    Instead::Nothing,
    Instead::Directory,
    Instead::Link,
    Instead::LinkOutside,
    Instead::DanglingLink,
    Instead::Fifo,
    Instead::Socket,
];

fn write(image: &Image, path: &Path) {
    for (name, bytes) in &image.files {
        fs::write(path.join(name), bytes).unwrap();
    }
}

impl Instead {
    /// Replaces `name`. Returns `false` if the machine does not support the replacement.
    fn replace(self, dir: &Path, outside: &Path, name: &str) -> bool {
        let path = dir.join(name);
        let moved = outside.join(name);
        fs::rename(&path, &moved).unwrap();
        match self {
            Instead::Nothing => {}
            Instead::Directory => fs::create_dir(&path).unwrap(),
            Instead::LinkOutside => symlink(&moved, &path).unwrap(),
            Instead::Link => {
                fs::rename(&moved, dir.join("aside")).unwrap();
                symlink("aside", &path).unwrap();
            }
            Instead::DanglingLink => symlink("nowhere", &path).unwrap(),
            Instead::Fifo => {
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                return made.is_ok_and(|status| status.success());
            }
            Instead::Socket => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        }
        true
    }
}

/// Returns the names, types and contents of everything in a directory.
fn state(dir: &Path) -> Vec<(String, String, Vec<u8>)> {
    let mut state: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let plain =
                !kind.is_fifo() && !kind.is_socket() && !kind.is_dir() && !kind.is_symlink();
            let bytes = if plain {
                fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            let name = entry.file_name().into_string().unwrap();
            (name, format!("{kind:?}"), bytes)
        })
        .filter(|(name, ..)| name != "LOCK")
        .collect();
    state.sort();
    state
}

/// Open must not hang, follow a link, or remove the replacement.
#[test]
fn a_name_that_is_not_a_regular_file_is_refused_by_name() {
    let images = [closed(), live()];
    for image in &images {
        for name in image.files.keys() {
            for instead in ALL {
                let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
                write(image, dir.path());
                if !instead.replace(dir.path(), outside.path(), name) {
                    continue;
                }
                let (before, beyond) = (state(dir.path()), state(outside.path()));
                let options = image.options.clone().create_if_missing(false);
                let result = options.open(dir.path()).and_then(|db| {
                    db.iter().try_for_each(|entry| entry.map(drop))?;
                    drop(db);
                    Ok(())
                });
                let what = format!("{}: {instead:?} for {name}", image.name);
                assert_eq!(state(outside.path()), beyond, "{what}");
                match result {
                    Err(error) => {
                        assert!(error.file_name().is_some(), "{what}: {error}");
                        assert_eq!(state(dir.path()), before, "{what}: {error}");
                    }
                    // A lock file and spare logs may be missing.
                    Ok(()) => assert!(!is_named(name), "{what}: not detected"),
                }
            }
        }
    }
}

#[test]
fn a_database_without_permission_is_an_io_error() {
    let dir = tempfile::tempdir().unwrap();
    let image = closed();
    write(&image, dir.path());
    let table = image
        .files
        .keys()
        .find(|name| name.ends_with(".tbl"))
        .unwrap();
    fs::set_permissions(dir.path().join(table), fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(dir.path().join(table)).is_ok() {
        return as_nobody("real::a_database_without_permission_is_an_io_error");
    }
    let error = verify(dir.path(), &image.options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(error.file_name(), Some(table.as_str()), "{error}");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o0)).unwrap();
    let error = image.options.open(dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Runs the test again as an unprivileged user, because root bypasses permissions.
fn as_nobody(test: &str) {
    use std::os::unix::process::CommandExt;
    let program = std::env::current_exe().unwrap();
    let args = ["--exact", test, "--nocapture"];
    let nobody = std::process::Command::new(program)
        .args(args)
        .uid(65_534)
        .gid(65_534)
        .output();
    match nobody {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => unable(&format!(
            "{test}: permissions do not bind this user: {error}"
        )),
    }
}

/// A link that replaces a database file is neither removed nor followed.
#[test]
fn destroy_leaves_links_and_their_targets() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = dir.path().join("db");
    fs::create_dir(&path).unwrap();
    let image = closed();
    write(&image, &path);
    for name in image.files.keys().filter(|name| name.ends_with(".tbl")) {
        assert!(Instead::LinkOutside.replace(&path, outside.path(), name));
    }
    let beyond = state(outside.path());
    destroy(&path, &Options::new()).unwrap();
    assert_eq!(state(outside.path()), beyond);
    let mut left = fs::read_dir(&path).unwrap().map(Result::unwrap);
    assert!(left.all(|entry| entry.file_type().unwrap().is_symlink()));
}
