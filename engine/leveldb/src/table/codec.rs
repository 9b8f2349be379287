//! How the contents of a block are stored: as they are, or compressed.
//!
//! The byte after the contents names the codec. LevelDB has 0 (none), 1 (Snappy) and, since 2023, 2
//! (Zstandard). Minecraft's LevelDB has 2 for zlib, 3 for Zstandard and 4 for deflate without a
//! zlib header. What follows a 2 is therefore recognised by its first bytes: Zstandard's magic
//! number is not a zlib header.
//!
//! Memory: Snappy states the decoded length, at most 22 times the stored one. The other codecs have
//! no useful bound of their own, so that [`decode`] is given one.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::io::Read;

use cairndb_base::{Error, ErrorKind, Result};
use miniz_oxide::inflate::{
    DecompressError, TINFLStatus, decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit,
};
use ruzstd::decoding::StreamingDecoder;

/// The first bytes of a Zstandard frame.
const ZSTANDARD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The default bound of a decoded block that deflate or Zstandard compressed: 64 MiB, or 32 times
/// the stored bytes if that is more.
pub(crate) const DECODED_BYTES_MAX: usize = 64 << 20;

/// A copy of 64 bytes takes three: no Snappy block expands more.
const SNAPPY_RATIO_MAX: usize = 22;
/// A block of 128 KiB takes four bytes of a Zstandard frame.
const ZSTANDARD_RATIO_MAX: usize = 32 << 10;
const RATIO_MAX: usize = 32;

/// The codec of the tables that this crate writes. [`TableOptions`](super::TableOptions) has an
/// example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// Blocks as they are.
    None,
    /// Snappy, for the blocks of which it saves an eighth: LevelDB's default.
    #[default]
    Snappy,
}

/// Decodes the contents of a block that were stored by codec `id`. `bytes_max` bounds what deflate
/// and Zstandard may return, unless 32 times the stored bytes are more.
///
/// # Errors
/// `Corruption` if the contents are not what the codec writes; `NotSupported` if they are longer
/// than the bound, or the codec is unknown.
pub(crate) fn decode(id: u8, stored: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>> {
    let limit = bytes_max.max(stored.len().saturating_mul(RATIO_MAX));
    match id {
        0 => Ok(stored),
        1 => snappy(&stored),
        2 | 3 if stored.starts_with(&ZSTANDARD_MAGIC) => zstandard(&stored, limit),
        2 => deflated(decompress_to_vec_zlib_with_limit(&stored, limit), limit),
        4 => deflated(decompress_to_vec_with_limit(&stored, limit), limit),
        3 => Err(Error::corruption(
            "a block does not begin as Zstandard's frames do",
        )),
        _ => Err(Error::new(
            ErrorKind::NotSupported,
            "a block is stored by an unknown codec",
        )
        .expected("0 to 4")
        .found(id)),
    }
}

/// Returns whether `stored` begins as what codec `id` writes. Few other bytes do.
pub(crate) fn may_begin(id: u8, stored: &[u8]) -> bool {
    let is_zlib = |header: &[u8; 2]| {
        // The method is deflate, and the header is a multiple of 31.
        let [method, flags] = header.map(u32::from);
        method % 16 == 8 && (method << 8 | flags) % 31 == 0
    };
    match id {
        // A block that does not shrink is stored as it is.
        1 => snap::raw::decompress_len(stored).is_ok_and(|len| len >= stored.len()),
        2 if stored.first_chunk().is_some_and(is_zlib) => true,
        2 | 3 => stored.starts_with(&ZSTANDARD_MAGIC),
        4 => match stored {
            // A stored part begins with its length, twice.
            [first, a, b, c, d, ..] if first & 0b110 == 0 => (*a, *b) == (!c, !d),
            [first, ..] => first & 0b110 != 0b110,
            [] => false,
        },
        _ => true,
    }
}

fn snappy(stored: &[u8]) -> Result<Vec<u8>> {
    let malformed = |cause: snap::Error| {
        Error::corruption("a block is not valid Snappy data").source_error(cause)
    };
    let len = snap::raw::decompress_len(stored).map_err(malformed)?;
    let most = stored.len().saturating_mul(SNAPPY_RATIO_MAX);
    if len > most {
        return Err(
            Error::corruption("a block states a length that Snappy cannot reach")
                .expected(format_args!("at most {most} bytes"))
                .found(format_args!("{len} bytes")),
        );
    }
    snap::raw::Decoder::new()
        .decompress_vec(stored)
        .map_err(malformed)
}

fn zstandard(stored: &[u8], limit: usize) -> Result<Vec<u8>> {
    let most = stored.len().saturating_mul(ZSTANDARD_RATIO_MAX).min(limit);
    let malformed = |cause: String| {
        Error::corruption("a block is not what Zstandard writes, or longer than the limit")
            .expected(format_args!("at most {most} bytes: {cause}"))
    };
    let window_max = u64::try_from(most.max(1 << 10)).unwrap_or(u64::MAX);
    let frame = StreamingDecoder::new_with_max_window_size(stored, window_max)
        .map_err(|cause| malformed(cause.to_string()))?;
    let mut decoded = Vec::new();
    let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = frame.take(one_more).read_to_end(&mut decoded);
    read.map_err(|cause| malformed(cause.to_string()))?;
    if decoded.len() > limit {
        Err(too_long(limit))
    } else {
        Ok(decoded)
    }
}

fn deflated(
    decoded: std::result::Result<Vec<u8>, DecompressError>,
    limit: usize,
) -> Result<Vec<u8>> {
    decoded.map_err(|cause| match cause.status {
        TINFLStatus::HasMoreOutput => too_long(limit),
        status => Error::corruption("a block is not what deflate writes")
            .found(format_args!("{status:?}")),
    })
}

#[cold]
fn too_long(limit: usize) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        "a block is longer than the limit for decoded blocks",
    )
    .expected(format_args!("at most {limit} bytes"))
}

/// Encodes a block. Returns the codec's id and, unless the block is stored as it is, the bytes.
pub(crate) fn encode(codec: Codec, raw: &[u8]) -> (u8, Option<Vec<u8>>) {
    if codec == Codec::None {
        return (0, None);
    }
    let encoded = snap::raw::Encoder::new().compress_vec(raw).ok();
    let worthwhile = |encoded: &Vec<u8>| encoded.len() < raw.len().saturating_sub(raw.len() / 8);
    match encoded.filter(worthwhile) {
        Some(encoded) => (1, Some(encoded)),
        None => (0, None),
    }
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};

    use super::*;

    fn text() -> Vec<u8> {
        b"stone upon stone, ".repeat(500)
    }

    fn stored() -> Vec<(u8, Vec<u8>)> {
        let raw = text();
        let frame = zstd::bulk::compress(&raw, 3).unwrap();
        vec![
            (0, raw.clone()),
            (1, encode(Codec::Snappy, &raw).1.unwrap()),
            (2, frame.clone()),
            (2, compress_to_vec_zlib(&raw, 6)),
            (3, frame),
            (4, compress_to_vec(&raw, 6)),
        ]
    }

    #[test]
    fn every_codec_comes_back() {
        for (id, stored) in stored() {
            assert_eq!(
                decode(id, stored, DECODED_BYTES_MAX).unwrap(),
                text(),
                "codec {id}"
            );
        }
        for (id, stored) in stored() {
            assert!(may_begin(id, &stored), "codec {id}");
            assert!(id == 0 || !may_begin(id, &[0xff; 40]), "codec {id}");
        }
        for level in [0, 1, 9] {
            // The other headers that zlib writes.
            let stored = compress_to_vec_zlib(&text(), level);
            assert!(may_begin(2, &stored) && may_begin(4, &stored[2..]));
            assert_eq!(decode(2, stored, DECODED_BYTES_MAX).unwrap(), text());
        }
    }

    #[test]
    fn damaged_contents_are_errors_or_other_contents() {
        for (id, stored) in stored() {
            for at in 0..stored.len() {
                let mut damaged = stored.clone();
                damaged[at] ^= 0x10;
                let _ = decode(id, damaged, 1 << 20);
                let _ = decode(id, stored[..at].to_vec(), 1 << 20);
            }
        }
        assert_eq!(
            decode(5, text(), 0).unwrap_err().kind(),
            ErrorKind::NotSupported
        );
        assert_eq!(
            decode(3, text(), 0).unwrap_err().kind(),
            ErrorKind::Corruption
        );
    }

    #[test]
    fn a_small_block_cannot_claim_much_memory() {
        // 1 GiB, by Snappy's header alone.
        let claim = [0x80, 0x80, 0x80, 0x80, 0x04, 0];
        assert_eq!(
            decode(1, claim.to_vec(), 0).unwrap_err().kind(),
            ErrorKind::Corruption
        );
        let zeros = vec![0; 4 << 20];
        let bombs = [
            (2, compress_to_vec_zlib(&zeros, 9)),
            (4, compress_to_vec(&zeros, 9)),
            (2, zstd::bulk::compress(&zeros, 3).unwrap()),
        ];
        for (id, bomb) in bombs {
            assert!(decode(id, bomb.clone(), 1 << 20).is_err(), "codec {id}");
            assert_eq!(decode(id, bomb, 4 << 20).unwrap(), zeros, "codec {id}");
        }
    }

    #[test]
    fn blocks_that_do_not_shrink_are_stored_as_they_are() {
        let noise = crate::golden::Noise::new(5).bytes(4096);
        assert_eq!(encode(Codec::Snappy, &noise), (0, None));
        assert_eq!(encode(Codec::None, &text()), (0, None));
        assert_eq!(encode(Codec::Snappy, &text()).0, 1);
    }
}
