//! The stream that `cairn dump` writes: blocks of entries, each with a checksum, and at the end the
//! number and the hash of all. `docs/format/dump.md` describes the bytes.

use cairndb::{Compression, KeyspaceOptions};
use cairndb_base::coding::{get_bytes, get_u32, get_u64, get_varint, put_bytes, put_varint};
use cairndb_base::hash64;
use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crc32c::crc32c_append;

use super::encoder::{Encoder, check_lengths};
use crate::failure::{Failure, Result};
use crate::transfer::contents::Contents;
use crate::transfer::input::Input;
use crate::transfer::source::{EntrySource, KeyspaceSpec, Step};

/// The first bytes. They show at once if something has treated the stream as text.
const MAGIC: [u8; 8] = *b"\x89CDUMP\r\n";
/// The version of a stream without keyspaces, and of one with them.
const VERSIONS: [u32; 2] = [1, 2];
const HEADER_BYTES: usize = 16;

/// Length and checksum before the payload of a block.
const BLOCK_HEAD_BYTES: usize = 8;

/// Length of the payload at which a block ends.
const BLOCK_BYTES: usize = 64 << 10;

/// Length of the longest payload: an entry of the greatest length after an almost full block.
const PAYLOAD_BYTES_MAX: usize = KEY_BYTES_MAX + VALUE_BYTES_MAX + BLOCK_BYTES + 20;

/// Set in the length of a block that begins a keyspace.
const KEYSPACE_BIT: u32 = 1 << 31;

/// Bytes of the trailer after its head.
const TRAILER_BYTES: usize = 24;

fn checksum(len: [u8; 4], payload: &[u8]) -> u32 {
    crc32c_append(crc32c_append(0, &len), payload)
}

/// Writes the stream.
#[derive(Default)]
pub(crate) struct NativeEncoder {
    payload: Vec<u8>,
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Entries,
    Keyspace,
    Trailer,
}

fn append_block(payload: &[u8], kind: Block, out: &mut Vec<u8>) {
    let len = u32::try_from(payload.len()).expect("a block is shorter than 2 GiB");
    let len = match kind {
        Block::Entries => len,
        Block::Keyspace => len | KEYSPACE_BIT,
        Block::Trailer => 0,
    };
    let len = len.to_le_bytes();
    out.extend_from_slice(&len);
    out.extend_from_slice(&checksum(len, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

impl Encoder for NativeEncoder {
    fn begin(&mut self, _: u64, has_keyspaces: bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSIONS[usize::from(has_keyspaces)].to_le_bytes());
        let crc = crc32c_append(0, out.get(start..).unwrap_or(&[]));
        out.extend_from_slice(&crc.to_le_bytes());
    }

    fn keyspace(&mut self, spec: &KeyspaceSpec, out: &mut Vec<u8>) {
        self.cut(out);
        let (mut payload, options) = (Vec::new(), &spec.options);
        put_bytes(&mut payload, spec.name.as_bytes());
        for name in [options.comparator_name(), options.merge_operator_name()] {
            put_bytes(&mut payload, name.unwrap_or_default().as_bytes());
        }
        put_varint(
            &mut payload,
            match options.own_compression() {
                None => 0,
                Some(Compression::None) => 1,
                Some(_) => 2,
            },
        );
        let bytes = options.expected_value_bytes();
        put_varint(
            &mut payload,
            bytes.map_or(0, |bytes| bytes.saturating_add(1)),
        );
        append_block(&payload, Block::Keyspace, out);
    }

    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        put_bytes(&mut self.payload, key);
        put_bytes(&mut self.payload, value);
        if self.payload.len() >= BLOCK_BYTES {
            self.cut(out);
        }
    }

    fn cut(&mut self, out: &mut Vec<u8>) {
        if self.payload.is_empty() {
            return;
        }
        append_block(&self.payload, Block::Entries, out);
        self.payload.clear();
        self.payload.shrink_to(16 * BLOCK_BYTES);
    }

    fn end(&mut self, contents: &Contents, out: &mut Vec<u8>) {
        self.cut(out);
        let numbers = [contents.entries, contents.bytes, contents.hash];
        let payload = numbers.map(u64::to_le_bytes).concat();
        append_block(&payload, Block::Trailer, out);
    }
}

/// Reads the stream.
pub(crate) struct NativeSource {
    input: Input,
    block: Vec<u8>,
    /// Position of the next entry in the block.
    at: usize,
    contents: Contents,
    has_keyspaces: bool,
    /// Hash of the name of the current keyspace.
    keyspace: u64,
    has_ended: bool,
}

impl NativeSource {
    /// Reads the header.
    pub(crate) fn new(mut input: Input) -> Result<NativeSource> {
        let header = input.bytes(HEADER_BYTES)?.to_vec();
        let name = input.name();
        if !header.starts_with(&MAGIC) {
            return Err(Failure::other(format!(
                "{name} is not what `cairn dump` writes; `cairn import` reads other formats"
            )));
        }
        let (head, _) = header.split_at(header.len().min(HEADER_BYTES - 4));
        if get_u32(&header, HEADER_BYTES - 4) != Some(crc32c_append(0, head)) {
            return Err(damaged(name, 0, "the checksum of the header is wrong"));
        }
        let version = get_u32(&header, MAGIC.len()).unwrap_or_default();
        if !VERSIONS.contains(&version) {
            return Err(Failure::other(format!(
                "{name} was written by a newer version of cairn; load it with that version"
            )));
        }
        Ok(NativeSource {
            input,
            block: Vec::new(),
            at: 0,
            contents: Contents::default(),
            has_keyspaces: version == VERSIONS[1],
            keyspace: 0,
            has_ended: false,
        })
    }

    /// Reads a block.
    fn read_block(&mut self) -> Result<Block> {
        let offset = self.input.taken();
        let failed = |input: &Input, reason: &str| damaged(input.name(), offset, reason);
        let head = self.input.bytes(BLOCK_HEAD_BYTES)?;
        let Some((stored, crc)) = get_u32(head, 0).zip(get_u32(head, 4)) else {
            return Err(failed(&self.input, "the stream is cut off"));
        };
        let kind = match stored {
            0 => Block::Trailer,
            _ if self.has_keyspaces && stored & KEYSPACE_BIT != 0 => Block::Keyspace,
            _ => Block::Entries,
        };
        let len = match kind {
            Block::Keyspace => stored & !KEYSPACE_BIT,
            _ => stored,
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > PAYLOAD_BYTES_MAX {
            return Err(failed(&self.input, "the length of a block is wrong"));
        }
        let len = match kind {
            Block::Trailer => TRAILER_BYTES,
            _ => len,
        };
        let payload = self.input.bytes(len)?;
        if payload.len() < len {
            return Err(failed(&self.input, "the stream is cut off"));
        }
        if checksum(stored.to_le_bytes(), payload) != crc {
            return Err(failed(&self.input, "the checksum of a block is wrong"));
        }
        self.block.clear();
        self.block.extend_from_slice(payload);
        self.at = 0;
        if kind != Block::Trailer {
            return Ok(kind);
        }
        self.has_ended = true;
        let number = |at| get_u64(&self.block, at).unwrap_or(0);
        let expected = Contents {
            entries: number(0),
            bytes: number(8),
            hash: number(16),
        };
        if expected != self.contents {
            let reason = "the entries are not those that the end of the stream counts";
            return Err(failed(&self.input, reason));
        }
        if !self.input.bytes(1)?.is_empty() {
            return Err(failed(
                &self.input,
                "something follows the end of the stream",
            ));
        }
        Ok(kind)
    }

    /// Reads the block that begins a keyspace.
    fn read_keyspace(&mut self) -> Result<KeyspaceSpec> {
        let (block, mut at) = (std::mem::take(&mut self.block), 0);
        self.at = 0;
        let mut read = || {
            let mut text = || {
                let bytes = get_bytes(&block, &mut at)?.to_vec();
                String::from_utf8(bytes).ok()
            };
            let (name, comparator, operator) = (text()?, text()?, text()?);
            let compression = get_varint(&block, &mut at)?;
            let value_bytes = get_varint(&block, &mut at)?;
            let mut options = KeyspaceOptions::new();
            if !comparator.is_empty() {
                options = options.comparator(comparator);
            }
            if !operator.is_empty() {
                options = options.merge_operator(operator);
            }
            options = match compression {
                0 => options,
                1 => options.compression(Compression::None),
                2 => options.compression(Compression::Fast),
                _ => return None,
            };
            if let Some(bytes) = value_bytes.checked_sub(1) {
                options = options.value_bytes(bytes);
            }
            (at == block.len()).then_some(KeyspaceSpec { name, options })
        };
        let spec = read().ok_or_else(|| {
            let reason = "a keyspace is not described as it should be";
            damaged(self.input.name(), self.input.taken(), reason)
        })?;
        self.keyspace = hash64(spec.name.as_bytes());
        Ok(spec)
    }
}

impl EntrySource for NativeSource {
    fn advance(&mut self) -> Result<Step<'_>> {
        while self.at == self.block.len() || self.has_ended {
            if self.has_ended {
                return Ok(Step::End);
            }
            match self.read_block()? {
                Block::Entries => {}
                Block::Keyspace => return self.read_keyspace().map(|it| Step::Keyspace(Some(it))),
                Block::Trailer => return Ok(Step::End),
            }
        }
        let key = get_bytes(&self.block, &mut self.at);
        let value = get_bytes(&self.block, &mut self.at);
        let Some((key, value)) = key.zip(value) else {
            let reason = "an entry reaches past the end of its block";
            return Err(damaged(self.input.name(), self.input.taken(), reason));
        };
        let checked = check_lengths(key, value);
        checked.map_err(|reason| damaged(self.input.name(), self.input.taken(), &reason))?;
        self.contents.add_in(self.keyspace, key, value);
        Ok(Step::Entry(key, value))
    }

    fn has_keyspaces(&self) -> bool {
        self.has_keyspaces
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn damaged(name: &str, offset: u64, reason: &str) -> Failure {
    Failure::damaged(format!(
        "{name} is damaged at offset {offset}: {reason}; load another copy, or dump again"
    ))
}
