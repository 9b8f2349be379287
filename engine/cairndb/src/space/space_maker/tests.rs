//! Tests of random histories in which tables are squeezed at any moment: no reader sees a
//! difference.

use std::collections::BTreeMap;
use std::path::Path;

use cairndb_base::Kind;
use cairndb_env::random::Random;
use cairndb_env::{Background, MemEnv};

use std::sync::Arc;

use cairndb_base::SeqNo;

use crate::engine::core::Core;
use crate::read::get;
use crate::read::presence::Presence;
use crate::state::merge_operator::Add;
use crate::state::options::{Durability, Options};
use crate::state::ranges::RangeMap;
use crate::state::sections::Section;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn apply(core: &Core, model: &mut Model, random: &mut Random) {
    let (key, os) = (
        format!("{:04}", random.index(300)).into_bytes(),
        Durability::Os,
    );
    match random.index(10) {
        0..4 => {
            core.write_one(Kind::Delete, &key, b"", os).unwrap();
            model.remove(&key);
        }
        4 => {
            core.write_operand(&key, &1_u64.to_le_bytes(), os).unwrap();
            let number = |value: &Vec<u8>| u64::from_le_bytes(value[..].try_into().unwrap());
            let old = model.get(&key).map_or(0, number);
            model.insert(key, old.wrapping_add(1).to_le_bytes().to_vec());
        }
        _ => {
            let value = random.next_u64().to_le_bytes();
            core.write_one(Kind::Put, &key, &value, os).unwrap();
            model.insert(key, value.to_vec());
        }
    }
}

fn options() -> Options {
    let options = Options::new().env(MemEnv::new(Background::Stepped));
    options.create_if_missing(true).memory_budget(256 << 10)
}

fn open(options: &Options) -> Arc<Core> {
    Core::open(options, Path::new("/db")).unwrap()
}

#[track_caller]
fn check(core: &Core, at: Option<SeqNo>, model: &Model, seed: u64) {
    let (view, newest) = core.base.versions.read_point(Section::Default);
    let (mut found, mut out) = (Model::new(), Vec::new());
    for n in 0..300 {
        let key = format!("{n:04}").into_bytes();
        let seq = at.unwrap_or(newest);
        let got = get::get(
            &view,
            &core.base.context,
            &key,
            (seq, &RangeMap::default()),
            &mut out,
        )
        .unwrap();
        if got != Presence::MISSING {
            found.insert(key, out.clone());
        }
    }
    assert!(&found == model, "seed {seed}");
}

#[test]
fn squeezing_changes_nothing_that_anybody_reads() {
    let mut squeezed = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let options = options().merge_operator(Arc::new(Add));
        let core = open(&options);
        let mut model = Model::new();
        let mut pinned: Vec<(SeqNo, Model)> = Vec::new();
        for _ in 0..120 {
            for _ in 0..random.index(60) {
                apply(&core, &mut model, &mut random);
            }
            match random.index(9) {
                0..3 => core.writer.flush_memtables().unwrap(),
                3..6 => {
                    let share = [1, 16, u64::MAX][random.index(3)];
                    squeezed += u32::from(core.space.squeezer().squeeze_once(share).unwrap());
                }
                6 => drop(core.space.compactor.compact_once().unwrap()),
                7 if pinned.len() < 3 => {
                    let seq = core.base.acquire_snapshot();
                    pinned.push((seq, model.clone()));
                }
                _ => {
                    if let Some((seq, seen)) = pinned.pop() {
                        check(&core, Some(seq), &seen, seed);
                        let _ = core.base.snapshots.release(seq);
                    }
                }
            }
            check(&core, None, &model, seed);
            for (seq, seen) in &pinned {
                check(&core, Some(*seq), seen, seed);
            }
        }
        for (seq, _) in pinned.drain(..) {
            let _ = core.base.snapshots.release(seq);
        }
        core.close().unwrap();
        let core = open(&options);
        check(&core, None, &model, seed);
        core.close().unwrap();
    }
    assert!(squeezed > 300, "{squeezed}");
}

/// Regression: tables were rewritten repeatedly for tombstones that a snapshot keeps from being
/// dropped.
#[test]
fn rewriting_ends_while_a_snapshot_is_held() {
    let core = open(&options());
    let write = |kind| {
        for n in 0..2_000 {
            let (key, os) = (format!("{n:06}"), Durability::Os);
            core.write_one(kind, key.as_bytes(), &[7; 50], os).unwrap();
        }
        core.writer.flush_memtables().unwrap();
    };
    write(Kind::Put);
    let snapshot = core.base.acquire_snapshot();
    write(Kind::Delete);
    let squeeze = || {
        let squeezer = core.space.squeezer();
        let rounds = (0..100).take_while(|_| squeezer.squeeze_tables().unwrap());
        assert!(rounds.count() < 100, "each round has to free something");
    };
    squeeze();
    let _ = core.base.snapshots.release(snapshot);
    let entries = |core: &Core| -> u64 {
        let state = core.base.versions.lock();
        state.version.tables().map(|it| it.record.entries).sum()
    };
    assert_eq!(entries(&core), 4_000, "the snapshot sees every entry");
    squeeze();
    assert_eq!(entries(&core), 0, "no entry is visible");
    core.close().unwrap();
}
