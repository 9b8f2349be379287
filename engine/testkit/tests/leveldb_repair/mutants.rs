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
    /// The last 48 bytes of a table: its index cannot be found.
    Footer,
    Missing,
    Older,
    Current,
    NoManifest,
    Obsolete,
}

const KINDS: [Kind; 9] = [
    Kind::Flip,
    Kind::Zero,
    Kind::Truncate,
    Kind::Footer,
    Kind::Missing,
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
    pub(crate) damaged: BTreeMap<String, Vec<Range<usize>>>,
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

    pub(crate) fn hits_kind(&self, part: &str) -> bool {
        self.damaged.keys().any(|name| name.contains(part))
    }

    /// Adds to the description.
    fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn note(&mut self, file: &str, range: Range<usize>) {
        self.say(&format!(" {file}@{range:?}"));
        self.damaged.entry(file.to_owned()).or_default().push(range);
    }

    fn apply(&mut self, kind: Kind, image: &Image, random: &mut Random) {
        self.kinds.push(kind);
        self.say(&format!(" {kind:?}"));
        match kind {
            Kind::Flip | Kind::Zero | Kind::Truncate | Kind::Footer => self.change(kind, random),
            Kind::Missing => {
                let name = pick(&self.files, random, |_| true);
                self.files.remove(&name);
                self.note(&name, 0..usize::MAX);
            }
            Kind::Older => {
                let there = |(name, _): &&(String, Vec<u8>)| self.files.contains_key(name);
                let same: Vec<_> = image.older.iter().filter(there).collect();
                if !same.is_empty() {
                    let (name, bytes) = same[random.index(same.len())];
                    self.files.insert(name.clone(), bytes.clone());
                    self.note(name, 0..usize::MAX);
                }
            }
            Kind::Current => {
                let texts: [&[u8]; 3] = [b"", b"MANIFEST-0000", &[0; 16]];
                let text = texts[random.index(texts.len())];
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
                for (name, bytes) in &image.older {
                    if name.ends_with(".ldb") && !image.files.contains_key(name) {
                        self.files.insert(name.clone(), bytes.clone());
                    }
                }
            }
        }
    }

    fn change(&mut self, kind: Kind, random: &mut Random) {
        let wanted = |name: &str| kind != Kind::Footer || name.ends_with(".ldb");
        let name = pick(&self.files, random, wanted);
        let Some(bytes) = self.files.get_mut(&name).filter(|bytes| bytes.len() > 48) else {
            return;
        };
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
            Kind::Footer => {
                let start = bytes.len() - 48;
                bytes[start..].fill(0);
                start..usize::MAX
            }
            _ => {
                bytes.truncate(at);
                at..usize::MAX
            }
        };
        self.note(&name, range);
    }
}

fn pick(files: &Files, random: &mut Random, wanted: impl Fn(&str) -> bool) -> String {
    let names: Vec<&String> = files.keys().filter(|name| wanted(name)).collect();
    if names.is_empty() {
        return String::new();
    }
    let tables: Vec<&&String> = names.iter().filter(|name| name.ends_with(".ldb")).collect();
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
        text: String::new(),
    };
    for _ in 0..=u64::from(random.below(3) == 0) {
        let kind = KINDS[random.index(KINDS.len())];
        mutant.apply(kind, image, &mut random);
    }
    mutant
}
