//! Tests of salvage: edits after damaged bytes, and damaged headers.

use std::path::Path;

use cairndb_base::FileNumber;
use cairndb_env::{Background, Env, MemEnv};

use crate::manifest::{FoundEdit, HEADER_BYTES, ManifestSalvage, ManifestWriter, VersionEdit};

fn edit(next_file: u64) -> VersionEdit {
    VersionEdit {
        next_file: Some(next_file),
        ..VersionEdit::default()
    }
}

/// Returns a manifest with a base and four edits, the last of which follows a sync, and the end of
/// each record.
fn manifest() -> (Vec<u8>, Vec<usize>) {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    let mut writer = ManifestWriter::create(&*dir, FileNumber(5), 99, &[edit(1)]).unwrap();
    let mut ends = vec![HEADER_BYTES, usize::try_from(writer.bytes()).unwrap()];
    for next_file in 2..6 {
        if next_file == 5 {
            writer.sync().unwrap();
        }
        writer.append(&edit(next_file)).unwrap();
        ends.push(usize::try_from(writer.bytes()).unwrap());
    }
    let file = dir.open_read("MANIFEST-000005").unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    (bytes, ends)
}

/// Returns the numbers of the edits that are found, and what is not an edit.
fn salvaged(bytes: &[u8]) -> (Vec<u64>, Vec<FoundEdit>) {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    let mut file = dir.create("MANIFEST-000005").unwrap();
    file.append(bytes).unwrap();
    let mut salvage = ManifestSalvage::open(&*dir, FileNumber(5)).unwrap();
    let (mut edits, mut others) = (Vec::new(), Vec::new());
    while let Some(found) = salvage.advance().unwrap() {
        match found {
            FoundEdit::Edit(edit) => edits.push(edit.next_file.unwrap()),
            other => others.push(other),
        }
    }
    (edits, others)
}

#[test]
fn edits_after_damage_are_found_and_a_torn_tail_ends() {
    let (bytes, ends) = manifest();
    assert_eq!(salvaged(&bytes), (vec![1, 2, 3, 4, 5], vec![]));
    let gap = |index: usize| FoundEdit::Gap {
        offset: ends[index] as u64,
        end: ends[index + 1] as u64,
    };
    let hit = |index: usize| {
        let mut damaged = bytes.clone();
        damaged[ends[index] + 17] ^= 1;
        salvaged(&damaged)
    };
    // The base, and an edit that the last one knows to be durable.
    assert_eq!(hit(0), (vec![2, 3, 4, 5], vec![gap(0)]));
    assert_eq!(hit(2), (vec![1, 2, 4, 5], vec![gap(2)]));
    // Nothing shows that the last edit was durable.
    let offset = ends[4] as u64;
    assert_eq!(hit(4), (vec![1, 2, 3, 4], vec![FoundEdit::Torn { offset }]));
}

#[test]
fn one_wrong_bit_in_the_header_loses_no_edit() {
    let (bytes, _) = manifest();
    for bit in 0..HEADER_BYTES * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (edits, others) = salvaged(&damaged);
        assert_eq!((edits, others), (vec![1, 2, 3, 4, 5], vec![]), "bit {bit}");
    }
}
