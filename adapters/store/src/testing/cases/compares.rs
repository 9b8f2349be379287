//! Compare-and-set: one key, compared and written at one moment.

use crate::error::ErrorKind;
use crate::options::{CallOptions, Durability};
use crate::scan::Scan;
use crate::testing::steps::{checks, listed, refused, text};

checks! {
    fn an_absent_key_is_set_if_absence_is_expected(store) {
        assert!(store.compare_and_set(b"a", None, Some(b"1"))?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn a_present_key_is_not_set_if_absence_is_expected(store) {
        store.put(b"a", b"1")?;
        assert!(!store.compare_and_set(b"a", None, Some(b"2"))?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn an_expected_value_is_replaced(store) {
        store.put(b"a", b"1")?;
        assert!(store.compare_and_set(b"a", Some(b"1"), Some(b"2"))?);
        assert_eq!(text(store, "a")?, "2");
    }
    fn another_value_is_not_replaced(store) {
        store.put(b"a", b"1")?;
        assert!(!store.compare_and_set(b"a", Some(b"0"), Some(b"2"))?);
        assert!(!store.compare_and_set(b"a", Some(b"11"), Some(b"2"))?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn an_absent_key_has_no_expected_value(store) {
        assert!(!store.compare_and_set(b"a", Some(b"1"), Some(b"2"))?);
        assert!(!store.compare_and_set(b"a", Some(b""), Some(b"2"))?);
        assert_eq!(listed(store, &Scan::all())?, "");
    }
    fn an_expected_value_is_removed(store) {
        store.put(b"a", b"1")?;
        assert!(store.compare_and_set(b"a", Some(b"1"), None)?);
        assert!(!store.contains(b"a")?);
    }
    fn another_value_is_not_removed(store) {
        store.put(b"a", b"1")?;
        assert!(!store.compare_and_set(b"a", Some(b"2"), None)?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn the_absence_of_a_key_can_be_confirmed(store) {
        assert!(store.compare_and_set(b"a", None, None)?);
        store.put(b"a", b"1")?;
        assert!(!store.compare_and_set(b"a", None, None)?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn empty_and_absent_are_different_when_compared(store) {
        store.put(b"a", b"")?;
        assert!(!store.compare_and_set(b"a", None, Some(b"1"))?);
        assert!(store.compare_and_set(b"a", Some(b""), Some(b"1"))?);
        assert!(store.compare_and_set(b"a", Some(b"1"), Some(b""))?);
        assert_eq!(store.get(b"a")?.as_deref(), Some(&b""[..]));
        assert!(store.compare_and_set(b"a", Some(b""), None)?);
        assert!(!store.contains(b"a")?);
    }
    fn a_value_can_be_replaced_by_itself(store) {
        store.put(b"a", b"1")?;
        assert!(store.compare_and_set(b"a", Some(b"1"), Some(b"1"))?);
        assert_eq!(text(store, "a")?, "1");
    }
    fn the_empty_key_can_be_compared(store) {
        assert!(store.compare_and_set(b"", None, Some(b"1"))?);
        assert!(store.compare_and_set(b"", Some(b"1"), None)?);
        assert_eq!(listed(store, &Scan::all())?, "");
    }
    fn a_comparison_concerns_its_key_only(store) {
        store.put(b"ab", b"1")?;
        assert!(store.compare_and_set(b"a", None, Some(b"2"))?);
        assert_eq!(listed(store, &Scan::all())?, "a=2 ab=1");
    }
    fn large_values_can_be_compared(store) {
        let mut value = vec![7; 100_000];
        store.put(b"a", &value)?;
        let old = value.clone();
        value[99_999] = 8;
        assert!(!store.compare_and_set(b"a", Some(&value), None)?);
        assert!(store.compare_and_set(b"a", Some(&old), Some(&value))?);
        assert_eq!(store.get(b"a")?.as_deref(), Some(&value[..]));
    }
    fn a_comparison_accepts_options(store) {
        let options = CallOptions::new().durability(Durability::Sync);
        assert!(store.compare_and_set_with(b"a", None, Some(b"1"), &options)?);
        assert!(!store.compare_and_set_with(b"a", None, Some(b"1"), &options)?);
    }
    fn a_compared_key_beyond_the_limit_is_refused(store) {
        let key = vec![b'k'; store.engine().limits.key_bytes + 1];
        let kind = refused(store.compare_and_set(&key, None, Some(b"1")));
        assert_eq!(kind, ErrorKind::LimitExceeded);
    }
    fn one_of_many_threads_gets_the_key(store) {
        let winners = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6_u8)
                .map(|n| scope.spawn(move || store.compare_and_set(b"leader", None, Some(&[n]))))
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            results.collect::<crate::error::Result<Vec<bool>>>()
        })?;
        let winner = winners.iter().position(|won| *won).expect("one has won");
        assert_eq!(winners.iter().filter(|won| **won).count(), 1);
        let expected = u8::try_from(winner).expect("below six");
        assert_eq!(store.get(b"leader")?.as_deref(), Some(&[expected][..]));
    }
    fn a_counter_of_many_threads_loses_nothing(store) {
        store.put(b"n", &0_u64.to_le_bytes())?;
        std::thread::scope(|scope| {
            let add = || -> crate::error::Result<()> {
                for _ in 0..10 {
                    loop {
                        let old = store.get(b"n")?.expect("the counter is there");
                        let number = u64::from_le_bytes((*old).try_into().expect("8 bytes"));
                        let new = (number + 1).to_le_bytes();
                        if store.compare_and_set(b"n", Some(&old), Some(&new))? {
                            break;
                        }
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!(store.get(b"n")?.as_deref(), Some(&40_u64.to_le_bytes()[..]));
    }
}
