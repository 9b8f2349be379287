//! The kinds of damage. Each records which bytes of which file it changed.

use std::collections::BTreeMap;
use std::ops::Range;

use cairndb::env::random::Random;

use crate::images::{Files, Image};

const BLOCK: usize = 4096;

/// The kinds of damage, for the table of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Flip,
    Zero,
    Truncate,
    Missing,
    Swapped,
    Older,
    Current,
    NoManifest,
    Obsolete,
}

const KINDS: [Kind; 9] = [
    Kind::Flip,
    Kind::Zero,
    Kind::Truncate,
    Kind::Missing,
    Kind::Swapped,
    Kind::Older,
    Kind::Current,
    Kind::NoManifest,
    Kind::Obsolete,
];

/// A damaged copy of an image.
#[derive(Debug)]
pub(crate) struct Mutant {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) files: Files,
    /// Damaged ranges of the image's files; the whole file if it is missing or replaced.
    pub(crate) damaged: BTreeMap<String, Vec<Range<usize>>>,
    /// For files whose contents were swapped: the file in the image that had them.
    origins: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl Mutant {
    /// Returns whether any byte of `range` in `file` is damaged.
    pub(crate) fn hits(&self, file: &str, range: &Range<usize>) -> bool {
        let ranges = self.damaged.get(file).into_iter().flatten();
        ranges
            .into_iter()
            .any(|hit| hit.start < range.end && range.start < hit.end)
    }

    /// Returns whether a file with this ending is damaged.
    pub(crate) fn hits_kind(&self, ending: &str) -> bool {
        self.damaged.keys().any(|name| name.ends_with(ending))
    }

    pub(crate) fn hits_manifest(&self) -> bool {
        self.damaged.keys().any(|name| name.starts_with("MANIFEST"))
    }

    /// Adds to the description.
    fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn note(&mut self, file: &str, range: Range<usize>) {
        self.say(&format!(" {file}@{range:?}"));
        let origin = self.origins.get(file).map_or(file, |origin| origin);
        let hits = self.damaged.entry(origin.to_owned()).or_default();
        hits.push(range);
    }

    fn apply(&mut self, kind: Kind, image: &Image, random: &mut Random) {
        self.kinds.push(kind);
        self.say(&format!(" {kind:?}"));
        match kind {
            Kind::Flip | Kind::Zero | Kind::Truncate => self.change(kind, random),
            Kind::Missing => {
                let name = pick(&self.files, random, |name| name != "LOCK");
                self.files.remove(&name);
                self.note(&name, 0..usize::MAX);
            }
            Kind::Swapped => self.swap(random),
            Kind::Older => {
                let older: Vec<_> = image.older.iter().collect();
                let same: Vec<_> = older
                    .iter()
                    .filter(|(name, _)| self.files.contains_key(name))
                    .collect();
                if !same.is_empty() {
                    let (name, bytes) = same[random.index(same.len())];
                    self.files.insert(name.clone(), bytes.clone());
                    self.note(name, 0..usize::MAX);
                }
            }
            Kind::Current => {
                let text: &[u8] = match random.below(5) {
                    0 => b"",
                    1 => b"MANIFEST-000001\n",
                    2 => b"MANIFEST-0000",
                    3 => &[0; 16],
                    _ => b"MANIFEST-9\n\n",
                };
                self.files.insert("CURRENT".to_owned(), text.to_vec());
                self.note("CURRENT", 0..usize::MAX);
            }
            Kind::NoManifest => {
                let names: Vec<String> = self.files.keys().cloned().collect();
                for name in names.iter().filter(|name| name.starts_with("MANIFEST")) {
                    self.files.remove(name);
                    self.note(name, 0..usize::MAX);
                }
            }
            Kind::Obsolete => {
                let gone: Vec<_> = image
                    .older
                    .iter()
                    .filter(|(name, _)| name.ends_with(".tbl") && !image.files.contains_key(name))
                    .collect();
                for (name, bytes) in gone {
                    self.files.insert(name.clone(), bytes.clone());
                    self.say(&format!(" +{name}"));
                }
            }
        }
    }

    fn change(&mut self, kind: Kind, random: &mut Random) {
        let name = pick(&self.files, random, |name| name != "LOCK");
        let bytes = self.files.get_mut(&name).unwrap();
        if bytes.is_empty() {
            return;
        }
        let at = random.index(bytes.len());
        let range = match kind {
            Kind::Flip => {
                bytes[at] ^= 1 << random.below(8);
                at..at + 1
            }
            Kind::Zero => {
                let start = at / BLOCK * BLOCK;
                let end = (start + BLOCK).min(bytes.len());
                bytes[start..end].fill(0);
                start..end
            }
            _ => {
                bytes.truncate(at);
                at..usize::MAX
            }
        };
        self.note(&name, range);
    }

    /// Exchanges the contents of two files of one kind.
    fn swap(&mut self, random: &mut Random) {
        let endings = [".tbl", ".log", ".val"];
        let ending = endings[random.index(endings.len())];
        let names: Vec<String> = self
            .files
            .keys()
            .filter(|name| name.ends_with(ending))
            .cloned()
            .collect();
        if names.len() < 2 {
            return;
        }
        let one = random.index(names.len());
        let other = (one + 1 + random.index(names.len() - 1)) % names.len();
        let bytes = self.files[&names[one]].clone();
        let bytes = self.files.insert(names[other].clone(), bytes).unwrap();
        self.files.insert(names[one].clone(), bytes);
        let origin = |name: &String| self.origins.get(name).unwrap_or(name).clone();
        let (first, second) = (origin(&names[one]), origin(&names[other]));
        // What was damaged before is found under the name of its origin.
        self.origins.insert(names[one].clone(), second);
        self.origins.insert(names[other].clone(), first);
        self.say(&format!(" {} <-> {}", names[one], names[other]));
    }
}

fn pick(files: &Files, random: &mut Random, wanted: impl Fn(&str) -> bool) -> String {
    let names: Vec<&String> = files.keys().filter(|name| wanted(name)).collect();
    // Tables are most of a database, so they are half of the files that are hit.
    let tables: Vec<&&String> = names.iter().filter(|name| name.ends_with(".tbl")).collect();
    if random.below(2) == 0 && !tables.is_empty() {
        return (*tables[random.index(tables.len())]).clone();
    }
    names[random.index(names.len())].clone()
}

/// Returns the damaged copy of `seed`.
pub(crate) fn draw(image: &Image, seed: u64) -> Mutant {
    let mut random = Random::new(seed);
    let mut mutant = Mutant {
        kinds: Vec::new(),
        files: image.files.clone(),
        damaged: BTreeMap::new(),
        origins: BTreeMap::new(),
        text: String::new(),
    };
    let count = 1 + u64::from(random.below(3) == 0);
    for _ in 0..count {
        let kind = KINDS[random.index(KINDS.len())];
        mutant.apply(kind, image, &mut random);
    }
    mutant
}
