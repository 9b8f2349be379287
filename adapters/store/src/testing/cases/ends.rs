//! What happens after a store is closed, and how it is shared.

use crate::batch::Batch;
use crate::error::ErrorKind::Closed;
use crate::scan::Scan;
use crate::testing::steps::{checks, fill, refused, text};

checks! {
    fn a_closed_store_refuses_reads(store) {
        fill(store, &[("a", "1")])?;
        store.close()?;
        assert_eq!(refused(store.get(b"a")), Closed);
        assert_eq!(refused(store.multi_get(&[b"a"])), Closed);
        assert_eq!(refused(store.contains(b"a")), Closed);
        let scanned = store.scan(&Scan::all()).and_then(|mut scan| scan.next().transpose());
        assert_eq!(refused(scanned), Closed);
    }
    fn a_closed_store_refuses_writes(store) {
        store.close()?;
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        assert_eq!(refused(store.put(b"a", b"1")), Closed);
        assert_eq!(refused(store.delete(b"a")), Closed);
        assert_eq!(refused(store.write(&batch)), Closed);
        assert_eq!(refused(store.write(&Batch::new())), Closed);
        assert_eq!(refused(store.compare_and_set(b"a", None, Some(b"1"))), Closed);
    }
    fn a_closed_store_refuses_transactions(store) {
        store.close()?;
        let result = store.begin().and_then(|transaction| {
            transaction.put(b"a", b"1")?;
            transaction.commit()
        });
        assert_eq!(refused(result), Closed);
    }
    fn a_snapshot_of_a_closed_store_refuses_reads(store) {
        fill(store, &[("a", "1")])?;
        let snapshot = store.snapshot()?;
        store.close()?;
        assert_eq!(refused(snapshot.get(b"a")), Closed);
    }
    fn closing_twice_is_no_error(store) {
        store.close()?;
        store.close()?;
    }
    fn a_store_is_used_by_many_threads(store) {
        std::thread::scope(|scope| {
            let write = |thread: u8| {
                for n in 0..20_u8 {
                    store.put(&[thread, n], &[n])?;
                    assert_eq!(store.get(&[thread, n])?.as_deref(), Some(&[n][..]));
                }
                crate::error::Result::Ok(())
            };
            let threads: Vec<_> = (0..4_u8).map(|n| scope.spawn(move || write(n))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!(store.scan(&Scan::all())?.count(), 80);
    }
    fn a_batch_is_seen_whole_by_other_threads(store) {
        let mut batch = Batch::new();
        for key in [b"a", b"b", b"c"] {
            batch.put(key, b"0");
        }
        store.write(&batch)?;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 1..40 {
                    let mut batch = Batch::new();
                    for key in [b"a", b"b", b"c"] {
                        batch.put(key, n.to_string().as_bytes());
                    }
                    store.write(&batch)?;
                }
                crate::error::Result::Ok(())
            });
            while !writer.is_finished() {
                let found = store.multi_get(&[b"a", b"b", b"c"])?;
                assert!(found.iter().all(|value| *value == found[0]), "{found:?}");
                let scanned: crate::error::Result<Vec<_>> = store.scan(&Scan::all())?.collect();
                let scanned = scanned?;
                assert!(scanned.iter().all(|(_, value)| *value == scanned[0].1), "{scanned:?}");
            }
            writer.join().expect("no panic")
        })?;
        assert_eq!(text(store, "c")?, "39");
    }
}
