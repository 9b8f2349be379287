//! Directories of LevelDB's, to be damaged: written file by file with `cairndb_leveldb`, and by
//! LevelDB itself.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
use bench_core::workload::settings::{Memory, Settings};
use cairndb_env::random::Random;
use cairndb_env::{Dir, MemEnv};
use cairndb_leveldb::{
    BatchWriter, Codec, InternalKey, Kind, LogWriter, NewTable, Order, TableBuilder, TableOptions,
    VersionEdit,
};
use cairndb_testkit::damage::files::{Files, files_of, placed};
use cairndb_testkit::damage::{Image, Model, blocks_of, marked_places};
use engine_leveldb::{LevelDb, LevelStore};

pub(crate) const MANIFEST: &str = "MANIFEST-000002";
/// The newest log of the images to read.
pub(crate) const NEWEST_LOG: &str = "000021.log";

/// One entry: key, sequence number, and the value unless it is a deletion.
pub(crate) type Entry = (Vec<u8>, u64, Option<Vec<u8>>);

/// A directory under construction.
pub(crate) struct Source {
    pub(crate) env: Arc<MemEnv>,
    pub(crate) dir: Arc<dyn Dir>,
}

impl Source {
    pub(crate) fn new() -> Source {
        let (env, dir) = placed(&Files::new());
        Source { env, dir }
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let _ = self.dir.unlink(name);
        self.dir.create(name).unwrap().append(bytes).unwrap();
    }

    /// Writes a table, and returns its record.
    pub(crate) fn table(&self, number: u64, entries: &[Entry], form: &TableOptions) -> NewTable {
        let file = self.dir.create(&format!("{number:06}.ldb")).unwrap();
        let mut builder = TableBuilder::new(file, Order::Bytewise, form.clone());
        let mut sorted: Vec<&Entry> = entries.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        for (key, seq, value) in sorted {
            let kind = value.as_ref().map_or(Kind::Delete, |_| Kind::Put);
            let seq = *seq;
            let value = value.as_deref().unwrap_or_default();
            builder.add(InternalKey { key, seq, kind }, value).unwrap();
        }
        let (smallest, largest) = (builder.smallest().to_vec(), builder.largest());
        NewTable {
            level: 0,
            number,
            size: builder.finish().unwrap(),
            smallest,
            largest,
        }
    }

    /// Writes a log with a batch for each element. Returns where each begins.
    pub(crate) fn log<'a>(
        &self,
        number: u64,
        batches: impl IntoIterator<Item = &'a [Entry]>,
    ) -> Vec<usize> {
        let name = format!("{number:06}.log");
        let mut log = LogWriter::new(self.dir.create(&name).unwrap());
        let append = |entries: &[Entry]| {
            let start = self.dir.open_read(&name).unwrap().size();
            let mut batch = BatchWriter::new(entries[0].1);
            for (key, _, value) in entries {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            log.append(batch.bytes()).unwrap();
            usize::try_from(start).unwrap()
        };
        batches.into_iter().map(append).collect()
    }

    /// Writes a manifest with `edits` after the name of the order, and `CURRENT`.
    pub(crate) fn manifest(&self, edits: &[VersionEdit]) {
        let mut manifest = LogWriter::new(self.dir.create(MANIFEST).unwrap());
        let first = VersionEdit {
            comparator: Some("leveldb.BytewiseComparator".to_owned()),
            ..VersionEdit::default()
        };
        for edit in [&first].into_iter().chain(edits) {
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            manifest.append(&bytes).unwrap();
        }
        self.write("CURRENT", format!("{MANIFEST}\n").as_bytes());
    }
}

/// Returns an edit that adds tables, and names the logs: the previous one, or 0, and the one in
/// use.
pub(crate) fn edit(last_seq: u64, [previous, log]: [u64; 2], added: Vec<NewTable>) -> VersionEdit {
    VersionEdit {
        log: Some(log),
        previous_log: Some(previous),
        next_file: Some(22),
        last_seq: Some(last_seq),
        added,
        ..VersionEdit::default()
    }
}

/// Returns the images to read: one for each form of table, and some without tables or logs.
pub(crate) fn to_read() -> Vec<Image> {
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

/// Draws `count` entries.
fn draw(random: &mut Random, model: &mut Model, first_seq: u64, count: u64) -> Vec<Entry> {
    let entry = |seq: u64| {
        let key = format!("key{:03}", random.below(150)).into_bytes();
        let len = random.index(60);
        let value = match random.below(2) {
            0 => vec![b'a'; len],
            _ => random.next_u64().to_le_bytes().repeat(8)[..len].to_vec(),
        };
        if random.below(5) == 0 {
            model.delete(&key);
            return (key, seq, None);
        }
        model.put(&key, &value);
        (key, seq, Some(value))
    };
    (first_seq..first_seq + count).map(entry).collect()
}

/// Builds a database whose levels 2, 1 and 0 and two logs hold so many entries. The states of its
/// model are those after the tables, and after each batch of at most five operations.
fn build(seed: u64, form: &TableOptions, counts: [u64; 5]) -> Image {
    let source = Source::new();
    let (mut random, mut model, mut seq) = (Random::new(seed), Model::default(), 0);
    let mut edits = vec![edit(0, [0, 0], Vec::new())];
    for (number, (level, count)) in (10..).zip([2, 1, 0].into_iter().zip(counts)) {
        if count > 0 {
            let entries = draw(&mut random, &mut model, seq + 1, count);
            seq += count;
            let table = source.table(number, &entries, form);
            edits.push(edit(seq, [0, 0], vec![NewTable { level, ..table }]));
        }
    }
    model.commit();
    edits.push(edit(seq, [0, 20], Vec::new()));
    for (number, count) in [(20, counts[3]), (21, counts[4])] {
        let batches = (0..count).step_by(5).map(|at| {
            let size = 5.min(count - at);
            let batch = draw(&mut random, &mut model, seq + 1, size);
            seq += size;
            model.commit();
            batch
        });
        let batches: Vec<Vec<Entry>> = batches.collect();
        source.log(number, batches.iter().map(|batch| &batch[..]));
    }
    source.manifest(&edits);
    let files = files_of(&*source.dir);
    let tables = files.iter().filter(|(name, _)| name.ends_with(".ldb"));
    let blocks = tables.map(|(name, bytes)| (name.clone(), blocks_of(bytes)));
    Image {
        name: "written by us",
        blocks: blocks.collect(),
        files,
        entries: model.entries(),
        model,
        ..Image::default()
    }
}

/// Returns the images to repair, which LevelDB writes.
pub(crate) fn to_repair(library: &LevelDb) -> Vec<Image> {
    vec![
        write(library, "closed", (10, 400, 1_500), true),
        write(library, "crashed", (7, 500, 2_000), false),
        write(library, "small", (2, 150, 300), true),
    ]
}

/// Returns the files of a real directory, without what LevelDB writes for people.
fn real_files(path: &Path) -> Files {
    let files = fs::read_dir(path).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap_or_default())
    });
    files.filter(|(name, _)| !name.starts_with("LO")).collect()
}

fn write_round(
    store: &LevelStore<'_>,
    (count, space): (u64, u64),
    random: &mut Random,
    model: &mut Model,
) {
    let mut session = store.session(Role::single(Durability::Os)).unwrap();
    for _ in 0..count {
        let key = format!("key{:05}", random.below(space)).into_bytes();
        if random.below(6) == 0 {
            session.delete(&key).unwrap();
            model.delete(&key);
            continue;
        }
        let marker = random.next_u64();
        let mut value = format!("<{}#{marker:016x}>", key.escape_ascii()).into_bytes();
        let len = 30 + random.below(170);
        while (value.len() as u64) < len {
            value.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        session.put(&key, &value).unwrap();
        model.put(&key, &value);
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
    let (mut random, mut model) = (Random::new(rounds), Model::default());
    let mut older: Vec<(String, Vec<u8>)> = Vec::new();
    let mut store = Some(library.open(home.path(), &settings).unwrap());
    for round in 0..rounds {
        write_round(
            store.as_ref().unwrap(),
            (count, space),
            &mut random,
            &mut model,
        );
        if round % 4 == 3 {
            store.take().unwrap().close().unwrap();
            older.extend(real_files(home.path()));
            store = Some(library.open(home.path(), &settings).unwrap());
        }
        if round == rounds / 2 {
            store.as_mut().unwrap().compact().unwrap();
        }
    }
    if clean {
        store.take().unwrap().close().unwrap();
    }
    // The same files twice: no compaction was changing them.
    let files = loop {
        let (one, other) = (real_files(home.path()), real_files(home.path()));
        if one == other {
            break one;
        }
    };
    drop(store);
    older.retain(|(name, bytes)| files.get(name) != Some(bytes));
    Image {
        name,
        places: marked_places(&files, &model, reach),
        files,
        older,
        entries: model.entries(),
        model,
        ..Image::default()
    }
}

/// Returns what of a file is read to find the value at a range: more than a block of a table, which
/// is cut at 4 KiB; of a log, more than the bytes of a batch around its value.
fn reach(name: &str, value: Range<usize>) -> Range<usize> {
    if name.ends_with(".log") {
        return value.start.saturating_sub(100)..value.end + 20;
    }
    value.start.saturating_sub(5_000)..value.start + 5_000
}
