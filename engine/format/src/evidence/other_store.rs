//! Directories of other stores, identified by the contents of their files.

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::Dir;

use super::{Evidence, HEAD_BYTES, evidence};
use crate::checksum::{crc32c, crc32c_append};
use crate::manifest::{self, ManifestReader};
use crate::name::{self, FileKind};

/// The types of a record that is complete, and of the first part of a longer one.
const TYPES: [u8; 2] = [1, 2];
/// Bytes in which the first record of a log ends.
const LOG_BLOCK: u64 = 32 << 10;
/// The last bytes of a table.
const TABLE_END: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();

/// Another store that names its files as this format does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherStore {
    /// LevelDB or a fork with the same format.
    LevelDb,
    /// RocksDB or a fork with the same format.
    RocksDb,
}

/// Returns the store that wrote manifest `number`, if the manifest is another store's.
///
/// Both stores' manifests are logs in LevelDB's format. The first record starts with the
/// comparator's name or, in a manifest of newer versions of RocksDB, with the database's identity.
/// RocksDB also keeps `IDENTITY` and `OPTIONS-NNNNNN`. Our manifests contain a comparator's name,
/// too, but start with a mark. A file that cannot be read belongs to no store.
pub fn other_store(dir: &dyn Dir, number: FileNumber) -> Option<OtherStore> {
    let file = dir.open_read(&name::manifest(number)).ok()?;
    let len = usize::try_from(file.size()).map_or(HEAD_BYTES, |size| size.min(HEAD_BYTES));
    let mut head = [0; HEAD_BYTES];
    let (head, _) = head.split_at_mut(len);
    file.read_at(0, head).ok()?;
    let store = store_of(head)?;
    Some(match store_among(&dir.list().unwrap_or_default()) {
        OtherStore::LevelDb => store,
        OtherStore::RocksDb => OtherStore::RocksDb,
    })
}

/// Returns the other store whose database `dir` holds, even if files of it are missing. `None` if
/// the database is ours, or if nothing identifies it.
///
/// The manifest that `CURRENT` names decides. Without it, a manifest of ours that is whole makes
/// the directory ours, because a conversion writes it last. Without any manifest, the contents of
/// the other files decide.
///
/// # Errors
/// The errors of listing the directory and of reading the files.
pub fn other_store_in(dir: &dyn Dir) -> Result<Option<OtherStore>> {
    if let Ok(Some(number)) = manifest::read_current(dir) {
        if is_ours(dir, &name::manifest(number))? {
            return Ok(None);
        }
        if let Some(store) = other_store(dir, number) {
            return Ok(Some(store));
        }
    }
    let names = dir.list()?;
    let manifests = names
        .iter()
        .filter_map(|found| match FileKind::parse(found) {
            Some(FileKind::Manifest(number)) => Some(number),
            _ => None,
        });
    let manifests: Vec<FileNumber> = manifests.collect();
    let is_whole = |number: &FileNumber| read_to_end(dir, *number).is_ok();
    if manifests.iter().any(is_whole) {
        return Ok(None);
    }
    if let Some(store) = manifests
        .iter()
        .find_map(|number| other_store(dir, *number))
    {
        return Ok(Some(store));
    }
    for found in &names {
        if is_ours(dir, found)? {
            return Ok(None);
        }
    }
    let is_theirs = names
        .iter()
        .any(|found| is_other(dir, found).unwrap_or(false));
    Ok(is_theirs.then(|| store_among(&names)))
}

/// Reads a manifest of ours.
fn read_to_end(dir: &dyn Dir, number: FileNumber) -> Result<()> {
    let mut reader = ManifestReader::open(dir, number)?;
    while reader.advance()?.is_some() {}
    Ok(())
}

/// Returns whether the contents of a file of this name are ours.
fn is_ours(dir: &dyn Dir, found: &str) -> Result<bool> {
    if !matches!(dir.size_of(found), Ok(Some(_))) {
        return Ok(false);
    }
    match evidence(dir, found) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => Ok(found? == Evidence::Ours),
    }
}

/// Returns which of the stores that share LevelDB's format has files of these names.
fn store_among(names: &[String]) -> OtherStore {
    let is_rocksdb = |name: &String| name == "IDENTITY" || name.starts_with("OPTIONS-");
    if names.iter().any(is_rocksdb) {
        OtherStore::RocksDb
    } else {
        OtherStore::LevelDb
    }
}

/// Returns whether a file is a table of LevelDB's, by its last bytes, or a log, by its first
/// record. `None` if it is neither by its name or its length, or cannot be read.
fn is_other(dir: &dyn Dir, found: &str) -> Option<bool> {
    let (number, ending) = found.split_once('.')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !matches!(dir.size_of(found), Ok(Some(_))) {
        return None;
    }
    let read = |from_end: bool, len: u64| {
        let file = dir.open_read(found).ok()?;
        let len = len.min(file.size());
        let at = if from_end { file.size() - len } else { 0 };
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        file.read_at(at, &mut bytes).ok()?;
        Some(bytes)
    };
    match ending {
        "ldb" | "sst" => Some(read(true, 8)? == TABLE_END),
        "log" => begins_with_batch(&read(false, LOG_BLOCK)?),
        _ => None,
    }
}

/// Returns whether a log that begins with `block` begins with an intact batch of LevelDB's, or with
/// the first part of one.
fn begins_with_batch(block: &[u8]) -> Option<bool> {
    /// Sequence number and number of operations.
    const BATCH_HEADER: usize = 12;
    const MASK: u32 = 0xa282_ead8;
    let (checksum, rest) = block.split_first_chunk()?;
    let (&[low, high, kind], rest) = rest.split_first_chunk()?;
    let payload = rest.get(..usize::from(u16::from_le_bytes([low, high])))?;
    let stored = u32::from_le_bytes(*checksum)
        .wrapping_sub(MASK)
        .rotate_left(15);
    let is_whole = crc32c_append(crc32c(&[kind]), payload) == stored;
    Some(is_whole && TYPES.contains(&kind) && payload.len() >= BATCH_HEADER)
}

/// Returns the store whose manifest starts with `head`, judged by its first record alone.
fn store_of(head: &[u8]) -> Option<OtherStore> {
    /// Checksum, length and type of a record.
    const RECORD_HEADER: usize = 7;
    const COMPARATOR: u8 = 1;
    const IDENTITY: &[u8] = &[0x81, 0x40];
    let (header, edit) = head.split_at_checked(RECORD_HEADER)?;
    if manifest::is_marked(head) || !TYPES.contains(header.last()?) {
        return None;
    }
    if edit.starts_with(IDENTITY) {
        return Some(OtherStore::RocksDb);
    }
    let (&[tag, len], name) = edit.split_first_chunk()?;
    let name = name.get(..usize::from(len)).unwrap_or(name);
    let is_name = !name.is_empty() && len < 0x80 && name.iter().all(u8::is_ascii_graphic);
    (tag == COMPARATOR && is_name).then_some(OtherStore::LevelDb)
}
