//! Snapshots: a state that does not change.

use crate::batch::Batch;
use crate::scan::Scan;
use crate::store::StoreExt as _;
use crate::testing::steps::{checks, fill, listed, text};

checks! {
    fn a_snapshot_does_not_see_a_later_put(store) {
        fill(store, &[("a", "1")])?;
        let snapshot = store.snapshot()?;
        fill(store, &[("a", "2"), ("b", "2")])?;
        assert_eq!((text(&*snapshot, "a")?, text(&*snapshot, "b")?), ("1".into(), "-".into()));
        assert_eq!(listed(store, &Scan::all())?, "a=2 b=2");
    }
    fn a_snapshot_keeps_what_is_deleted_later(store) {
        fill(store, &[("a", "1"), ("b", "2")])?;
        let snapshot = store.snapshot()?;
        store.delete(b"a")?;
        assert_eq!(listed(&*snapshot, &Scan::all())?, "a=1 b=2");
        assert!(snapshot.contains(b"a")?);
        assert!(!store.contains(b"a")?);
    }
    fn a_snapshot_of_an_empty_store_stays_empty(store) {
        let snapshot = store.snapshot()?;
        fill(store, &[("a", "1")])?;
        assert_eq!(listed(&*snapshot, &Scan::all())?, "");
        assert!(snapshot.get(b"a")?.is_none());
    }
    fn snapshots_of_different_times_differ(store) {
        let mut snapshots = Vec::new();
        for n in 0..3 {
            store.put(b"n", n.to_string().as_bytes())?;
            snapshots.push(store.snapshot()?);
        }
        store.delete(b"n")?;
        for (n, snapshot) in snapshots.iter().enumerate() {
            assert_eq!(text(&**snapshot, "n")?, n.to_string());
        }
    }
    fn a_snapshot_sees_a_batch_whole_or_not(store) {
        let before = store.snapshot()?;
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        batch.put(b"b", b"1");
        store.write(&batch)?;
        let after = store.snapshot()?;
        assert_eq!(listed(&*before, &Scan::all())?, "");
        assert_eq!(listed(&*after, &Scan::all())?, "a=1 b=1");
    }
    fn multi_get_of_a_snapshot_is_of_its_moment(store) {
        fill(store, &[("a", "1"), ("b", "1")])?;
        let snapshot = store.snapshot()?;
        fill(store, &[("a", "2"), ("c", "2")])?;
        store.delete(b"b")?;
        let found = snapshot.multi_get(&[b"a", b"b", b"c"])?;
        let found: Vec<Option<&[u8]>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&b"1"[..]), Some(b"1"), None]);
    }
    fn multi_get_of_hundreds_is_of_one_moment(store) {
        let keys: Vec<Vec<u8>> = (0..200).map(|n| format!("{n:03}").into_bytes()).collect();
        store.put(&keys[0], b"1")?;
        store.put(&keys[199], b"1")?;
        let snapshot = store.snapshot()?;
        store.put(&keys[199], b"2")?;
        let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = snapshot.multi_get(&asked)?;
        assert_eq!(found.iter().flatten().count(), 2);
        assert_eq!(found[199].as_deref(), Some(&b"1"[..]));
    }
    fn a_scan_of_a_snapshot_is_of_its_moment_both_ways(store) {
        fill(store, &[("a", "1"), ("b", "1"), ("c", "1")])?;
        let snapshot = store.snapshot()?;
        fill(store, &[("b", "2"), ("bb", "2")])?;
        store.delete(b"c")?;
        assert_eq!(listed(&*snapshot, &Scan::all())?, "a=1 b=1 c=1");
        assert_eq!(listed(&*snapshot, &Scan::all().reverse())?, "c=1 b=1 a=1");
        assert_eq!(listed(&*snapshot, &Scan::prefix(b"b").limit(5))?, "b=1");
    }
    fn a_snapshot_sees_no_later_transaction(store) {
        fill(store, &[("a", "1")])?;
        let snapshot = store.snapshot()?;
        store.transact(|transaction| {
            transaction.put(b"a", b"2")?;
            transaction.put(b"b", b"2")
        })?;
        assert_eq!(listed(&*snapshot, &Scan::all())?, "a=1");
    }
    fn a_snapshot_can_be_used_from_another_thread(store) {
        fill(store, &[("a", "1")])?;
        let snapshot = store.snapshot()?;
        store.put(b"a", b"2")?;
        let found = std::thread::scope(|scope| scope.spawn(|| text(&*snapshot, "a")).join());
        assert_eq!(found.expect("the thread ends")?, "1");
    }
    fn a_dropped_snapshot_leaves_the_store_usable(store) {
        for n in 0..30 {
            let snapshot = store.snapshot()?;
            store.put(b"n", n.to_string().as_bytes())?;
            drop(snapshot);
        }
        assert_eq!(text(store, "n")?, "29");
    }
    fn a_long_scan_of_a_snapshot_ignores_deletes(store) {
        for n in 0..600_u16 {
            store.put(&n.to_be_bytes(), b"1")?;
        }
        let snapshot = store.snapshot()?;
        for n in 0..600_u16 {
            store.delete(&n.to_be_bytes())?;
        }
        assert_eq!(snapshot.scan(&Scan::all())?.count(), 600);
        assert_eq!(store.scan(&Scan::all())?.count(), 0);
    }
}
