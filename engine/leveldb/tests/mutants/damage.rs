//! One change to one file, and mending the checksums after it.

use cairndb_kernel::crc32c;
use cairndb_leveldb::FileName;

use crate::images::{Files, Image};
use crate::noise::Noise;

/// What a damage without mended checksums may lead to besides an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// All contents.
    NoneOrError,
    /// The contents after some batch.
    Prefix,
    /// All contents, or others if the reader reports a torn manifest.
    TornManifest,
    /// Pairs that were written: whole records may have vanished or come twice.
    Written,
}

/// What was changed.
#[derive(Debug)]
#[expect(dead_code, reason = "for the message of a failure")]
pub(crate) struct Damage {
    file: String,
    at: usize,
    change: &'static str,
    pub(crate) effect: Effect,
    pub(crate) mended: bool,
}

impl Damage {
    /// Changes one of the files.
    pub(crate) fn draw(image: &Image, files: &mut Files, noise: &mut Noise) -> Damage {
        let (name, bytes) = loop {
            let number = noise.below(files.len());
            let (name, bytes) = files.iter_mut().nth(number).unwrap();
            if !bytes.is_empty() {
                break (name.clone(), bytes);
            }
        };
        let at = noise.below(bytes.len());
        let change = change(bytes, at, noise);
        let is_log = matches!(FileName::parse(&name), Some(FileName::Log(_)));
        // A crash cuts the newest log, and nothing else.
        let moves = match change {
            "cut" => name != "000021.log",
            change => matches!(change, "remove" | "repeat"),
        };
        let effect = match () {
            () if moves && (is_log || name.starts_with("MANIFEST")) => Effect::Written,
            () if is_log => Effect::Prefix,
            () if name.starts_with("MANIFEST") => Effect::TornManifest,
            () => Effect::NoneOrError,
        };
        let mended = noise.below(2) == 0 && name != "CURRENT";
        if mended {
            match image.blocks.get(&name) {
                Some(blocks) => mend_table(bytes, blocks),
                None => mend_log(bytes),
            }
        }
        Damage {
            file: name,
            at,
            change,
            effect,
            mended,
        }
    }
}

/// Changes the bytes at one place, and returns how.
fn change(bytes: &mut Vec<u8>, at: usize, noise: &mut Noise) -> &'static str {
    let len = noise.pick(&[1, 2, 4, 8, 40, 300]).min(bytes.len() - at);
    match noise.below(10) {
        0 | 1 => {
            bytes[at] ^= 1 << noise.below(8);
            "bit"
        }
        2 | 3 => {
            // A change in any case.
            bytes[at] = bytes[at].wrapping_add(noise.byte().max(1));
            "byte"
        }
        4 => {
            let fill = noise.pick(&[0, 0xff, 1, 0x80]);
            bytes[at..at + len].fill(fill);
            "fill"
        }
        5 => {
            let random = noise.bytes(len);
            bytes[at..at + len].copy_from_slice(&random);
            "noise"
        }
        6 => {
            // A length that is larger than any file.
            let huge = [0xff, 0xff, 0xff, 0xff, noise.pick(&[0x0f, 0xff])];
            let len = huge.len().min(bytes.len() - at);
            bytes[at..at + len].copy_from_slice(&huge[..len]);
            "length"
        }
        7 => {
            bytes.truncate(at);
            "cut"
        }
        8 => {
            bytes.drain(at..at + len);
            "remove"
        }
        _ => {
            let repeated = bytes[at..at + len].to_vec();
            bytes.splice(at..at, repeated);
            "repeat"
        }
    }
}

/// The checksum as LevelDB stores it.
pub(crate) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Mends the checksum of each block, as far as the blocks are still where they were.
fn mend_table(bytes: &mut [u8], blocks: &[usize]) {
    for bounds in blocks.windows(2) {
        let (start, end) = (bounds[0], bounds[1]);
        if end <= bytes.len() {
            let checksum = masked(&bytes[start..end - 4]);
            bytes[end - 4..end].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Mends the checksum of each piece, as far as the lengths lead.
fn mend_log(bytes: &mut [u8]) {
    for block in bytes.chunks_mut(32 << 10) {
        let mut at = 0;
        while at + 7 <= block.len() {
            let end = at + 7 + usize::from(u16::from_le_bytes([block[at + 4], block[at + 5]]));
            if end > block.len() {
                break;
            }
            let checksum = masked(&block[at + 6..end]);
            block[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
            at = end;
        }
    }
}
