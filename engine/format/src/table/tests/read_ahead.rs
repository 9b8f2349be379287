//! Tests of the pages that a scan of a mapped table requests from the system ahead of time.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cairndb_base::{Order, Result, SEQ_MAX};
use cairndb_env::{Access, MappedBytes, Mapping, ReadFile};

use super::support::{FILE, build, puts};
use crate::table::{PageAccess, Table, TableOptions};

const PAGE: usize = 4096;

/// Bytes in memory that record which of their pages were requested.
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
struct File(Arc<Requests>);

impl ReadFile for File {
    fn size(&self) -> u64 {
        self.0.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let at = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.0.bytes[at..at + out.len()]);
        Ok(())
    }
    fn map(&self, _: u64, _: Access) -> Result<Option<Mapping>> {
        Ok(Some(Mapping::new(self.0.clone())))
    }
    fn advise(&self, _: u64, _: u64, _: bool) {}
}

fn key(number: u32) -> Vec<u8> {
    format!("{number:08}").into_bytes()
}

/// Returns a table of a few hundred pages, none of them touched.
fn table() -> (Arc<Requests>, Arc<Table>) {
    let value = |number: usize| {
        let bytes = (0..900u32).map(|at| ((number as u32).wrapping_mul(at | 1) >> 7) as u8);
        bytes.collect()
    };
    let entries = puts(2_000, |number| key(number as u32), value);
    let (bytes, summary) = build(&entries, TableOptions::new(FILE));
    let requests = Arc::new(Requests {
        bytes,
        ..Requests::default()
    });
    let (file, access) = (Arc::new(File(requests.clone())), PageAccess::Mapped(None));
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
    assert_eq!(requests.take(), [vec![], vec![]]);
    while cursor.valid() {
        cursor.next().unwrap();
    }
    let [read, mapped] = requests.take();
    assert_eq!(mapped[..4], [1..9, 9..25, 25..57, 57..121]);
    assert_eq!(read[0], 1..25, "a window and the next");
    for ranges in [read, mapped] {
        let all = covered(ranges);
        assert_eq!(all.start, 1);
        assert!(all.end > units * 9 / 10 && all.end <= units, "{all:?}");
    }
    cursor.first().unwrap();
    while cursor.valid() {
        cursor.next().unwrap();
    }
    assert_eq!(requests.take(), [vec![], vec![]], "all of it was touched");
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
    assert_eq!([mapped[0].len(), mapped[1].len()], [8, 16]);
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
        assert_eq!(requests.take(), [vec![], vec![]]);
        for _ in 0..40 {
            cursor.next().unwrap();
        }
        let counts = requests
            .take()
            .map(|it| it.iter().map(Range::len).sum::<usize>());
        assert_eq!(counts, [24, 8]);
    }
}
