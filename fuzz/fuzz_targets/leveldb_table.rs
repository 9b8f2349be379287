//! Arbitrary bytes as a LevelDB table, and as the one data block of a table whose other blocks and
//! checksums are right: every cursor ends, in both directions, and a seek finds no lesser key.

#![no_main]

use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Background, Env, MemEnv};
use cairndb_kernel::{crc32c, crc32c_append};
use cairndb_leveldb::{Order, SEQ_MAX, Table};
use libfuzzer_sys::fuzz_target;

fn open(bytes: &[u8]) -> Option<Arc<Table>> {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new("db"), true).expect("in memory");
    let written = dir.create("000005.ldb").and_then(|mut file| file.append(bytes));
    written.expect("in memory");
    let file = dir.open_read("000005.ldb").expect("just written");
    Table::open(file, "000005.ldb", Order::Bytewise).ok()
}

fn read(table: &Arc<Table>, key: &[u8]) {
    let mut cursor = table.cursor();
    if cursor.seek_to_first().is_ok() {
        while cursor.valid() && cursor.next().is_ok() {}
    }
    if cursor.seek_to_last().is_ok() {
        while cursor.valid() && cursor.prev().is_ok() {}
    }
    let sought = cursor.seek(key, SEQ_MAX);
    assert!(sought.is_err() || !cursor.valid() || cursor.key() >= key);
    let _ = table.verify();
}

/// Appends a block, and returns its handle.
fn block(table: &mut Vec<u8>, stored: &[u8], codec: u8) -> Vec<u8> {
    let mut handle = Vec::new();
    for number in [table.len(), stored.len()] {
        cairndb_base::coding::put_varint(&mut handle, number as u64);
    }
    let checksum = crc32c_append(crc32c(stored), &[codec]);
    let masked = checksum.rotate_right(15).wrapping_add(0xa282_ead8);
    table.extend_from_slice(stored);
    table.push(codec);
    table.extend_from_slice(&masked.to_le_bytes());
    handle
}

/// A table with these stored bytes as its only data block.
fn around(stored: &[u8], codec: u8) -> Vec<u8> {
    let mut table = Vec::new();
    let handle = block(&mut table, stored, codec);
    let metaindex = block(&mut table, &[0, 0, 0, 0, 1, 0, 0, 0], 0);
    // One entry: a key after all others that are likely, the handle; one restart point.
    let key = [&[0xff; 16][..], &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat();
    let mut index = vec![0, key.len() as u8, handle.len() as u8];
    index.extend([&key[..], &handle, &[0, 0, 0, 0, 1, 0, 0, 0]].concat());
    let index = block(&mut table, &index, 0);
    let mut footer = [metaindex, index].concat();
    footer.resize(40, 0);
    footer.extend(0xdb47_7524_8b80_fb57u64.to_le_bytes());
    table.extend(footer);
    table
}

fuzz_target!(|input: &[u8]| {
    if let Some(table) = open(input) {
        read(&table, b"key");
    }
    let Some((&[codec, len], rest)) = input.split_first_chunk() else {
        return;
    };
    let (key, stored) = rest.split_at(rest.len().min(usize::from(len % 16)));
    let table = open(&around(stored, codec % 6)).expect("all but the data block is right");
    read(&table, key);
});
