//! Scans: a table of ranges, each read from the store, from a snapshot and in a transaction.

use std::ops::Bound;

use crate::error::Result;
use crate::read::Read;
use crate::scan::Scan;
use crate::store::Store;
use crate::testing::case::Case;
use crate::testing::steps::{checks, fill, listed};

static KEYS: [&str; 9] = ["", "a", "a/1", "a/2", "a/30", "b", "b/1", "c", "\u{7f}"];

/// A row: its name, the range, and which of `KEYS` it yields in ascending order.
type Row = (&'static str, Scan, std::ops::Range<usize>);

fn table() -> Vec<Row> {
    use Bound::{Excluded, Included, Unbounded};
    vec![
        ("all", Scan::all(), 0..9),
        ("prefix_empty", Scan::prefix(b""), 0..9),
        ("prefix_a", Scan::prefix(b"a"), 1..5),
        ("prefix_a_slash", Scan::prefix(b"a/"), 2..5),
        ("prefix_a_slash_3", Scan::prefix(b"a/3"), 4..5),
        ("prefix_absent", Scan::prefix(b"zz"), 0..0),
        ("prefix_of_ff", Scan::prefix(b"\xff"), 0..0),
        ("from_empty", Scan::range(""..), 0..9),
        ("from_a", Scan::range("a"..), 1..9),
        ("from_between", Scan::range("a/15"..), 3..9),
        ("from_near_the_end", Scan::range("~~~"..), 8..9),
        ("after_a", Scan::range((Excluded("a"), Unbounded)), 2..9),
        ("after_empty", Scan::range((Excluded(""), Unbounded)), 1..9),
        ("to_a", Scan::range(.."a"), 0..1),
        ("to_a_inclusive", Scan::range(..="a"), 0..2),
        ("to_empty", Scan::range(..""), 0..0),
        ("to_empty_inclusive", Scan::range(..=""), 0..1),
        ("to_near_the_end", Scan::range(.."~~~~"), 0..8),
        ("a_to_b", Scan::range("a".."b"), 1..5),
        ("a_to_b_inclusive", Scan::range("a"..="b"), 1..6),
        (
            "open_both",
            Scan::range((Excluded("a"), Excluded("b"))),
            2..5,
        ),
        (
            "open_left",
            Scan::range((Excluded("a"), Included("b"))),
            2..6,
        ),
        ("one_key", Scan::range("b"..="b"), 5..6),
        ("one_absent_key", Scan::range("b0"..="b0"), 0..0),
        ("no_key", Scan::range("b".."b"), 0..0),
        ("reversed_bounds", Scan::range("c".."a"), 0..0),
        ("between_keys", Scan::range("a/31".."b"), 0..0),
    ]
}

/// Checks one row both ways, with every limit up to the number of its keys and one more.
fn check(reader: &(impl Read + ?Sized), scan: &Scan, expected: &[&str]) -> Result<()> {
    let shown = |keys: Vec<&str>| {
        let keys = keys
            .iter()
            .map(|key| format!("{}={key}", key.as_bytes().escape_ascii()));
        keys.collect::<Vec<_>>()
            .join(" ")
            .replace('\u{7f}', "\\x7f")
    };
    let backwards: Vec<&str> = expected.iter().rev().copied().collect();
    for (scan, expected) in [
        (scan.clone(), expected),
        (scan.clone().reverse(), &*backwards),
    ] {
        assert_eq!(listed(reader, &scan)?, shown(expected.to_vec()), "{scan:?}");
        for limit in [
            0,
            1,
            expected.len().saturating_sub(1),
            expected.len(),
            expected.len() + 1,
        ] {
            let limited = scan.clone().limit(limit as u64);
            let first = expected.iter().take(limit).copied().collect();
            assert_eq!(listed(reader, &limited)?, shown(first), "{limited:?}");
        }
    }
    Ok(())
}

fn prepared(store: &dyn Store) -> Result<()> {
    let entries: Vec<(&str, &str)> = KEYS.iter().map(|key| (*key, *key)).collect();
    fill(store, &entries)
}

fn rows() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, scan, expected) in table() {
        let expected = &KEYS[expected];
        let for_store = scan.clone();
        cases.push(Case {
            name: format!("scan_{name}"),
            run: Box::new(move |store| {
                prepared(store)?;
                check(store, &for_store, expected)?;
                check(&*store.snapshot()?, &for_store, expected)
            }),
        });
        cases.push(Case {
            name: format!("scan_{name}_in_a_transaction"),
            run: Box::new(move |store| {
                prepared(store)?;
                // Own writes hide a key, restore one that is deleted, and add none.
                store.put(b"a/25", b"hidden")?;
                store.delete(b"b")?;
                let transaction = store.begin()?;
                transaction.delete(b"a/25")?;
                transaction.put(b"b", b"b")?;
                check(&*transaction, &scan, expected)?;
                transaction.rollback();
                Ok(())
            }),
        });
    }
    cases
}

pub(super) fn list() -> Vec<Case> {
    rows().into_iter().chain(special::list()).collect()
}

mod special {
    use super::{Scan, checks, fill, listed};

    checks! {
        fn a_scan_of_an_empty_store_is_empty(store) {
            assert_eq!(listed(store, &Scan::all())?, "");
            assert_eq!(listed(store, &Scan::all().reverse())?, "");
        }
        fn a_scan_orders_bytes_not_text(store) {
            fill(store, &[("b", ""), ("B", ""), ("a", ""), ("_", ""), ("10", ""), ("9", "")])?;
            assert_eq!(listed(store, &Scan::all())?, "10= 9= B= _= a= b=");
        }
        fn a_scan_orders_high_bytes_last(store) {
            for key in [&b"\xff"[..], b"\x7f", b"\x80", b"\xff\xff", b"\x00", b"\xff\x00"] {
                store.put(key, b"")?;
            }
            let expected = r"\x00= \x7f= \x80= \xff= \xff\x00= \xff\xff=";
            assert_eq!(listed(store, &Scan::all())?, expected);
            assert_eq!(listed(store, &Scan::prefix(b"\xff"))?, r"\xff= \xff\x00= \xff\xff=");
            assert_eq!(listed(store, &Scan::prefix(b"\xff\xff"))?, r"\xff\xff=");
        }
        fn a_prefix_that_ends_in_ff_has_an_end(store) {
            for key in [&b"a\xff"[..], b"a\xff\xff", b"b", b"a\xfe"] {
                store.put(key, b"")?;
            }
            assert_eq!(listed(store, &Scan::prefix(b"a\xff"))?, r"a\xff= a\xff\xff=");
        }
        fn a_long_scan_yields_every_entry_once_both_ways(store) {
            let count = 2500_u32;
            let mut batch = crate::batch::Batch::new();
            for n in 0..count {
                batch.put(&n.to_be_bytes(), &n.to_le_bytes());
                if batch.len() == 100 {
                    store.write(&batch)?;
                    batch.clear();
                }
            }
            let mut expected = 0_u32;
            for entry in store.scan(&Scan::all())? {
                let (key, value) = entry?;
                assert_eq!(&*key, expected.to_be_bytes());
                assert_eq!(&*value, expected.to_le_bytes());
                expected += 1;
            }
            assert_eq!(expected, count);
            for entry in store.scan(&Scan::all().reverse())? {
                expected -= 1;
                assert_eq!(&*entry?.0, expected.to_be_bytes());
            }
            assert_eq!(expected, 0);
            let middle = Scan::range(100_u32.to_be_bytes()..).limit(1000);
            let keys: crate::error::Result<Vec<_>> = store.scan(&middle)?.collect();
            assert_eq!(&*keys?.last().expect("a thousand entries").0, 1099_u32.to_be_bytes());
        }
        fn a_scan_of_large_values_yields_them_all(store) {
            for n in 0..40_u8 {
                store.put(&[n], &vec![n; 60_000])?;
            }
            for scan in [Scan::all(), Scan::all().reverse()] {
                let mut count = 0;
                for entry in store.scan(&scan)? {
                    let (key, value) = entry?;
                    assert_eq!((value.len(), value[0]), (60_000, key[0]));
                    count += 1;
                }
                assert_eq!(count, 40);
            }
        }
        fn a_scan_does_not_see_later_writes(store) {
            let keys: Vec<String> = (0..700).map(|n| format!("{n:03}")).collect();
            let mut batch = crate::batch::Batch::new();
            for (n, key) in keys.iter().enumerate() {
                batch.put(key.as_bytes(), b"old");
                if n % 100 == 99 {
                    store.write(&batch)?;
                    batch.clear();
                }
            }
            let mut scan = store.scan(&Scan::all())?;
            scan.next().expect("there are entries")?;
            store.delete(b"350")?;
            store.put(b"600", b"new")?;
            store.put(b"600a", b"new")?;
            let mut count = 1;
            for entry in scan {
                let (_, value) = entry?;
                assert_eq!(&*value, b"old");
                count += 1;
            }
            assert_eq!(count, 700);
        }
        fn a_scan_may_be_dropped_early(store) {
            for n in 0..200_u8 {
                store.put(&[n], b"1")?;
            }
            for _ in 0..20 {
                let mut scan = store.scan(&Scan::all())?;
                assert!(scan.next().is_some());
            }
            store.put(b"after", b"1")?;
            assert!(store.contains(b"after")?);
        }
        fn scans_may_be_open_side_by_side(store) {
            for n in 0..100_u8 {
                store.put(&[n], b"1")?;
            }
            let up = store.scan(&Scan::all())?;
            let down = store.scan(&Scan::all().reverse())?;
            let mut sums = 0;
            for (low, high) in up.zip(down) {
                assert_eq!(u32::from(low?.0[0]) + u32::from(high?.0[0]), 99);
                sums += 1;
            }
            assert_eq!(sums, 100);
        }
        fn deleted_keys_are_not_scanned(store) {
            fill(store, &[("a", "1"), ("b", "2"), ("c", "3")])?;
            store.delete(b"b")?;
            assert_eq!(listed(store, &Scan::all())?, "a=1 c=3");
            assert_eq!(listed(store, &Scan::all().reverse().limit(2))?, "c=3 a=1");
        }
    }
}
