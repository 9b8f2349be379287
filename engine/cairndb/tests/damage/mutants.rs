//! The kinds of damage, and their random generation.

use cairndb::env::random::Random;

use crate::images::{Files, Image};
use crate::reseal::reseal;

const BLOCK: usize = 4096;

/// One mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    Byte {
        file: String,
        at: usize,
        to: u8,
    },
    Truncate {
        file: String,
        len: usize,
    },
    Append {
        file: String,
        len: usize,
    },
    /// A block of 4 KiB is replaced by zeros, ones or noise.
    Block {
        file: String,
        at: usize,
        fill: Option<u8>,
    },
    /// Two blocks of 4 KiB are swapped.
    Swap {
        one: (String, usize),
        other: (String, usize),
    },
    /// A file is replaced by an earlier version, as if the last write to it had been lost.
    Older {
        which: usize,
    },
    Delete {
        file: String,
    },
    Copy {
        from: String,
        to: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// A byte is changed and its checksum repaired.
    Resealed {
        file: String,
        at: usize,
        to: u8,
    },
    /// `CURRENT` has these contents.
    Current {
        text: Vec<u8>,
    },
}

impl Damage {
    /// Returns whether bytes of `name` were changed in place.
    pub(crate) fn is_within(&self, name: &str) -> bool {
        match self {
            Damage::Byte { file, .. }
            | Damage::Block { file, .. }
            | Damage::Truncate { file, .. }
            | Damage::Append { file, .. } => file == name,
            Damage::Swap { one, other } => one.0 == name || other.0 == name,
            _ => false,
        }
    }
}

/// A damaged image. The seed also determines the further checks on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) damage: Damage,
    pub(crate) seed: u64,
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len)
        .map(|_| random.next_u64().to_le_bytes()[0])
        .collect()
}

/// Returns the range of block `at`. The last one may be shorter.
fn block(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = (at * BLOCK).min(bytes.len());
    start..(start + BLOCK).min(bytes.len())
}

impl Mutant {
    /// Returns the damaged files, or `None` if nothing changed.
    pub(crate) fn files(&self, image: &Image) -> Option<Files> {
        let mut files = image.files.clone();
        self.apply(image, &mut files)?;
        (files != image.files).then_some(files)
    }

    fn apply(&self, image: &Image, files: &mut Files) -> Option<()> {
        match &self.damage {
            Damage::Byte { file, at, to } => *files.get_mut(file)?.get_mut(*at)? = *to,
            Damage::Truncate { file, len } => files.get_mut(file)?.truncate(*len),
            Damage::Append { file, len } => {
                files.get_mut(file)?.extend(noise(self.seed, *len));
            }
            Damage::Block { file, at, fill } => {
                let bytes = files.get_mut(file)?;
                let range = block(bytes, *at);
                let new = match fill {
                    Some(byte) => vec![*byte; range.len()],
                    None => noise(self.seed, range.len()),
                };
                bytes[range].copy_from_slice(&new);
            }
            Damage::Swap { one, other } => {
                let take = |(file, at): &(String, usize)| {
                    let bytes = files.get(file)?;
                    let range = block(bytes, *at);
                    (range.len() == BLOCK).then(|| bytes[range].to_vec())
                };
                let (first, second) = (take(one)?, take(other)?);
                for ((file, at), new) in [(one, second), (other, first)] {
                    files.get_mut(file)?[at * BLOCK..(at + 1) * BLOCK].copy_from_slice(&new);
                }
            }
            Damage::Older { which } => {
                let (name, bytes) = image.older.get(*which)?;
                files.insert(name.clone(), bytes.clone());
            }
            Damage::Delete { file } => drop(files.remove(file)?),
            Damage::Copy { from, to } => {
                let bytes = files.get(from)?.clone();
                files.insert(to.clone(), bytes);
            }
            Damage::Rename { from, to } => {
                let bytes = files.remove(from)?;
                files.insert(to.clone(), bytes);
            }
            Damage::Resealed { file, at, to } => {
                *files.get_mut(file)?.get_mut(*at)? = *to;
                reseal(files, file, *at).then_some(())?;
            }
            Damage::Current { text } => {
                files.insert("CURRENT".to_owned(), text.clone());
            }
        }
        Some(())
    }
}

/// Returns whether a cleanly closed database depends on `file`.
pub(crate) fn is_named(file: &str) -> bool {
    file == "CURRENT"
        || ["MANIFEST", ".tbl", ".val"]
            .iter()
            .any(|part| file.contains(part))
}

/// Changes each byte of each file that `image` depends on `1 + more` times.
pub(crate) fn every_byte(image: &Image, more: u64) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (file, bytes) in image.files.iter().filter(|(file, _)| is_named(file)) {
        for (at, old) in bytes.iter().enumerate() {
            for round in 0..=more.min(8) {
                let mut random = Random::new((at as u64) << 8 | round);
                let to = other(*old, &mut random);
                let damage = Damage::Byte {
                    file: file.clone(),
                    at,
                    to,
                };
                mutants.push(Mutant {
                    damage,
                    seed: at as u64,
                });
            }
        }
    }
    mutants
}

/// Returns a byte other than `old`: one bit flipped, 00, FF, or one higher.
fn other(old: u8, random: &mut Random) -> u8 {
    let new = match random.below(11) {
        0 => 0,
        1 => 0xff,
        2 => old.wrapping_add(1),
        bit => old ^ (1 << (bit % 8)),
    };
    if new == old { old ^ 1 } else { new }
}

/// Draws invalid contents of `CURRENT`, or valid ones that name no manifest.
fn current(random: &mut Random) -> Vec<u8> {
    const TEXTS: [&str; 20] = [
        "",
        "\n",
        "MANIFEST-",
        "MANIFEST-\n",
        "MANIFEST-1\n",
        "MANIFEST-000001",
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
    match random.below(3) {
        0 => noise(random.next_u64(), random.index(40)),
        1 => format!("MANIFEST-{:06}\n", random.below(40)).into_bytes(),
        _ => TEXTS[random.index(TEXTS.len())].as_bytes().to_vec(),
    }
}

/// Draws a file. Important files are more likely.
fn file(image: &Image, random: &mut Random) -> String {
    let names: Vec<&String> = image.files.keys().collect();
    for _ in 0..4 {
        let name = names[random.index(names.len())];
        if is_named(name) || (!image.clean && name.ends_with(".log")) {
            return name.clone();
        }
    }
    names[random.index(names.len())].clone()
}

/// Draws an offset in a file, usually in its written part.
fn place(bytes: &[u8], random: &mut Random) -> usize {
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |last| last + 1);
    match random.below(10) {
        0 => random.index(bytes.len().max(1)),
        1 => random.index(used.min(600)),
        _ => random.index(used),
    }
}

/// Draws the name of a file that may or may not exist.
fn some_name(image: &Image, random: &mut Random) -> String {
    let number = random.below(60);
    match random.below(6) {
        0 => format!("{number:06}.tbl"),
        1 => format!("{number:06}.log"),
        2 => format!("{number:06}.val"),
        3 => format!("MANIFEST-{number:06}"),
        4 => ["CURRENT", "000001.tmp", "LOCK", "18446744073709551615.tbl"][random.index(4)]
            .to_owned(),
        _ => file(image, random),
    }
}

/// Returns the mutant of `seed`, and its image.
pub(crate) fn draw(images: &[Image], seed: u64) -> (&Image, Mutant) {
    let mut random = Random::new(seed.wrapping_mul(0xD129_0669_2F5B_4F1D));
    let random = &mut random;
    let image = &images[random.index(images.len())];
    let name = file(image, random);
    let bytes = &image.files[&name];
    let blocks = bytes.len().div_ceil(BLOCK).max(1);
    let damage = match random.below(100) {
        0..45 if !bytes.is_empty() => {
            let at = place(bytes, random);
            Damage::Byte {
                file: name,
                at,
                to: other(bytes[at], random),
            }
        }
        45..57 => Damage::Truncate {
            len: place(bytes, random),
            file: name,
        },
        57..59 => Damage::Append {
            file: name,
            len: 1 + random.index(5_000),
        },
        59..63 => {
            let fill = [Some(0), Some(0xff), None][random.index(3)];
            Damage::Block {
                file: name,
                at: random.index(blocks),
                fill,
            }
        }
        63..68 => {
            let other = file(image, random);
            let others = image.files[&other].len().div_ceil(BLOCK).max(1);
            Damage::Swap {
                one: (name, random.index(blocks)),
                other: (other, random.index(others)),
            }
        }
        68..71 => Damage::Older {
            which: random.index(image.older.len().max(1)),
        },
        71..73 => Damage::Delete { file: name },
        73..76 => Damage::Copy {
            from: name,
            to: some_name(image, random),
        },
        76..79 => Damage::Rename {
            from: name,
            to: some_name(image, random),
        },
        79..81 => Damage::Current {
            text: current(random),
        },
        _ if !bytes.is_empty() => {
            let at = place(bytes, random);
            let to = if random.below(2) == 0 {
                other(bytes[at], random)
            } else {
                random.next_u64().to_le_bytes()[0]
            };
            Damage::Resealed { file: name, at, to }
        }
        _ => Damage::Delete { file: name },
    };
    (image, Mutant { damage, seed })
}
