//! The kinds of damage, and the places and bytes they draw.

use std::ops::Range;

use cairndb_env::random::Random;

/// A page of a table of ours, and the unit in which disks lose data.
const BLOCK: usize = 4096;

/// One change of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A byte is changed, mostly by one bit.
    Byte,
    /// Up to 300 bytes are replaced by one value or by noise.
    Fill,
    /// Five bytes are replaced by a length that is larger than any file.
    Length,
    /// A block of 4 KiB is replaced by one value or by noise.
    Block,
    /// Two blocks of 4 KiB, which may be in different files, are swapped.
    Swap,
    /// A file is cut.
    Truncate,
    /// Noise is appended to a file.
    Append,
    /// Up to 300 bytes are removed, so that the following bytes move.
    Remove,
    /// Up to 300 bytes come twice, so that the following bytes move.
    Repeat,
    /// The last 48 bytes of a table, LevelDB's footer, are zeros: its index cannot be found.
    Footer,
    /// A file is missing.
    Delete,
    /// A file also has another name, which may have been that of another file.
    Copy,
    /// A file has another name.
    Rename,
    /// The contents of two files of one type are exchanged.
    Exchange,
    /// A file has earlier contents, as if the last write to it had been lost.
    Older,
    /// Tables that have been removed are there again.
    Obsolete,
    /// `CURRENT` is invalid, or names another manifest.
    Current,
    /// All manifests are missing.
    NoManifest,
}

/// Mutations, each with its weight, and with the weight of those with mended checksums.
pub type Mix = &'static [(Kind, u64, u64)];

/// Draws a mutation, and whether checksums are mended after it.
pub(super) fn draw(mix: Mix, random: &mut Random) -> (Kind, bool) {
    let mut left = random.below(mix.iter().map(|(_, plain, mended)| plain + mended).sum());
    for (kind, plain, mended) in mix {
        if left < plain + mended {
            return (*kind, left >= *plain);
        }
        left -= plain + mended;
    }
    unreachable!("the number is below the sum")
}

impl Kind {
    /// Returns whether it changes bytes of files, not files as a whole.
    pub fn is_in_place(self) -> bool {
        self < Kind::Delete
    }

    /// Changes `bytes` at `at`. Returns the range of the earlier bytes that is damaged.
    pub(super) fn change(
        self,
        bytes: &mut Vec<u8>,
        at: usize,
        random: &mut Random,
    ) -> Range<usize> {
        let some = [1, 2, 4, 8, 40, 300][random.index(6)].min(bytes.len() - at);
        let range = at..at + some;
        match self {
            Kind::Byte => {
                bytes[at] = other(bytes[at], random);
                at..at + 1
            }
            Kind::Length => {
                let huge = [0xff, 0xff, 0xff, 0xff, [0x0f, 0xff][random.index(2)]];
                let len = huge.len().min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&huge[..len]);
                at..at + len
            }
            Kind::Block => {
                let block = block(at, bytes.len());
                fill(bytes, block, random)
            }
            Kind::Footer => {
                let start = bytes.len().saturating_sub(48);
                bytes[start..].fill(0);
                start..usize::MAX
            }
            Kind::Truncate => {
                bytes.truncate(at);
                at..usize::MAX
            }
            Kind::Append => {
                let end = bytes.len();
                let len = 1 + random.index(5_000);
                bytes.extend(noise(random, len));
                end..usize::MAX
            }
            Kind::Remove => {
                bytes.drain(range);
                at..usize::MAX
            }
            Kind::Repeat => {
                let again = bytes[range].to_vec();
                bytes.splice(at..at, again);
                at..usize::MAX
            }
            _ => fill(bytes, range, random),
        }
    }
}

/// Returns the range of the block around `at` in a file of `len` bytes. The last may be shorter.
pub(super) fn block(at: usize, len: usize) -> Range<usize> {
    let start = at / BLOCK * BLOCK;
    start..(start + BLOCK).min(len)
}

fn fill(bytes: &mut [u8], range: Range<usize>, random: &mut Random) -> Range<usize> {
    match [Some(0), Some(0xff), Some(1), Some(0x80), None][random.index(5)] {
        Some(byte) => bytes[range.clone()].fill(byte),
        None => bytes[range.clone()].copy_from_slice(&noise(random, range.len())),
    }
    range
}

pub(super) fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    let byte = |_| random.next_u64().to_le_bytes()[0];
    (0..len).map(byte).collect()
}

/// Returns a byte other than `old`: mostly one bit flipped, or 00, FF, one higher, or any.
fn other(old: u8, random: &mut Random) -> u8 {
    let new = match random.below(13) {
        0 => 0,
        1 => 0xff,
        2 => old.wrapping_add(1),
        3 | 4 => random.next_u64().to_le_bytes()[0],
        bit => old ^ (1 << (bit % 8)),
    };
    if new == old { old ^ 1 } else { new }
}

/// Draws an offset in a file, usually in its written part.
pub(super) fn place(bytes: &[u8], random: &mut Random) -> usize {
    let last = bytes.iter().rposition(|byte| *byte != 0);
    let used = last.map_or(1, |last| last + 1);
    match random.below(10) {
        0 => random.index(bytes.len().max(1)),
        1 => random.index(used.min(600)),
        _ => random.index(used),
    }
}

/// Draws invalid contents of `CURRENT`, or valid ones that name some manifest.
pub(super) fn current(random: &mut Random) -> Vec<u8> {
    const TEXTS: [&str; 23] = [
        "",
        "\n",
        "MANIFEST-",
        "MANIFEST-\n",
        "MANIFEST-1\n",
        "MANIFEST-9\n\n",
        "MANIFEST-0000",
        "MANIFEST-000001",
        "MANIFEST-000001\n",
        "MANIFEST-000001\r\n",
        "MANIFEST-000001\n\n",
        " MANIFEST-000001\n",
        "MANIFEST-000001 \n",
        "manifest-000001\n",
        "../MANIFEST-000001\n",
        "MANIFEST-../../etc/passwd\n",
        "/etc/passwd\n",
        "CURRENT\n",
        "LOCK\n",
        "MANIFEST-99999999999999999999\n",
        "MANIFEST-18446744073709551615\n",
        "MANIFEST-0x0001\n",
        "MANIFEST-000001\0\n",
    ];
    let len = random.index(40);
    match random.below(8) {
        0 => vec![0; 16],
        1..3 => noise(random, len),
        3..5 => format!("MANIFEST-{len:06}\n").into_bytes(),
        _ => TEXTS[random.index(TEXTS.len())].as_bytes().to_vec(),
    }
}

/// Draws the name of a file that may or may not exist.
pub(super) fn some_name(random: &mut Random) -> String {
    let number = random.below(60);
    match random.below(9) {
        0..2 => format!("{number:06}.tbl"),
        2 => format!("{number:06}.ldb"),
        3..5 => format!("{number:06}.log"),
        5 => format!("{number:06}.val"),
        6 | 7 => format!("MANIFEST-{number:06}"),
        _ => {
            let names = ["CURRENT", "000001.tmp", "LOCK", "18446744073709551615.tbl"];
            names[random.index(names.len())].to_owned()
        }
    }
}
