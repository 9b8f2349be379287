//! Puts, gets and deletes of single keys.

use std::ops::Bound;

use crate::error::ErrorKind;
use crate::options::{CallOptions, Durability};
use crate::scan::Scan;
use crate::testing::steps::{checks, fill, listed, refused, text};

checks! {
    fn an_empty_store_has_no_key(store) {
        assert!(store.get(b"a")?.is_none());
        assert!(store.get(b"")?.is_none());
        assert!(!store.contains(b"a")?);
    }
    fn a_put_is_read_back(store) {
        store.put(b"a", b"1")?;
        assert_eq!(store.get(b"a")?.as_deref(), Some(&b"1"[..]));
        assert!(store.contains(b"a")?);
    }
    fn a_put_replaces_the_value(store) {
        fill(store, &[("a", "1"), ("a", "22"), ("a", "")])?;
        assert_eq!(store.get(b"a")?.as_deref(), Some(&b""[..]));
    }
    fn a_put_of_the_same_value_changes_nothing(store) {
        fill(store, &[("a", "1"), ("a", "1")])?;
        assert_eq!(text(store, "a")?, "1");
        assert_eq!(store.scan(&Scan::all())?.count(), 1);
    }
    fn an_empty_value_is_a_value(store) {
        store.put(b"a", b"")?;
        assert_eq!(store.get(b"a")?.as_deref(), Some(&b""[..]));
        assert!(store.contains(b"a")?);
    }
    fn the_empty_key_is_a_key(store) {
        store.put(b"", b"nothing")?;
        assert_eq!(text(store, "")?, "nothing");
        store.delete(b"")?;
        assert_eq!(text(store, "")?, "-");
    }
    fn a_delete_removes_the_key(store) {
        store.put(b"a", b"1")?;
        store.delete(b"a")?;
        assert!(store.get(b"a")?.is_none());
        assert!(!store.contains(b"a")?);
    }
    fn a_delete_of_an_absent_key_is_no_error(store) {
        store.delete(b"a")?;
        store.delete(b"a")?;
    }
    fn a_deleted_key_can_be_put_again(store) {
        store.put(b"a", b"1")?;
        store.delete(b"a")?;
        store.put(b"a", b"2")?;
        assert_eq!(text(store, "a")?, "2");
    }
    fn a_deleted_range_has_its_start_and_not_its_end(store) {
        let all = [("", "0"), ("a", "1"), ("b", "2"), ("b\0", "3"), ("c", "4"), ("d", "5")];
        for (scan, left) in [
            (Scan::range("a".."c"), "=0 c=4 d=5"),
            (Scan::range("b"..="c").reverse().limit(1), "=0 a=1 d=5"),
            (Scan::range((Bound::Excluded("b"), Bound::Unbounded)), "=0 a=1 b=2"),
            (Scan::range(.."b"), "b=2 b\\x00=3 c=4 d=5"),
            (Scan::prefix(b"b"), "=0 a=1 c=4 d=5"),
            (Scan::range("c".."a"), "=0 a=1 b=2 b\\x00=3 c=4 d=5"),
            (Scan::range("x"..), "=0 a=1 b=2 b\\x00=3 c=4 d=5"),
            (Scan::all(), ""),
        ] {
            fill(store, &all)?;
            if let Err(error) = store.delete_range(&scan) {
                assert_eq!(error.kind(), ErrorKind::NotSupported);
                return Ok(());
            }
            assert_eq!(listed(store, &Scan::all())?, left, "{scan:?}");
            // A second time there is nothing to remove.
            store.delete_range(&scan)?;
        }
        fill(store, &[("b", "6")])?;
        assert_eq!(listed(store, &Scan::all())?, "b=6");
        let long = vec![b'k'; store.engine().limits.key_bytes + 1];
        let refusal = refused(store.delete_range(&Scan::range(..long.as_slice())));
        assert_eq!(refusal, ErrorKind::LimitExceeded);
    }
    fn keys_that_are_prefixes_of_others_are_separate(store) {
        fill(store, &[("a", "1"), ("ab", "2"), ("abc", "3")])?;
        store.delete(b"ab")?;
        assert_eq!((text(store, "a")?, text(store, "ab")?), ("1".into(), "-".into()));
        assert_eq!(text(store, "abc")?, "3");
    }
    fn every_byte_is_permitted_in_keys(store) {
        for byte in 0..=u8::MAX {
            store.put(&[byte], &[byte])?;
            store.put(&[byte, 0], b"with zero")?;
        }
        for byte in 0..=u8::MAX {
            assert_eq!(store.get(&[byte])?.as_deref(), Some(&[byte][..]));
        }
        assert_eq!(store.scan(&Scan::all())?.count(), 512);
    }
    fn every_byte_is_permitted_in_values(store) {
        let value: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
        store.put(b"a", &value)?;
        assert_eq!(store.get(b"a")?.as_deref(), Some(&value[..]));
    }
    fn keys_are_bytes_not_text(store) {
        store.put(b"\xff\xfe\x00'\"\\%_", b"\xc3\x28")?;
        assert_eq!(store.get(b"\xff\xfe\x00'\"\\%_")?.as_deref(), Some(&b"\xc3\x28"[..]));
    }
    fn case_and_length_distinguish_keys(store) {
        fill(store, &[("Key", "1"), ("key", "2"), ("key ", "3"), ("key\0", "4")])?;
        assert_eq!(text(store, "key")?, "2");
        assert_eq!(text(store, "key\0")?, "4");
        assert_eq!(store.scan(&Scan::all())?.count(), 4);
    }
    fn a_value_of_a_hundred_kilobytes_is_read_back(store) {
        let value: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).take(100_000).collect();
        store.put(b"large", &value)?;
        assert_eq!(store.get(b"large")?.as_deref(), Some(&value[..]));
    }
    fn a_long_key_is_read_back(store) {
        let key = vec![b'k'; store.engine().limits.key_bytes.min(2000)];
        store.put(&key, b"1")?;
        assert_eq!(store.get(&key)?.as_deref(), Some(&b"1"[..]));
        assert!(store.get(&key[1..])?.is_none());
    }
    fn many_values_of_one_key_leave_one(store) {
        for n in 0..50 {
            store.put(b"counter", n.to_string().as_bytes())?;
        }
        assert_eq!(text(store, "counter")?, "49");
        assert_eq!(store.scan(&Scan::all())?.count(), 1);
    }
    fn multi_get_keeps_the_order_of_its_keys(store) {
        fill(store, &[("a", "1"), ("b", "2"), ("c", "3")])?;
        let found = store.multi_get(&[b"c", b"missing", b"a", b"b"])?;
        let found: Vec<Option<&[u8]>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&b"3"[..]), None, Some(b"1"), Some(b"2")]);
    }
    fn multi_get_of_no_key_returns_nothing(store) {
        assert!(store.multi_get(&[])?.is_empty());
    }
    fn multi_get_of_one_key_many_times_answers_each(store) {
        store.put(b"a", b"1")?;
        let found = store.multi_get(&[b"a", b"a", b"b", b"a"])?;
        let there: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert_eq!(there, [true, true, false, true]);
    }
    fn multi_get_distinguishes_empty_and_absent(store) {
        store.put(b"", b"")?;
        store.put(b"a", b"")?;
        let found = store.multi_get(&[b"", b"a", b"b"])?;
        let found: Vec<Option<&[u8]>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&b""[..]), Some(b""), None]);
    }
    fn multi_get_of_hundreds_of_keys_answers_all(store) {
        let keys: Vec<Vec<u8>> = (0..300).map(|n| format!("key{n:03}").into_bytes()).collect();
        for key in keys.iter().step_by(3) {
            store.put(key, key)?;
        }
        let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = store.multi_get(&asked)?;
        assert_eq!(found.len(), 300);
        for (n, (key, value)) in keys.iter().zip(&found).enumerate() {
            let expected = (n % 3 == 0).then_some(key.as_slice());
            assert_eq!(value.as_deref(), expected, "{n}");
        }
    }
    fn options_change_no_result(store) {
        let options = CallOptions::new()
            .timeout(std::time::Duration::from_mins(1))
            .durability(Durability::Sync);
        store.put_with(b"a", b"1", &options)?;
        assert_eq!(store.get_with(b"a", &options)?.as_deref(), Some(&b"1"[..]));
        let found = store.multi_get_with(&[b"a"], &options)?;
        assert_eq!(found.len(), 1);
        store.delete_with(b"a", &options)?;
        assert!(!store.contains(b"a")?);
        store.sync()?;
    }
    fn every_durability_is_accepted(store) {
        for durability in [Durability::None, Durability::Os, Durability::Sync] {
            store.put_with(b"a", b"1", &CallOptions::new().durability(durability))?;
            assert_eq!(text(store, "a")?, "1");
        }
    }
    fn a_key_beyond_the_limit_is_refused_by_name(store) {
        let limits = store.engine().limits;
        let key = vec![b'k'; limits.key_bytes + 1];
        let error = store.put(&key, b"1").expect_err("the key is too long");
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let limit = error.limit().expect("the limit is named");
        assert_eq!((limit.name, limit.max), ("key_bytes", limits.key_bytes as u64));
        assert_eq!(limit.found, limits.key_bytes as u64 + 1);
        assert_eq!(refused(store.delete(&key)), ErrorKind::LimitExceeded);
        // An embedded store may also answer that there is none.
        if store.engine().networked {
            assert_eq!(refused(store.get(&key)), ErrorKind::LimitExceeded);
            assert_eq!(refused(store.multi_get(&[b"a", &key])), ErrorKind::LimitExceeded);
        }
        assert_eq!(store.scan(&Scan::all())?.count(), 0);
    }
    fn a_value_beyond_the_limit_is_refused_by_name(store) {
        let max = store.engine().limits.value_bytes;
        // A gigabyte is not worth the time of a test.
        if max < 256 << 20 {
            let error = store.put(b"a", &vec![0; max + 1]).expect_err("too long");
            assert_eq!(error.limit().map(|limit| limit.name), Some("value_bytes"));
            assert_eq!(error.key_text(), Some("\"a\""));
            assert!(!store.contains(b"a")?);
        }
    }
    fn the_engine_describes_itself(store) {
        let engine = store.engine();
        assert!(!engine.name.is_empty());
        assert!(engine.limits.batch_ops >= 100);
        assert!(engine.limits.batch_bytes >= 1 << 20);
        assert!(engine.limits.key_bytes >= 1000);
        assert!(!engine.replicated || engine.networked);
    }
}
