//! Conformance: behaviour that every environment must share, run against each of them.

#![expect(clippy::unwrap_used, reason = "a test helper for other crates")]

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind};

use crate::dir::{Dir, Linked};
use crate::environment::Env;
use crate::file::Access;

/// Runs every check in the new directory `path` of `env`.
///
/// ```
/// use std::path::Path;
/// use cairndb_env::{Background, MemEnv, testing};
/// let env = MemEnv::new(Background::Stepped);
/// testing::conformance::check(&*env, Path::new("/db"));
/// ```
///
/// # Panics
/// If the environment does not conform.
pub fn check(env: &dyn Env, path: &Path) {
    let missing = env.open_dir(path, false).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let dir = env.open_dir(path, true).unwrap();
    assert_eq!(dir.path(), path);
    assert!(dir.list().unwrap().is_empty());
    env.open_dir(path, true).unwrap();
    files(&*dir);
    names(&*dir);
    logs(&*dir);
    locks(env, &dir);
    links(env, &*dir, &path.join("checkpoint"));
    remove(env, &path.join("empty"));
    rename_directory(env, &path.join("staged"), &path.join("whole"));
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

fn files(dir: &dyn Dir) {
    let mut file = dir.create("a").unwrap();
    file.append(b"hello ").unwrap();
    file.append(b"").unwrap();
    // Appended bytes are visible before any sync.
    assert_eq!(dir.size_of("a").unwrap(), Some(6));
    let syncer = file.syncer();
    file.append(&vec![7; 70_000]).unwrap();
    assert_eq!(file.size(), 70_006);
    syncer.sync().unwrap();
    file.sync().unwrap();
    drop(file);
    assert_eq!(kind(dir.create("a")), ErrorKind::Io);
    let file = dir.open_read("a").unwrap();
    assert_eq!(file.size(), 70_006);
    let mut out = [0; 8];
    file.read_at(2, &mut out).unwrap();
    assert_eq!(&out, b"llo \x07\x07\x07\x07");
    file.read_at(99_999, &mut []).unwrap();
    let short = file.read_at(70_000, &mut out).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Corruption);
    assert_eq!(short.file_name(), Some("a"));
    assert_eq!(short.file_offset(), Some(70_000));
    file.advise(0, 4096, true);
    file.advise(0, 0, false);
    let bytes = file.map(file.size(), Access::Random).unwrap().unwrap();
    assert_eq!(bytes.len(), 70_006);
    assert_eq!(&bytes[..7], b"hello \x07");
    let front = file.map(9, Access::Pieces).unwrap().unwrap();
    assert_eq!(&front[..], &bytes[..9]);
    let beyond = file.map(70_007, Access::Pieces).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::Corruption);
    assert_eq!(beyond.file_name(), Some("a"));
    let part = bytes.part(1, 70_000).unwrap();
    assert_eq!(&part[..6], b"ello \x07");
    assert_eq!(part.part(2, 2).as_deref(), Some(&b"lo"[..]));
    assert_eq!(bytes.part(70_006, 0).as_deref(), Some(&b""[..]));
    for (offset, len) in [(70_006, 1), (0, 70_007), (usize::MAX, 2), (3, usize::MAX)] {
        assert!(bytes.part(offset, len).is_none(), "{offset} {len}");
    }
    // A mapping outlives its file and the file's name.
    dir.unlink("a").unwrap();
    drop(file);
    assert!(bytes[6..].iter().all(|&byte| byte == 7));
    assert_eq!(dir.size_of("a").unwrap(), None);
    dir.create("empty").unwrap();
    let empty = dir.open_read("empty").unwrap();
    assert!(
        empty
            .map(0, Access::Sequential)
            .unwrap()
            .unwrap()
            .is_empty()
    );
    dir.unlink("empty").unwrap();
}

fn names(dir: &dyn Dir) {
    assert_eq!(kind(dir.open_read("x")), ErrorKind::NotFound);
    assert_eq!(kind(dir.open_log("x")), ErrorKind::NotFound);
    assert_eq!(kind(dir.unlink("x")), ErrorKind::NotFound);
    assert_eq!(kind(dir.rename("x", "y")), ErrorKind::NotFound);
    dir.create("x").unwrap().append(b"x").unwrap();
    dir.create("y").unwrap().append(b"yy").unwrap();
    dir.rename("x", "y").unwrap();
    dir.sync().unwrap();
    assert_eq!(dir.list().unwrap(), ["y"]);
    assert_eq!(dir.size_of("y").unwrap(), Some(1));
    dir.rename("y", "y").unwrap();
    dir.unlink("y").unwrap();
}

fn logs(dir: &dyn Dir) {
    let log = dir.create_log("log", 10_000).unwrap();
    assert_eq!(log.size(), 10_000);
    assert_eq!(dir.size_of("log").unwrap(), Some(10_000));
    log.warm();
    log.write(100, &[b"one", b"", b"two"], false).unwrap();
    log.write(106, &[b"three"], true).unwrap();
    let parts: Vec<Vec<u8>> = (0..20u8).map(|byte| vec![byte; 100]).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    log.write(8000, &parts, true).unwrap();
    log.sync().unwrap();
    let file = dir.open_read("log").unwrap();
    let mut out = vec![0; 10_000];
    file.read_at(0, &mut out).unwrap();
    assert_eq!(&out[99..112], b"\0onetwothree\0");
    assert_eq!(out[8000..], parts.concat());
    assert!(
        log.bytes(106, 5).is_none_or(|bytes| bytes == b"three"),
        "borrowed bytes are the written ones"
    );
    assert_eq!(kind(dir.open_log("log")), ErrorKind::Locked);
    drop(log);
    let mut log = dir.open_log("log").unwrap();
    assert_eq!(log.size(), 10_000);
    log.write(0, &[b"over"], false).unwrap();
    assert!(log.bytes(1, 3).is_none_or(|bytes| bytes == b"ver"));
    let alone = Arc::get_mut(&mut log).expect("the region has one owner");
    alone.reuse();
    log.write(0, &[b"over"], true).unwrap();
    let mut out = [0; 4];
    file.read_at(0, &mut out).unwrap();
    assert_eq!(&out, b"over");
    assert_eq!(kind(dir.create_log("log", 10)), ErrorKind::Io);
    dir.unlink("log").unwrap();
}

fn locks(env: &dyn Env, dir: &Arc<dyn Dir>) {
    let lock = dir.lock("LOCK").unwrap();
    assert_eq!(kind(dir.lock("LOCK")), ErrorKind::Locked);
    let again = env.open_dir(dir.path(), false).unwrap();
    assert_eq!(kind(again.lock("LOCK")), ErrorKind::Locked);
    assert_eq!(dir.size_of("LOCK").unwrap(), Some(0));
    drop(lock);
    drop(again.lock("LOCK").unwrap());
    let readers = [dir, &again].map(|dir| dir.lock_shared("LOCK").unwrap());
    assert!(readers.iter().all(Option::is_some));
    assert_eq!(kind(dir.lock("LOCK")), ErrorKind::Locked);
    let [first, second] = readers;
    drop(first);
    assert_eq!(kind(dir.lock("LOCK")), ErrorKind::Locked);
    drop(second);
    let lock = dir.lock("LOCK").unwrap();
    assert_eq!(kind(again.lock_shared("LOCK")), ErrorKind::Locked);
    drop(lock);
    assert!(dir.lock_shared("NONE").unwrap().is_none());
    assert_eq!(dir.size_of("NONE").unwrap(), None);
    dir.unlink("LOCK").unwrap();
}

fn links(env: &dyn Env, dir: &dyn Dir, path: &Path) {
    let other = env.open_dir(path, true).unwrap();
    let mut file = dir.create("t").unwrap();
    file.append(b"table").unwrap();
    file.sync().unwrap();
    assert_eq!(dir.link("t", &*other, "u").unwrap(), Linked::Shared);
    assert_ne!(dir.copy("t", &*other, "w").unwrap(), Linked::Shared);
    let id = dir.file_id("t").unwrap();
    assert!(id.is_some() && other.file_id("u").unwrap() == id);
    assert_ne!(other.file_id("w").unwrap(), id);
    other.unlink("w").unwrap();
    assert_eq!(kind(dir.link("t", &*other, "u")), ErrorKind::Io);
    assert_eq!(kind(dir.link("none", &*other, "v")), ErrorKind::NotFound);
    other.sync().unwrap();
    dir.unlink("t").unwrap();
    let mut out = [0; 5];
    other.open_read("u").unwrap().read_at(0, &mut out).unwrap();
    assert_eq!(&out, b"table");
    assert_eq!(kind(other.remove()), ErrorKind::Io);
    other.unlink("u").unwrap();
}

/// A directory that is renamed keeps its files and its lock, and replaces an empty one only.
fn rename_directory(env: &dyn Env, from: &Path, to: &Path) {
    let staged = env.open_dir(from, true).unwrap();
    let lock = staged.lock("LOCK").unwrap();
    let replaced = env.open_dir(to, true).unwrap();
    drop(replaced.create("t").unwrap());
    assert_eq!(kind(staged.rename_to(to)), ErrorKind::Io);
    replaced.unlink("t").unwrap();
    staged.rename_to(to).unwrap();
    assert_eq!(kind(env.open_dir(from, false)), ErrorKind::NotFound);
    let whole = env.open_dir(to, false).unwrap();
    assert_eq!(whole.path(), to);
    assert_eq!(whole.list().unwrap(), ["LOCK"]);
    assert_eq!(kind(whole.lock("LOCK")), ErrorKind::Locked);
    drop(lock);
    drop(whole.lock("LOCK").unwrap());
    whole.unlink("LOCK").unwrap();
    whole.remove().unwrap();
}

fn remove(env: &dyn Env, path: &Path) {
    let dir = env.open_dir(path, true).unwrap();
    dir.remove().unwrap();
    assert_eq!(kind(env.open_dir(path, false)), ErrorKind::NotFound);
}
