//! Damage: no flipped bit, cut or forged field may give a wrong answer, a panic or a hang.

use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, ErrorKind, Kind, Order, SEQ_MAX, hash64};

use cairndb_env::{Env, RealEnv};

use super::model::options;
use super::support::*;
use crate::table::page::Page;
use crate::table::page::layout::Layout;
use crate::table::read::source::{file_seed, seal};
use crate::table::{Compression, Dictionary, PageAccess, PageWindow, Table, TableSalvage};

/// Reads every entry and compares it with `entries`; returns the first error.
fn read_all(table: &Arc<Table>, entries: &[Entry]) -> Result<(), Error> {
    let mut cursor = table.cursor();
    let mut read = Vec::new();
    cursor.first()?;
    while cursor.valid() {
        read.push(Entry {
            key: cursor.key().to_vec(),
            seq: cursor.seq(),
            kind: cursor.kind(),
            value: cursor.value()?.to_vec(),
        });
        cursor.next()?;
    }
    assert!(read == entries, "a scan of a damaged table was wrong");
    let mut scratch = Vec::new();
    for entry in entries {
        let hash = hash64(&entry.key);
        let found = table.get(&entry.key, hash, entry.seq, &mut scratch)?;
        assert!(found.is_some(), "a get in a damaged table missed");
        assert_eq!(scratch, entry.value);
    }
    Ok(())
}

/// Returns entries whose values are stored in groups, with their table and its checksum.
fn grouped_table(seed: u64) -> (Vec<Entry>, Vec<u8>, u32) {
    let mut entries = rows(350, &mut Rng(seed));
    entries.retain(|entry| entry.value.len() < 5000);
    let table = in_table(entries, Compression::default());
    assert!(modes(&table.1)[2] > 0);
    table
}

/// Returns entries whose values are stored against a dictionary, with their table and its checksum.
fn dictionary_table(seed: u64) -> (Vec<Entry>, Vec<u8>, u32) {
    let mut entries = records(180, &mut Rng(seed));
    entries.retain(|entry| entry.value.len() < 200);
    let table = in_table(entries, Compression::default());
    assert!(modes(&table.1)[3] > 0);
    table
}

/// Returns entries whose keys begin alike, so that their table has tie heads.
fn tied_table(seed: u64) -> (Vec<Entry>, Vec<u8>, u32) {
    let mut rng = Rng(seed);
    let key = |number| {
        let (archive, section) = (number % 2, number / 60);
        format!("https://example.org/archive/{archive}/section-{section}/{number:09}")
    };
    let entries = puts(120, key, |_| rng.bytes(250));
    let (entries, bytes, checksum) = in_table(entries, Compression::None);
    let table = open_with(bytes.clone(), &Order::Bytewise, checksum, Reach::Mapped);
    assert!(table.unwrap().meta.tie_levels > 1);
    (entries, bytes, checksum)
}

/// Returns the entries in table order, the table of them, and its checksum.
fn in_table(mut entries: Vec<Entry>, compression: Compression) -> (Vec<Entry>, Vec<u8>, u32) {
    sort(&mut entries, &Order::Bytewise);
    let (bytes, summary) = build(&entries, options(&Order::Bytewise, compression));
    (entries, bytes, summary.checksum)
}

fn small_table(seed: u64, compression: Compression) -> (Vec<Entry>, Vec<u8>, u32) {
    let mut rng = Rng(seed);
    let mut entries = entries_of_shape(seed as usize % KEY_SHAPES, 90, &mut rng);
    for entry in &mut entries {
        if entry.kind != Kind::Pointer {
            entry.value.truncate(600);
        }
    }
    in_table(entries, compression)
}

/// Returns a table as a compaction leaves it, each key written once, so that a scan borrows its
/// pages.
fn settled_table(seed: u64, compression: Compression) -> (Vec<Entry>, Vec<u8>, u32) {
    let mut rng = Rng(seed);
    let mut entries = entries_of_shape(seed as usize / 2 % KEY_SHAPES, 300, &mut rng);
    for entry in &mut entries {
        (entry.seq, entry.kind) = (0, Kind::Put);
        entry.value.truncate(120);
    }
    in_table(entries, compression)
}

fn assert_names_the_place(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(error.file_name(), Some("000007.tbl"), "{error}");
    assert!(error.file_offset().is_some(), "{error}");
}

#[test]
fn every_flipped_byte_is_noticed() {
    for (seed, reach) in [
        (0, Reach::Mapped),
        (6, Reach::Mapped),
        (3, Reach::Cached),
        (8, Reach::Mapped),
        (98, Reach::Mapped),
        (99, Reach::Mapped),
        (100, Reach::Mapped),
        (100, Reach::Cached),
    ] {
        let (entries, bytes, checksum) = match seed {
            98 => dictionary_table(seed),
            99 => grouped_table(seed),
            100 => tied_table(seed),
            _ => small_table(seed, Compression::Short),
        };
        let mut rng = Rng(seed);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << rng.below(8);
            let error = match open_with(damaged, &Order::Bytewise, checksum, reach) {
                Err(error) => error,
                Ok(table) => {
                    let verified = table.verify().expect_err("verify missed damage");
                    assert_names_the_place(&verified);
                    read_all(&table, &entries).expect_err("damage was missed")
                }
            };
            assert_names_the_place(&error);
        }
    }
}

#[test]
fn checking_the_index_notices_damage_there_and_nowhere_else() {
    for (_, bytes, checksum) in [small_table(6, Compression::None), tied_table(6)] {
        check_index_alone(&bytes, checksum);
    }
}

fn check_index_alone(bytes: &[u8], checksum: u32) {
    let open = |bytes| open_with(bytes, &Order::Bytewise, checksum, Reach::Mapped).unwrap();
    let meta = &open(bytes.to_vec()).meta;
    let (index, end) = (meta.data_pages, meta.block_at());
    assert!(0 < index && index < meta.fence_at() && meta.fence_at() < end);
    for page in 0..end {
        let mut damaged = bytes.to_vec();
        damaged[4096 * page as usize + 77] ^= 1;
        let checked = open(damaged).check_index();
        assert_eq!(checked.is_err(), page >= index, "page {page}");
        if let Err(error) = checked {
            assert_names_the_place(&error);
            assert_eq!(error.file_offset(), Some(4096 * u64::from(page)));
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let (_, bytes, checksum) = small_table(0, Compression::Short);
    let lengths = (0..bytes.len()).step_by(512);
    for len in lengths.chain(bytes.len() - 70..bytes.len()) {
        for reach in [Reach::Mapped, Reach::Cached] {
            let cut = open_with(bytes[..len].to_vec(), &Order::Bytewise, checksum, reach);
            assert_names_the_place(&cut.expect_err("a cut table was opened"));
        }
    }
}

#[test]
fn pages_of_another_place_or_file_are_noticed() {
    let (entries, bytes, checksum) = small_table(6, Compression::None);
    let mut swapped = bytes.clone();
    let (first, second) = swapped.split_at_mut(4096);
    first.swap_with_slice(&mut second[..4096]);
    let table = open_with(swapped, &Order::Bytewise, checksum, Reach::Mapped).unwrap();
    assert_names_the_place(&read_all(&table, &entries).unwrap_err());
    let other = open_with(bytes, &Order::Bytewise, checksum ^ 1, Reach::Mapped);
    assert_names_the_place(&other.unwrap_err());
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "changes a file behind the environment's back"
)]
fn damage_after_the_first_touch_is_noticed_by_those_who_check_always() {
    let (entries, mut bytes, checksum) = small_table(0, Compression::Short);
    let temporary = tempfile::tempdir().unwrap();
    let dir = RealEnv::new().open_dir(temporary.path(), false).unwrap();
    dir.create("000007.tbl").unwrap().append(&bytes).unwrap();
    let open = || {
        let file = dir.open_read("000007.tbl").unwrap();
        let order = Order::Bytewise;
        Table::open(file, FILE, &order, PageAccess::Mapped(None), checksum).unwrap()
    };
    let (once, always) = (Arc::new(open()), Arc::new(open().verify_always(true)));
    for table in [&once, &always] {
        read_all(table, &entries).unwrap();
    }
    let mut cursor = once.cursor().rechecking();
    cursor.first().unwrap();
    bytes[2000] ^= 1;
    std::fs::write(temporary.path().join("000007.tbl"), &bytes).unwrap();
    assert!(once.cursor().first().is_ok(), "checked once per open");
    assert_names_the_place(&cursor.first().unwrap_err());
    assert!(!cursor.valid());
    assert_names_the_place(&read_all(&always, &entries).unwrap_err());
    assert_names_the_place(&once.verify().unwrap_err());
}

/// Opens the table after setting a number of its meta page.
fn open_forged(bytes: &[u8], order: &Order, at: usize, value: u32) -> Result<Arc<Table>, Error> {
    let mut forged = bytes.to_vec();
    let meta = forged.len() - 4096;
    forged[meta + at..][..4].copy_from_slice(&value.to_le_bytes());
    let checksum = seal(file_seed(FILE), meta as u32 / 4096, &mut forged[meta..]);
    open_with(forged, order, checksum, Reach::Mapped)
}

#[test]
fn a_section_has_its_order_and_is_the_one_that_the_manifest_states() {
    for (order, sections) in [
        (Order::Bytewise, &[0, 1][..]),
        (Order::Custom(Arc::new(Keyspaces)), &[0, 2]),
        (reverse(), &[0]),
    ] {
        let (bytes, _) = build(&[put("k", "v")], options(&order, Compression::None));
        for section in [0, 1, 2, 3, 255, 256] {
            let error = match open_forged(&bytes, &order, 28, section) {
                Ok(table) => {
                    assert!(sections.contains(&section));
                    let agrees = |stated: &u8| table.check_section(*stated).is_ok();
                    assert!((0..3).filter(agrees).map(u32::from).eq([section]));
                    table.check_section(3).unwrap_err()
                }
                Err(error) if section > 2 => {
                    assert_eq!(error.kind(), ErrorKind::FormatTooNew);
                    continue;
                }
                Err(error) => {
                    assert!(!sections.contains(&section));
                    error
                }
            };
            assert_names_the_place(&error);
        }
    }
}

#[test]
fn reserved_kinds_and_features_are_refused() {
    let order = Order::Bytewise;
    let (bytes, _) = build(&[put("k", "v")], options(&order, Compression::None));
    // Bit 3 is for range deletions.
    for bit in 3..32 {
        let error = open_forged(&bytes, &order, 20, 1 << bit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FormatTooNew, "bit {bit}");
    }
    // A page of range deletions, and entries that expire.
    for (at, kind) in [(4, 8), (13, 4), (13, 5), (13, 6)] {
        let mut forged = bytes.clone();
        forged[at] = kind;
        seal(file_seed(FILE), 0, &mut forged[..4096]);
        let mut salvage = TableSalvage::new(image(forged), FILE, &order, None);
        let error = salvage.advance().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FormatTooNew, "{kind} at {at}");
    }
}

#[test]
fn an_ending_beside_tails_or_lengths_of_heads_is_damage() {
    let (entries, bytes, checksum) = settled_table(16, Compression::None);
    assert!(endings(&bytes).0 > 1);
    for (flags, damaged) in [(0, false), (2, true), (4, true), (6, true)] {
        let mut forged = bytes.clone();
        let first = &mut forged[..4096];
        assert_eq!(first[5] & 0x46, 0x40);
        // The page has one entry without a value, so all columns that the flags add exist and hold
        // zeros.
        let number = |at| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let columns = 40 + number(8) + number(36);
        first[columns..].fill(0);
        first[5] = 64 | flags;
        first[6..8].copy_from_slice(&1u16.to_le_bytes());
        first[11..13].fill(0);
        first[14..16].fill(0);
        first[34..36].fill(0);
        first[38..40].fill(0);
        seal(file_seed(FILE), 0, first);
        let table = open_with(forged, &Order::Bytewise, checksum, Reach::Mapped).unwrap();
        let mut cursor = table.cursor();
        match cursor.seek(&entries[0].key, SEQ_MAX) {
            Ok(()) => assert!(!damaged && cursor.key() == entries[0].key, "flags {flags}"),
            Err(error) => {
                assert_names_the_place(&error);
                assert!(damaged && error.to_string().contains("tails"), "{error}");
            }
        }
    }
}

/// Uses a table whose checksums match but whose fields are forged: any answer is fine, but no panic
/// and no endless loop.
fn exercise(table: &Arc<Table>, entries: &[Entry]) -> usize {
    let steps = 20 * entries.len() + 10_000;
    let mut cursor = table.cursor();
    let (mut window, mut borrowed) = (PageWindow::default(), 0);
    let mut scratch = Vec::new();
    for forward in [true, false] {
        let mut taken = 0;
        let mut step = begin(&mut cursor, forward);
        while step.is_ok() && cursor.valid() {
            let _ = (cursor.key().len(), cursor.seq(), cursor.kind());
            let _ = cursor.value().map(<[u8]>::len);
            let _ = cursor.entry().is_ok();
            let bound = &entries[taken % entries.len()].key;
            let page = cursor.page();
            assert!(page.steps_before(bound, forward) <= page.steps(forward));
            taken += 1;
            if cursor.borrow_window(&mut window, taken % 9, forward) {
                while go_in(&mut window, forward) {
                    let _ = (window.key().len(), window.value().len());
                }
                cursor.return_window(&mut window);
                borrowed += 1;
            }
            assert!(taken < steps * 100, "a forged table has no end");
            step = go(&mut cursor, forward);
        }
    }
    for entry in entries.iter().step_by(7) {
        let hash = hash64(&entry.key);
        let _ = table.get(&entry.key, hash, SEQ_MAX, &mut scratch);
        let _ = cursor.seek(&entry.key, entry.seq);
        let _ = cursor.seek_for_prev(&entry.key, 0);
        let mut key = Vec::new();
        let approach = table.approach(&entry.key, true);
        let _ = approach.seek(&entry.key, entry.seq, &mut key, &mut scratch, |_| true);
    }
    let _ = table.verify();
    borrowed
}

#[test]
fn forged_fields_never_panic_or_hang() {
    let mut borrowed = 0;
    for seed in 0..22u64 {
        let mut rng = Rng(seed + 1000);
        let (entries, bytes, checksum) = match if seed < 20 { seed % 5 } else { 5 } {
            0 => grouped_table(seed),
            1 => dictionary_table(seed),
            2 => settled_table(seed, Compression::None),
            3 => settled_table(seed, Compression::Short),
            5 => tied_table(seed),
            _ => small_table(seed, Compression::Short),
        };
        let pages = bytes.len() / 4096;
        for round in 0..1500 {
            let mut forged = bytes.clone();
            let page = rng.below(pages);
            let at = match rng.below(3) {
                0 => 4 + rng.below(36),
                1 => 40 + rng.below(600),
                _ => 4 + rng.below(4092),
            };
            let at = page * 4096 + at;
            forged[at] = match rng.below(4) {
                0 => 0xff,
                1 => 0,
                2 => forged[at].wrapping_add(1),
                _ => rng.next() as u8,
            };
            let number = page as u32;
            let mut expected = checksum;
            let slice = &mut forged[page * 4096..(page + 1) * 4096];
            let new = seal(file_seed(FILE), number, slice);
            if page == pages - 1 {
                expected = new;
            }
            let reach = [Reach::Mapped, Reach::Cached][round % 2];
            if let Ok(table) = open_with(forged, &Order::Bytewise, expected, reach) {
                borrowed += exercise(&table, &entries);
            }
        }
    }
    assert!(borrowed > 100_000, "{borrowed} windows");
}

/// A page of many entries without a column, whose values would be as long as their lengths claim: a
/// reader once reserved 4 GiB for 40 bytes.
#[test]
fn lengths_that_nothing_is_stored_of_reserve_nothing() {
    for mode in [1, 3] {
        let mut page = vec![0_u8; PAGE_BYTES];
        page[4] = 1;
        page[6..8].copy_from_slice(&u16::MAX.to_le_bytes());
        page[13] = 1;
        page[14] = mode;
        page[32..34].copy_from_slice(&u16::MAX.to_le_bytes());
        let layout = Layout::parse(&page).unwrap();
        layout.validate(&page, &Order::Bytewise).unwrap();
        let (bytes, layout) = (&page[..], &layout);
        let view = Page { bytes, layout };
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let (all, dictionary) = (0..view.count(), Dictionary::default());
        let stored = view.values();
        let read = stored.several_into(&all, &dictionary, &mut values, &mut ends);
        assert!(read.is_err(), "mode {mode}");
        let reserved = values.capacity();
        assert!(reserved <= 255 * PAGE_BYTES, "mode {mode}: {reserved}");
    }
}
