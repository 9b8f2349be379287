//! Tests of the pages that a scan of a mapped table requests from the system ahead of time.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cairndb_base::{Order, Result, SEQ_MAX};
use cairndb_env::{Access, MappedBytes, Mapping, ReadFile};

use super::support::{FILE, FewPages, build, puts};
use crate::table::{PageAccess, Prefetched, Table, TableOptions};

const PAGE: usize = 4096;

/// Bytes in memory that record which of their pages were requested, and which were mapped or, by
/// descriptor, read.
#[derive(Debug, Default)]
struct Requests {
    bytes: Vec<u8>,
    read: Mutex<Vec<Range<usize>>>,
    mapped: Mutex<Vec<Range<usize>>>,
}

impl Requests {
    fn take(&self) -> [Vec<Range<usize>>; 2] {
        [&self.read, &self.mapped].map(|requests| std::mem::take(&mut *requests.lock().unwrap()))
    }
}

fn note(requests: &Mutex<Vec<Range<usize>>>, offset: usize, len: usize) {
    assert!(offset.is_multiple_of(PAGE) && len.is_multiple_of(PAGE));
    let range = offset / PAGE..(offset + len) / PAGE;
    requests.lock().unwrap().push(range);
}

impl MappedBytes for Requests {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    fn read_ahead(&self, offset: usize, len: usize) {
        note(&self.read, offset, len);
    }
    fn map_now(&self, offset: usize, len: usize) {
        note(&self.mapped, offset, len);
    }
}

#[derive(Debug)]
struct File {
    requests: Arc<Requests>,
    maps: bool,
}

impl ReadFile for File {
    fn size(&self) -> u64 {
        self.requests.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let at = usize::try_from(offset).unwrap();
        if !self.maps {
            note(&self.requests.mapped, at, out.len());
        }
        out.copy_from_slice(&self.requests.bytes[at..at + out.len()]);
        Ok(())
    }
    fn map(&self, _: u64, _: Access) -> Result<Option<Mapping>> {
        let mapping = || Mapping::new(self.requests.clone());
        Ok(self.maps.then(mapping))
    }
    fn advise(&self, offset: u64, len: u64, wanted: bool) {
        assert!(wanted);
        let at = usize::try_from(offset).unwrap();
        note(&self.requests.read, at, usize::try_from(len).unwrap());
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("{number:08}").into_bytes()
}

/// Returns a mapped table of a few hundred pages, none of them touched.
fn table() -> (Arc<Requests>, Arc<Table>) {
    opened(PageAccess::Mapped(None))
}

fn opened(access: PageAccess) -> (Arc<Requests>, Arc<Table>) {
    with_values(access, 2_000, 900)
}

/// Returns a table with so many values of this length.
fn with_values(access: PageAccess, count: usize, len: u32) -> (Arc<Requests>, Arc<Table>) {
    let value = |number: usize| {
        let bytes = (0..len).map(|at| ((number as u32).wrapping_mul(at | 1) >> 7) as u8);
        bytes.collect()
    };
    let entries = puts(count, |number| key(number as u32), value);
    let (bytes, summary) = build(&entries, TableOptions::new(FILE));
    let requests = Arc::new(Requests {
        bytes,
        ..Requests::default()
    });
    let file = Arc::new(File {
        requests: requests.clone(),
        maps: matches!(access, PageAccess::Mapped(_)),
    });
    let table = Table::open(file, FILE, &Order::Bytewise, access, summary.checksum);
    (requests, Arc::new(table.unwrap()))
}

/// Returns the union of a list of ranges, which must cover each page once and form one piece.
fn covered(mut ranges: Vec<Range<usize>>) -> Range<usize> {
    ranges.sort_by_key(|range| range.start);
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].end, pair[1].start, "{ranges:?}");
    }
    ranges[0].start..ranges[ranges.len() - 1].end
}

#[test]
fn a_scan_asks_once_for_every_page_in_windows_that_grow() {
    let (requests, table) = table();
    let units = table.summary().bytes as usize / PAGE;
    let mut cursor = table.cursor();
    cursor.first().unwrap();
    // The first page is touched.
    assert_eq!(requests.take(), [Vec::<Range<usize>>::new(), Vec::new()]);
    while cursor.valid() {
        cursor.next().unwrap();
    }
    let [read, mapped] = requests.take();
    assert_eq!(mapped[..4], [1..5, 5..13, 13..29, 29..61]);
    assert_eq!(read[..2], [1..5, 5..29], "then a window and the next");
    for ranges in [read, mapped] {
        let all = covered(ranges);
        assert_eq!(all.start, 1);
        assert!(all.end > units * 9 / 10 && all.end <= units, "{all:?}");
    }
    cursor.first().unwrap();
    while cursor.valid() {
        cursor.next().unwrap();
    }
    assert_eq!(
        requests.take(),
        [Vec::<Range<usize>>::new(), Vec::new()],
        "all of it was touched"
    );
}

#[test]
fn a_scan_backwards_asks_as_well() {
    let (requests, table) = table();
    let mut cursor = table.cursor();
    cursor.last().unwrap();
    while cursor.valid() {
        cursor.prev().unwrap();
    }
    let [read, mapped] = requests.take();
    assert_eq!([mapped[0].len(), mapped[1].len()], [4, 8]);
    for ranges in [read, mapped] {
        assert_eq!(covered(ranges).start, 0);
    }
}

#[test]
fn a_seek_and_a_few_steps_ask_for_little() {
    let (requests, table) = table();
    let mut cursor = table.cursor();
    for number in [100u32, 900, 1_700] {
        cursor.seek(&key(number), SEQ_MAX).unwrap();
        assert_eq!(requests.take(), [Vec::<Range<usize>>::new(), Vec::new()]);
        for _ in 0..40 {
            cursor.next().unwrap();
        }
        let counts = requests
            .take()
            .map(|it| it.iter().map(Range::len).sum::<usize>());
        assert_eq!(counts, [4, 4]);
    }
}

/// All pages of a batch of gets are requested before the first of them is waited for.
#[test]
fn gets_of_several_keys_ask_for_the_page_of_each() {
    let cache = Arc::new(FewPages::default());
    for access in [PageAccess::Mapped(None), PageAccess::Cached(cache)] {
        let maps = matches!(access, PageAccess::Mapped(_));
        let (requests, table) = opened(access);
        let data_pages = table.meta.data_pages as usize;
        drop(requests.take());
        let keys: Vec<_> = (0..2_000).step_by(100).map(key).collect();
        let hash = |key: &[u8]| Order::Bytewise.hash(key);
        for key in &keys {
            table.prefetch_filter(hash(key));
        }
        let [read, waited] = requests.take();
        assert!(read.iter().all(|it| it.start >= data_pages) && waited.is_empty());
        for key in &keys {
            let found = table.prefetch_page(key, hash(key));
            assert_eq!(found, Prefetched::Asked);
        }
        let missing = table.prefetch_page(b"nothing", hash(b"nothing"));
        assert_eq!(missing, Prefetched::Refused);
        let [read, waited] = requests.take();
        assert!(waited.iter().all(|it| it.start >= data_pages), "{waited:?}");
        assert_eq!(read.len(), keys.len());
        let mut value = Vec::new();
        for (key, asked) in keys.iter().zip(read) {
            assert!(asked.len() == 1 && asked.end <= data_pages);
            let found = table.get(key, hash(key), SEQ_MAX, &mut value).unwrap();
            assert!(found.is_some());
            let [more, waited] = requests.take();
            assert!(more.is_empty());
            // The page before may end with a newer version of its first key.
            assert!(maps || waited.contains(&asked), "{waited:?}");
            assert_eq!(table.prefetch_page(key, hash(key)), Prefetched::Near);
        }
    }
}

/// Regression: a mapped table with units of several pages never counted as wholly checked, and only
/// the first page of each was requested.
#[test]
fn all_pages_of_a_long_value_are_asked_for_until_they_are_checked() {
    let (requests, table) = with_values(PageAccess::Mapped(None), 50, 10_000);
    drop(requests.take());
    let (mut value, mut asked) = (Vec::new(), Vec::new());
    for number in 0..50 {
        let key = key(number);
        let hash = Order::Bytewise.hash(&key);
        assert_ne!(table.prefetch_page(&key, hash), Prefetched::Refused);
        let [read, _] = requests.take();
        asked.extend(read);
        let found = table.get(&key, hash, SEQ_MAX, &mut value).unwrap();
        assert!(found.is_some() && value.len() == 10_000);
    }
    assert!(!table.pages.may_wait());
    assert!(asked.iter().any(|pages| pages.len() > 1), "{asked:?}");
    assert_eq!(covered(asked), 0..table.meta.data_pages as usize);
}

/// The system sees no backward scan, so that one waited for every page.
#[test]
fn a_scan_by_descriptor_asks_as_one_of_a_mapping_does() {
    for forward in [true, false] {
        let cache = Arc::new(FewPages::default());
        let (requests, table) = opened(PageAccess::Cached(cache));
        let mut cursor = table.cursor();
        if forward {
            cursor.first().unwrap();
        } else {
            cursor.last().unwrap();
        }
        drop(requests.take());
        while cursor.valid() {
            if forward {
                cursor.next().unwrap();
            } else {
                cursor.prev().unwrap();
            }
        }
        let [asked, read] = requests.take();
        let (asked, read) = (covered(asked), covered(read));
        assert!(asked.start <= read.start && read.end <= asked.end);
    }
}
