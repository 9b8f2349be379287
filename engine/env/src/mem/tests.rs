use std::sync::atomic::AtomicBool;

use super::*;
use crate::testing::conformance;
#[cfg(unix)]
use crate::testing::naming;

#[test]
fn behaves_as_every_environment() {
    for background in [Background::Stepped, Background::Threads] {
        let env = MemEnv::new(background);
        conformance::check(&*env, Path::new("/db"));
        assert_eq!(env.background(), background);
    }
}

#[test]
fn stepped_runs_repeat_and_start_no_threads() {
    let (a, b) = (
        MemEnv::new(Background::Stepped),
        MemEnv::new(Background::Stepped),
    );
    for _ in 0..10 {
        assert_eq!(a.random_u64(), b.random_u64());
        assert_eq!(a.now_ns(), b.now_ns());
    }
    let refused = a.spawn("job", Priority::Low, Box::new(|| {}));
    let refused = refused.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
}

#[test]
fn threads_run_and_join() {
    let env = MemEnv::new(Background::Threads);
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let body = Box::new(move || flag.store(true, Ordering::Release));
    let join = env.spawn("job", Priority::Normal, body).unwrap();
    join();
    assert!(ran.load(Ordering::Acquire));
}

#[test]
fn a_mapping_keeps_the_bytes_it_was_made_of() {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("db"), true).unwrap();
    let mut file = dir.create("f").unwrap();
    file.append(b"before").unwrap();
    let map = dir
        .open_read("f")
        .unwrap()
        .map(6, Access::Random)
        .unwrap()
        .unwrap();
    file.append(b" and after").unwrap();
    assert_eq!(&*map, b"before");
    assert_eq!(dir.size_of("f").unwrap(), Some(16));
}

/// Runs only where another environment exists, which supplies the foreign directory.
#[cfg(unix)]
#[test]
fn every_error_names_its_path() {
    let env = MemEnv::new(Background::Stepped);
    let temp = tempfile::tempdir().unwrap();
    let foreign = crate::RealEnv::new().open_dir(temp.path(), false).unwrap();
    let walk = naming::walk_what_all_refuse(&*env, Path::new("/db"), &*foreign);
    let never = "memory never refuses it";
    walk.assert_complete(&[
        naming::SPAWN,
        ("Dir::list", never),
        ("Dir::lock_state", never),
        ("Dir::size_of", never),
        ("Dir::space", never),
        ("Dir::sync", never),
        ("FileSync::sync", never),
        ("LogRegion::sync", never),
        ("LogRegion::write", never),
        ("WritableFile::append", never),
        ("WritableFile::append_parts", never),
        ("WritableFile::sync", never),
    ]);
}
