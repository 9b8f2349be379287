//! Databases that LevelDB has written, each with the history of every key.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
use bench_core::workload::settings::{Memory, Settings};
use cairndb::env::random::Random;
use engine_leveldb::{LevelDb, LevelStore};

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) const ROLE: Role = Role::single(Durability::Os);

/// What was written to one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    pub(crate) now: Option<Vec<u8>>,
    pub(crate) ever: BTreeSet<Vec<u8>>,
}

/// A database to be damaged.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) name: &'static str,
    pub(crate) files: Files,
    /// Earlier contents of files that changed or are gone.
    pub(crate) older: Vec<(String, Vec<u8>)>,
    pub(crate) stories: BTreeMap<Vec<u8>, Story>,
    /// Files and offsets of the value that each key has now.
    pub(crate) places: BTreeMap<Vec<u8>, Vec<(String, usize)>>,
}

/// Returns the files of a directory, without what LevelDB writes for people.
pub(crate) fn files_of(path: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("LOG") && name != "LOCK" {
            files.insert(name, fs::read(entry.path()).unwrap_or_default());
        }
    }
    files
}

struct Builder {
    random: Random,
    stories: BTreeMap<Vec<u8>, Story>,
    writes: u64,
}

impl Builder {
    fn round(&mut self, store: &LevelStore<'_>, count: u64, space: u64) {
        let mut session = store.session(ROLE).unwrap();
        for _ in 0..count {
            let key = format!("key{:05}", self.random.below(space)).into_bytes();
            let written = self.stories.entry(key.clone()).or_default();
            if self.random.below(6) == 0 {
                session.delete(&key).unwrap();
                written.now = None;
                continue;
            }
            self.writes += 1;
            let mut value = format!("<{}#{:06}>", key.escape_ascii(), self.writes).into_bytes();
            let len = 30 + self.random.below(170);
            while (value.len() as u64) < len {
                value.extend_from_slice(&self.random.next_u64().to_le_bytes());
            }
            session.put(&key, &value).unwrap();
            written.ever.insert(value.clone());
            written.now = Some(value);
        }
    }
}

/// Writes a database in `rounds`. If it is not `clean`, the files are copied while it is open.
fn write(
    library: &LevelDb,
    name: &'static str,
    (rounds, count, space): (u64, u64, u64),
    clean: bool,
) -> Image {
    let home = tempfile::tempdir().unwrap();
    let settings = Settings {
        compression: false,
        bloom_bits: if clean { Some(10) } else { None },
        block_bytes: Some(4096),
        file_bytes: Some(1 << 20),
        ..Settings::plain(Memory::shares(64 << 10, 1 << 20))
    };
    let mut builder = Builder {
        random: Random::new(rounds),
        stories: BTreeMap::new(),
        writes: 0,
    };
    let mut older: Vec<(String, Vec<u8>)> = Vec::new();
    let mut store = Some(library.open(home.path(), &settings).unwrap());
    for round in 0..rounds {
        builder.round(store.as_ref().unwrap(), count, space);
        if round % 4 == 3 {
            store.take().unwrap().close().unwrap();
            older.extend(files_of(home.path()));
            store = Some(library.open(home.path(), &settings).unwrap());
        }
        if round == rounds / 2 {
            store.as_mut().unwrap().compact().unwrap();
        }
    }
    let files = if clean {
        store.take().unwrap().close().unwrap();
        files_of(home.path())
    } else {
        // The same files twice: no compaction was changing them.
        loop {
            let (one, other) = (files_of(home.path()), files_of(home.path()));
            if one == other {
                break one;
            }
        }
    };
    drop(store);
    older.retain(|(name, bytes)| files.get(name) != Some(bytes));
    Image {
        name,
        places: places(&files, &builder.stories),
        files,
        older,
        stories: builder.stories,
    }
}

/// Finds the bytes of every current value.
fn places(
    files: &Files,
    stories: &BTreeMap<Vec<u8>, Story>,
) -> BTreeMap<Vec<u8>, Vec<(String, usize)>> {
    let mut places = BTreeMap::<Vec<u8>, Vec<(String, usize)>>::new();
    let marker_of = |bytes: &[u8]| {
        let end = bytes.iter().take(80).position(|byte| *byte == b'>')?;
        Some(bytes[..=end].to_vec())
    };
    let markers = stories.iter().filter_map(|(key, story)| {
        let marker = marker_of(story.now.as_ref()?)?;
        Some((marker, key))
    });
    let markers: BTreeMap<Vec<u8>, &Vec<u8>> = markers.collect();
    for (name, bytes) in files {
        for at in (0..bytes.len()).filter(|at| bytes[*at] == b'<') {
            let key = marker_of(&bytes[at..]).and_then(|marker| markers.get(&marker));
            if let Some(key) = key {
                let found = places.entry((*key).clone()).or_default();
                found.push((name.clone(), at));
            }
        }
    }
    places
}

/// Returns all images.
pub(crate) fn all(library: &LevelDb) -> Vec<Image> {
    vec![
        write(library, "closed", (10, 400, 1_500), true),
        write(library, "crashed", (7, 500, 2_000), false),
        write(library, "small", (2, 150, 300), true),
    ]
}
