//! Transactions: own writes, atomicity, conflicts, the loop that retries.

use crate::error::{Error, ErrorKind};
use crate::limits::Isolation;
use crate::options::{CallOptions, Durability};
use crate::scan::Scan;
use crate::store::StoreExt as _;
use crate::testing::steps::{checks, fill, listed, refused, text};
use crate::transaction::Transaction;

checks! {
    fn a_commit_writes_everything(store) {
        fill(store, &[("a", "1"), ("b", "1")])?;
        let transaction = store.begin()?;
        transaction.put(b"a", b"2")?;
        transaction.delete(b"b")?;
        transaction.put(b"c", b"2")?;
        transaction.commit()?;
        assert_eq!(listed(store, &Scan::all())?, "a=2 c=2");
    }
    fn a_rollback_writes_nothing(store) {
        let transaction = store.begin()?;
        transaction.put(b"a", b"1")?;
        transaction.rollback();
        assert_eq!(listed(store, &Scan::all())?, "");
    }
    fn a_dropped_transaction_writes_nothing(store) {
        store.put(b"b", b"1")?;
        let transaction = store.begin()?;
        transaction.put(b"a", b"1")?;
        transaction.delete(b"b")?;
        drop(transaction);
        assert_eq!(listed(store, &Scan::all())?, "b=1");
    }
    fn own_writes_are_read(store) {
        fill(store, &[("a", "1"), ("b", "1")])?;
        let transaction = store.begin()?;
        transaction.put(b"a", b"2")?;
        transaction.delete(b"b")?;
        transaction.put(b"c", b"")?;
        assert_eq!(text(&*transaction, "a")?, "2");
        assert_eq!(text(&*transaction, "b")?, "-");
        assert_eq!(transaction.get(b"c")?.as_deref(), Some(&b""[..]));
        let found = transaction.multi_get(&[b"c", b"b", b"a", b"d"])?;
        let found: Vec<Option<&[u8]>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&b""[..]), None, Some(b"2"), None]);
        transaction.rollback();
    }
    fn own_writes_are_not_seen_by_others(store) {
        store.put(b"a", b"1")?;
        let transaction = store.begin()?;
        transaction.put(b"a", b"2")?;
        assert_eq!(text(store, "a")?, "1");
        let snapshot = store.snapshot()?;
        transaction.commit()?;
        assert_eq!(text(&*snapshot, "a")?, "1");
        assert_eq!(text(store, "a")?, "2");
    }
    fn the_last_own_write_counts(store) {
        let transaction = store.begin()?;
        transaction.put(b"a", b"1")?;
        transaction.delete(b"a")?;
        assert_eq!(text(&*transaction, "a")?, "-");
        transaction.put(b"a", b"3")?;
        transaction.put(b"b", b"1")?;
        transaction.delete(b"b")?;
        transaction.commit()?;
        assert_eq!(listed(store, &Scan::all())?, "a=3");
    }
    fn a_scan_merges_own_writes_both_ways(store) {
        fill(store, &[("b", "1"), ("d", "1"), ("f", "1")])?;
        let transaction = store.begin()?;
        transaction.put(b"a", b"2")?;
        transaction.delete(b"d")?;
        transaction.put(b"e", b"2")?;
        transaction.put(b"f", b"2")?;
        transaction.put(b"g", b"2")?;
        assert_eq!(listed(&*transaction, &Scan::all())?, "a=2 b=1 e=2 f=2 g=2");
        let reversed = Scan::all().reverse().limit(3);
        assert_eq!(listed(&*transaction, &reversed)?, "g=2 f=2 e=2");
        assert_eq!(listed(&*transaction, &Scan::range("c"..="e"))?, "e=2");
        transaction.rollback();
    }
    fn a_limited_scan_looks_past_own_deletes(store) {
        for n in 0..20_u8 {
            store.put(&[b'a' + n], b"1")?;
        }
        let transaction = store.begin()?;
        for n in 0..18_u8 {
            transaction.delete(&[b'a' + n])?;
        }
        assert_eq!(listed(&*transaction, &Scan::all().limit(1))?, "s=1");
        assert_eq!(listed(&*transaction, &Scan::all())?, "s=1 t=1");
        transaction.rollback();
    }
    fn a_transaction_reads_one_state(store) {
        fill(store, &[("a", "1"), ("b", "1")])?;
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "1");
        fill(store, &[("a", "2"), ("b", "2"), ("c", "2")])?;
        assert_eq!(text(&*transaction, "b")?, "1");
        assert_eq!(listed(&*transaction, &Scan::all())?, "a=1 b=1");
        transaction.rollback();
    }
    fn a_read_key_that_changed_conflicts(store) {
        store.put(b"a", b"1")?;
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "1");
        store.put(b"a", b"2")?;
        transaction.put(b"a", b"3")?;
        assert_eq!(refused(transaction.commit()), ErrorKind::Conflict);
        assert_eq!(text(store, "a")?, "2");
    }
    fn a_read_key_that_was_deleted_conflicts(store) {
        store.put(b"a", b"1")?;
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "1");
        store.delete(b"a")?;
        transaction.put(b"a", b"3")?;
        assert_eq!(refused(transaction.commit()), ErrorKind::Conflict);
        assert_eq!(text(store, "a")?, "-");
    }
    fn an_absent_key_that_appeared_conflicts(store) {
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "-");
        store.put(b"a", b"1")?;
        transaction.put(b"a", b"2")?;
        assert_eq!(refused(transaction.commit()), ErrorKind::Conflict);
        assert_eq!(text(store, "a")?, "1");
    }
    fn a_conflict_writes_nothing_at_all(store) {
        fill(store, &[("a", "1"), ("z", "1")])?;
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "1");
        transaction.put(b"b", b"2")?;
        transaction.delete(b"z")?;
        transaction.put(b"a", b"2")?;
        store.put(b"a", b"5")?;
        assert_eq!(refused(transaction.commit()), ErrorKind::Conflict);
        assert_eq!(listed(store, &Scan::all())?, "a=5 z=1");
    }
    fn a_key_restored_to_its_value_is_safe(store) {
        // Whether this conflicts may differ; that the result is right may not.
        store.put(b"a", b"1")?;
        let transaction = store.begin()?;
        assert_eq!(text(&*transaction, "a")?, "1");
        fill(store, &[("a", "2"), ("a", "1")])?;
        transaction.put(b"a", b"3")?;
        let expected = match transaction.commit() {
            Ok(()) => "3",
            Err(error) if error.kind() == ErrorKind::Conflict => "1",
            Err(error) => return Err(error),
        };
        assert_eq!(text(store, "a")?, expected);
    }
    fn write_skew_is_refused_if_serialisable(store) {
        if store.engine().isolation == Isolation::Serializable {
            fill(store, &[("ada", "on call"), ("grace", "on call")])?;
            let (one, two) = (store.begin()?, store.begin()?);
            for transaction in [&one, &two] {
                assert_eq!(text(&**transaction, "ada")?, "on call");
                assert_eq!(text(&**transaction, "grace")?, "on call");
            }
            one.put(b"ada", b"home")?;
            two.put(b"grace", b"home")?;
            let results = [one.commit(), two.commit()];
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        }
    }
    fn a_phantom_is_refused_if_serialisable(store) {
        if store.engine().isolation == Isolation::Serializable {
            let (one, two) = (store.begin()?, store.begin()?);
            for transaction in [&one, &two] {
                assert_eq!(listed(&**transaction, &Scan::prefix(b"booking/"))?, "");
            }
            one.put(b"booking/1", b"room 7")?;
            two.put(b"booking/2", b"room 7")?;
            let results = [one.commit(), two.commit()];
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        }
    }
    fn a_deletion_within_a_scanned_range_conflicts_if_serialisable(store) {
        if store.engine().isolation == Isolation::Serializable {
            fill(store, &[("k/1", "1"), ("k/2", "1"), ("total", "2")])?;
            let (one, two) = (store.begin()?, store.begin()?);
            for transaction in [&one, &two] {
                assert_eq!(transaction.scan(&Scan::prefix(b"k/"))?.count(), 2);
            }
            one.delete(b"k/1")?;
            two.delete(b"k/2")?;
            let results = [one.commit(), two.commit()];
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
            assert_eq!(store.scan(&Scan::prefix(b"k/"))?.count(), 1);
        }
    }
    fn a_range_scanned_backwards_is_protected_too(store) {
        if store.engine().isolation == Isolation::Serializable {
            fill(store, &[("k/1", "1")])?;
            let (one, two) = (store.begin()?, store.begin()?);
            for transaction in [&one, &two] {
                let last = Scan::prefix(b"k/").reverse().limit(1);
                assert_eq!(listed(&**transaction, &last)?, "k/1=1");
            }
            one.put(b"k/2", b"one")?;
            two.put(b"k/3", b"two")?;
            let results = [one.commit(), two.commit()];
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        }
    }
    fn of_two_writers_that_read_the_key_one_commits(store) {
        store.put(b"n", b"0")?;
        let (one, two) = (store.begin()?, store.begin()?);
        assert_eq!((text(&*one, "n")?, text(&*two, "n")?), ("0".into(), "0".into()));
        one.put(b"n", b"1")?;
        two.put(b"n", b"2")?;
        let results = [one.commit(), two.commit()];
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        for result in results {
            assert!(result.is_ok() || refused(result) == ErrorKind::Conflict);
        }
    }
    fn a_read_only_transaction_commits(store) {
        fill(store, &[("a", "1")])?;
        let seen = store.transact(|transaction| {
            Ok((text(transaction, "a")?, transaction.scan(&Scan::all())?.count()))
        })?;
        assert_eq!(seen, ("1".to_owned(), 1));
    }
    fn an_empty_transaction_commits(store) {
        store.begin()?.commit()?;
        store.begin()?.rollback();
    }
    fn transact_returns_what_the_body_returns(store) {
        let number = store.transact(|transaction| {
            transaction.put(b"a", b"1")?;
            Ok(7)
        })?;
        assert_eq!((number, text(store, "a")?), (7, "1".into()));
    }
    fn transact_discards_after_an_error_of_the_body(store) {
        let result: crate::error::Result<()> = store.transact(|transaction| {
            transaction.put(b"a", b"1")?;
            Err(Error::invalid("not today"))
        });
        let error = result.expect_err("the body failed");
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, "not today"));
        assert!(!store.contains(b"a")?);
    }
    fn transact_runs_again_after_a_conflict(store) {
        store.put(b"n", b"1")?;
        let mut runs = 0;
        store.transact(|transaction| {
            runs += 1;
            let seen = text(transaction, "n")?;
            if runs == 1 {
                store.put(b"n", b"5")?;
            }
            transaction.put(b"n", format!("{seen}+").as_bytes())
        })?;
        assert_eq!((runs, text(store, "n")?), (2, "5+".into()));
    }
    fn transact_runs_again_if_the_body_returns_a_conflict(store) {
        let sync = CallOptions::new().durability(Durability::Sync);
        for options in [CallOptions::new(), sync] {
            let mut runs = 0;
            let body = |transaction: &dyn Transaction| {
                runs += 1;
                transaction.put(b"a", &[b'0' + runs])?;
                match runs {
                    1 => Err(Error::new(ErrorKind::Conflict, "once more")),
                    _ => Ok(()),
                }
            };
            store.transact_with(body, &options)?;
            assert_eq!(text(store, "a")?, "2");
            store.delete(b"a")?;
        }
    }
    fn transact_accepts_options(store) {
        let options = CallOptions::new()
            .durability(Durability::Sync)
            .timeout(std::time::Duration::from_mins(1));
        store.transact_with(|transaction| transaction.put(b"a", b"1"), &options)?;
        let transaction = store.begin_with(&options)?;
        transaction.put(b"b", b"1")?;
        transaction.commit_with(&options)?;
        assert_eq!(listed(store, &Scan::all())?, "a=1 b=1");
    }
    fn a_transaction_beyond_the_limit_is_refused_whole(store) {
        let max = store.engine().limits.batch_ops;
        if max < 1_000_000 {
            let transaction = store.begin()?;
            for n in 0..=max {
                transaction.put(format!("{n:05}").as_bytes(), b"1")?;
            }
            let error = transaction.commit().expect_err("too many writes");
            assert_eq!(error.limit().map(|limit| limit.name), Some("batch_ops"));
            assert_eq!(listed(store, &Scan::all())?, "");
        }
    }
    fn a_transaction_that_reads_too_much_is_refused(store) {
        let max = store.engine().limits.transaction_reads;
        if max < 10_000 {
            let transaction = store.begin()?;
            for n in 0..=max {
                assert!(transaction.get(format!("{n:05}").as_bytes())?.is_none());
            }
            transaction.put(b"a", b"1")?;
            let error = transaction.commit().expect_err("too many reads");
            assert_eq!(error.limit().map(|limit| limit.name), Some("transaction_reads"));
            assert!(!store.contains(b"a")?);
        }
    }
    fn own_writes_beyond_the_limits_are_refused_at_once(store) {
        let key = vec![b'k'; store.engine().limits.key_bytes + 1];
        let transaction = store.begin()?;
        assert_eq!(refused(transaction.put(&key, b"1")), ErrorKind::LimitExceeded);
        assert_eq!(refused(transaction.delete(&key)), ErrorKind::LimitExceeded);
        transaction.rollback();
    }
    fn large_values_pass_through_a_transaction(store) {
        store.transact(|transaction| transaction.put(b"a", &vec![7; 100_000]))?;
        let length = store.transact(|transaction| Ok(transaction.get(b"a")?.map(|v| v.len())))?;
        assert_eq!(length, Some(100_000));
    }
    fn the_empty_key_passes_through_a_transaction(store) {
        store.transact(|transaction| {
            assert!(!transaction.contains(b"")?);
            transaction.put(b"", b"1")
        })?;
        store.transact(|transaction| {
            assert_eq!(text(transaction, "")?, "1");
            transaction.delete(b"")
        })?;
        assert!(!store.contains(b"")?);
    }
    fn a_transaction_can_move_to_another_thread(store) {
        let transaction = store.begin()?;
        transaction.put(b"a", b"1")?;
        std::thread::scope(|scope| scope.spawn(move || transaction.commit()).join())
            .expect("the thread ends")?;
        assert_eq!(text(store, "a")?, "1");
    }
    fn increments_of_many_threads_lose_nothing(store) {
        let add = || -> crate::error::Result<()> {
            for _ in 0..8 {
                store.transact(|transaction| {
                    let number = transaction.get(b"n")?.map_or(0, |value| {
                        u64::from_le_bytes((*value).try_into().expect("8 bytes"))
                    });
                    transaction.put(b"n", &(number + 1).to_le_bytes())
                })?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!(store.get(b"n")?.as_deref(), Some(&32_u64.to_le_bytes()[..]));
    }
    fn a_sum_of_two_keys_is_kept_by_many_threads(store) {
        fill(store, &[("a", "50"), ("b", "50")])?;
        let number = |text: String| text.parse::<i64>().expect("a number");
        let body = |step: i64| {
            for _ in 0..5 {
                store.transact(|transaction| {
                    let (a, b) = (text(transaction, "a")?, text(transaction, "b")?);
                    let (a, b) = (number(a) - step, number(b) + step);
                    transaction.put(b"a", a.to_string().as_bytes())?;
                    transaction.put(b"b", b.to_string().as_bytes())
                })?;
            }
            crate::error::Result::Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = [1, -2, 3].map(|n| scope.spawn(move || body(n))).into();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!((text(store, "a")?, text(store, "b")?), ("40".into(), "60".into()));
    }
}
