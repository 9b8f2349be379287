//! Directories that a call makes, a checkpoint or a repaired database, are whole or absent, and
//! what an interrupted call has left is replaced by the next.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use cairndb::env::{Background, Env, MemEnv, RealEnv};
use cairndb::{ErrorKind, Options, RepairOptions};
use cairndb_sim::{Profile, SimEnv};

const ENTRIES: usize = 101;

/// Creates the database `/one`, of tables, value files and a log.
fn create(options: &Options) {
    let db = options.open("/one").unwrap();
    for n in 0..50_u32 {
        db.put(&n.to_be_bytes(), b"in a table").unwrap();
    }
    db.put(b"large", &[9; 20_000]).unwrap();
    db.flush().unwrap();
    for n in 50..100_u32 {
        db.put(&n.to_be_bytes(), b"in the log").unwrap();
    }
    db.close().unwrap();
}

/// A call that makes `/two` from `/one`.
type Maker = fn(&Options) -> cairndb::Result<()>;

fn checkpoint(options: &Options) -> cairndb::Result<()> {
    options.open("/one")?.checkpoint("/two")
}

fn repair(options: &Options) -> cairndb::Result<()> {
    cairndb::repair("/one", "/two", &RepairOptions::new(options)).map(drop)
}

fn count(options: &Options, path: &str) -> cairndb::Result<usize> {
    let db = options.clone().create_if_missing(false).open(path)?;
    db.iter()
        .try_fold(0, |count, entry| entry.map(|_| count + 1))
}

#[test]
fn a_made_directory_is_whole_or_absent_after_a_crash_at_any_moment() {
    let makers: [(&str, Maker); 2] = [("checkpoint", checkpoint), ("repair", repair)];
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
        assert!(
            absent > partial && partial > 0 && whole > 0,
            "{name}: {absent} {partial} {whole}"
        );
    }
}

/// Returns whether there are files of a directory in the making.
fn has_partial(image: &SimEnv) -> bool {
    let files = image.files();
    files
        .iter()
        .any(|(path, _)| path.starts_with("/two.partial"))
}

/// What somebody else has put where a directory is made stays, and is named.
#[test]
fn a_foreign_file_in_the_partial_directory_is_refused_and_stays() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().create_if_missing(true).env(env.clone());
    create(&options);
    let partial = env.open_dir(Path::new("/two.partial"), true).unwrap();
    for name in ["notes.txt", "000007.tbl"] {
        partial.create(name).unwrap().append(b"not ours").unwrap();
        for make in [checkpoint, repair] {
            let error = make(&options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            assert!(partial.size_of(name).unwrap().is_some());
        }
        partial.unlink(name).unwrap();
    }
    let _lock = partial.lock("LOCK").unwrap();
    assert_eq!(checkpoint(&options).unwrap_err().kind(), ErrorKind::Locked);
}

/// Targets whose name cannot be replaced, and one that others may read.
#[test]
fn a_link_is_filled_and_an_empty_directory_keeps_its_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let env: Arc<dyn Env> = RealEnv::new();
    let options = Options::new().create_if_missing(true).env(env);
    let db = options.open(path("one")).unwrap();
    db.put(b"k", b"v").unwrap();
    std::fs::create_dir(path("linked")).unwrap();
    symlink(path("linked"), path("link")).unwrap();
    db.checkpoint(path("link")).unwrap();
    assert!(path("link").is_symlink() && path("linked/CURRENT").exists());
    std::fs::create_dir(path("shared")).unwrap();
    std::fs::set_permissions(path("shared"), PermissionsExt::from_mode(0o750)).unwrap();
    db.checkpoint(path("shared")).unwrap();
    let mode = std::fs::metadata(path("shared"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    for name in ["linked", "shared"] {
        let copy = options.open(path(name)).unwrap();
        assert_eq!(copy.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
    let left = std::fs::read_dir(dir.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.ends_with(".partial")));
}
