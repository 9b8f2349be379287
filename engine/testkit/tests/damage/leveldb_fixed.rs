//! Directories with one damage each, written by hand: what LevelDB's files look like when edits of
//! the manifest, or batches of a log, are lost.

use std::path::Path;

use cairndb::{Doubt, DoubtKind, Options, RepairOptions, RepairReport};
use cairndb_env::Env;
use cairndb_leveldb::{Codec, NewDatabase, NewTable, TableOptions, VersionEdit, WriteOptions};
use cairndb_testkit::damage::files::{HOME, files_of};

use crate::leveldb_images::{Entry, MANIFEST, Source, edit};

/// A block of a log.
const BLOCK: usize = 32 << 10;

impl Source {
    fn read(&self, name: &str) -> Vec<u8> {
        files_of(&*self.dir).remove(name).unwrap()
    }

    /// Writes a table with one entry, and returns its record.
    fn table_of(&self, number: u64, key: &[u8], seq: u64) -> NewTable {
        let entry = (key.to_vec(), seq, Some(value_of(seq)));
        self.table(number, &[entry], &TableOptions::default())
    }

    /// Writes a log of one-entry batches with the numbers `seqs`. Returns where each begins.
    fn log_of(&self, number: u64, seqs: std::ops::Range<u64>) -> Vec<usize> {
        let entries: Vec<Entry> = seqs.map(entry_of).collect();
        self.log(number, entries.chunks(1))
    }

    /// Changes the bytes of a file.
    fn harm(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.read(name);
        change(&mut bytes);
        self.write(name, &bytes);
    }

    /// Repairs the directory. Returns the report and the keys that were kept.
    fn repair(&self) -> (RepairReport, Vec<String>) {
        let options = Options::new().env(self.env.clone());
        let report = cairndb::repair(HOME, "/new", &RepairOptions::new(&options)).unwrap();
        let db = options.open("/new").unwrap();
        let keys = db.iter().map(|entry| {
            let (key, value) = entry.unwrap();
            let key = String::from_utf8(key.to_vec()).unwrap();
            let seq = key.strip_prefix("key").and_then(|it| it.parse().ok());
            assert!(seq.is_none_or(|seq| value_of(seq) == *value), "{key}");
            key
        });
        let keys = keys.collect();
        db.close().unwrap();
        (report, keys)
    }
}

fn entry_of(seq: u64) -> Entry {
    (key_of(seq), seq, Some(value_of(seq)))
}

fn key_of(seq: u64) -> Vec<u8> {
    format!("key{seq:05}").into_bytes()
}

fn value_of(seq: u64) -> Vec<u8> {
    format!("<{seq}>").repeat(20).into_bytes()
}

fn keys(seqs: impl IntoIterator<Item = u64>) -> Vec<String> {
    let keys = seqs.into_iter().map(key_of);
    keys.map(|key| String::from_utf8(key).unwrap()).collect()
}

fn has_doubt(report: &RepairReport, kind: DoubtKind) -> bool {
    report.doubts.iter().any(|doubt| doubt.kind == kind)
}

/// The edit of an open: log 4 is in use.
fn opened(last_seq: u64) -> VersionEdit {
    edit(last_seq, [0, 4], Vec::new())
}

#[test]
fn a_manifest_cut_before_the_edit_that_names_the_log_is_partial() {
    let source = Source::new();
    let flushed = source.table_of(5, b"key00001", 1);
    source.log_of(4, 2..4);
    source.manifest(&[edit(1, [0, 4], vec![flushed])]);
    let (report, found) = source.repair();
    assert_eq!(found, keys(1..4));
    assert!(!has_doubt(&report, DoubtKind::Manifest), "{report}");
    // The comparator alone takes 35 bytes.
    for len in [36, 60] {
        let cut = Source::new();
        for (name, bytes) in files_of(&*source.dir) {
            cut.write(&name, &bytes);
        }
        cut.harm(MANIFEST, |bytes| bytes.truncate(len));
        let (report, found) = cut.repair();
        assert_eq!(found, keys(1..4), "{report}");
        assert!(has_doubt(&report, DoubtKind::Manifest), "{report}");
    }
}

#[test]
fn tables_that_were_obsolete_before_the_manifest_stay_apart() {
    let source = Source::new();
    source.table_of(1, b"deleted", 1);
    source.table_of(5, b"key00005", 5);
    source.log_of(3, 6..7);
    // Log 4, which the manifest names, is missing: table 5 may be in use.
    source.manifest(&[opened(4)]);
    let (report, found) = source.repair();
    assert_eq!(found, keys([5]), "{report}");
    let unnamed: Vec<_> = report.unnamed.iter().map(|it| it.included).collect();
    assert_eq!(unnamed, [false, true], "{report}");
    assert_eq!(report.lost[0].file, "000004.log");
}

#[test]
fn a_later_log_that_no_file_names_is_in_doubt() {
    let source = Source::new();
    source.log_of(4, 1..5);
    source.manifest(&[opened(0)]);
    let (report, found) = source.repair();
    assert_eq!(found, keys(1..5));
    assert!(report.lost.is_empty(), "{report}");
    assert!(has_doubt(&report, DoubtKind::LogEnd), "{report}");
}

#[test]
fn records_after_damage_in_a_block_are_kept() {
    let source = Source::new();
    let starts = source.log_of(4, 1..800);
    source.manifest(&[opened(0)]);
    assert!(starts[799 - 1] > 2 * BLOCK, "several blocks");
    // In the first record, in the middle of a block, and across the beginning of one.
    let (middle, boundary) = (500, starts.partition_point(|at| *at < BLOCK) as u64);
    let at = |seq: u64| starts[usize::try_from(seq).unwrap() - 1];
    source.harm("000004.log", |bytes| {
        bytes[at(1) + 3] ^= 1;
        bytes[at(middle)..at(middle + 2)].fill(0);
        bytes[BLOCK - 10..BLOCK + 10].fill(0xff);
    });
    let (report, found) = source.repair();
    let lost = [1, boundary, middle, middle + 1];
    let kept = (1..800).filter(|seq| !lost.contains(seq));
    assert_eq!(found, keys(kept), "{report}");
    let offsets: Vec<u64> = report.lost.iter().map(|loss| loss.offset).collect();
    let expected = [at(1), at(boundary), at(middle)].map(|at| at as u64);
    assert_eq!(offsets, expected, "{report}");
    assert_eq!(
        report.lost[2].bytes,
        expected[2].abs_diff(at(middle + 2) as u64)
    );
}

#[test]
fn a_log_of_one_block_is_read_after_damage_at_its_start() {
    let source = Source::new();
    let starts = source.log_of(4, 1..30);
    source.manifest(&[opened(0)]);
    source.harm("000004.log", |bytes| bytes[..starts[3]].fill(0));
    let (report, found) = source.repair();
    assert_eq!(found, keys(4..30), "{report}");
    assert_eq!(report.lost.len(), 1, "{report}");
}

/// A value may be a copy of a log. If the record around it is damaged, the copy's records have
/// checksums that hold.
#[test]
fn copies_of_records_within_a_damaged_value_are_no_records() {
    let other = Source::new();
    other.log_of(4, 70_000..70_040);
    let copy = other.read("000004.log");
    for first in [1, 100] {
        let source = Source::new();
        let mut entries: Vec<Entry> = (1..first + 50).map(entry_of).collect();
        entries[usize::try_from(first).unwrap() - 1] =
            (b"copy".to_vec(), first, Some(copy.clone()));
        source.log(4, entries.chunks(1));
        source.manifest(&[opened(0)]);
        source.harm("000004.log", |bytes| {
            let at = bytes.windows(4).position(|it| it == b"copy").unwrap();
            bytes[at] ^= 1;
        });
        let (report, found) = source.repair();
        let kept = (1..first + 50).filter(|seq| *seq != first);
        assert_eq!(found, keys(kept), "{report}");
        assert_eq!(report.lost.len(), 1, "{report}");
    }
}

#[test]
fn a_log_cut_between_two_batches_is_a_loss_if_another_follows() {
    let source = Source::new();
    let starts = source.log_of(4, 1..10);
    source.log_of(5, 10..20);
    source.manifest(&[opened(0)]);
    source.harm("000004.log", |bytes| bytes.truncate(starts[6]));
    let (report, found) = source.repair();
    assert_eq!(found, keys((1..7).chain(10..20)), "{report}");
    assert_eq!(report.lost.len(), 1, "{report}");
    assert_eq!(report.lost[0].file, "000004.log");
}

#[test]
fn damage_at_the_start_of_a_log_is_no_loss_of_the_one_before() {
    let source = Source::new();
    source.log_of(4, 1..10);
    let starts = source.log_of(5, 10..20);
    source.manifest(&[opened(0)]);
    source.harm("000005.log", |bytes| bytes[..starts[2]].fill(0));
    let (report, found) = source.repair();
    assert_eq!(found, keys((1..10).chain(12..20)), "{report}");
    let files: Vec<_> = report.lost.iter().map(|loss| &loss.file[..]).collect();
    assert_eq!(files, ["000005.log"], "{report}");
}

#[test]
fn edits_after_damage_in_the_manifest_are_applied() {
    let source = Source::new();
    let tables =
        [(5, 5), (6, 6), (7, 7)].map(|(number, seq)| source.table_of(number, &key_of(seq), seq));
    let edits = tables.map(|table| edit(7, [0, 4], vec![table]));
    source.log_of(4, 8..9);
    source.manifest(&edits);
    let bytes = source.read(MANIFEST);
    let at = bytes.windows(8).position(|it| it == b"key00006").unwrap();
    source.harm(MANIFEST, |bytes| bytes[at] ^= 1);
    let (report, found) = source.repair();
    assert_eq!(found, keys([5, 6, 7, 8]), "{report}");
    // Only the table whose edit is lost is unnamed.
    let unnamed: Vec<_> = report.unnamed.iter().map(|it| &it.file[..]).collect();
    assert_eq!(unnamed, ["000006.ldb"], "{report}");
    assert!(
        report.unnamed[0].included && report.lost.len() == 1,
        "{report}"
    );
}

#[test]
fn a_directory_of_which_only_a_log_is_readable_is_leveldbs() {
    let source = Source::new();
    source.log_of(4, 1..10);
    source.manifest(&[opened(0)]);
    source.harm(MANIFEST, |bytes| bytes.fill(0));
    let (report, found) = source.repair();
    assert_eq!(found, keys(1..10), "{report}");
    assert!(report.manifest.is_none());
}

#[test]
fn numbers_that_no_database_reaches_do_not_reach_the_new_one() {
    let source = Source::new();
    source.log_of(4, (1 << 55) + 5..(1 << 55) + 9);
    source.manifest(&[opened((1 << 56) - 1)]);
    let (report, found) = source.repair();
    assert_eq!(found.len(), 4, "{report}");
}

#[test]
fn a_table_cut_between_two_blocks_is_a_loss() {
    let source = Source::new();
    let options = TableOptions {
        codec: Codec::None,
        ..TableOptions::default()
    };
    let entries: Vec<Entry> = (1..=300).map(entry_of).collect();
    let table = source.table(5, &entries, &options);
    source.log_of(4, 301..302);
    source.manifest(&[edit(300, [0, 4], vec![table])]);
    let whole = source.read("000005.ldb");
    // Among these lengths is the end of the first block, where nothing looks damaged.
    let mut silent = 0;
    for len in 4_050..4_400 {
        source.write("000005.ldb", &whole[..len]);
        let new = source.env.open_dir(Path::new("/new"), true).unwrap();
        let names = new.list().unwrap();
        for name in &names {
            new.unlink(name).unwrap();
        }
        let (report, found) = source.repair();
        assert!(
            found.len() < 301 && report.lost.len() == 1,
            "{len}: {report}"
        );
        assert_eq!(
            report.lost[0].keys.last,
            Some(key_of(300)),
            "{len}: {report}"
        );
        silent += usize::from(report.lost[0].reason.contains("cut short"));
    }
    assert!(silent > 0, "one of the cuts is between blocks");
}

/// Regression: the manifest of an export names no log, and was taken for one that was cut.
#[test]
fn an_export_lacks_no_edit() {
    let export = || {
        let source = Source::new();
        let mut new = NewDatabase::create(&source.dir, WriteOptions::default()).unwrap();
        new.put(&key_of(7), &value_of(7)).unwrap();
        new.finish().unwrap();
        source
    };
    let (report, keys) = export().repair();
    assert_eq!((keys.len(), report.lost.len()), (1, 0), "{report}");
    let kinds: Vec<_> = report.doubts.iter().map(|doubt| doubt.kind).collect();
    assert_eq!(kinds, [DoubtKind::LogEnd], "{report}");
    // A log belongs to a manifest that is lost.
    let source = export();
    source.log_of(9, 8..9);
    let (report, keys) = source.repair();
    assert_eq!(keys.len(), 2);
    let is_lack = |doubt: &Doubt| doubt.kind == DoubtKind::Manifest;
    assert!(report.doubts.iter().any(is_lack), "{report}");
}
