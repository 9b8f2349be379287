//! Arbitrary bytes as a LevelDB log, as they are and with mended checksums: every record is a batch
//! and a version edit too. What decodes must encode to the same fields.

#![no_main]

use std::path::Path;

use cairndb_env::{Background, Env, MemEnv};
use cairndb_kernel::crc32c;
use cairndb_leveldb::{LogReader, LogStep, VersionEdit, WriteBatch};
use libfuzzer_sys::fuzz_target;

/// Makes the checksum of each piece match, as far as the lengths lead.
fn mend(bytes: &mut [u8]) {
    for block in bytes.chunks_mut(32 << 10) {
        let mut at = 0;
        while at + 7 <= block.len() {
            let end = at + 7 + usize::from(u16::from_le_bytes([block[at + 4], block[at + 5]]));
            if end > block.len() {
                break;
            }
            let checksum = crc32c(&block[at + 6..end]).rotate_right(15).wrapping_add(0xa282_ead8);
            block[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
            at = end;
        }
    }
}

fn read(bytes: &[u8]) {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("db"), true).expect("in memory");
    let written = dir.create("000003.log").and_then(|mut file| file.append(bytes));
    written.expect("in memory");
    let file = dir.open_read("000003.log").expect("just written");
    let mut reader = LogReader::new(file, "000003.log");
    let mut before = None;
    loop {
        match reader.advance().expect("in memory") {
            LogStep::Record { offset } => {
                assert!(before.replace(offset).is_none_or(|before| before < offset));
                payload(reader.payload());
            }
            LogStep::Damage { offset, .. } => {
                assert!(offset <= bytes.len() as u64);
                let _ = reader.resumes().expect("in memory");
            }
            LogStep::End => return,
        }
    }
}

fn payload(bytes: &[u8]) {
    if let Ok(batch) = WriteBatch::decode(bytes) {
        let operations = batch.iter().take_while(Result::is_ok).count();
        assert!(operations as u64 <= u64::from(batch.count()));
    }
    if let Ok(edit) = VersionEdit::decode(bytes) {
        let mut again = Vec::new();
        edit.encode(&mut again);
        assert_eq!(VersionEdit::decode(&again).expect("just encoded"), edit);
    }
}

fuzz_target!(|input: &[u8]| {
    read(input);
    let mut mended = input.to_vec();
    mend(&mut mended);
    read(&mended);
    payload(input);
});
