//! Values that stay in the log.

use std::sync::Arc;

use cairndb_base::{Kind, Order, Result, SEQ_MAX, hash64};
use cairndb_env::LogRegion;

use crate::{Borrowed, MemWriter, Memtable};

/// A log that holds a hundred bytes of each value, or one from which nothing can be borrowed.
#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    borrowable: bool,
}

impl Page {
    fn region(borrowable: bool) -> Arc<dyn LogRegion> {
        let bytes = (0..=255).flat_map(|byte| [byte; 100]).collect();
        Arc::new(Page { bytes, borrowable })
    }
}

impl LogRegion for Page {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn write(&self, _: u64, _: &[&[u8]], _: bool) -> Result<()> {
        unreachable!("the log is only read");
    }

    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).expect("a few KiB");
        self.borrowable.then(|| &self.bytes[start..start + len])
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn warm(&self) {}
}

/// Inserts `len` bytes of the value `byte` under a key of that byte.
fn insert(writer: &mut MemWriter, region: &Arc<dyn LogRegion>, byte: u8, len: usize) {
    let (key, seq) = ([byte; 16], u64::from(byte) + 1);
    let offset = u64::from(byte) * 100;
    let value = &vec![byte; len][..];
    let Some(borrowed) = Borrowed::by(region, offset, len) else {
        return writer.insert(seq, Kind::Put, &key, value);
    };
    writer.insert_logged(seq, Kind::Put, &key, value, borrowed);
}

fn check(table: &Arc<Memtable>, lens: &[(u8, usize)]) {
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    for (byte, len) in lens {
        let (key, value) = ([*byte; 16], vec![*byte; *len]);
        let found = table.get(&key, hash64(&key), SEQ_MAX);
        assert_eq!(found.unwrap().unwrap().value, value);
        assert!(cursor.valid() && cursor.key() == key);
        cursor.check_value().expect("nothing is damaged");
        assert_eq!(cursor.value(), value);
        cursor.next();
    }
    assert!(!cursor.valid());
}

/// Long and short values of two segments, in order.
const LENS: [(u8, usize); 7] = [
    (1, 100),
    (2, 0),
    (3, 31),
    (4, 32),
    (130, 99),
    (131, 5),
    (132, 64),
];

#[test]
fn values_are_read_where_they_lie_and_their_region_is_kept() {
    let regions = [Page::region(true), Page::region(true)];
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 64 << 10);
    for (byte, len) in LENS {
        insert(&mut writer, &regions[usize::from(byte / 128)], byte, len);
    }
    check(&table, &LENS);
    let copied: usize = LENS
        .iter()
        .map(|(_, len)| *len)
        .filter(|len| *len < 32)
        .sum();
    let user: usize = LENS.iter().map(|(_, len)| 16 + len).sum();
    assert_eq!(table.user_bytes(), user as u64);
    let mut own = [0, 0].map(|_: i32| Page::region(true));
    let (other, mut copying) = Memtable::new(Order::Bytewise, Vec::new(), 64 << 10);
    for (byte, len) in LENS.map(|(byte, len)| (byte, if len < 32 { len } else { 0 })) {
        insert(&mut copying, &own[0], byte, len);
    }
    let places = table.bytes_used() - other.bytes_used();
    assert!(places <= 4 * 16 && copied == 36, "{places}, {copied}");
    drop((other, copying));
    assert!(
        Arc::get_mut(&mut own[0]).is_some(),
        "short values need no region"
    );
    // The table keeps each region once; the writer also holds the last one.
    assert_eq!(regions.each_ref().map(Arc::strong_count), [2, 3]);
    drop(writer);
    let cursor = table.cursor();
    drop(table);
    assert_eq!(regions.each_ref().map(Arc::strong_count), [2, 2]);
    drop(cursor);
    assert_eq!(regions.each_ref().map(Arc::strong_count), [1, 1]);
}

#[test]
fn values_of_a_region_that_lends_nothing_are_copied() {
    let region = Page::region(false);
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 64 << 10);
    for (byte, len) in LENS {
        insert(&mut writer, &region, byte, len);
    }
    assert_eq!(Arc::strong_count(&region), 1);
    check(&table, &LENS);
}
