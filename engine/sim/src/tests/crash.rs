//! The simulation can produce the states in which real stores lost data, and keeps its promises.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, Env};

use super::super::*;

const DB: &str = "db";

fn open(env: &SimEnv) -> Arc<dyn Dir> {
    env.open_dir(Path::new(DB), true).unwrap()
}

fn read(env: &SimEnv, name: &str) -> Option<Vec<u8>> {
    env.read_file(&Path::new(DB).join(name))
}

fn write(dir: &dyn Dir, name: &str, bytes: &[u8], sync: bool) {
    let mut file = dir.create(name).unwrap();
    file.append(bytes).unwrap();
    if sync {
        file.sync().unwrap();
    }
}

/// Returns every distinct state of a crash now, as the contents of the named files.
fn states(env: &SimEnv, profile: Profile, names: &[&str]) -> BTreeSet<Vec<Option<Vec<u8>>>> {
    let bytes = |state: CrashState| names.iter().map(|name| read(&state.image, name)).collect();
    env.crash_states(profile, 1, usize::MAX)
        .map(bytes)
        .collect()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "compared with files that may be missing"
)]
fn some(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(bytes.to_vec())
}

#[test]
fn a_rename_is_lost_without_a_directory_sync() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "CURRENT", b"old", true);
    dir.sync().unwrap();
    write(&*dir, "000002.tmp", b"new", true);
    dir.rename("000002.tmp", "CURRENT").unwrap();
    let names = ["CURRENT", "000002.tmp"];
    let found = states(&env, Profile::Weak, &names);
    // The rename is lost together with the new file, lost alone, or done; one version always
    // remains.
    let expected = [
        vec![some(b"old"), None],
        vec![some(b"old"), some(b"new")],
        vec![some(b"new"), None],
    ];
    assert_eq!(found, BTreeSet::from(expected.clone()));
    // A journal keeps the order, and the sync of the new file made its name durable.
    let found = states(&env, Profile::Ordered, &names);
    assert_eq!(
        found,
        BTreeSet::from([expected[1].clone(), expected[2].clone()])
    );
    dir.sync().unwrap();
    let found = states(&env, Profile::Weak, &names);
    assert_eq!(found, BTreeSet::from([expected[2].clone()]));
}

#[test]
fn a_rename_may_come_before_the_data_of_what_it_names() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "CURRENT", b"old", true);
    dir.sync().unwrap();
    write(&*dir, "000002.tmp", b"new", false);
    dir.rename("000002.tmp", "CURRENT").unwrap();
    let found = states(&env, Profile::Weak, &["CURRENT"]);
    assert!(found.contains(&vec![some(b"")]), "empty");
    assert!(found.contains(&vec![some(b"\0\0\0")]), "zeros");
    assert!(found.contains(&vec![some(b"new")]) && found.contains(&vec![some(b"old")]));
}

#[test]
fn a_table_is_named_but_empty_or_zero() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "000003.tbl", &[7; 1000], false);
    write(&*dir, "MANIFEST-000001", b"names 3", true);
    dir.sync().unwrap();
    let found = states(&env, Profile::Weak, &["MANIFEST-000001", "000003.tbl"]);
    let manifest = some(b"names 3");
    assert!(found.contains(&vec![manifest.clone(), some(b"")]));
    assert!(found.contains(&vec![manifest.clone(), some(&[0; 1000])]));
    let half = [[0; 512].as_slice(), &[7; 488]].concat();
    assert!(found.contains(&vec![manifest.clone(), some(&half)]));
    assert!(found.contains(&vec![manifest, some(&[7; 1000])]));
}

#[test]
fn a_file_grows_over_noise_and_over_old_bytes() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "000001.tbl", &[0xAA; 2048], true);
    dir.unlink("000001.tbl").unwrap();
    write(&*dir, "000002.tbl", &[7; 1024], false);
    dir.sync().unwrap();
    let found = states(&env, Profile::Weak, &["000002.tbl"]);
    assert!(found.contains(&vec![some(&[0xAA; 1024])]), "freed bytes");
    let noisy = |file: &Option<Vec<u8>>| {
        let kinds: BTreeSet<u8> = file.iter().flatten().copied().collect();
        kinds.len() > 100
    };
    assert!(found.iter().any(|files| noisy(&files[0])), "noise");
    let found = states(&env, Profile::Ordered, &["000002.tbl"]);
    let expected = [&b""[..], &[7; 1024]].map(|bytes| vec![some(bytes)]);
    assert_eq!(
        found,
        BTreeSet::from(expected),
        "a journal grows over data only"
    );
}

#[test]
fn log_sectors_arrive_in_any_order() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let log = dir.create_log("000001.log", 16 << 10).unwrap();
    log.sync().unwrap();
    dir.sync().unwrap();
    log.write(0, &[&[7; 12 << 10]], false).unwrap();
    let point = env.crash_point();
    // A crash keeps the first and the third page of the write and loses the second.
    assert!(point.pending(Profile::Weak) < 64);
    let mut bits = 0;
    for (index, place) in point.places().iter().enumerate() {
        if let crash::PendingUnit::File(id, unit) = *place
            && let unit::Unit::Sector { index: sector, .. } =
                point.disk.inode(id).pending[unit].unit
            && !(8..16).contains(&sector)
        {
            bits |= 1u64 << index;
        }
    }
    let image = point.image(Profile::Weak, &CrashChoice::new(Keep::Subset(bits)));
    let page = |byte| [byte; 4096];
    let expected = [page(7), page(0), page(7), page(0)].concat();
    assert!(read(&image, "000001.log") == some(&expected));
}

#[test]
fn a_record_tears_at_a_sector() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let log = dir.create_log("000001.log", 4096).unwrap();
    dir.sync().unwrap();
    log.write(0, &[&[1; 500]], true).unwrap();
    log.sync().unwrap();
    log.write(500, &[&[2; 24]], false).unwrap();
    let head = |files: &Vec<Option<Vec<u8>>>| files[0].as_ref().unwrap()[..524].to_vec();
    let found: BTreeSet<_> = states(&env, Profile::Weak, &["000001.log"])
        .iter()
        .map(head)
        .collect();
    let torn = |first: u8, second: u8| [[1; 500].as_slice(), &[first; 12], &[second; 12]].concat();
    for expected in [torn(0, 0), torn(2, 0), torn(0, 2), torn(2, 2)] {
        assert!(found.contains(&expected));
    }
    assert!(
        found.iter().all(|head| head[..500] == [1; 500]),
        "what was synced stays"
    );
}

#[test]
fn a_created_file_is_lost_without_a_directory_sync() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "000001.val", b"value", true);
    let found = states(&env, Profile::Weak, &["000001.val"]);
    assert_eq!(found, BTreeSet::from([vec![None], vec![some(b"value")]]));
    let found = states(&env, Profile::Ordered, &["000001.val"]);
    assert_eq!(found, BTreeSet::from([vec![some(b"value")]]));
    let found = states(&env, Profile::Strict, &["000001.val"]);
    assert_eq!(found, BTreeSet::from([vec![None]]));
}

#[test]
fn an_unlink_comes_back_and_a_second_directory_is_apart() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    write(&*dir, "a", b"a", true);
    dir.sync().unwrap();
    let other = env.open_dir(Path::new("copy"), true).unwrap();
    dir.link("a", &*other, "b").unwrap();
    dir.unlink("a").unwrap();
    let both = |state: CrashState| {
        let image = state.image;
        let a = image.read_file(Path::new("db/a")).is_some();
        (a, image.read_file(Path::new("copy/b")).is_some())
    };
    let found: BTreeSet<_> = env.crash_states(Profile::Weak, 1, 99).map(both).collect();
    let all = [(false, false), (false, true), (true, false), (true, true)];
    assert_eq!(found, BTreeSet::from(all));
    dir.sync().unwrap();
    // The sync of the journal included the link.
    let found: BTreeSet<_> = env
        .crash_states(Profile::Ordered, 1, 99)
        .map(both)
        .collect();
    assert_eq!(found, BTreeSet::from([(false, true)]));
}

#[test]
fn a_kill_tears_only_the_write_in_progress_and_leaves_the_rest_pending() {
    let env = SimEnv::new(3);
    let dir = open(&env);
    let log = dir.create_log("000001.log", 4096).unwrap();
    log.write(0, &[b"whole"], false).unwrap();
    env.crash_at(env.op_count());
    let failed = log.write(5, &[b"head", b"payload of some length"], false);
    assert!(failed.is_err() && env.crashed());
    assert!(dir.list().is_err(), "nothing works after a crash");
    let full = b"wholeheadpayload of some length";
    let found = states(&env, Profile::Kill, &["000001.log"]);
    assert!(found.len() > 2);
    for files in &found {
        let bytes = files[0].as_ref().unwrap();
        assert_eq!(&bytes[..5], b"whole");
        let written = bytes.iter().zip(full);
        assert!(
            written
                .into_iter()
                .all(|(&found, &full)| found == full || found == 0)
        );
        assert!(bytes[full.len()..].iter().all(|&byte| byte == 0));
    }
    assert!(
        found
            .iter()
            .any(|files| files[0].as_ref().unwrap()[..full.len()] == *full)
    );
    // The cache survives the process, and the next process may lose power.
    let next = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::None));
    assert_eq!(read(&next, "000001.log").unwrap()[..5], *b"whole");
    let lost = next.crash_image(Profile::Weak, &CrashChoice::new(Keep::None));
    assert_eq!(read(&lost, "000001.log"), None);
    assert!(open(&next).lock("LOCK").is_ok());
}

#[test]
fn an_append_is_cut_at_a_page_by_a_kill() {
    let env = SimEnv::new(3);
    let dir = open(&env);
    let mut file = dir.create("f").unwrap();
    file.append(&[1; 100]).unwrap();
    env.crash_at(env.op_count());
    assert!(file.append(&[2; 10_000]).is_err());
    let len = |files: &Vec<Option<Vec<u8>>>| files[0].as_ref().unwrap().len();
    let found: BTreeSet<_> = states(&env, Profile::Kill, &["f"])
        .iter()
        .map(len)
        .collect();
    assert_eq!(found, BTreeSet::from([100, 4096, 8192, 10_100]));
}

#[test]
fn zeros_of_a_new_log_are_durable_only_when_synced() {
    let env = SimEnv::new(1);
    let dir = open(&env);
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let seen = kinds.clone();
    env.watch(move |point| {
        let sizes: BTreeSet<_> = point
            .states(Profile::Weak, 1, 100)
            .map(|state| read(&state.image, "000001.log").map(|bytes| bytes.len()))
            .collect();
        seen.lock().push((point.op().kind, sizes));
    });
    dir.create_log("000001.log", 2000).unwrap().sync().unwrap();
    dir.sync().unwrap();
    env.unwatch();
    let seen = kinds.lock();
    let sizes = |sizes: &[Option<usize>]| sizes.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(seen[0], (OpKind::CreateLog, sizes(&[None])));
    assert_eq!(seen[1], (OpKind::FillLog, sizes(&[None, Some(0)])));
    let any = sizes(&[None, Some(0), Some(2000)]);
    assert_eq!(seen[2], (OpKind::SyncFile, any));
    assert_eq!(seen[3], (OpKind::SyncDir, sizes(&[None, Some(2000)])));
    assert_eq!(read(&env, "000001.log"), some(&[0; 2000]));
}

#[test]
fn runs_and_images_repeat_from_their_seed() {
    let run = |seed| {
        let env = SimEnv::new(seed);
        let dir = open(&env);
        let log = dir.create_log("000001.log", 8192).unwrap();
        log.sync().unwrap();
        for index in 0..20u64 {
            let salt = env.random_u64().to_le_bytes();
            log.write(index * 100, &[&salt, &[9; 60]], false).unwrap();
        }
        write(&*dir, "000002.tbl", &[1; 5000], false);
        let states = env.crash_states(Profile::Weak, seed, 200);
        let hashes: Vec<u64> = states.map(|state| state.hash).collect();
        (env.image_hash(), env.ops(), hashes, env.now_ns())
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5).0, run(6).0);
    assert!(run(5).2.len() > 150);
    let image = SimEnv::new(5).crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
    assert_ne!(
        image.random_u64(),
        SimEnv::new(5).random_u64(),
        "salts differ between lives"
    );
}
