//! Files in memory, a small cache, generators of keys and values, and a table built from a list.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cairndb_base::comparator::KEYSPACES_NAME;
use cairndb_base::{Comparator, Error, FileNumber, Kind, Order, PageCache, Result, SeqNo};
use cairndb_env::{Access, FileSync, MappedBytes, Mapping, ReadFile, WritableFile};

use crate::value_file::{CODEC_RAW, Pointer};

use crate::table::read::source::{file_seed, page_checksum};
use crate::table::{
    BoundLimits, PageAccess, PageWindow, Table, TableBuilder, TableCursor, TableOptions,
    TableSummary, ValueIn,
};

pub(super) const FILE: FileNumber = FileNumber(7);

/// A file under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Sink {
    pub(super) bytes: Arc<Mutex<Vec<u8>>>,
}

impl WritableFile for Sink {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }
    fn size(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    fn syncer(&self) -> Arc<dyn FileSync> {
        Arc::new(self.clone())
    }
}

impl FileSync for Sink {
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// A readable file, which can be mapped or not.
#[derive(Debug)]
pub(super) struct Image {
    bytes: Arc<Bytes>,
    maps: bool,
}

#[derive(Debug)]
struct Bytes(Vec<u8>);

impl MappedBytes for Bytes {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl ReadFile for Image {
    fn size(&self) -> u64 {
        self.bytes.0.len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let at = usize::try_from(offset).unwrap();
        let bytes = self.bytes.0.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| Error::corruption("file ends before"))?);
        Ok(())
    }
    fn map(&self, _: u64, _: Access) -> Result<Option<Mapping>> {
        Ok(self.maps.then(|| Mapping::new(self.bytes.clone())))
    }
    fn advise(&self, _: u64, _: u64, _: bool) {}
}

/// A cache that keeps a few pages.
#[derive(Debug, Default)]
pub(super) struct FewPages {
    pages: Mutex<PageMap>,
}

type PageMap = BTreeMap<(u64, u32), Arc<[u8]>>;

impl PageCache for FewPages {
    fn get(&self, file: FileNumber, page: u32) -> Option<Arc<[u8]>> {
        self.pages.lock().unwrap().get(&(file.0, page)).cloned()
    }
    fn insert(&self, file: FileNumber, page: u32, bytes: Arc<[u8]>) {
        let mut pages = self.pages.lock().unwrap();
        if pages.len() >= 8 {
            pages.pop_first();
        }
        pages.insert((file.0, page), bytes);
    }
    fn evict_file(&self, file: FileNumber) {
        self.pages.lock().unwrap().retain(|key, _| key.0 != file.0);
    }
    fn bytes(&self) -> usize {
        self.pages.lock().unwrap().values().map(|p| p.len()).sum()
    }
}

/// Returns a file with these bytes.
pub(super) fn image(bytes: Vec<u8>) -> Arc<dyn ReadFile> {
    Arc::new(Image {
        bytes: Arc::new(Bytes(bytes)),
        maps: false,
    })
}

/// Way in which a test reaches pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Mapped,
    Cached,
    Unmapped,
}

pub(super) fn open_with(
    bytes: Vec<u8>,
    order: &Order,
    checksum: u32,
    reach: Reach,
) -> Result<Arc<Table>> {
    let image = Arc::new(Image {
        bytes: Arc::new(Bytes(bytes)),
        maps: reach == Reach::Mapped,
    });
    let access = match reach {
        Reach::Cached => PageAccess::Cached(Arc::new(FewPages::default())),
        Reach::Mapped | Reach::Unmapped => PageAccess::Mapped(None),
    };
    Table::open(image, FILE, order, access, checksum).map(Arc::new)
}

/// One entry of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) seq: SeqNo,
    pub(super) kind: Kind,
    pub(super) value: Vec<u8>,
}

/// Returns the only version of a key.
pub(super) fn put(key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Entry {
    Entry {
        key: key.into(),
        seq: 0,
        kind: Kind::Put,
        value: value.into(),
    }
}

/// Returns the only versions of so many keys.
pub(super) fn puts<K: Into<Vec<u8>>>(
    count: usize,
    key: impl Fn(usize) -> K,
    mut value: impl FnMut(usize) -> Vec<u8>,
) -> Vec<Entry> {
    (0..count)
        .map(|number| put(key(number), value(number)))
        .collect()
}

/// Moves a cursor to the first or last entry.
pub(super) fn begin(cursor: &mut TableCursor, forward: bool) -> Result<()> {
    [TableCursor::last, TableCursor::first][usize::from(forward)](cursor)
}

/// Moves a cursor to the next or previous entry.
pub(super) fn go(cursor: &mut TableCursor, forward: bool) -> Result<()> {
    [TableCursor::prev, TableCursor::next][usize::from(forward)](cursor)
}

/// Moves to the next or previous entry of a window, if there is one.
pub(super) fn go_in(window: &mut PageWindow, forward: bool) -> bool {
    [PageWindow::step_backward, PageWindow::step_forward][usize::from(forward)](window)
}

/// Sorts into table order and drops equal (key, seq).
pub(super) fn sort(entries: &mut Vec<Entry>, order: &Order) {
    entries.sort_by(|a, b| compare(a, &b.key, b.seq, order));
    entries.dedup_by(|b, a| compare(a, &b.key, b.seq, order).is_eq());
}

pub(super) fn compare(a: &Entry, key: &[u8], seq: SeqNo, order: &Order) -> Ordering {
    order.compare(&a.key, key).then_with(|| seq.cmp(&a.seq))
}

pub(super) fn build(entries: &[Entry], options: TableOptions) -> (Vec<u8>, TableSummary) {
    build_with(options, |builder| add_all(builder, entries))
}

pub(super) fn add_all(builder: &mut TableBuilder, entries: &[Entry]) {
    for entry in entries {
        let value = ValueIn::Raw(&entry.value);
        let added = builder.add(&entry.key, entry.seq, entry.kind, value);
        added.unwrap();
    }
}

/// Builds a table of what `add` adds.
pub(super) fn build_with(
    options: TableOptions,
    add: impl FnOnce(&mut TableBuilder),
) -> (Vec<u8>, TableSummary) {
    let sink = Sink::default();
    let mut builder = TableBuilder::new(Box::new(sink.clone()), options);
    add(&mut builder);
    let summary = builder.finish(&BoundLimits::default()).unwrap();
    let bytes = std::mem::take(&mut *sink.bytes.lock().unwrap());
    (bytes, summary)
}

/// Builds a table, and maps it.
pub(super) fn built(entries: &[Entry], options: TableOptions) -> Arc<Table> {
    let order = options.order.clone();
    let (bytes, summary) = build(entries, options);
    open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap()
}

/// The reverse of bytewise order.
#[derive(Debug)]
pub(super) struct Reverse;

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

pub(super) fn reverse() -> Order {
    Order::Custom(Arc::new(Reverse))
}

/// An order of keyspaces that have comparators.
#[derive(Debug)]
pub(super) struct Keyspaces;

impl Comparator for Keyspaces {
    fn name(&self) -> &'static str {
        KEYSPACES_NAME
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

/// An order that ignores case, in which keys of different bytes may be equal.
#[derive(Debug)]
pub(super) struct NoCase;

impl Comparator for NoCase {
    fn name(&self) -> &'static str {
        "test.NoCase"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }
}

/// `SplitMix64`, for tests that print their seed.
#[derive(Clone, Debug)]
pub(in crate::table) struct Rng(pub(in crate::table) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::table) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() & 0xff) as u8).collect()
    }

    pub(super) fn text(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| b' ' + self.below(95) as u8).collect()
    }
}

/// Returns the classic value: 50 random printable bytes, repeated once.
pub(super) fn classic_value(rng: &mut Rng) -> Vec<u8> {
    let mut value = rng.text(50);
    value.extend_from_within(..);
    value
}

/// Returns a value that compresses better across its neighbours than alone: a row of a table.
pub(super) fn row_value(number: usize, rng: &mut Rng) -> Vec<u8> {
    const CITIES: [&str; 4] = ["Bergen", "Stavanger", "Trondheim", "Bod"];
    const STATES: [&str; 3] = ["open", "shipped", "returned"];
    let (city, state) = (CITIES[rng.below(4)], STATES[rng.below(3)]);
    let place = format!("\"id\":{number},\"city\":\"{city}\",\"state\":\"{state}\"");
    let amount = rng.below(10_000);
    format!("{{{place},\"amount\":{amount},\"currency\":\"NOK\"}}").into_bytes()
}

/// Returns a value that shares its structure with others, but has more unique content than a row:
/// letters and digits that nothing repeats.
fn record_value(number: usize, rng: &mut Rng) -> Vec<u8> {
    let mut value = row_value(number, rng);
    value.extend_from_slice(b",\"session\":\"");
    value.extend(rng.text(70));
    value.extend_from_slice(b"\"}");
    value
}

/// Like [`rows`], but with values that are best stored alone against a dictionary.
pub(super) fn records(count: usize, rng: &mut Rng) -> Vec<Entry> {
    let mut entries = rows(count, rng);
    for (number, entry) in entries.iter_mut().enumerate() {
        if entry.kind == Kind::Put && entry.value.len() < 5000 {
            entry.value = record_value(number, rng);
        }
    }
    entries
}

/// Returns rows with occasional extra versions, tombstones, noise, and large and huge values.
pub(super) fn rows(count: usize, rng: &mut Rng) -> Vec<Entry> {
    let mut entries = Vec::new();
    for number in 0..count {
        let (kind, value) = match rng.below(200) {
            0 => (Kind::Put, rng.bytes(3000)),
            1 => (Kind::Put, rng.bytes(9000)),
            2 => (Kind::Put, vec![b'r'; 100_000]),
            3..=12 => (Kind::Delete, Vec::new()),
            13 => (Kind::Pointer, pointer(rng).encode().to_vec()),
            _ => (Kind::Put, row_value(number, rng)),
        };
        for seq in 0..=rng.below(3) / 2 {
            entries.push(Entry {
                key: format!("order/{number:09}").into_bytes(),
                seq: seq as u64 * rng.next() % 1000,
                kind,
                value: value.clone(),
            });
        }
    }
    entries
}

/// Returns the data pages of a table, extents left out.
fn data_pages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pages = bytes.chunks(4096).enumerate();
    pages.filter_map(|(number, page)| {
        // Bytes inside an extent may look like a page, but their checksum does not match.
        let checksum = page_checksum(file_seed(FILE), number as u32, page);
        (page[4] == 1 && page[..4] == checksum.to_le_bytes()).then_some(page)
    })
}

/// Returns the number of data pages of a table in each mode of storing values.
pub(super) fn modes(bytes: &[u8]) -> [usize; 4] {
    let mut modes = [0; 4];
    for page in data_pages(bytes) {
        modes[usize::from(page[14])] += 1;
    }
    modes
}

/// Returns the number of data pages of a table that have an ending, and of those that have none.
pub(super) fn endings(bytes: &[u8]) -> (usize, usize) {
    let ended = data_pages(bytes).filter(|page| page[5] & 64 != 0).count();
    (ended, data_pages(bytes).count() - ended)
}

/// Number of key shapes that tests go through.
pub(super) const KEY_SHAPES: usize = 10;

pub(super) fn key_of_shape(shape: usize, rng: &mut Rng) -> Vec<u8> {
    match shape {
        0 => format!("{:016}", rng.below(100_000)).into_bytes(),
        1 => {
            let len = rng.below(5);
            (0..len).map(|_| rng.below(3) as u8).collect()
        }
        2 => {
            let mut key = vec![b'p'; 300];
            let len = rng.below(20);
            key.extend(rng.text(len));
            key
        }
        3 => (rng.next() >> 20).swap_bytes().to_le_bytes().to_vec(),
        4 => format!("samehead{:03}", rng.below(3000)).into_bytes(),
        5 => {
            let len = rng.below(24);
            let zeros = rng.below(10);
            let mut key = vec![0; zeros];
            key.extend(rng.bytes(len));
            key
        }
        6 => format!("user{}/field{}", rng.below(40), rng.below(500)).into_bytes(),
        7 => {
            let len = if rng.below(40) == 0 { 5000 } else { 30 };
            rng.text(len)
        }
        8 => format!("id{:05}/name", rng.below(100_000)).into_bytes(),
        // Ids as numbers, padded with zeros to a length, some with another ending or length.
        _ => {
            let mut key = (rng.next() >> 40).swap_bytes().to_le_bytes().to_vec();
            let ending = match rng.below(300) {
                0 => &[0; 39][..],
                1 => &[1; 40],
                _ => &[0; 40],
            };
            key.extend_from_slice(ending);
            key
        }
    }
}

pub(super) fn pointer(rng: &mut Rng) -> Pointer {
    let len = rng.below(1 << 20) as u32;
    Pointer {
        file: FileNumber(1 + rng.below(3) as u64),
        offset: (8 * rng.below(1 << 30) as u64).max(64),
        len,
        raw_len: len,
        crc: rng.next() as u32,
        codec: CODEC_RAW,
    }
}

/// Returns random entries with versions, of one shape of keys.
pub(super) fn entries_of_shape(shape: usize, count: usize, rng: &mut Rng) -> Vec<Entry> {
    let versions = 1 + rng.below(4);
    let all_puts = rng.below(2) == 0;
    let seqs = [1, 200, 60_000, 1 << 20, 1 << 40][rng.below(5)];
    let lens = [1, 40, 300, 6000][rng.below(4)];
    let fixed = rng.below(3) == 0;
    let mut entries = Vec::new();
    while entries.len() < count {
        let key = key_of_shape(shape, rng);
        for _ in 0..=rng.below(versions) {
            let kind = match rng.below(10) {
                _ if all_puts => Kind::Put,
                0..=1 => Kind::Delete,
                2 => Kind::Merge,
                3 => Kind::Pointer,
                _ => Kind::Put,
            };
            let len = if fixed { lens } else { rng.below(lens) };
            let value = match rng.below(3) {
                _ if kind == Kind::Delete => Vec::new(),
                _ if kind == Kind::Pointer => pointer(rng).encode().to_vec(),
                0 => rng.bytes(len),
                1 => rng.text(len / 2).repeat(2),
                _ => vec![b'x'; len],
            };
            entries.push(Entry {
                key: key.clone(),
                seq: rng.next() % seqs,
                kind,
                value,
            });
        }
    }
    entries
}
