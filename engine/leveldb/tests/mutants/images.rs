//! The databases that are damaged: tables at several levels, several logs, every form of table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Background, Dir, Env as _, MemEnv};
use cairndb_leveldb::{
    BatchWriter, Codec, FileName, InternalKey, Kind, LogWriter, NewTable, Order, TableBuilder,
    TableOptions, VersionEdit,
};

use crate::noise::Noise;

/// The files of a database by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Keys with their values.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// One write, whose sequence number is its place in the history, from 1.
type Write = (Vec<u8>, Option<Vec<u8>>);

/// An intact database.
pub(crate) struct Image {
    pub(crate) files: Files,
    /// The contents after the tables, and after each batch of the logs.
    pub(crate) states: Vec<Pairs>,
    /// Every pair that was ever written.
    pub(crate) written: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// For each table the offsets at which its blocks begin, and the last one's end.
    pub(crate) blocks: BTreeMap<String, Vec<usize>>,
}

/// One database for each form of table, and some without tables or logs.
pub(crate) fn all() -> Vec<Image> {
    let mut images = Vec::new();
    for codec in [Codec::None, Codec::Snappy] {
        for (bloom_bits, block_bytes, restart_interval) in [
            (None, 200, 2),
            (Some(10), 200, 16),
            (None, 4096, 16),
            (Some(4), 1, 1),
        ] {
            let form = TableOptions {
                block_bytes,
                restart_interval,
                codec,
                bloom_bits,
            };
            let seed = images.len() as u64;
            images.push(build(seed, &form, [60, 60, 60, 25, 25]));
        }
    }
    let form = TableOptions::default();
    images.push(build(100, &form, [0, 0, 0, 40, 0]));
    images.push(build(101, &form, [0, 0, 0, 0, 600]));
    images.push(build(102, &form, [300, 0, 0, 0, 0]));
    images
}

fn contents(writes: &[Write]) -> Pairs {
    let mut newest = BTreeMap::new();
    for (key, value) in writes {
        newest.insert(key, value);
    }
    newest
        .into_iter()
        .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
        .collect()
}

/// The writes of a database that is being built.
struct History {
    noise: Noise,
    writes: Vec<Write>,
}

impl History {
    fn draw(&mut self, count: usize) {
        for _ in 0..count {
            let noise = &mut self.noise;
            let key = format!("key{:03}", noise.below(150)).into_bytes();
            let len = noise.below(60);
            let value = if noise.below(2) == 0 {
                noise.bytes(len)
            } else {
                vec![b'a'; len]
            };
            self.writes
                .push((key, (noise.below(5) > 0).then_some(value)));
        }
    }

    /// Draws a log of batches of at most five operations; adds the contents after each.
    fn log(&mut self, dir: &Arc<dyn Dir>, number: u64, count: usize, states: &mut Vec<Pairs>) {
        let mut log = LogWriter::new(dir.create(&FileName::Log(number).to_string()).unwrap());
        for at in (0..count).step_by(5) {
            let before = self.writes.len();
            self.draw(5.min(count - at));
            let mut batch = BatchWriter::new(before as u64 + 1);
            for (key, value) in &self.writes[before..] {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            log.append(batch.bytes()).unwrap();
            states.push(contents(&self.writes));
        }
    }
}

/// Builds a database whose levels 2, 1 and 0 and two logs hold so many writes.
fn build(seed: u64, form: &TableOptions, counts: [usize; 5]) -> Image {
    let dir = MemEnv::new(Background::Stepped)
        .open_dir(Path::new("db"), true)
        .unwrap();
    let mut history = History {
        noise: Noise::new(seed),
        writes: Vec::new(),
    };
    let first = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        log: Some(0),
        next_file: Some(2),
        last_seq: Some(0),
        ..VersionEdit::default()
    };
    let mut edits = vec![first];
    for (number, (level, count)) in (10..).zip([2, 1, 0].into_iter().zip(counts)) {
        let before = history.writes.len();
        history.draw(count);
        if count > 0 {
            edits.push(table(&dir, number, level, before, &history.writes, form));
        }
    }
    let mut states = vec![contents(&history.writes)];
    history.log(&dir, 20, counts[3], &mut states);
    history.log(&dir, 21, counts[4], &mut states);
    edits.push(VersionEdit {
        log: Some(20),
        next_file: Some(22),
        ..VersionEdit::default()
    });
    let mut manifest = LogWriter::new(dir.create("MANIFEST-000004").unwrap());
    for edit in &edits {
        let mut payload = Vec::new();
        edit.encode(&mut payload);
        manifest.append(&payload).unwrap();
    }
    dir.create("CURRENT")
        .unwrap()
        .append(b"MANIFEST-000004\n")
        .unwrap();
    let files = files(&*dir);
    let is_table = |name: &str| matches!(FileName::parse(name), Some(FileName::Table(_)));
    let tables = files.iter().filter(|(name, _)| is_table(name));
    let blocks = tables
        .map(|(name, bytes)| (name.clone(), blocks(bytes)))
        .collect();
    let pair = |(key, value): Write| Some((key, value?));
    let written = history.writes.into_iter().filter_map(pair).collect();
    Image {
        files,
        states,
        written,
        blocks,
    }
}

/// Writes the table of the writes from `before` on, and returns the edit that adds it.
fn table(
    dir: &Arc<dyn Dir>,
    number: u64,
    level: usize,
    before: usize,
    writes: &[Write],
    form: &TableOptions,
) -> VersionEdit {
    let mut sorted: Vec<(&Write, u64)> = writes.iter().zip(1..).skip(before).collect();
    sorted.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(b.1.cmp(&a.1)));
    let file = dir.create(&format!("{number:06}.ldb")).unwrap();
    let mut builder = TableBuilder::new(file, Order::Bytewise, form.clone());
    for ((key, value), seq) in sorted {
        let kind = if value.is_some() {
            Kind::Put
        } else {
            Kind::Delete
        };
        let value = value.as_deref().unwrap_or_default();
        builder.add(InternalKey { key, seq, kind }, value).unwrap();
    }
    let (smallest, largest) = (builder.smallest().to_vec(), builder.largest());
    let size = builder.finish().unwrap();
    VersionEdit {
        last_seq: Some(writes.len() as u64),
        added: vec![NewTable {
            level,
            number,
            size,
            smallest,
            largest,
        }],
        ..VersionEdit::default()
    }
}

fn files(dir: &dyn Dir) -> Files {
    let mut files = Files::new();
    for name in dir.list().unwrap() {
        let file = dir.open_read(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

/// Finds the blocks of a table by their checksums: each begins where the one before ends.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let (mut starts, end) = (vec![0], bytes.len() - 48);
    while let Some(start) = starts.last().copied().filter(|start| *start < end) {
        let mut ends = start + 5..=end;
        let ends_there = |end: &usize| {
            let checksum = crate::damage::masked(&bytes[start..end - 4]);
            bytes[end - 4..*end] == checksum.to_le_bytes()
        };
        starts.push(ends.find(ends_there).unwrap());
    }
    starts
}
