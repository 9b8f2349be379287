//! Batches: all or nothing, in order, within the limits.

use crate::batch::Batch;
use crate::error::ErrorKind;
use crate::options::{CallOptions, Durability};
use crate::scan::Scan;
use crate::testing::steps::{checks, fill, listed, text};

checks! {
    fn a_batch_puts_and_deletes(store) {
        fill(store, &[("a", "1"), ("b", "2")])?;
        let mut batch = Batch::new();
        batch.put(b"a", b"10");
        batch.delete(b"b");
        batch.put(b"c", b"30");
        batch.delete(b"absent");
        store.write(&batch)?;
        assert_eq!(listed(store, &Scan::all())?, "a=10 c=30");
    }
    fn an_empty_batch_changes_nothing(store) {
        store.put(b"a", b"1")?;
        store.write(&Batch::new())?;
        store.write_with(&Batch::new(), &CallOptions::new().durability(Durability::Sync))?;
        assert_eq!(listed(store, &Scan::all())?, "a=1");
    }
    fn the_last_put_of_a_key_counts(store) {
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        batch.put(b"a", b"2");
        batch.put(b"a", b"3");
        store.write(&batch)?;
        assert_eq!(text(store, "a")?, "3");
    }
    fn a_delete_after_a_put_removes_the_key(store) {
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        batch.put(b"b", b"1");
        batch.delete(b"a");
        store.write(&batch)?;
        assert_eq!(listed(store, &Scan::all())?, "b=1");
    }
    fn a_put_after_a_delete_keeps_the_key(store) {
        store.put(b"a", b"old")?;
        let mut batch = Batch::new();
        batch.delete(b"a");
        batch.put(b"a", b"new");
        store.write(&batch)?;
        assert_eq!(text(store, "a")?, "new");
    }
    fn a_batch_of_deletes_only_works(store) {
        fill(store, &[("a", "1"), ("b", "2"), ("c", "3")])?;
        let mut batch = Batch::new();
        batch.delete(b"a");
        batch.delete(b"c");
        batch.delete(b"c");
        store.write(&batch)?;
        assert_eq!(listed(store, &Scan::all())?, "b=2");
    }
    fn a_batch_may_be_written_twice(store) {
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        store.write(&batch)?;
        store.delete(b"a")?;
        store.write(&batch)?;
        assert_eq!(text(store, "a")?, "1");
    }
    fn empty_keys_and_values_fit_in_a_batch(store) {
        let mut batch = Batch::new();
        batch.put(b"", b"");
        batch.put(b"a", b"");
        store.write(&batch)?;
        assert_eq!(listed(store, &Scan::all())?, "= a=");
    }
    fn a_batch_of_a_hundred_writes_is_applied(store) {
        let mut batch = Batch::new();
        for n in 0..100_u8 {
            batch.put(&[n], &[n; 50]);
        }
        store.write(&batch)?;
        assert_eq!(store.scan(&Scan::all())?.count(), 100);
    }
    fn a_batch_as_large_as_permitted_is_applied(store) {
        let ops = store.engine().limits.batch_ops.min(2000);
        let mut batch = Batch::new();
        for n in 0..ops {
            batch.put(format!("{n:05}").as_bytes(), b"1");
        }
        store.write(&batch)?;
        assert_eq!(store.scan(&Scan::all())?.count(), ops);
    }
    fn a_batch_with_too_many_writes_is_refused_whole(store) {
        let max = store.engine().limits.batch_ops;
        if max < 1_000_000 {
            let mut batch = Batch::new();
            for n in 0..=max {
                batch.put(format!("{n:05}").as_bytes(), b"1");
            }
            let error = store.write(&batch).expect_err("too many writes");
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            let limit = error.limit().expect("the limit is named");
            assert_eq!((limit.name, limit.max), ("batch_ops", max as u64));
            assert_eq!(store.scan(&Scan::all())?.count(), 0);
        }
    }
    fn writes_that_are_replaced_do_not_count(store) {
        let max = store.engine().limits.batch_ops;
        if max < 1_000_000 {
            let mut batch = Batch::new();
            for n in 0..=max + 10 {
                batch.put(b"same", n.to_string().as_bytes());
            }
            store.write(&batch)?;
            assert_eq!(text(store, "same")?, (max + 10).to_string());
        }
    }
    fn a_batch_with_too_many_bytes_is_refused_whole(store) {
        let limits = store.engine().limits;
        if limits.batch_bytes < 256 << 20 {
            let value = vec![7; limits.value_bytes.min(limits.batch_bytes / 3)];
            let mut batch = Batch::new();
            for key in [b"a", b"b", b"c", b"d"] {
                batch.put(key, &value);
            }
            let error = store.write(&batch).expect_err("too many bytes");
            assert_eq!(error.limit().map(|limit| limit.name), Some("batch_bytes"));
            assert_eq!(store.scan(&Scan::all())?.count(), 0);
        }
    }
    fn a_batch_with_a_key_beyond_the_limit_is_refused_whole(store) {
        let key = vec![b'k'; store.engine().limits.key_bytes + 1];
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        batch.put(&key, b"2");
        let error = store.write(&batch).expect_err("the key is too long");
        assert_eq!(error.limit().map(|limit| limit.name), Some("key_bytes"));
        assert_eq!(store.scan(&Scan::all())?.count(), 0);
    }
    fn large_values_fit_in_a_batch(store) {
        let mut batch = Batch::new();
        for n in 0..8_u8 {
            batch.put(&[n], &vec![n; 100_000]);
        }
        store.write(&batch)?;
        for n in 0..8_u8 {
            let value = store.get(&[n])?;
            assert_eq!(value.as_deref(), Some(&vec![n; 100_000][..]));
        }
    }
    fn batches_follow_each_other(store) {
        for round in 0..10_u8 {
            let mut batch = Batch::new();
            for key in 0..10_u8 {
                if (key + round) % 3 == 0 {
                    batch.delete(&[key]);
                } else {
                    batch.put(&[key], &[round]);
                }
            }
            store.write(&batch)?;
        }
        assert_eq!(store.scan(&Scan::all())?.count(), 6);
    }
}
