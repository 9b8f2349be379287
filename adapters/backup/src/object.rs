//! Objects as they are stored: chunks, each compressed if that pays and encrypted if there is a
//! key, with a hash of the contents at the end.
//!
//! Layout: `docs/format/backup.md`. An object proves by itself that it is whole: its last chunk is
//! marked as such, and ends with the hash. With a key, every chunk is also bound to the name of the
//! object, to where it is in it, and to the place.

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Env;

use crate::key::{Key, NONCE_PREFIX_BYTES, TAG_BYTES};
use crate::place::Download;

const MAGIC: &[u8; 8] = b"CAIRNBAK";
const VERSION: u8 = 1;
/// Flag of the header: the chunks are encrypted.
const ENCRYPTED: u8 = 1;
const HEADER_BYTES: usize = 8 + 2 + NONCE_PREFIX_BYTES;
/// Number of bytes of the contents in each chunk but the last.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;
/// Length of a hash.
pub(crate) const HASH_BYTES: usize = 32;
/// Flags of a chunk, in the number before it; the other bits are its length.
const COMPRESSED: u32 = 1 << 30;
const LAST: u32 = 1 << 31;
/// Maximum length of a stored chunk.
const STORED_BYTES_MAX: usize = CHUNK_BYTES + HASH_BYTES + TAG_BYTES;
/// A chunk is stored compressed if that saves at least one part in this many.
const SAVES: usize = 10;
const LEVEL: i32 = 1;

/// The hash of contents.
pub(crate) type Hash = [u8; HASH_BYTES];

/// Encodes the contents of an object, and hands on what is to be stored.
pub(crate) struct Encoder<'k, W: FnMut(&[u8]) -> Result<()>> {
    key: Option<&'k Key>,
    name: String,
    prefix: [u8; NONCE_PREFIX_BYTES],
    chunk: u64,
    contents: Vec<u8>,
    stored: Vec<u8>,
    hasher: blake3::Hasher,
    /// Whether compression has paid so far.
    compresses: bool,
    write: W,
}

impl<'k, W: FnMut(&[u8]) -> Result<()>> Encoder<'k, W> {
    /// Begins the object `name`, which `write` stores.
    pub(crate) fn new(
        env: &dyn Env,
        key: Option<&'k Key>,
        name: &str,
        mut write: W,
    ) -> Result<Encoder<'k, W>> {
        let mut prefix = [0; NONCE_PREFIX_BYTES];
        if key.is_some() {
            prefix[..8].copy_from_slice(&env.random_u64().to_le_bytes());
            prefix[8..].copy_from_slice(&env.random_u64().to_le_bytes());
        }
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&[VERSION, u8::from(key.is_some()) * ENCRYPTED]);
        header.extend_from_slice(&prefix);
        write(&header)?;
        Ok(Encoder {
            key,
            name: name.to_owned(),
            prefix,
            chunk: 0,
            contents: Vec::new(),
            stored: Vec::new(),
            hasher: Key::hasher(key),
            compresses: true,
            write,
        })
    }

    /// Appends to the contents.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.contents.len() == CHUNK_BYTES {
                self.end_chunk(false)?;
            }
            let room = CHUNK_BYTES - self.contents.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.contents.extend_from_slice(now);
            self.hasher.update(now);
            bytes = later;
        }
        Ok(())
    }

    /// Ends the object, and returns the hash of its contents.
    pub(crate) fn finish(mut self) -> Result<Hash> {
        let hash = *self.hasher.finalize().as_bytes();
        self.contents.extend_from_slice(&hash);
        self.end_chunk(true)?;
        Ok(hash)
    }

    fn end_chunk(&mut self, last: bool) -> Result<()> {
        let mut flags = if last { LAST } else { 0 };
        self.stored.clear();
        if self.compresses {
            let found = zstd::bulk::compress(&self.contents, LEVEL);
            let found = found.map_err(|error| Error::io("compress an object", error))?;
            if found.len() < self.contents.len() - self.contents.len() / SAVES {
                self.stored = found;
                flags |= COMPRESSED;
            } else if self.chunk == 0 {
                // Tables mostly are compressed already; the rest is like the beginning.
                self.compresses = false;
            }
        }
        if flags & COMPRESSED == 0 {
            self.stored.extend_from_slice(&self.contents);
        }
        if let Some(key) = self.key {
            let about = about(&self.name, flags);
            key.encrypt(self.prefix, self.chunk, &about, &mut self.stored);
        }
        let len = u32::try_from(self.stored.len()).unwrap_or(u32::MAX);
        assert!(
            self.stored.len() <= STORED_BYTES_MAX,
            "a chunk has a maximum length"
        );
        (self.write)(&(len | flags).to_le_bytes())?;
        (self.write)(&self.stored)?;
        self.chunk += 1;
        self.contents.clear();
        Ok(())
    }
}

/// Returns what is bound to a chunk.
fn about(name: &str, flags: u32) -> Vec<u8> {
    [&flags.to_le_bytes(), name.as_bytes()].concat()
}

/// Returns the object `name` with these contents, as it is stored, and their hash.
pub(crate) fn encode(
    env: &dyn Env,
    key: Option<&Key>,
    name: &str,
    contents: &[u8],
) -> Result<(Vec<u8>, Hash)> {
    let mut stored = Vec::new();
    let mut encoder = Encoder::new(env, key, name, |bytes| {
        stored.extend_from_slice(bytes);
        Ok(())
    })?;
    encoder.add(contents)?;
    let hash = encoder.finish()?;
    Ok((stored, hash))
}

/// Reads an object, and checks it.
pub(crate) struct Decoder<'a> {
    key: Option<&'a Key>,
    url: &'a str,
    name: &'a str,
    download: Box<dyn Download + 'a>,
    prefix: [u8; NONCE_PREFIX_BYTES],
    chunk: u64,
    offset: u64,
    hasher: blake3::Hasher,
}

impl<'a> Decoder<'a> {
    /// Begins to read.
    ///
    /// # Errors
    /// `Corruption`, `FormatTooNew`, `InvalidArgument` if a key is missing; `Io`.
    pub(crate) fn new(
        download: Box<dyn Download + 'a>,
        key: Option<&'a Key>,
        url: &'a str,
        name: &'a str,
    ) -> Result<Decoder<'a>> {
        let mut decoder = Decoder {
            key,
            url,
            name,
            download,
            prefix: [0; NONCE_PREFIX_BYTES],
            chunk: 0,
            offset: 0,
            hasher: Key::hasher(key),
        };
        let mut header = [0; HEADER_BYTES];
        decoder.fill(&mut header)?;
        if !header.starts_with(MAGIC) {
            return Err(decoder.damaged("the object does not begin as one of a backup does"));
        }
        let (version, flags) = (header[8], header[9]);
        if version != VERSION || flags & !ENCRYPTED != 0 {
            let message = "a newer version has written the object; use that";
            return Err(decoder.error(ErrorKind::FormatTooNew, message));
        }
        if (flags == ENCRYPTED) != key.is_some() {
            return Err(decoder.damaged("the object is encrypted, or not, unlike the backup"));
        }
        decoder.prefix.copy_from_slice(&header[10..]);
        if key.is_none() && decoder.prefix != [0; NONCE_PREFIX_BYTES] {
            return Err(decoder.damaged("the header of the object is damaged"));
        }
        Ok(decoder)
    }

    #[cold]
    fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, message)
            .file(self.name)
            .directory(self.url.as_ref())
    }

    #[cold]
    fn damaged(&self, message: &'static str) -> Error {
        self.error(ErrorKind::Corruption, message)
            .offset(self.offset)
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<()> {
        let mut at = 0;
        while at < out.len() {
            match self.download.read(&mut out[at..])? {
                0 => return Err(self.damaged("the object ends too early")),
                read => at += read,
            }
        }
        self.offset += out.len() as u64;
        Ok(())
    }

    /// Returns the next part of the contents, and whether it is the last one. Nothing of an object
    /// counts before the last part has come.
    fn part(&mut self) -> Result<(Vec<u8>, bool)> {
        let mut head = [0; 4];
        self.fill(&mut head)?;
        let head = u32::from_le_bytes(head);
        let flags = head & (COMPRESSED | LAST);
        let len = usize::try_from(head & !(COMPRESSED | LAST)).unwrap_or(usize::MAX);
        if len > STORED_BYTES_MAX {
            return Err(self.damaged("a chunk of the object is too long"));
        }
        let mut bytes = vec![0; len];
        self.fill(&mut bytes)?;
        if let Some(key) = self.key {
            let about = about(self.name, flags);
            if !key.decrypt(self.prefix, self.chunk, &about, &mut bytes) {
                return Err(self.damaged("a chunk of the object is not what was encrypted"));
            }
        }
        self.chunk += 1;
        if flags & COMPRESSED != 0 {
            let found = zstd::bulk::decompress(&bytes, CHUNK_BYTES + HASH_BYTES);
            bytes =
                found.map_err(|_| self.damaged("a chunk of the object cannot be decompressed"))?;
        }
        let is_last = flags & LAST != 0;
        if is_last {
            let Some(contents) = bytes.len().checked_sub(HASH_BYTES) else {
                return Err(self.damaged("the object has no hash"));
            };
            let hash = bytes.split_off(contents);
            self.hasher.update(&bytes);
            if self.hasher.finalize().as_bytes()[..] != hash {
                return Err(self.damaged("the contents of the object do not match their hash"));
            }
        } else if bytes.len() == CHUNK_BYTES {
            self.hasher.update(&bytes);
        } else {
            return Err(self.damaged("a chunk of the object does not have 1 MiB"));
        }
        Ok((bytes, is_last))
    }

    /// Hands all parts of the contents to `take`, and returns their hash.
    ///
    /// # Errors
    /// `Corruption`, with the object and the offset; `Io`; those of `take`.
    pub(crate) fn read(mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<Hash> {
        loop {
            let (part, is_last) = self.part()?;
            take(&part)?;
            if is_last {
                break;
            }
        }
        if self.download.read(&mut [0])? > 0 {
            return Err(self.damaged("something follows the end of the object"));
        }
        Ok(*self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::from_hex;
    use crate::records::{Body, Record, parse};

    const NAME: &str = "chain/00000000000000000001";

    /// Bytes in memory, as a place returns them.
    struct Bytes<'b>(&'b [u8]);

    impl Download for Bytes<'_> {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            let len = out.len().min(self.0.len()).min(7);
            let (now, later) = self.0.split_at(len);
            out[..len].copy_from_slice(now);
            self.0 = later;
            Ok(len)
        }
    }

    fn decode(stored: &[u8], key: Option<&Key>, name: &str) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        let decoder = Decoder::new(Box::new(Bytes(stored)), key, "place", name)?;
        let _ = decoder.read(|bytes| {
            contents.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(contents)
    }

    /// Returns the objects of the golden file, each with its key.
    fn golden() -> [(Vec<u8>, Option<Key>); 2] {
        let golden = include_str!("../../../testdata/golden/backup-v1.hex");
        let mut parts = golden.split("encrypted\n").skip(1).map(|part| {
            let lines = part.lines().filter(|line| !line.starts_with('#'));
            from_hex(&lines.collect::<String>().replace(' ', "")).expect("digits")
        });
        let key = Key::parse(&"0f".repeat(32)).expect("64 digits");
        let mut next = |key| (parts.next().expect("two objects"), key);
        [next(None), next(Some(key))]
    }

    #[test]
    fn the_golden_objects_are_read_and_every_damaged_byte_is_found() {
        for (stored, key) in golden() {
            let contents = decode(&stored, key.as_ref(), NAME).expect("it is whole");
            let (record, changes) = parse::<Record>(&contents).expect("a record");
            assert_eq!((record.writer.process, changes), (811, &b"changes"[..]));
            assert!(matches!(record.body, Body::Changes(piece) if piece.until == 4));
            for at in 0..stored.len() {
                let mut damaged = stored.clone();
                damaged[at] ^= 0x10;
                // A bit that the codec does not use changes nothing.
                if let Ok(found) = decode(&damaged, key.as_ref(), NAME) {
                    assert_eq!(
                        (found, key.is_none()),
                        (contents.clone(), true),
                        "byte {at}"
                    );
                }
                decode(&stored[..at], key.as_ref(), NAME).expect_err("the end is missing");
            }
            let longer = [&stored[..], b"x"].concat();
            decode(&longer, key.as_ref(), NAME).expect_err("something follows");
            let renamed = decode(&stored, key.as_ref(), "chain/00000000000000000002");
            assert_eq!(
                renamed.is_err(),
                key.is_some(),
                "the name is bound by a key"
            );
        }
    }

    #[test]
    fn contents_of_any_length_come_back() {
        let env = cairndb_sim::SimEnv::new(1);
        let [_, (_, key)] = golden();
        let long: Vec<u8> = (0..3 * CHUNK_BYTES + 5)
            .map(|n| u8::try_from(n * n / 7 % 251).unwrap_or(0))
            .collect();
        for key in [None, key.as_ref()] {
            for len in [
                0,
                1,
                CHUNK_BYTES - 1,
                CHUNK_BYTES,
                CHUNK_BYTES + 1,
                long.len(),
            ] {
                let (stored, _) = encode(&*env, key, NAME, &long[..len]).expect("in memory");
                assert_eq!(
                    decode(&stored, key, NAME).expect("whole"),
                    &long[..len],
                    "{len}"
                );
            }
        }
    }
}
