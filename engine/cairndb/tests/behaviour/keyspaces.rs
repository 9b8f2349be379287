//! Keyspaces: what their calls promise.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb::{
    Add, Comparator, Compression, Db, Durability, ErrorKind, Job, Keyspace, KeyspaceOptions,
    MergeOperator, Options, Result, WriteBatch, WriteOptions,
};
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

/// Bytewise order, reversed.
#[derive(Debug)]
struct Reverse;

impl Comparator for Reverse {
    fn name(&self) -> &'static str {
        "test.Reverse"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn equality_is_identity(&self) -> bool {
        true
    }
}

/// Order by length alone.
#[derive(Debug)]
struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &'static str {
        "test.ByLength"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len())
    }
}

fn options() -> Options {
    let options = Options::new().create_if_missing(true);
    options.register_comparator(Arc::new(Reverse))
}

fn create(db: &Db, name: &str) -> Keyspace {
    db.create_keyspace(name, &KeyspaceOptions::new()).unwrap()
}

fn reversed(db: &Db, name: &str) -> Keyspace {
    let options = KeyspaceOptions::new().comparator("test.Reverse");
    db.create_keyspace(name, &options).unwrap()
}

fn entries(iter: impl Iterator<Item = Result<(cairndb::Value, cairndb::Value)>>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    iter.map(|entry| {
        let (key, value) = entry.unwrap();
        format!("{}={}", text(&key), text(&value))
    })
    .collect()
}

/// Keys of neighbouring keyspaces and of the default one never show up in each other's iterators,
/// in either direction, in memtables and in tables, after reopening and after a replay.
#[test]
fn each_keyspace_has_its_own_keys() {
    let dir = tempfile::tempdir().unwrap();
    let check = |db: &Db| {
        let [a, b, r] = ["a", "b", "r"].map(|name| db.keyspace(name).unwrap());
        let expected = ["=empty", "k=a", "k2=a"];
        assert_eq!(entries(a.iter()), expected);
        assert_eq!(entries(b.iter()), ["=empty", "k=b", "k2=b"]);
        assert_eq!(entries(r.iter()), ["k2=r", "k=r", "=empty"]);
        assert_eq!(entries(db.iter()), ["=empty", "k=default", "k2=default"]);
        for (keyspace, mut forward) in [(&a, entries(a.iter())), (&r, entries(r.iter()))] {
            forward.reverse();
            assert_eq!(entries(keyspace.iter().rev()), forward);
        }
        assert_eq!(entries(a.range("k".."k2")), ["k=a"]);
        assert_eq!(entries(r.range("k2"..="k")), ["k2=r", "k=r"]);
        assert_eq!(entries(b.prefix(b"k2")), ["k2=b"]);
        assert_eq!(a.get(b"k").unwrap().as_deref(), Some(&b"a"[..]));
        assert_eq!(a.get(b"missing").unwrap(), None);
        assert_eq!(r.multi_get(&[&b"k"[..], b"no"]).unwrap()[1], None);
        let mut cursor = r.cursor();
        cursor.seek_for_prev(b"k1").unwrap();
        assert_eq!(cursor.key(), b"k2");
        cursor.prev().unwrap();
        assert!(!cursor.valid() && cursor.key().is_empty() && cursor.value().is_empty());
        cursor.next().unwrap();
        assert!(
            !cursor.valid(),
            "a cursor that has left its keyspace stays outside"
        );
    };
    {
        let db = options().open(&dir).unwrap();
        let [a, b] = ["a", "b"].map(|name| create(&db, name));
        let r = reversed(&db, "r");
        for key in [&b""[..], b"k", b"k2"] {
            let value = |name: &'static str| if key.is_empty() { "empty" } else { name };
            db.put(key, value("default").as_bytes()).unwrap();
            a.put(key, value("a").as_bytes()).unwrap();
            b.put(key, value("b").as_bytes()).unwrap();
            r.put(key, value("r").as_bytes()).unwrap();
        }
        check(&db);
        db.flush().unwrap();
        check(&db);
        db.compact_range(..).unwrap();
        check(&db);
        db.close().unwrap();
    }
    let db = options().open(&dir).unwrap();
    check(&db);
    assert_eq!(db.keyspaces(), ["a", "b", "r"]);
}

#[test]
fn a_batch_spans_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let counted = KeyspaceOptions::new().merge_operator(Add.name());
    let counters = db.create_keyspace("counters", &counted).unwrap();
    let users = create(&db, "users");
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"default");
    batch.put_in(&users, b"k", &[7; 20_000]);
    batch.merge_in(&counters, b"n", &2_u64.to_le_bytes());
    batch.merge_in(&counters, b"n", &3_u64.to_le_bytes());
    batch.delete_in(&users, b"absent");
    let names: Vec<_> = batch.iter_with_keyspaces().map(|(name, _)| name).collect();
    let [u, c] = [Some("users"), Some("counters")];
    assert_eq!(names, [None, u, c, c, u]);
    db.write(&batch).unwrap();
    let sum = || counters.get(b"n").unwrap().unwrap().to_vec();
    assert_eq!(sum(), 5_u64.to_le_bytes());
    assert_eq!(users.get(b"k").unwrap().unwrap().len(), 20_000);
    counters.merge(b"n", &1_u64.to_le_bytes()).unwrap();
    db.compact_range(..).unwrap();
    assert_eq!(sum(), 6_u64.to_le_bytes());
    let error = users.merge(b"k", b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = counters.merge(b"n", &[0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn snapshots_and_transactions_span_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let (users, names) = (create(&db, "users"), reversed(&db, "names"));
    users.put(b"1", b"old").unwrap();
    let before = db.snapshot();
    let transaction = db.transaction();
    assert_eq!(
        transaction.get_in(&users, b"1").unwrap().as_deref(),
        Some(&b"old"[..])
    );
    transaction.put_in(&names, b"a", b"own").unwrap();
    transaction.put_in(&names, b"b", b"own").unwrap();
    transaction.put(b"1", b"own").unwrap();
    let seen = transaction.range_in(&names, ..).unwrap();
    assert_eq!(entries(seen), ["b=own", "a=own"]);
    assert_eq!(
        entries(transaction.range_in(&users, ..).unwrap()),
        ["1=old"]
    );
    assert_eq!(entries(transaction.iter().rev()), ["1=own"]);
    transaction.commit().unwrap();
    assert_eq!(names.get(b"a").unwrap().as_deref(), Some(&b"own"[..]));
    assert_eq!(before.get_in(&names, b"a").unwrap(), None);
    assert_eq!(entries(before.range_in(&users, ..).unwrap()), ["1=old"]);
    let stale = db.transaction();
    stale
        .range_in(&users, "0".."9")
        .unwrap()
        .try_count()
        .unwrap();
    stale.put(b"x", b"y").unwrap();
    users.put(b"5", b"phantom").unwrap();
    let error = stale.commit().unwrap_err();
    assert_eq!(
        (error.kind(), error.key_bytes()),
        (ErrorKind::Conflict, Some(&b"5"[..]))
    );
    // The same key in another keyspace is no conflict.
    let other = db.transaction();
    other.get_in(&users, b"7").unwrap();
    other.put(b"x", b"y").unwrap();
    names.put(b"7", b"").unwrap();
    db.put(b"7", b"").unwrap();
    other.commit().unwrap();
}

#[test]
fn a_dropped_keyspace_is_gone_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let large = vec![9; 500_000];
    {
        let db = options().open(&dir).unwrap();
        let (kept, gone, rev) = (
            create(&db, "kept"),
            create(&db, "gone"),
            reversed(&db, "rev"),
        );
        for n in 0..2_000_u32 {
            for keyspace in [&kept, &gone, &rev] {
                let value = if n % 100 == 0 {
                    &large[..]
                } else {
                    &[1; 50][..]
                };
                keyspace.put(&n.to_be_bytes(), value).unwrap();
            }
        }
        db.flush().unwrap();
        gone.put(b"in memory", b"1").unwrap();
        let (iter, snapshot) = (gone.iter(), db.snapshot());
        let transaction = db.transaction();
        transaction.put_in(&gone, b"x", b"").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"default", b"not written");
        batch.put_in(&gone, b"x", b"");
        db.drop_keyspace("gone").unwrap();
        db.drop_keyspace("rev").unwrap();
        let again = create(&db, "gone");
        let closed = |result: Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
            assert!(error.to_string().contains("gone") || error.to_string().contains("rev"));
        };
        closed(gone.put(b"k", b"v"));
        closed(gone.put(b"k", &large));
        closed(gone.get(b"k").map(drop));
        closed(gone.iter().next().unwrap().map(drop));
        closed(snapshot.get_in(&gone, b"k").map(drop));
        closed(rev.contains(b"k").map(drop));
        closed(gone.compact_range(..));
        closed(transaction.commit());
        closed(db.write(&batch));
        assert!(gone.is_dropped() && db.get(b"default").unwrap().is_none());
        assert_eq!(again.iter().try_count().unwrap(), 0);
        db.compact_range(..).unwrap();
        assert_eq!(iter.try_count().unwrap(), 2_001, "an iterator goes on");
        drop(snapshot);
        db.wait_idle().unwrap();
        assert_eq!(kept.iter().try_count().unwrap(), 2_000);
        let live = 20 * 500_064 + 2_000 * 100;
        let used = db.approximate_size(..).unwrap() + kept.approximate_size(..).unwrap();
        assert!(used < 2 * live, "{used}");
        let space = db.property("cairndb.space").unwrap();
        let total = space.split("\"value_file_bytes\":").nth(1).unwrap();
        let total: u64 = total.split(',').next().unwrap().parse().unwrap();
        assert!(total < 2 * live, "{space}");
        db.close().unwrap();
    }
    let db = options().open(&dir).unwrap();
    assert_eq!(db.keyspaces(), ["gone", "kept"]);
    assert_eq!(
        db.keyspace("kept").unwrap().iter().try_count().unwrap(),
        2_000
    );
    assert_eq!(db.keyspace("gone").unwrap().iter().try_count().unwrap(), 0);
}

/// Entries of a dropped keyspace with a comparator stay in tables for a while. The next open does
/// not know their order.
#[test]
fn entries_of_a_dropped_keyspace_are_not_taken_for_damage() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let (gone, kept) = (reversed(&db, "gone"), reversed(&db, "kept"));
    for n in 0..1_000_u32 {
        gone.put(&n.to_be_bytes(), &[1; 100]).unwrap();
        kept.put(&n.to_be_bytes(), &[1; 100]).unwrap();
    }
    db.flush().unwrap();
    db.drop_keyspace("gone").unwrap();
    db.checkpoint(dir.path().join("copy")).unwrap();
    let report = cairndb::verify(dir.path().join("copy"), &options()).unwrap();
    assert_eq!(report.entries, 1_000);
}

/// A batch that is longer than what a flush takes is inserted in parts.
#[test]
fn a_long_batch_spans_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().memory_budget(256 << 10).open(&dir).unwrap();
    let (plain, ordered) = (create(&db, "plain"), reversed(&db, "ordered"));
    let mut batch = WriteBatch::new();
    for n in 0..3_000_u32 {
        batch.put(&n.to_be_bytes(), &[1; 100]);
        batch.put_in(&plain, &n.to_be_bytes(), &[2; 100]);
        batch.put_in(&ordered, &n.to_be_bytes(), &[3; 100]);
    }
    db.write(&batch).unwrap();
    for iter in [db.iter(), plain.iter(), ordered.iter()] {
        assert_eq!(iter.try_count().unwrap(), 3_000);
    }
}

/// Another open may register comparators that declare less about equality.
#[test]
fn registering_another_comparator_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let more = options().register_comparator(Arc::new(ByLength));
    let large = vec![7; 20_000];
    for (options, others) in [(options(), more.clone()), (more, options())] {
        let db = options.open(&dir).unwrap();
        let keyspace = reversed(&db, "r");
        for n in 0..1_000_u32 {
            let value = if n % 100 == 0 { &large[..] } else { b"small" };
            keyspace.put(&n.to_be_bytes(), value).unwrap();
        }
        db.flush().unwrap();
        db.close().unwrap();
        let db = others.open(&dir).unwrap();
        let keyspace = db.keyspace("r").unwrap();
        for n in 0..1_000_u32 {
            assert!(keyspace.contains(&n.to_be_bytes()).unwrap());
        }
        assert_eq!(
            keyspace.get(&100_u32.to_be_bytes()).unwrap().as_deref(),
            Some(&large[..])
        );
        assert_eq!(keyspace.iter().try_count().unwrap(), 1_000);
        db.drop_keyspace("r").unwrap();
        db.close().unwrap();
        cairndb::verify(&dir, &others).unwrap();
    }
}

#[test]
fn bad_names_and_options_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let kind = |result: Result<Keyspace>| result.unwrap_err().kind();
    let default = KeyspaceOptions::new();
    for name in ["", &"n".repeat(256)] {
        assert_eq!(kind(db.keyspace(name)), ErrorKind::InvalidArgument);
        assert_eq!(
            kind(db.create_keyspace(name, &default)),
            ErrorKind::InvalidArgument
        );
    }
    assert_eq!(kind(db.keyspace("unknown")), ErrorKind::NotFound);
    assert_eq!(
        db.drop_keyspace("unknown").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    db.create_keyspace(&"n".repeat(255), &default).unwrap();
    let error = db.create_keyspace(&"n".repeat(255), &default).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = db
        .create_keyspace("x", &KeyspaceOptions::new().comparator("no.Such"))
        .unwrap_err();
    assert!(error.to_string().contains("no.Such") && error.to_string().contains("test.Reverse"));
    let error = db
        .create_keyspace("x", &KeyspaceOptions::new().merge_operator("no.Such"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    reversed(&db, "r").put(b"k", b"v").unwrap();
    let other = tempfile::tempdir().unwrap();
    let other = options().open(&other).unwrap();
    let mut batch = WriteBatch::new();
    batch.put_in(&create(&other, "r"), b"k", b"v");
    assert_eq!(
        db.write(&batch).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    db.close().unwrap();
    let error = Options::new().open(&dir).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let text = error.to_string();
    assert!(
        text.contains("test.Reverse") && text.contains("\"r\""),
        "{text}"
    );
}

/// Values at every durability, in every keyspace, survive a process that dies, as the default
/// keyspace's do. A drop that was acknowledged survives too.
#[test]
fn a_handle_that_was_not_closed_loses_nothing() {
    let mut env = SimEnv::new(5);
    let mut model: BTreeMap<(String, Vec<u8>), u32> = BTreeMap::new();
    for round in 0..20_u32 {
        let db = options().env(env.clone()).open("/db").unwrap();
        let found: BTreeMap<_, _> = db
            .keyspaces()
            .into_iter()
            .flat_map(|name| {
                let keyspace = db.keyspace(&name).unwrap();
                let entries = keyspace.iter().map(Result::unwrap);
                entries
                    .map(|(key, value)| {
                        let value = u32::from_be_bytes((*value).try_into().unwrap());
                        ((name.clone(), key.to_vec()), value)
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(found, model, "round {round}");
        let name = format!("k{}", round % 5);
        if db.keyspaces().contains(&name) {
            db.drop_keyspace(&name).unwrap();
            model.retain(|(keyspace, _), _| *keyspace != name);
        } else if round % 2 == 0 {
            create(&db, &name);
        } else {
            reversed(&db, &name);
        }
        for name in db.keyspaces() {
            let keyspace = db.keyspace(&name).unwrap();
            for n in 0..300_u32 {
                let key = (n * 7 % 100).to_be_bytes();
                keyspace
                    .put(&key, &(round * 1000 + n).to_be_bytes())
                    .unwrap();
                model.insert((name.clone(), key.to_vec()), round * 1000 + n);
            }
        }
        if round % 3 == 0 {
            db.flush().unwrap();
            while db.step_background(Job::IdleCompact).unwrap() {}
        }
        if round % 4 != 0 {
            env = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
        }
    }
}

#[test]
fn options_of_a_keyspace_decide_how_it_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let plain = KeyspaceOptions::new().compression(Compression::None);
    let plain = db
        .create_keyspace("plain", &plain.value_bytes(1000))
        .unwrap();
    let packed = create(&db, "packed");
    for n in 0..1_000_u32 {
        plain.put(&n.to_be_bytes(), &[b'x'; 1000]).unwrap();
        packed.put(&n.to_be_bytes(), &[b'x'; 1000]).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(..).unwrap();
    assert!(plain.approximate_size(..).unwrap() > 1_000_000);
    assert!(packed.approximate_size(..).unwrap() < 100_000);
    assert_eq!(packed.estimate_count(..).unwrap(), 1_000);
    let shown = format!("{:?}", plain.options());
    assert!(shown.contains("None") && shown.contains("1000"), "{shown}");
}

/// A thousand keyspaces that are written to now and then share memtables, tables and log segments.
#[test]
fn a_thousand_keyspaces_share_everything() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().memory_budget(8 << 20).open(&dir).unwrap();
    let before = db.property("cairndb.memory").unwrap();
    let keyspaces: Vec<Keyspace> = (0..1_000).map(|n| create(&db, &format!("k{n}"))).collect();
    assert_eq!(
        db.property("cairndb.memory").unwrap(),
        before,
        "empty ones take no memtable"
    );
    let busy = WriteOptions::new().durability(Durability::Os);
    for n in 0..60_000_u32 {
        keyspaces[0]
            .put_with(&n.to_be_bytes(), &[1; 100], &busy)
            .unwrap();
        keyspaces[n as usize % 1_000]
            .put(b"now and then", b"")
            .unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let tables = std::fs::read_dir(&dir).unwrap();
    let names = tables.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = names.collect();
    let count = |suffix: &str| files.iter().filter(|name| name.ends_with(suffix)).count();
    assert!(count(".tbl") <= 20 && count(".log") <= 4, "{files:?}");
}

/// A batch that is inserted in parts, over all sections, and keys of the greatest length.
#[test]
fn long_batches_and_long_keys_fit_into_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().memory_budget(1 << 20).open(&dir).unwrap();
    let (users, names) = (create(&db, "users"), reversed(&db, "names"));
    let mut batch = WriteBatch::new();
    for n in 0..20_000_u32 {
        let key = n.to_be_bytes();
        match n % 3 {
            0 => batch.put(&key, &[1; 60]),
            1 => batch.put_in(&users, &key, &[1; 60]),
            _ => batch.put_in(&names, &key, &[1; 60]),
        }
    }
    db.write(&batch).unwrap();
    let counts = [db.iter(), users.iter(), names.iter()].map(|iter| iter.try_count().unwrap());
    assert_eq!(counts, [6_667, 6_667, 6_666]);
    let longest = vec![b'k'; 64 << 20];
    users.put(&longest, b"v").unwrap();
    db.flush().unwrap();
    assert_eq!(users.get(&longest).unwrap().as_deref(), Some(&b"v"[..]));
    let error = users.put(&[&longest[..], b"k"].concat(), b"v").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    db.close().unwrap();
    let db = options().open(&dir).unwrap();
    let users = db.keyspace("users").unwrap();
    assert_eq!(users.iter().next_back().unwrap().unwrap().0.len(), 64 << 20);
}

/// Regression: the first write to a section after a seal counted as one to a full memtable, so that
/// writes in turns to three sections flushed with every write.
#[test]
fn writes_to_keyspaces_in_turns_are_flushed_together() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let (a, r) = (create(&db, "a"), reversed(&db, "r"));
    for number in 0..20_u8 {
        db.put(&[number], b"").unwrap();
        a.put(&[number], b"").unwrap();
        r.put(&[number], b"").unwrap();
    }
    db.flush().unwrap();
    let stats = db.property("cairndb.stats").unwrap();
    assert!(stats.contains("\"flushes\":1,"), "{stats}");
}

/// The default keyspace has a handle as all others, which reads and writes the database's own keys.
#[test]
fn the_default_keyspace_is_one_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().merge_operator(Arc::new(Add)).open(&dir).unwrap();
    let (default, users) = (db.default_keyspace(), create(&db, "users"));
    users.put(b"k", b"users").unwrap();
    default.put(b"k", b"1").unwrap();
    let mut batch = WriteBatch::new();
    batch.put_in(&default, b"l", b"2");
    batch.put_in(&users, b"l", b"3");
    batch.merge_in(&default, b"n", b"\x05");
    assert_eq!(batch.iter_with_keyspaces().next().unwrap().0, None);
    db.write(&batch).unwrap();
    default.merge(b"n", b"\x02").unwrap();
    assert_eq!(db.get(b"n").unwrap().unwrap()[0], 7);
    default.delete(b"n").unwrap();
    assert_eq!(entries(default.iter()), ["k=1", "l=2"]);
    let before = db.snapshot();
    let transaction = db.transaction();
    transaction.put_in(&default, b"m", b"own").unwrap();
    assert_eq!(transaction.pop_first().unwrap().unwrap().1[0], b'1');
    transaction.put_in(&default, b"k", b"again").unwrap();
    assert_eq!(transaction.pop_first().unwrap().unwrap().1[0], b'a');
    let seen = transaction.multi_get_in(&default, &[b"m", b"k"]).unwrap();
    assert_eq!(seen[0].as_deref(), Some(&b"own"[..]));
    assert_eq!(seen[1], None);
    transaction.commit().unwrap();
    assert_eq!(entries(db.iter()), ["l=2", "m=own"]);
    assert_eq!(
        entries(before.range_in(&default, ..).unwrap()),
        ["k=1", "l=2"]
    );
    let found = before.multi_get_each_in(&users, &[b"k", b"m"]).unwrap();
    assert_eq!(found[0].as_ref().unwrap().as_deref(), Some(&b"users"[..]));
    let mut out = Vec::new();
    assert!(!before.get_into_in(&default, b"m", &mut out).unwrap());
    let estimate = db.estimate_count(..).unwrap();
    assert_eq!(default.estimate_count(..).unwrap(), estimate);
    assert_eq!((default.name(), default.is_dropped()), ("", false));
    default.compact_range(..).unwrap();
    let other = tempfile::tempdir().unwrap();
    let other = options().open(&other).unwrap().default_keyspace();
    let error = before.get_in(&other, b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
