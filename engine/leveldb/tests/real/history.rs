//! Every write of a database in order, and what must be visible at any of them.

use std::collections::{BTreeMap, BTreeSet};

use bench_core::engine::{Session as _, Store as _};
use cairndb_leveldb::{Cursor, Database, Kind};
use engine_leveldb::LevelStore;

use crate::noise::Noise;
use crate::peer::{Contents, ROLE};

pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Key, sequence number, and value unless it was deleted.
type Sorted<'a> = (&'a [u8], u64, Option<&'a [u8]>);

/// How keys and values of one database are drawn.
#[derive(Debug)]
pub(crate) struct Shape {
    keys: usize,
    form: usize,
    value_bytes: usize,
    writes: usize,
}

impl Shape {
    pub(crate) fn draw(noise: &mut Noise) -> Shape {
        Shape {
            keys: noise.pick(&[1, 10, 300, 5000]),
            form: noise.below(4),
            value_bytes: noise.pick(&[1, 30, 200, 3000]),
            writes: noise.pick(&[5, 100, 400]),
        }
    }

    fn key(&self, noise: &mut Noise) -> Vec<u8> {
        let number = noise.below(self.keys);
        match self.form {
            0 => format!("{number:08}").into_bytes(),
            1 => format!("{}/{}", "shared".repeat(20), number).into_bytes(),
            // Of every length from none, with bytes of every value.
            2 => {
                let mut bytes = Noise::new(number as u64);
                let len = bytes.below(20);
                bytes.bytes(len)
            }
            _ => vec![0xff; number % 40],
        }
    }

    fn value(&self, noise: &mut Noise) -> Vec<u8> {
        let len = noise.below(self.value_bytes + 1);
        let byte = noise.byte();
        if noise.below(2) == 0 {
            noise.bytes(len)
        } else {
            vec![byte; len]
        }
    }
}

/// Writes by sequence number, from 1.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Key, and value unless it was deleted.
    pub(crate) writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The sequence numbers at which a batch ends.
    ends: BTreeSet<u64>,
}

impl History {
    /// Draws some writes, which are one batch if they are only puts.
    pub(crate) fn draw(&mut self, shape: &Shape, noise: &mut Noise) {
        for _ in 0..=noise.below(shape.writes) {
            let (key, value) = (shape.key(noise), shape.value(noise));
            let is_put = noise.below(4) > 0;
            self.writes.push((key, is_put.then_some(value)));
            self.ends.insert(self.writes.len() as u64);
        }
    }

    /// Draws some writes and gives them to LevelDB, alone or in batches.
    pub(crate) fn write(&mut self, store: &LevelStore<'_>, shape: &Shape, noise: &mut Noise) {
        let mut session = store.session(ROLE).unwrap();
        for _ in 0..=noise.below(shape.writes) {
            let key = shape.key(noise);
            match noise.below(8) {
                0 | 1 => {
                    session.delete(&key).unwrap();
                    self.writes.push((key, None));
                }
                2 => {
                    for _ in 0..=noise.below(20) {
                        let (key, value) = (shape.key(noise), shape.value(noise));
                        session.batch_put(&key, &value).unwrap();
                        self.writes.push((key, Some(value)));
                    }
                    session.batch_write().unwrap();
                }
                _ => {
                    let value = shape.value(noise);
                    session.put(&key, &value).unwrap();
                    self.writes.push((key, Some(value)));
                }
            }
            self.ends.insert(self.writes.len() as u64);
        }
    }

    pub(crate) fn is_batch_end(&self, seq: u64) -> bool {
        seq == 0 || self.ends.contains(&seq)
    }

    /// The history up to a sequence number.
    pub(crate) fn until(&self, seq: u64) -> History {
        let len = usize::try_from(seq).unwrap();
        History {
            writes: self.writes[..len].to_vec(),
            ends: BTreeSet::new(),
        }
    }

    /// What is visible at a sequence number.
    pub(crate) fn visible(&self, seq: u64) -> Pairs {
        let mut newest = BTreeMap::new();
        for (key, value) in self.writes.iter().take(usize::try_from(seq).unwrap()) {
            newest.insert(key, value);
        }
        let put = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| Some((key.clone(), value.clone()?));
        newest.into_iter().filter_map(put).collect()
    }

    /// All writes with their sequence numbers, by key and from the newest.
    pub(crate) fn sorted(&self) -> Vec<Sorted<'_>> {
        let mut sorted = Vec::new();
        for (seq, (key, value)) in (1..).zip(&self.writes) {
            sorted.push((&**key, seq, value.as_deref()));
        }
        sorted.sort_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
        sorted
    }
}

fn scan(cursor: &mut Cursor) -> Contents {
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    cursor.seek_to_first().unwrap();
    while cursor.valid() {
        forward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next().unwrap();
    }
    cursor.seek_to_last().unwrap();
    while cursor.valid() {
        backward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev().unwrap();
    }
    backward.reverse();
    Contents { forward, backward }
}

/// Compares a database with its history: everything now, and what compactions have kept at several
/// sequence numbers. Returns the contents.
pub(crate) fn check(database: &Database, history: &History, noise: &mut Noise) -> Contents {
    let newest = history.writes.len() as u64;
    let contents = scan(&mut database.cursor());
    let expected = history.visible(newest);
    assert!(
        contents.forward == expected,
        "{} entries, not {}",
        contents.forward.len(),
        expected.len()
    );
    assert!(contents.backward == expected);
    walk(&mut database.cursor(), &expected, noise);
    for _ in 0..20 {
        let Some((key, _)) = history.writes.get(noise.below(history.writes.len().max(1))) else {
            break;
        };
        let found = expected.binary_search_by(|entry| entry.0.cmp(key)).ok();
        let value = found.map(|at| expected[at].1.clone());
        assert_eq!(database.get(key).unwrap(), value);
    }
    let kept = kept_entries(database, history);
    for seq in [0, newest / 3, newest / 2, newest.saturating_sub(1)] {
        let expected = if kept.len() == history.writes.len() {
            history.visible(seq)
        } else {
            visible_of(&kept, seq)
        };
        let contents = scan(&mut database.cursor_at(seq));
        assert!(
            contents.forward == expected && contents.backward == expected,
            "at {seq}"
        );
    }
    contents
}

type Kept = Vec<(Vec<u8>, u64, Option<Vec<u8>>)>;

/// All entries, each of which must be a write of the history.
fn kept_entries(database: &Database, history: &History) -> Kept {
    let mut entries = database.entries();
    let mut kept = Vec::new();
    entries.seek_to_first().unwrap();
    while entries.valid() {
        let value = (entries.kind() == Kind::Put).then(|| entries.value().to_vec());
        let write = &history.writes[usize::try_from(entries.seq()).unwrap() - 1];
        assert!(
            write.0 == entries.key() && write.1 == value,
            "entry {}",
            entries.seq()
        );
        kept.push((entries.key().to_vec(), entries.seq(), value));
        entries.next().unwrap();
    }
    let mut backward = 0;
    entries.seek_to_last().unwrap();
    while entries.valid() {
        backward += 1;
        assert_eq!(entries.seq(), kept[kept.len() - backward].1);
        entries.prev().unwrap();
    }
    assert_eq!(backward, kept.len());
    kept
}

fn visible_of(kept: &Kept, seq: u64) -> Pairs {
    let mut visible = Pairs::new();
    for of_key in kept.chunk_by(|a, b| a.0 == b.0) {
        let newest = of_key.iter().find(|entry| entry.1 <= seq);
        if let Some((key, _, Some(value))) = newest {
            visible.push((key.clone(), value.clone()));
        }
    }
    visible
}

/// Seeks and steps in random order.
fn walk(cursor: &mut Cursor, expected: &Pairs, noise: &mut Noise) {
    let mut place: Option<usize> = None;
    for _ in 0..100 {
        let mut key = match expected.get(noise.below(expected.len() + 1)) {
            Some((key, _)) => key.clone(),
            None => noise.bytes(3),
        };
        if noise.below(2) == 0 {
            key.push(noise.byte());
        }
        match noise.below(6) {
            0 => {
                cursor.seek(&key).unwrap();
                place = Some(expected.partition_point(|entry| entry.0 < key));
            }
            1 => {
                cursor.seek_for_prev(&key).unwrap();
                place = expected
                    .partition_point(|entry| entry.0 <= key)
                    .checked_sub(1);
            }
            2 | 3 => {
                cursor.next().unwrap();
                place = place.map(|place| place + 1);
            }
            _ => {
                cursor.prev().unwrap();
                place = place.and_then(|place| place.checked_sub(1));
            }
        }
        place = place.filter(|place| *place < expected.len());
        let found = cursor
            .valid()
            .then(|| (cursor.key().to_vec(), cursor.value().to_vec()));
        assert_eq!(found, place.map(|place| expected[place].clone()));
    }
}
