//! Mutants, which know what of them is damaged, and the subjects that are to survive them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use cairndb_env::random::Random;

use super::files::Files;
use super::kind::{Kind, Mix, block, current, draw, place, some_name};
use super::model::{Image, Place};

/// Counts of what happened to mutants, by name.
pub type Tally = BTreeMap<&'static str, u64>;

/// A reader or a repair that is to survive damage.
pub trait Subject: Sync {
    /// The mutations from which a mutant is drawn.
    fn mix(&self) -> Mix;

    /// Returns whether a third of the mutants have a second change.
    fn has_pairs(&self) -> bool {
        false
    }

    /// Mends the checksums after a change at `at` of file `name`. Returns `false` if there is none
    /// to be mended.
    fn mend(&self, image: &Image, files: &mut Files, name: &str, at: usize) -> bool;

    /// Opens, reads or repairs a mutant, and judges the outcome by the model.
    ///
    /// # Errors
    /// The promise that was broken.
    fn judge(&self, image: &Image, mutant: &Mutant, tally: &mut Tally) -> Result<(), String>;
}

/// A damaged copy of an image.
#[derive(Clone, Debug, Default)]
pub struct Mutant {
    /// The seed, which also determines the further checks.
    pub seed: u64,
    /// What was done.
    pub kinds: Vec<Kind>,
    /// Whether checksums over damage are mended.
    pub mended: bool,
    /// The damaged files.
    pub files: Files,
    /// Damaged ranges of the image's files; everything if a file is missing or replaced.
    pub damaged: BTreeMap<String, Vec<Range<usize>>>,
    /// For files whose contents were exchanged: the file in the image that had them.
    origins: BTreeMap<String, String>,
    text: String,
}

/// Returns whether a file is a log.
fn is_log(name: &str) -> bool {
    name.contains(".log")
}

/// Returns whether a file is a table, whose names end differently in our directories and LevelDB's.
fn is_table(name: &str) -> bool {
    name.contains(".tbl") || name.contains(".ldb")
}

impl Mutant {
    /// Returns the damaged copy of `seed`.
    pub fn draw(subject: &impl Subject, image: &Image, seed: u64) -> Mutant {
        let mut random = Random::new(seed.wrapping_mul(0xD129_0669_2F5B_4F1D));
        let mut mutant = Mutant::of(image, seed);
        let is_pair = subject.has_pairs() && random.below(3) == 0;
        for _ in 0..=u64::from(is_pair) {
            let (kind, mended) = draw(subject.mix(), &mut random);
            mutant.kinds.push(kind);
            let _ = write!(mutant.text, " {kind:?}");
            let changed = if kind.is_in_place() {
                mutant.change(kind, image, &mut random)
            } else {
                mutant.change_files(kind, image, &mut random);
                None
            };
            if let Some((name, range)) = changed.filter(|_| mended) {
                mutant.mended |= subject.mend(image, &mut mutant.files, &name, range.start);
                mutant.text += if mutant.mended {
                    " mended"
                } else {
                    " (not mended)"
                };
            }
        }
        mutant
    }

    /// Returns a copy of which the byte at `at` of `file` is changed.
    pub fn of_byte(image: &Image, file: &str, at: usize, seed: u64) -> Mutant {
        let mut mutant = Mutant::of(image, seed);
        mutant.kinds.push(Kind::Byte);
        if let Some(bytes) = mutant.files.get_mut(file) {
            let range = Kind::Byte.change(bytes, at, &mut Random::new(seed));
            mutant.note(file, range);
        }
        mutant
    }

    fn of(image: &Image, seed: u64) -> Mutant {
        Mutant {
            seed,
            files: image.files.clone(),
            ..Mutant::default()
        }
    }

    /// Returns a description.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name under which the mutant is counted.
    pub(super) fn kinds_text(&self) -> String {
        match self.kinds[..] {
            [kind] if self.mended => format!("{kind:?}, mended"),
            [kind] => format!("{kind:?}"),
            _ => "two kinds".to_owned(),
        }
    }

    /// Returns whether any byte of `range` in `file` is damaged.
    pub fn hits(&self, (file, range): &Place) -> bool {
        let mut ranges = self.damaged.get(file).into_iter().flatten();
        ranges.any(|hit| hit.start < range.end && range.start < hit.end)
    }

    /// Returns whether a file with this part in its name is damaged.
    pub fn hits_kind(&self, part: &str) -> bool {
        self.damaged.keys().any(|name| name.contains(part))
    }

    fn note(&mut self, file: &str, range: Range<usize>) {
        let _ = write!(self.text, " {file}@{range:?}");
        let origin = self.origins.get(file).map_or(file, |origin| origin);
        let hits = self.damaged.entry(origin.to_owned()).or_default();
        hits.push(range);
    }

    /// Replaces or removes a file.
    fn replace(&mut self, name: &str, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => drop(self.files.insert(name.to_owned(), bytes)),
            None => drop(self.files.remove(name)),
        }
        self.note(name, 0..usize::MAX);
    }

    /// Draws one of the files that are `wanted`. Tables are most of a database, so they are hit
    /// most; what no reader needs is hit least.
    fn pick(&self, image: &Image, random: &mut Random, wanted: fn(&str, &[u8]) -> bool) -> String {
        let is_needed = |name: &str| !(name.starts_with("LO") || image.clean && is_log(name));
        let files = self.files.iter();
        let files = files.filter(|(name, bytes)| wanted(name, bytes));
        let mut names: Vec<&String> = files.map(|(name, _)| name).collect();
        match random.below(8) {
            0 => {}
            1..5 if names.iter().any(|it| is_needed(it)) => names.retain(|it| is_needed(it)),
            _ if names.iter().any(|it| is_table(it)) => names.retain(|it| is_table(it)),
            _ => {}
        }
        match names.len() {
            0 => String::new(),
            len => names[random.index(len)].clone(),
        }
    }

    /// Changes bytes of one file, or of two.
    fn change(&mut self, kind: Kind, image: &Image, random: &mut Random) -> Option<Place> {
        let wanted = match kind {
            Kind::Footer => |name: &str, bytes: &[u8]| !bytes.is_empty() && is_table(name),
            _ => |_: &str, bytes: &[u8]| !bytes.is_empty(),
        };
        let name = self.pick(image, random, wanted);
        let bytes = self.files.get_mut(&name)?;
        let at = place(bytes, random);
        if kind != Kind::Swap {
            let range = kind.change(bytes, at, random);
            self.note(&name, range.clone());
            return Some((name, range));
        }
        let range = block(at, bytes.len());
        let other = self.pick(image, random, wanted);
        let others = &self.files[&other];
        let other_range = block(place(others, random), others.len());
        if range.len() == other_range.len() {
            let (one, two) = (
                self.files[&name][range.clone()].to_vec(),
                others[other_range.clone()].to_vec(),
            );
            for (name, range, bytes) in [(name, range, two), (other, other_range, one)] {
                self.files.get_mut(&name)?[range.clone()].copy_from_slice(&bytes);
                self.note(&name, range);
            }
        }
        None
    }

    /// Removes, replaces or renames files.
    fn change_files(&mut self, kind: Kind, image: &Image, random: &mut Random) {
        let name = self.pick(image, random, |_, _| true);
        match kind {
            Kind::Delete => self.replace(&name, None),
            Kind::Copy | Kind::Rename => {
                let to = match random.below(6) {
                    0 => self.pick(image, random, |_, _| true),
                    _ => some_name(random),
                };
                let bytes = self.files.get(&name).cloned();
                if kind == Kind::Rename {
                    self.replace(&name, None);
                }
                self.replace(&to, bytes);
            }
            Kind::Exchange => self.exchange(random),
            Kind::Older => {
                let older = image.older.iter();
                let same: Vec<_> = older
                    .filter(|(name, _)| self.files.contains_key(name))
                    .collect();
                if !same.is_empty() {
                    let (name, bytes) = same[random.index(same.len())];
                    self.replace(name, Some(bytes.clone()));
                }
            }
            Kind::Obsolete => {
                for (name, bytes) in &image.older {
                    if is_table(name) && !image.files.contains_key(name) {
                        self.files.insert(name.clone(), bytes.clone());
                    }
                }
            }
            Kind::Current => self.replace("CURRENT", Some(current(random))),
            _ => {
                let names: Vec<String> = self.files.keys().cloned().collect();
                for name in names.iter().filter(|name| name.starts_with("MANIFEST")) {
                    self.replace(name, None);
                }
            }
        }
    }

    /// Exchanges the contents of two files of one type.
    fn exchange(&mut self, random: &mut Random) {
        let ending = [".tbl", ".log", ".val", ".ldb"][random.index(4)];
        let names = self.files.keys().filter(|name| name.ends_with(ending));
        let names: Vec<String> = names.cloned().collect();
        if names.len() < 2 {
            return;
        }
        let one = random.index(names.len());
        let other = (one + 1 + random.index(names.len() - 1)) % names.len();
        let (one, other) = (&names[one], &names[other]);
        let bytes = [&self.files[one], &self.files[other]].map(Clone::clone);
        let origin = |name: &String| self.origins.get(name).unwrap_or(name).clone();
        let origins = [origin(one), origin(other)];
        let _ = write!(self.text, " {one} <-> {other}");
        // What was damaged before is found under the name of its origin.
        for ((name, bytes), origin) in [other, one].into_iter().zip(bytes).zip(origins) {
            self.files.insert(name.clone(), bytes);
            self.origins.insert(name.clone(), origin);
        }
    }
}
