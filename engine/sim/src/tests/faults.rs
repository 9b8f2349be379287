//! Each fault has its documented effect, once or until healed.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::ErrorKind;
use cairndb_env::{Access, Dir, Env, WritableFile};

use super::super::*;

fn open(env: &SimEnv) -> Arc<dyn Dir> {
    env.open_dir(Path::new("db"), true).unwrap()
}

fn read(env: &SimEnv, name: &str) -> Vec<u8> {
    env.read_file(&Path::new("db").join(name)).unwrap()
}

/// Returns the content after a crash that keeps only what is durable.
fn after_crash(env: &SimEnv, name: &str) -> Vec<u8> {
    let image = env.crash_image(Profile::Strict, &CrashChoice::new(Keep::None));
    read(&image, name)
}

/// Creates a file with synced old bytes and a durable name, followed by new bytes.
fn half_synced(env: &SimEnv) -> Box<dyn WritableFile> {
    let dir = open(env);
    let mut file = dir.create("f").unwrap();
    file.append(b"old ").unwrap();
    file.sync().unwrap();
    dir.sync().unwrap();
    file.append(b"new ").unwrap();
    file
}

#[test]
fn a_failed_sync_keeps_the_cache_and_never_writes_it() {
    let env = SimEnv::new(1);
    let mut file = half_synced(&env);
    env.inject(Fault::on(OpKind::SyncFile, "f", Effect::SyncKeepsCache));
    assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(read(&env, "f"), b"old new ");
    // The next sync succeeds but does not write the bytes that counted as clean.
    file.sync().unwrap();
    assert_eq!(after_crash(&env, "f"), b"old ");
    assert_eq!(env.crash_states(Profile::Weak, 1, 99).count(), 1);
    // Later bytes arrive, with a hole where a whole sector was lost.
    file.append(&[7; 1000]).unwrap();
    file.sync().unwrap();
    let bytes = after_crash(&env, "f");
    assert_eq!(bytes.len(), 1008);
    assert!(bytes.ends_with(&[7; 496]));
}

#[test]
fn a_failed_sync_drops_the_cache() {
    let env = SimEnv::new(1);
    let mut file = half_synced(&env);
    env.inject(Fault::on(OpKind::SyncFile, "f", Effect::SyncDropsCache));
    assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(read(&env, "f"), b"old ");
    file.sync().unwrap();
    assert_eq!(after_crash(&env, "f"), b"old ");
}

#[test]
fn a_failed_sync_is_reported_late() {
    let env = SimEnv::new(1);
    let mut file = half_synced(&env);
    let syncer = file.syncer();
    env.inject(Fault::on(OpKind::SyncFile, "f", Effect::SyncReportsLate));
    file.sync().unwrap();
    assert_eq!(read(&env, "f"), b"old new ");
    assert_eq!(after_crash(&env, "f"), b"old ");
    assert_eq!(syncer.sync().unwrap_err().kind(), ErrorKind::Io);
    file.sync().unwrap();
}

#[test]
fn a_lying_sync_leaves_everything_pending() {
    let env = SimEnv::new(1);
    let mut file = half_synced(&env);
    env.inject(Fault::on(OpKind::SyncFile, "f", Effect::SyncLies));
    file.sync().unwrap();
    assert_eq!(after_crash(&env, "f"), b"old ");
    file.sync().unwrap();
    assert_eq!(after_crash(&env, "f"), b"old new ");
    let dir = open(&env);
    env.inject(Fault::on(OpKind::SyncDir, "", Effect::SyncLies));
    dir.unlink("f").unwrap();
    dir.sync().unwrap();
    assert_eq!(after_crash(&env, "f"), b"old new ");
}

#[test]
fn writes_are_cut_short() {
    for (short, done) in [(Short::OneByte, 1), (Short::Half, 5), (Short::AllButOne, 9)] {
        let env = SimEnv::new(1);
        let dir = open(&env);
        let effect = Effect::WritesPart(short, Cause::Quota);
        env.inject(Fault::on(OpKind::Append, "", effect));
        env.inject(Fault::on(OpKind::WriteLog, "", effect));
        let mut file = dir.create("f").unwrap();
        let error = file.append(b"0123456789").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert_eq!(read(&env, "f"), &b"0123456789"[..done]);
        let log = dir.create_log("l", 20).unwrap();
        assert!(log.write(0, &[b"01234", b"56789"], false).is_err());
        let mut expected = b"0123456789"[..done].to_vec();
        expected.resize(20, 0);
        assert_eq!(read(&env, "l"), expected);
        assert_eq!(env.faults_struck(), 2);
        assert!(env.ops().iter().filter(|op| op.failed).count() == 2);
    }
}

#[test]
fn a_full_disk_takes_what_fits_until_there_is_room() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let log = dir.create_log("l", 600).unwrap();
    env.set_capacity(1000);
    let kind = dir.create_log("m", 500).map(drop).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::NoSpace);
    assert_eq!(dir.size_of("m").unwrap(), None, "half a log is removed");
    let mut file = dir.create("f").unwrap();
    file.append(&[1; 300]).unwrap();
    assert_eq!(
        file.append(&[2; 300]).unwrap_err().kind(),
        ErrorKind::NoSpace
    );
    assert_eq!(read(&env, "f").len(), 400);
    // Allocated space can be written.
    log.write(0, &[&[3; 600]], false).unwrap();
    dir.unlink("f").unwrap();
    let mut file = dir.create("g").unwrap();
    file.append(&[1; 400]).unwrap();
    assert!(file.append(b"x").is_err());
    env.heal();
    dir.create("h").unwrap().append(&[1; 9000]).unwrap();
}

#[test]
fn every_operation_can_fail_with_every_cause() {
    // One run of every kind of operation; the fault is injected at each index in turn.
    let run = |env: &SimEnv| -> cairndb_base::Result<()> {
        let dir = env.open_dir(Path::new("db"), true)?;
        let _lock = dir.lock("LOCK")?;
        dir.list()?;
        let mut file = dir.create("f")?;
        file.append(b"bytes")?;
        file.sync()?;
        dir.size_of("f")?;
        let reader = dir.open_read("f")?;
        reader.read_at(0, &mut [0; 5])?;
        reader.map(reader.size(), Access::Random)?;
        let log = dir.create_log("l", 100)?;
        log.write(0, &[b"x"], false)?;
        drop(log);
        drop(dir.open_log("l")?);
        dir.link("f", &*dir, "g")?;
        dir.rename("g", "h")?;
        dir.sync()?;
        drop(dir.open_shared("s", 8, true)?);
        for name in ["f", "h", "l", "LOCK", "s"] {
            dir.unlink(name)?;
        }
        dir.rename_to(Path::new("renamed"))?;
        dir.remove()
    };
    let clean = SimEnv::new(1);
    run(&clean).unwrap();
    let count = clean.op_count();
    let kinds = clean.ops().iter().map(|op| op.kind).collect::<Vec<_>>();
    for kind in OpKind::ALL {
        assert!(kinds.contains(&kind), "{kind:?} is not exercised");
    }
    for index in 0..count {
        for cause in Cause::ALL {
            let env = SimEnv::new(1);
            env.inject(Fault::at(index, Effect::Fails(cause)));
            let error = run(&env).unwrap_err();
            let expected = match cause {
                Cause::Full | Cause::Quota => ErrorKind::NoSpace,
                _ => ErrorKind::Io,
            };
            assert_eq!(error.kind(), expected, "operation {index}");
            assert_eq!(env.op_count(), index + 1);
            assert!(env.ops()[usize::try_from(index).unwrap()].failed);
        }
    }
}

#[test]
fn faults_strike_once_or_until_healed() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let fails = Effect::Fails(Cause::Io);
    env.inject(Fault::on(OpKind::Create, ".tbl", fails).after(1));
    dir.create("1.tbl").unwrap();
    dir.create("1.val").unwrap();
    assert!(dir.create("2.tbl").is_err());
    dir.create("3.tbl").unwrap();
    env.inject(Fault::at(env.op_count(), fails).sticky());
    assert!(dir.create("4.tbl").is_err());
    assert!(
        dir.create("5.val").is_err(),
        "the kind of operation keeps failing"
    );
    dir.sync().unwrap();
    env.heal();
    dir.create("4.tbl").unwrap();
    env.inject(Fault::on_any("4", Effect::ReadsShort));
    dir.unlink("4.tbl").unwrap();
    assert_eq!(env.faults_struck(), 3, "an unlink reads nothing");
}

#[test]
fn reads_come_short() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    dir.create("f").unwrap().append(b"bytes").unwrap();
    env.inject(Fault::on(OpKind::ReadAt, "f", Effect::ReadsShort));
    let file = dir.open_read("f").unwrap();
    let error = file.read_at(0, &mut [0; 5]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    file.read_at(0, &mut [0; 5]).unwrap();
}

#[test]
fn files_are_damaged_behind_the_engine() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let path = Path::new("db/f");
    assert!(!env.corrupt(path, 0, 1) && !env.truncate(path, 1) && !env.delete(path));
    env.write_file(path, b"bytes");
    assert_eq!(env.files(), [(path.to_owned(), 5)]);
    assert!(env.corrupt(path, 4, 1));
    assert!(!env.corrupt(path, 5, 1));
    assert_eq!(after_crash(&env, "f"), b"byter");
    assert!(env.truncate(path, 2));
    assert_eq!(after_crash(&env, "f"), b"by");
    assert!(env.delete(path));
    assert!(dir.list().unwrap().is_empty());
    assert!(
        env.with_mapping(false)
            .open_dir(Path::new("db"), false)
            .is_ok()
    );
    assert!(!open(&env.with_mapping(false)).prefers_mapping());
    assert_eq!(env.with_memory(77).memory_bytes(), 77);
}
