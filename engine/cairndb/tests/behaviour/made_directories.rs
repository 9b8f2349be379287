//! Directories that a call makes, a checkpoint or a repaired database, are whole or absent, and
//! what an interrupted call has left is replaced by the next.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::channel;

use cairndb::env::{Background, Env};
use cairndb::{Db, ErrorKind, Options, RepairOptions};
use cairndb_sim::{Profile, SimEnv};

use crate::{fails, fails_with, in_memory, real_dir};

const ENTRIES: usize = 101;

/// Creates the database `/one`, of tables, value files and a log.
fn create(options: &Options) {
    let db = options.open("/one").unwrap();
    let fill = |mut keys: Range<u32>| keys.try_for_each(|n| db.put(&n.to_be_bytes(), b"value"));
    fill(0..50).unwrap();
    db.put(b"large", &[9; 20_000]).unwrap();
    db.flush().unwrap();
    // These stay in the log until the close.
    fill(50..100).unwrap();
    db.close().unwrap();
}

/// A call that makes `/two` from `/one`.
type Maker = fn(&Options) -> cairndb::Result<()>;

fn checkpoint(options: &Options) -> cairndb::Result<()> {
    options.open("/one")?.checkpoint("/two")
}

/// Of a snapshot, after which more was written.
fn snapshot_fork(options: &Options) -> cairndb::Result<()> {
    let db = options.open("/one")?;
    // An interrupted call may have gone on to what follows.
    db.put(&0_u32.to_be_bytes(), b"value")?;
    db.delete(b"later")?;
    let snapshot = db.snapshot();
    db.put(b"later", b"")?;
    db.delete(&0_u32.to_be_bytes())?;
    db.compact_range(..)?;
    snapshot.fork("/two").map(drop)
}

fn repair(options: &Options) -> cairndb::Result<()> {
    cairndb::repair("/one", "/two", &RepairOptions::new(options)).map(drop)
}

fn count(options: &Options, path: &str) -> cairndb::Result<usize> {
    let db = options.clone().create_if_missing(false).open(path)?;
    Ok(usize::try_from(db.iter().try_count()?).unwrap())
}

#[test]
fn a_made_directory_is_whole_or_absent_after_a_crash_at_any_moment() {
    let makers: [(&str, Maker); 3] = [
        ("checkpoint", checkpoint),
        ("fork of a snapshot", snapshot_fork),
        ("repair", repair),
    ];
    for (name, make) in makers {
        let env = SimEnv::with(6, Background::Stepped);
        let options = Options::new().create_if_missing(true).env(env.clone());
        create(&options);
        let (sender, points) = channel();
        env.watch(move |point| sender.send(point).unwrap());
        make(&options).unwrap();
        // One more operation, so that there is a crash after the end too.
        drop(env.open_dir(Path::new("/end"), true).unwrap());
        env.unwatch();
        let (mut absent, mut whole, mut partial) = (0, 0, 0);
        for point in points {
            for profile in [Profile::Kill, Profile::Weak] {
                for state in point.states(profile, 3, 6) {
                    let (image, op) = (state.image, point.op());
                    let options = options.clone().env(image.clone());
                    match count(&options, "/two") {
                        Ok(found) => {
                            assert_eq!(found, ENTRIES, "{name} {op:?}");
                            whole += 1;
                            continue;
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
                    }
                    absent += 1;
                    partial += usize::from(has_partial(&image));
                    make(&options).unwrap();
                    assert_eq!(count(&options, "/two").unwrap(), ENTRIES, "{name} {op:?}");
                    assert!(!has_partial(&image), "{name} {op:?}: {:?}", image.files());
                }
            }
        }
        let enough = absent > partial && partial > 0 && whole > 0;
        assert!(enough, "{name}: {absent} {partial} {whole}");
    }
}

/// Returns whether there are files of a directory in the making.
fn has_partial(image: &SimEnv) -> bool {
    let mut files = image.files().into_iter();
    files.any(|(path, _)| path.starts_with("/two.partial"))
}

/// What somebody else has put where a directory is made stays, and is named.
#[test]
fn a_foreign_file_in_the_partial_directory_is_refused_and_stays() {
    let (env, options) = in_memory(Background::Stepped);
    create(&options);
    let partial = env.open_dir(Path::new("/two.partial"), true).unwrap();
    for name in ["notes.txt", "000007.tbl"] {
        partial.create(name).unwrap().append(b"not ours").unwrap();
        for make in [checkpoint, repair] {
            fails_with(make(&options), ErrorKind::InvalidArgument, name);
            assert!(partial.size_of(name).unwrap().is_some());
        }
        partial.unlink(name).unwrap();
    }
    let _lock = partial.lock("LOCK").unwrap();
    fails(checkpoint(&options), ErrorKind::Locked);
}

/// Targets whose name cannot be replaced, and one that others may read.
#[test]
fn a_link_is_filled_and_an_empty_directory_keeps_its_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = real_dir();
    let path = |name: &str| dir.path().join(name);
    let db = Db::open(path("one")).unwrap();
    db.put(b"k", b"v").unwrap();
    std::fs::create_dir(path("linked")).unwrap();
    symlink(path("linked"), path("link")).unwrap();
    db.checkpoint(path("link")).unwrap();
    assert!(path("link").is_symlink() && path("linked/CURRENT").exists());
    std::fs::create_dir(path("shared")).unwrap();
    std::fs::set_permissions(path("shared"), PermissionsExt::from_mode(0o750)).unwrap();
    db.checkpoint(path("shared")).unwrap();
    let found = std::fs::metadata(path("shared")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o750);
    for name in ["linked", "shared"] {
        let copy = Db::open(path(name)).unwrap();
        assert_eq!(copy.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
    let left = std::fs::read_dir(dir.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.ends_with(".partial")));
}
