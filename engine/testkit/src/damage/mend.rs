//! Mends the checksum over a change, so that the code after the verification of checksums is
//! tested.
//!
//! This module follows `docs/format` and LevelDB's formats, not the code that it tests.

use cairndb_format::manifest::VersionEdit;
use cairndb_kernel::crc32c;

use super::files::Files;

const PAGE: usize = 4096;
/// A block of a log of LevelDB's, and checksum, length and type of a piece in it.
const LOG_BLOCK: usize = 32 << 10;
const PIECE_HEADER: usize = 7;

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let found = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(found)).ok()
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Returns the number in a file's name.
fn number(name: &str) -> u64 {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// The checksum as LevelDB stores it.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Mends the checksum that covers the byte at `at` of file `name`. Returns `false` if no checksum
/// covers it.
pub fn mend_own(files: &mut Files, name: &str, at: usize) -> bool {
    let Some(mut bytes) = files.remove(name) else {
        return false;
    };
    let file = number(name);
    let mut meta = None;
    let mended = match name.rsplit_once('.') {
        Some((_, "log")) => log(&mut bytes, at),
        Some((_, "val")) => value(&mut bytes, file, at),
        Some((_, "tbl")) => table(&mut bytes, file, at)
            .map(|(checksum, is_meta)| meta = is_meta.then_some(checksum)),
        _ if name.starts_with("MANIFEST") => manifest(&mut bytes, at),
        _ => None,
    };
    files.insert(name.to_owned(), bytes);
    if let Some(checksum) = meta {
        trust_meta(files, file, checksum);
    }
    mended.is_some()
}

/// Mends a frame after a header of `first` bytes. Frames have headers of `header` bytes, and begin
/// at multiples of `align`. The checksum also covers what `place` returns for the offset.
fn frame(
    bytes: &mut [u8],
    at: usize,
    [first, header, align]: [usize; 3],
    place: impl Fn(usize) -> Vec<u8>,
) -> Option<()> {
    let mut start = first;
    loop {
        let end = start + header + u32_at(bytes, start + 4)?;
        let frame = bytes.get(start..end)?;
        if at < end {
            let checksum = crc32c(&[&place(start)[..], &frame[4..]].concat());
            put_u32(bytes, start, checksum);
            return Some(());
        }
        start = end.next_multiple_of(align);
    }
}

/// Mends a header of `len` bytes, which has its checksum at 12.
fn header(bytes: &mut [u8], len: usize) -> Option<()> {
    let checksum = crc32c(&[bytes.get(..12)?, bytes.get(16..len)?].concat());
    put_u32(bytes, 12, checksum);
    Some(())
}

/// Mends a manifest (docs/format/manifest.md): a header of 64 bytes, then frames.
fn manifest(bytes: &mut [u8], at: usize) -> Option<()> {
    let binding = bytes.get(32..48)?.to_vec();
    if at < 64 {
        let checksum = masked(bytes.get(6..64)?);
        put_u32(bytes, 0, checksum);
        return Some(());
    }
    let place = |start: usize| [&binding[..], &(start as u64).to_le_bytes()].concat();
    frame(bytes, at, [64, 16, 1], place)
}

/// Mends a log (docs/format/log.md): a header of 512 bytes, then records at multiples of 8.
fn log(bytes: &mut [u8], at: usize) -> Option<()> {
    let binding = bytes.get(16..32)?.to_vec();
    if at < 512 {
        return header(bytes, 512);
    }
    let place = |start: usize| [&binding[..], &(start as u64).to_le_bytes()[..4]].concat();
    frame(bytes, at, [512, 24, 8], place)
}

/// Mends a value file (docs/format/value-file.md): a header of 64 bytes, then records at multiples
/// of 8.
fn value(bytes: &mut [u8], file: u64, at: usize) -> Option<()> {
    if at < 64 {
        return header(bytes, 64);
    }
    let place = |start: usize| [file.to_le_bytes(), (start as u64).to_le_bytes()].concat();
    frame(bytes, at, [64, 24, 8], place)
}

/// Mends a table (docs/format/table.md): pages, extents of several pages, and the meta block at the
/// end. Returns the checksum, and whether it is that of the meta block, which the manifest also
/// stores.
fn table(bytes: &mut [u8], file: u64, at: usize) -> Option<(u32, bool)> {
    let mut start = 0;
    loop {
        let kind = *bytes.get(start + 4)?;
        let len = match kind {
            2 => (40 + u32_at(bytes, start + 16)? + u32_at(bytes, start + 36)?)
                .next_multiple_of(PAGE),
            5 => bytes.len() - start,
            _ => PAGE,
        };
        let unit = bytes.get(start..start + len)?;
        if at < start + len {
            let page = (start / PAGE) as u64;
            let place = [&file.to_le_bytes()[..], &page.to_le_bytes()[..4]].concat();
            let checksum = crc32c(&[&place[..], &unit[4..]].concat());
            put_u32(bytes, start, checksum);
            return Some((checksum, kind == 5));
        }
        start += len;
    }
}

/// Stores the checksum of the meta block of table `file` in every manifest.
fn trust_meta(files: &mut Files, file: u64, checksum: u32) {
    let manifests = files.iter_mut();
    for (_, bytes) in manifests.filter(|(name, _)| name.starts_with("MANIFEST")) {
        let mut start = 64;
        while let Some(len) = u32_at(bytes, start + 4) {
            let (body, end) = (start + 16, start + 16 + len);
            let Some(Ok(mut edit)) = bytes.get(body..end).map(VersionEdit::decode) else {
                break;
            };
            let tables = edit.added_tables.iter_mut();
            for table in tables.filter(|table| table.file == file) {
                table.checksum = checksum;
            }
            let mut encoded = Vec::new();
            edit.encode(&mut encoded);
            if encoded.len() == len {
                bytes[body..end].copy_from_slice(&encoded);
                manifest(bytes, body);
            }
            start = end;
        }
    }
}

/// Mends the checksum of each block of a table of LevelDB's, as far as the blocks are still where
/// they were: `blocks` are the offsets at which they begin, and the last one's end.
pub fn mend_table(bytes: &mut [u8], blocks: &[usize]) {
    for bounds in blocks.windows(2) {
        if let Some(block) = bytes.get_mut(bounds[0]..bounds[1]) {
            let end = block.len() - 4;
            let checksum = masked(&block[..end]);
            put_u32(block, end, checksum);
        }
    }
}

/// Finds the blocks of an intact table of LevelDB's by their checksums: each begins where the one
/// before ends.
///
/// # Panics
/// If it is not intact.
pub fn blocks_of(bytes: &[u8]) -> Vec<usize> {
    let (mut starts, end) = (vec![0], bytes.len() - 48);
    while let Some(start) = starts.last().copied().filter(|start| *start < end) {
        let ends_there =
            |end: &usize| bytes[end - 4..*end] == masked(&bytes[start..end - 4]).to_le_bytes();
        let found = (start + 5..=end).find(ends_there);
        starts.push(found.expect("an intact block"));
    }
    starts
}

/// Mends the checksum of each piece of a log or manifest of LevelDB's, as far as the lengths lead.
pub fn mend_log(bytes: &mut [u8]) {
    for block in bytes.chunks_mut(LOG_BLOCK) {
        let mut at = 0;
        while at + PIECE_HEADER <= block.len() {
            let len = u16::from_le_bytes([block[at + 4], block[at + 5]]);
            let end = at + PIECE_HEADER + usize::from(len);
            if end > block.len() {
                break;
            }
            let checksum = masked(&block[at + 6..end]);
            put_u32(block, at, checksum);
            at = end;
        }
    }
}
