//! Tests of the set of segments.

use cairndb_base::FileNumber;
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_format::name;

use super::*;

const BYTES: u64 = 64 << 10;

fn region(dir: &dyn Dir, file: u64, bytes: u64) -> Arc<dyn LogRegion> {
    dir.create_log(&name::log(FileNumber(file)), bytes).unwrap()
}

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir("/log".as_ref(), true).unwrap()
}

#[test]
fn spares_and_live_segments_share_one_limit() {
    let dir = directory();
    let segments = Segments::new(1, 4 * BYTES);
    for file in 0..2 {
        let live = region(&*dir, file, BYTES);
        segments.begin(file, live, (7, 1), 1).unwrap();
    }
    // A segment created for a long record does not count against the limit.
    let long = region(&*dir, 2, 100 * BYTES);
    segments.begin(2, long, (7, 1), 1).unwrap();
    let kept = region(&*dir, 3, BYTES);
    assert_eq!(segments.add_spare(3, Arc::clone(&kept), 0), None);
    // A reader of the first spare keeps it from being used or counted.
    assert!(!segments.has_spare() && segments.take_spare(BYTES, |_| false).is_none());
    assert_eq!(segments.add_spare(4, region(&*dir, 4, BYTES), 0), None);
    assert_eq!(segments.add_spare(5, region(&*dir, 5, BYTES), 0), None);
    assert_eq!(segments.add_spare(6, region(&*dir, 6, BYTES), 0), Some(6));
    drop(kept);
    assert_eq!(segments.spare_bytes(), 3 * BYTES);
    // The warmest spare is taken first, and only one of the requested length.
    assert!(segments.take_spare(2 * BYTES, |_| false).is_none());
    let taken: Vec<u64> = (0..3)
        .map(|_| segments.take_spare(BYTES, |_| false).unwrap().0)
        .collect();
    assert_eq!(taken, [5, 4, 3]);
}

#[test]
fn spares_that_nobody_needs_go_by_halves() {
    let dir = directory();
    let segments = Segments::new(1, 100 * BYTES);
    for file in 0..18 {
        assert_eq!(
            segments.add_spare(file, region(&*dir, file, BYTES), 0),
            None
        );
    }
    // All spares were added since the last call.
    let mut now = SHED_AFTER_NS;
    assert!(segments.shed_spares(now).is_empty());
    let (file, taken) = segments.take_spare(BYTES, |_| false).unwrap();
    assert_eq!(file, 17);
    assert_eq!(segments.add_spare(file, taken, 0), None);
    assert_eq!(segments.shed_spares(now + SHED_AFTER_NS - 1), []);
    let mut shed = || {
        now += SHED_AFTER_NS;
        segments.shed_spares(now)
    };
    assert_eq!(shed(), (0..7).collect::<Vec<_>>());
    assert_eq!(shed(), (7..11).collect::<Vec<_>>());
    segments.trim_spares(usize::MAX);
    assert_eq!(shed(), []);
    assert_eq!(segments.spare_bytes(), BYTES);
}
