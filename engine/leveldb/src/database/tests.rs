//! Databases put together by hand: several levels and logs, crashes, damage, comparators, locks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Comparator, ErrorKind};
use cairndb_env::{Background, Dir, Env, MemEnv};

use super::*;
use crate::batch::BatchWriter;
use crate::golden::Noise;
use crate::internal_key::InternalKey;
use crate::log::LogWriter;
use crate::manifest::{NewTable, VersionEdit, install_current};
use crate::orders::{Orders, ReverseOrder};
use crate::table::{TableBuilder, TableOptions};

/// One entry of a database: key, sequence number, and the value unless it is a delete.
type Write = (Vec<u8>, u64, Option<Vec<u8>>);

fn random_writes(noise: &mut Noise, count: u64) -> Vec<Write> {
    let write = |seq: u64| {
        let key = format!("k{:03}", noise.below(60)).into_bytes();
        let value = format!("{seq}-{}", "v".repeat(noise.below(30))).into_bytes();
        (key, seq, (noise.below(3) > 0).then_some(value))
    };
    (1..=count).map(write).collect()
}

/// A directory into which tables and logs are put.
struct Builder {
    dir: Arc<dyn Dir>,
    order: Order,
    edit: VersionEdit,
    next: u64,
}

impl Builder {
    fn new(order: Order) -> Builder {
        let env = MemEnv::new(Background::Stepped);
        Builder {
            dir: env.open_dir(Path::new("db"), true).unwrap(),
            edit: VersionEdit {
                comparator: Some(order.name().to_owned()),
                last_seq: Some(0),
                previous_log: Some(0),
                ..VersionEdit::default()
            },
            order,
            next: 10,
        }
    }

    fn table(&mut self, level: usize, writes: &[Write]) {
        let (number, name) = (self.next, format!("{:06}.ldb", self.next));
        self.next += 1;
        let mut sorted = writes.to_vec();
        sorted.sort_by(|a, b| self.order.compare(&a.0, &b.0).then(b.1.cmp(&a.1)));
        let options = TableOptions {
            block_bytes: 200,
            ..TableOptions::default()
        };
        let file = self.dir.create(&name).unwrap();
        let mut builder = TableBuilder::new(file, self.order.clone(), options);
        for (key, seq, value) in &sorted {
            let (seq, kind) = (*seq, value.as_ref().map_or(Kind::Delete, |_| Kind::Put));
            let value = value.as_deref().unwrap_or_default();
            builder.add(InternalKey { key, seq, kind }, value).unwrap();
        }
        let (smallest, largest) = (builder.smallest().to_vec(), builder.largest());
        let size = builder.finish().unwrap();
        self.edit.added.push(NewTable {
            level,
            number,
            size,
            smallest,
            largest,
        });
        let last = writes.iter().map(|write| write.1).max();
        self.edit.last_seq = self.edit.last_seq.max(last);
    }

    /// Writes a log, with batches of `each` operations, and returns its name.
    fn log(&mut self, writes: &[Write], each: usize) -> String {
        let name = format!("{:06}.log", self.next);
        self.edit.log = self.edit.log.or(Some(self.next));
        self.next += 1;
        let mut log = LogWriter::new(self.dir.create(&name).unwrap());
        for writes in writes.chunks(each) {
            let mut batch = BatchWriter::new(writes[0].1);
            for (key, _, value) in writes {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            log.append(batch.bytes()).unwrap();
        }
        name
    }

    fn finish(mut self) -> Arc<dyn Dir> {
        self.edit.next_file = Some(self.next);
        self.edit.log = self.edit.log.or(Some(0));
        let mut payload = Vec::new();
        self.edit.encode(&mut payload);
        let mut manifest = LogWriter::new(self.dir.create("MANIFEST-000002").unwrap());
        manifest.append(&payload).unwrap();
        install_current(&self.dir, 2).unwrap();
        self.dir
    }

    fn open(self) -> Database {
        Database::open(&self.finish(), &ReadOptions::default()).unwrap()
    }
}

/// What is visible at a sequence number, in the order of keys.
fn model(order: &Order, writes: &[Write], seq: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut newest: BTreeMap<&[u8], &Write> = BTreeMap::new();
    for write in writes.iter().filter(|write| write.1 <= seq) {
        let kept = newest.entry(&write.0).or_insert(write);
        if kept.1 < write.1 {
            *kept = write;
        }
    }
    let visible = |write: &&Write| Some((write.0.clone(), write.2.clone()?));
    let mut visible: Vec<_> = newest.values().filter_map(visible).collect();
    visible.sort_by(|a, b| order.compare(&a.0, &b.0));
    visible
}

fn current(cursor: &Cursor) -> Option<(Vec<u8>, Vec<u8>)> {
    let entry = cursor.valid().then(|| (cursor.key(), cursor.value()));
    entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
}

/// Compares scans in both directions, gets, and a random walk with the model.
fn check(database: &Database, writes: &[Write], seq: u64, noise: &mut Noise) {
    let model = model(database.order(), writes, seq);
    let mut cursor = database.cursor_at(seq);
    cursor.seek_to_first().unwrap();
    for entry in &model {
        assert_eq!(current(&cursor).as_ref(), Some(entry));
        cursor.next().unwrap();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last().unwrap();
    for entry in model.iter().rev() {
        assert_eq!(current(&cursor).as_ref(), Some(entry));
        cursor.prev().unwrap();
    }
    assert!(!cursor.valid());
    let mut place = None;
    for _ in 0..200 {
        let key = format!("k{:03}", noise.below(62)).into_bytes();
        let order = database.order();
        match noise.below(6) {
            0 => {
                cursor.seek(&key).unwrap();
                let mut entries = model.iter();
                place = entries.position(|entry| order.compare(&entry.0, &key).is_ge());
            }
            1 => {
                cursor.seek_for_prev(&key).unwrap();
                let mut entries = model.iter();
                place = entries.rposition(|entry| order.compare(&entry.0, &key).is_le());
            }
            2 | 3 => {
                cursor.next().unwrap();
                let next = place.map(|place| place + 1);
                place = next.filter(|place| *place < model.len());
            }
            _ => {
                cursor.prev().unwrap();
                place = place.and_then(|place: usize| place.checked_sub(1));
            }
        }
        assert_eq!(current(&cursor), place.map(|place| model[place].clone()));
        let expected = model.iter().find(|entry| entry.0 == key);
        let found = database.get_at(&key, seq).unwrap();
        assert_eq!(found.as_ref(), expected.map(|entry| &entry.1));
    }
}

/// Spreads writes over levels and logs as LevelDB would: older ones further down.
fn spread(order: &Order, writes: &[Write]) -> Builder {
    let mut builder = Builder::new(order.clone());
    let parts: Vec<&[Write]> = writes.chunks(writes.len().div_ceil(7)).collect();
    // Level 2 in two tables that do not overlap, level 1, two tables of level 0, two logs.
    let is_low = |write: &Write| order.compare(&write.0, b"k030").is_lt();
    let (low, high): (Vec<Write>, Vec<Write>) = parts[0].iter().cloned().partition(is_low);
    for half in [low, high] {
        if !half.is_empty() {
            builder.table(2, &half);
        }
    }
    builder.table(1, parts[1]);
    builder.table(0, parts[2]);
    builder.table(0, &[parts[3], parts[4]].concat());
    builder.log(parts[5], 3);
    builder.log(parts[6], 5);
    builder
}

fn orders() -> Vec<Order> {
    let reversed = ReverseOrder::of("leveldb.ReverseBytewiseComparator", Order::Bytewise);
    vec![Order::Bytewise, Order::Custom(Arc::new(reversed))]
}

#[test]
fn levels_and_logs_are_one_database_at_every_sequence_number() {
    let seeds = (0..20).flat_map(|seed| orders().into_iter().map(move |order| (seed, order)));
    for (seed, order) in seeds {
        let mut noise = Noise::new(seed);
        let writes = random_writes(&mut noise, 70 + 10 * seed);
        let database = spread(&order, &writes).open();
        let last = database.last_seq();
        assert_eq!(last, writes.len() as u64);
        for seq in [0, 1, last / 3, last - 1, last] {
            check(&database, &writes, seq, &mut noise);
        }
        let mut entries = database.entries();
        entries.seek_to_first().unwrap();
        let mut found = Vec::new();
        while entries.valid() {
            let value = (entries.kind() == Kind::Put).then(|| entries.value().to_vec());
            found.push((entries.key().to_vec(), entries.seq(), value));
            entries.next().unwrap();
        }
        let mut sorted = writes.clone();
        sorted.sort_by(|a, b| order.compare(&a.0, &b.0).then(b.1.cmp(&a.1)));
        assert_eq!(found, sorted);
        for info in database.tables() {
            database.verify_table(info).unwrap();
        }
    }
}

#[test]
fn the_torn_end_of_the_newest_log_is_dropped() {
    let writes = random_writes(&mut Noise::new(1), 40);
    let mut builder = Builder::new(Order::Bytewise);
    builder.log(&writes[..20], 4);
    let name = builder.log(&writes[20..], 4);
    let dir = builder.finish();
    let whole = bytes(&*dir, &name);
    for len in 0..whole.len() {
        put(&*dir, &name, &whole[..len]);
        let database = Database::open(&dir, &ReadOptions::default()).unwrap();
        let seq = database.last_seq();
        let is_right = seq.is_multiple_of(4) && (20..40).contains(&seq);
        assert!(is_right, "cut at {len}: {seq}");
        check(&database, &writes, seq, &mut Noise::new(2));
    }
}

fn open_with(dir: &Arc<dyn Dir>, recovery: Recovery) -> Result<Database> {
    let options = ReadOptions {
        recovery,
        ..ReadOptions::default()
    };
    Database::open(dir, &options)
}

fn bytes(dir: &dyn Dir, name: &str) -> Vec<u8> {
    let file = dir.open_read(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn put(dir: &dyn Dir, name: &str, bytes: &[u8]) {
    dir.unlink(name).unwrap();
    dir.create(name).unwrap().append(bytes).unwrap();
}

#[test]
fn damage_within_a_log_is_refused_or_skipped_and_listed() {
    let writes = random_writes(&mut Noise::new(3), 60);
    let mut builder = Builder::new(Order::Bytewise);
    let older = builder.log(&writes[..30], 3);
    let newer = builder.log(&writes[30..], 3);
    let dir = builder.finish();
    let (older_bytes, newer_bytes) = (bytes(&*dir, &older), bytes(&*dir, &newer));
    let mut damaged = older_bytes.clone();
    damaged[100] ^= 1;
    let cut = older_bytes[..older_bytes.len() - 3].to_vec();
    let mut damaged_newer = newer_bytes.clone();
    damaged_newer[60] ^= 1;
    let cases = [
        (&older, damaged, &older_bytes),
        (&older, cut, &older_bytes),
        (&newer, damaged_newer, &newer_bytes),
    ];
    for (name, wrong, right) in cases {
        put(&*dir, name, &wrong);
        let error = Database::open(&dir, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(error.file_name(), Some(&**name));
        assert!(error.file_offset().is_some());
        let database = open_with(&dir, Recovery::Skip).unwrap();
        assert!(database.report().skipped_count > 0);
        assert_eq!(database.report().skipped[0].file_name(), Some(&**name));
        put(&*dir, name, right);
    }
    let database = Database::open(&dir, &ReadOptions::default()).unwrap();
    check(&database, &writes, 60, &mut Noise::new(4));
}

#[test]
fn an_older_log_that_is_torn_before_an_empty_one_is_the_newest() {
    let writes = random_writes(&mut Noise::new(5), 20);
    let mut builder = Builder::new(Order::Bytewise);
    let name = builder.log(&writes, 2);
    builder.log(&[], 1);
    let dir = builder.finish();
    let whole = bytes(&*dir, &name);
    put(&*dir, &name, &whole[..whole.len() - 1]);
    let database = Database::open(&dir, &ReadOptions::default()).unwrap();
    assert_eq!(database.last_seq(), 18);
    let report = database.report();
    let torn = report.torn_log.as_ref().unwrap().file_name();
    assert_eq!((torn, report.logs.len()), (Some(&*name), 2));
    // The next one holds no more than the beginning of a record.
    put(&*dir, "000011.log", &whole[..20]);
    let database = Database::open(&dir, &ReadOptions::default()).unwrap();
    assert_eq!(database.last_seq(), 18);
}

#[test]
fn an_unknown_comparator_is_named_and_can_be_registered_or_replaced() {
    let own: Arc<dyn Comparator> = Arc::new(ReverseOrder::of("example.own", Order::Bytewise));
    let writes = random_writes(&mut Noise::new(6), 90);
    let dir = spread(&Order::Custom(Arc::clone(&own)), &writes).finish();
    let error = Database::open(&dir, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("\"example.own\""), "{error}");
    let orders = Orders::default().with(own);
    let options = ReadOptions {
        orders,
        ..ReadOptions::default()
    };
    let database = Database::open(&dir, &options).unwrap();
    check(&database, &writes, 90, &mut Noise::new(7));
    let options = ReadOptions {
        unknown_order: UnknownOrder::Bytewise,
        ..ReadOptions::default()
    };
    let database = Database::open(&dir, &options).unwrap();
    assert!(database.order().is_bytewise());
    check(&database, &writes, 90, &mut Noise::new(8));
    let options = ReadOptions {
        memory_bytes_max: 500,
        ..options
    };
    let error = Database::open(&dir, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

#[test]
fn a_missing_or_short_table_is_named() {
    let dir = spread(&Order::Bytewise, &random_writes(&mut Noise::new(9), 70)).finish();
    let whole = bytes(&*dir, "000012.ldb");
    put(&*dir, "000012.ldb", &whole[..whole.len() - 1]);
    let open = || Database::open(&dir, &ReadOptions::default());
    assert_eq!(open().unwrap_err().file_name(), Some("000012.ldb"));
    dir.unlink("000012.ldb").unwrap();
    let error = open().unwrap_err();
    assert_eq!(
        (error.kind(), error.file_name()),
        (ErrorKind::Corruption, Some("000012.ldb"))
    );
    // The ending of older versions, and bytes after the end of the table.
    dir.create("000012.sst")
        .unwrap()
        .append(&[&whole[..], b"more"].concat())
        .unwrap();
    let database = open().unwrap();
    let mut cursor = database.cursor();
    cursor.seek_to_first().unwrap();
    while cursor.valid() {
        cursor.next().unwrap();
    }
}

#[test]
fn a_missing_log_is_named_unless_the_reader_may_do_without() {
    let writes = random_writes(&mut Noise::new(14), 60);
    let mut builder = Builder::new(Order::Bytewise);
    builder.table(0, &writes[..20]);
    let name = builder.log(&writes[20..40], 4);
    builder.log(&writes[40..], 4);
    let dir = builder.finish();
    dir.unlink(&name).unwrap();
    let open = |recovery| open_with(&dir, recovery);
    let error = open(Recovery::Strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.file_name(), Some(&*name));
    for recovery in [Recovery::WithoutLog, Recovery::Skip] {
        let database = open(recovery).unwrap();
        assert_eq!(database.report().skipped[0].file_name(), Some(&*name));
        assert_eq!((database.report().logs.len(), database.last_seq()), (1, 60));
    }
    // Damage is still refused.
    // The log after it is not empty.
    dir.create(&name).unwrap().append(b"no record").unwrap();
    assert!(open(Recovery::WithoutLog).is_err());
}

/// goleveldb removes an empty log without an edit; its edits name no previous log.
#[test]
fn a_log_that_goleveldb_removed_is_not_missed() {
    let writes = random_writes(&mut Noise::new(15), 60);
    for (begin, is_whole) in [(20, true), (21, false), (60, true)] {
        let mut builder = Builder::new(Order::Bytewise);
        builder.edit.previous_log = None;
        builder.table(0, &writes[..20]);
        let name = builder.log(&[], 1);
        builder.log(&writes[begin..], 4);
        let dir = builder.finish();
        dir.unlink(&name).unwrap();
        match Database::open(&dir, &ReadOptions::default()) {
            Ok(_) => assert!(is_whole, "the log may have held a write"),
            Err(error) => {
                assert!(!is_whole, "{error}");
                assert_eq!(error.file_name(), Some(&*name));
            }
        }
        // Without any later log, goleveldb has not removed it.
        dir.unlink("000012.log").unwrap();
        let error = Database::open(&dir, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.file_name(), Some(&*name));
    }
}

#[test]
fn a_reader_excludes_writers_where_there_is_a_lock_file() {
    let dir = spread(&Order::Bytewise, &random_writes(&mut Noise::new(10), 70)).finish();
    let open = || Database::open(&dir, &ReadOptions::default());
    drop(open().unwrap());
    assert_eq!(dir.size_of("LOCK").unwrap(), None, "nothing was created");
    let writer = dir.lock("LOCK").unwrap();
    assert_eq!(open().unwrap_err().kind(), ErrorKind::Locked);
    drop(writer);
    let (first, second) = (open().unwrap(), open().unwrap());
    drop(first);
    assert_eq!(dir.lock("LOCK").unwrap_err().kind(), ErrorKind::Locked);
    drop(second);
    assert!(dir.lock("LOCK").is_ok());
}

#[test]
fn tables_that_overlap_in_a_level_are_still_merged() {
    let writes = random_writes(&mut Noise::new(12), 60);
    let mut builder = Builder::new(Order::Bytewise);
    for part in writes.chunks(20) {
        builder.table(3, part);
    }
    check(&builder.open(), &writes, 60, &mut Noise::new(13));
}
