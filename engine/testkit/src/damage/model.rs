//! What was written to a directory, and the directory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use cairndb::Options;
use cairndb_base::hash64;

use super::files::Files;

/// Entries in key order.
pub type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Bytes of a file.
pub type Place = (String, Range<usize>);

/// What was written to one key.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The value that the key has; `None` if it was deleted.
    pub now: Option<Vec<u8>>,
    /// Every value that the key ever had.
    pub ever: BTreeSet<Vec<u8>>,
    /// Whether operands were merged into the key.
    pub merged: bool,
}

/// What was written: the history of every key, and of the whole.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The history of every key.
    pub stories: BTreeMap<Vec<u8>, Story>,
    /// The digest of the entries, and the states by theirs.
    digest: u64,
    states: HashMap<u64, usize>,
}

/// Returns a digest whose sum over entries does not depend on their order.
fn digest_of(key: &[u8], value: &[u8]) -> u64 {
    let hashes = [hash64(key).to_le_bytes(), hash64(value).to_le_bytes()];
    hash64(hashes.as_flattened())
}

impl Model {
    fn set(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        let story = self.stories.entry(key.to_vec()).or_default();
        let digest = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, |it| digest_of(key, it));
        self.digest = self.digest.wrapping_sub(digest(&story.now));
        self.digest = self.digest.wrapping_add(digest(&value));
        story.ever.extend(value.clone());
        story.now = value;
    }

    /// Records a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.set(key, Some(value.to_vec()));
    }

    /// Records a deletion.
    pub fn delete(&mut self, key: &[u8]) {
        self.set(key, None);
    }

    /// Records an operand, which is appended to the value.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let story = self.stories.entry(key.to_vec()).or_default();
        story.merged = true;
        let value = [story.now.as_deref().unwrap_or_default(), operand].concat();
        self.set(key, Some(value));
    }

    /// Records that the entries were a state of the whole.
    pub fn commit(&mut self) {
        let place = self.states.len();
        self.states.entry(self.digest).or_insert(place);
    }

    /// Returns the place of a state in the history, if it is one.
    pub fn place_of(&self, entries: &Entries) -> Option<usize> {
        let digests = entries.iter().map(|(key, value)| digest_of(key, value));
        self.states
            .get(&digests.fold(0, u64::wrapping_add))
            .copied()
    }

    /// Returns the place of the last state.
    pub fn last_place(&self) -> Option<usize> {
        self.states.get(&self.digest).copied()
    }

    /// Returns the entries.
    pub fn entries(&self) -> Entries {
        let stories = self.stories.iter();
        let entry = |(key, story): (&Vec<u8>, &Story)| Some((key.clone(), story.now.clone()?));
        stories.filter_map(entry).collect()
    }
}

/// A directory to be damaged.
#[derive(Debug, Default)]
pub struct Image {
    /// Its name in the message of a failure.
    pub name: &'static str,
    /// Its files.
    pub files: Files,
    /// Earlier contents of files that changed or are gone.
    pub older: Vec<(String, Vec<u8>)>,
    /// The settings to open it.
    pub options: Options,
    /// What was written to it.
    pub model: Model,
    /// The entries of the model.
    pub entries: Entries,
    /// Whether it was closed.
    pub clean: bool,
    /// Whether the key order is descending.
    pub reversed: bool,
    /// Where the files hold the value that a key has now, as far as it was searched for.
    pub places: HashMap<Vec<u8>, Vec<Place>>,
    /// Log records that a later record marks as durable.
    pub synced: Vec<Place>,
    /// For tables of LevelDB's the offsets at which blocks begin, and the last one's end.
    pub blocks: BTreeMap<String, Vec<usize>>,
}

/// Finds the values that keys have now in the bytes of the files, without the store's readers: each
/// begins with text between `<` and `>` that no other value has. `reach` returns what of a file is
/// read to find the value at a range.
///
/// # Panics
/// If a value does not begin with such text.
pub fn marked_places(
    files: &Files,
    model: &Model,
    reach: impl Fn(&str, Range<usize>) -> Range<usize>,
) -> HashMap<Vec<u8>, Vec<Place>> {
    let marker_of = |bytes: &[u8]| {
        let end = bytes.iter().take(80).position(|byte| *byte == b'>')?;
        Some(bytes[..=end].to_vec())
    };
    let mut by_marker = HashMap::new();
    for (key, story) in model.stories.iter().filter(|(_, story)| !story.merged) {
        if let Some(value) = &story.now {
            by_marker.insert(marker_of(value).expect("a marker"), (key, value.len()));
        }
    }
    let mut places = HashMap::<Vec<u8>, Vec<Place>>::new();
    for (name, bytes) in files {
        for at in (0..bytes.len()).filter(|at| bytes[*at] == b'<') {
            let found = marker_of(&bytes[at..]).and_then(|marker| by_marker.get(&marker));
            if let Some((key, len)) = found {
                let place = (name.clone(), reach(name, at..at + len));
                places.entry((*key).clone()).or_default().push(place);
            }
        }
    }
    places
}
