//! Repairs the checksum over a changed byte, so that the code after the checksum verification is
//! tested.
//!
//! This module follows `docs/format`, not the code that it tests.

use std::collections::BTreeMap;

use cairndb_kernel::crc32c;

type Files = BTreeMap<String, Vec<u8>>;

const PAGE: usize = 4096;

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

/// Repairs the checksum that covers the byte at `at` of file `name`. Returns `false` if no checksum
/// covers it.
pub(crate) fn reseal(files: &mut Files, name: &str, at: usize) -> bool {
    let Some(mut bytes) = files.remove(name) else {
        return false;
    };
    let file = number(name);
    let sealed = if name.starts_with("MANIFEST") {
        manifest(&mut bytes, at)
    } else if name.ends_with(".log") {
        log(&mut bytes, at)
    } else if name.ends_with(".val") {
        value(&mut bytes, file, at)
    } else if name.ends_with(".tbl") {
        table(&mut bytes, file, at)
    } else {
        None
    };
    let meta = sealed.flatten_meta(&bytes);
    files.insert(name.to_owned(), bytes);
    if let Some((file, checksum)) = meta.map(|checksum| (file, checksum)) {
        trust_meta(files, file, checksum);
    }
    sealed.is_some()
}

/// A repaired checksum, with its offset if it belongs to the meta block of a table, because the
/// manifest also stores that checksum.
type Sealed = Option<Option<usize>>;

trait FlattenMeta {
    fn flatten_meta(&self, bytes: &[u8]) -> Option<u32>;
}

impl FlattenMeta for Sealed {
    fn flatten_meta(&self, bytes: &[u8]) -> Option<u32> {
        let start = (*self)??;
        u32::try_from(u32_at(bytes, start)?).ok()
    }
}

/// Repairs a manifest (docs/format/manifest.md): a header of 64 bytes, then frames.
fn manifest(bytes: &mut [u8], at: usize) -> Sealed {
    if at < 64 {
        let crc = crc32c(bytes.get(6..64)?);
        put_u32(bytes, 0, crc.rotate_right(15).wrapping_add(0xa282_ead8));
        return Some(None);
    }
    let binding = bytes.get(32..48)?.to_vec();
    let mut start = 64;
    loop {
        let end = start + 16 + u32_at(bytes, start + 4)?;
        let frame = bytes.get(start..end)?;
        if at < end {
            let crc = crc32c(&[&binding[..], &(start as u64).to_le_bytes(), &frame[4..]].concat());
            put_u32(bytes, start, crc);
            return Some(None);
        }
        start = end;
    }
}

/// Repairs a log (docs/format/log.md): a header of 512 bytes, then records at multiples of 8.
fn log(bytes: &mut [u8], at: usize) -> Sealed {
    if at < 512 {
        let crc = crc32c(&[bytes.get(..12)?, bytes.get(16..512)?].concat());
        put_u32(bytes, 12, crc);
        return Some(None);
    }
    let binding = bytes.get(16..32)?.to_vec();
    let mut start = 512;
    loop {
        let end = start + 24 + u32_at(bytes, start + 4)?;
        let record = bytes.get(start..end)?;
        if at < end {
            let offset = u32::try_from(start).ok()?.to_le_bytes();
            let crc = crc32c(&[&binding[..], &offset[..], &record[4..]].concat());
            put_u32(bytes, start, crc);
            return Some(None);
        }
        start = end.next_multiple_of(8);
    }
}

/// Repairs a value file (docs/format/value-file.md): a header of 64 bytes, then records at
/// multiples of 8.
fn value(bytes: &mut [u8], file: u64, at: usize) -> Sealed {
    if at < 64 {
        let crc = crc32c(&[bytes.get(..12)?, bytes.get(16..64)?].concat());
        put_u32(bytes, 12, crc);
        return Some(None);
    }
    let mut start = 64;
    loop {
        let end = start + 24 + u32_at(bytes, start + 4)?;
        let record = bytes.get(start..end)?;
        if at < end {
            let place = [file.to_le_bytes(), (start as u64).to_le_bytes()].concat();
            let crc = crc32c(&[&place[..], &record[4..]].concat());
            put_u32(bytes, start, crc);
            return Some(None);
        }
        start = end.next_multiple_of(8);
    }
}

/// Repairs a table (docs/format/table.md): pages, extents of several pages, and the meta block at
/// the end.
fn table(bytes: &mut [u8], file: u64, at: usize) -> Sealed {
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
            let place = [
                &file.to_le_bytes()[..],
                &u32::try_from(start / PAGE).ok()?.to_le_bytes(),
            ];
            let crc = crc32c(&[&place.concat(), &unit[4..]].concat());
            put_u32(bytes, start, crc);
            return Some((kind == 5).then_some(start));
        }
        start += len;
    }
}

/// Stores the checksum of the meta block of table `file` in every manifest.
fn trust_meta(files: &mut Files, file: u64, checksum: u32) {
    let manifests = files
        .iter_mut()
        .filter(|(name, _)| name.starts_with("MANIFEST"));
    for (_, bytes) in manifests {
        let mut start = 64;
        while let Some(len) = u32_at(bytes, start + 4) {
            let (body, end) = (start + 16, start + 16 + len);
            let Some(Ok(mut edit)) = bytes
                .get(body..end)
                .map(cairndb_format::manifest::VersionEdit::decode)
            else {
                break;
            };
            for table in edit
                .added_tables
                .iter_mut()
                .filter(|table| table.file == file)
            {
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
