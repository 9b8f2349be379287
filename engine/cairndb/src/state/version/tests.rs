use crate::state::files::opener::TableOpener;
use cairndb_env::{Background, Env, MemEnv};

use super::*;

fn opener() -> Arc<TableOpener> {
    let env = MemEnv::new(Background::Stepped);
    TableOpener::of(env.open_dir("db".as_ref(), true).unwrap(), 0)
}

fn table(file: u64, smallest: &str, largest: &str) -> Arc<TableHandle> {
    let record = TableRecord {
        file,
        run: 1,
        smallest: smallest.into(),
        largest: largest.into(),
        seq_min: 1,
        seq_max: 1,
        entries: 1,
        bytes: 100,
        raw_bytes: 1,
        ..TableRecord::default()
    };
    Arc::new(TableHandle::new(record, &opener()))
}

#[test]
fn an_appended_run_is_the_run_of_all_tables() {
    let orders = Orders::default();
    let there = vec![table(1, "key10", "key19"), table(2, "key20", "key29")];
    let added = [table(3, "key30", "key30"), table(4, "key35", "key99")];
    let run = Run::new(1, there.clone(), &orders);
    let appended = run.appended(added.iter().cloned(), &orders).unwrap();
    let whole = Run::new(1, [there, added.to_vec()].concat(), &orders);
    assert_eq!(appended.bytes(), 400);
    for number in 0..100 {
        let key = format!("key{number:02}");
        let [ours, theirs] =
            [&appended, &whole].map(|run| run.find(&Order::Bytewise, key.as_bytes()));
        assert_eq!(ours, theirs, "{key}");
    }
}

#[test]
fn what_does_not_belong_behind_a_run_is_not_appended() {
    let orders = Orders::default();
    let run = Run::new(1, vec![table(1, "key10", "key19")], &orders);
    let append = |table| run.appended(std::iter::once(table), &orders).is_some();
    assert!(!append(table(2, "key19", "key30")), "shared key");
    assert!(!append(table(2, "key00", "key05")), "before the last table");
    assert!(!append(table(2, "l", "m")), "outside the prefix");
    let added = std::iter::once(table(2, "a", "b"));
    let empty = Run::new(1, Vec::new(), &orders);
    assert!(empty.appended(added, &orders).is_none());
}

#[test]
fn a_version_checks_what_is_new_in_it() {
    let orders = Orders::default();
    let version = |run: Run| Version {
        runs: vec![Arc::new(run)],
        ..Version::default()
    };
    let old = version(Run::new(1, vec![table(1, "key00", "key19")], &orders));
    let appended = old.runs[0].appended(std::iter::once(table(2, "key20", "key20")), &orders);
    let appended = version(appended.unwrap());
    appended.check_since(&old, &orders).unwrap();
    let tables = vec![table(1, "key00", "key19"), table(2, "key19", "key30")];
    let crossing = Run::new(1, tables, &orders);
    let error = version(crossing).check_since(&old, &orders).unwrap_err();
    assert_eq!(error.file_name(), Some("000002.tbl"));
}
