//! Reads that are compared with the contents that the writes should have left.

use cairndb::{Cursor, Result as DbResult, Snapshot, Value};
use cairndb_scripts::Command;

use crate::machine::Machine;
use crate::steps::Trouble;
use crate::text::spelled;
use crate::writes::{Contents, Keys, key_of};

/// What a script keeps, and the contents at that moment.
pub(crate) struct Kept {
    pub(crate) reader: Reader,
    contents: Contents,
}

pub(crate) enum Reader {
    Snapshot(Snapshot),
    Cursor(Box<Cursor>),
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns the entries from a first position to the end.
fn walk(
    cursor: &mut Cursor,
    first: fn(&mut Cursor) -> DbResult<()>,
    step: fn(&mut Cursor) -> DbResult<()>,
) -> DbResult<Entries> {
    let mut found = Vec::new();
    first(cursor)?;
    while cursor.valid() {
        found.push((cursor.key().to_vec(), cursor.value().to_vec()));
        step(cursor)?;
    }
    Ok(found)
}

/// Compares entries, whose keys ascend or descend.
fn compare(mut found: Entries, contents: &Contents, descending: bool) -> Result<(), String> {
    if descending {
        found.reverse();
    }
    for (found, expected) in found.iter().zip(contents) {
        if (&found.0, &found.1) != expected {
            let keys = [&found.0, expected.0].map(|key| key.escape_ascii().to_string());
            return Err(format!("{} differs from {}", keys[0], keys[1]));
        }
    }
    let counts = (found.len(), contents.len());
    let text = || format!("{} entries instead of {}", counts.0, counts.1);
    (counts.0 == counts.1).then_some(()).ok_or_else(text)
}

/// The directions of a scan.
#[derive(Clone, Copy)]
struct Ways {
    forward: bool,
    backward: bool,
    /// Whether keys have reverse order.
    reverse: bool,
}

/// Compares all entries.
fn scan(cursor: &mut Cursor, contents: &Contents, ways: Ways) -> Result<(), Trouble> {
    if ways.forward {
        let found = walk(cursor, Cursor::seek_to_first, Cursor::next)?;
        compare(found, contents, ways.reverse)?;
    }
    if ways.backward {
        let found = walk(cursor, Cursor::seek_to_last, Cursor::prev)?;
        compare(found, contents, !ways.reverse)?;
    }
    Ok(())
}

/// Compares gets of `keys`, or of all keys and the scans.
fn check(
    keys: Option<&Keys>,
    contents: &Contents,
    get: impl Fn(&[u8]) -> DbResult<Option<Value>>,
    cursor: impl FnOnce() -> Cursor,
    ways: Ways,
) -> Result<(), Trouble> {
    let all = keys.is_none();
    let keys: Vec<_> = match keys {
        Some(keys) => keys.iter(0).collect(),
        None => contents.keys().cloned().collect(),
    };
    for key in &keys {
        let (found, expected) = (get(key)?, contents.get(key));
        if found.as_deref() != expected.map(|value| &value[..]) {
            let found = found.map(|value| spelled(&value));
            return Err(format!("{} has the value {found:?}", key.escape_ascii()).into());
        }
    }
    if all {
        scan(&mut cursor(), contents, ways)?;
    }
    Ok(())
}

impl Machine {
    pub(crate) fn keep(&mut self, name: String, reader: Reader) {
        let contents = self.contents.clone();
        self.kept.insert(name, Kept { reader, contents });
    }

    /// Compares the keys that `command` names, or everything, with what was written.
    pub(crate) fn read(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let name = command.value::<String>("of")?;
        let (forward, backward) = (command.flag("forward"), command.flag("backward"));
        let ways = Ways {
            forward: forward || !backward,
            backward: backward || !forward,
            reverse: self.reverse,
        };
        let keys = Keys::take(command).ok();
        let keys = keys.as_ref();
        let Some(name) = name else {
            let (db, contents) = (self.db()?, &self.contents);
            return check(keys, contents, |key| db.get(key), || db.cursor(), ways);
        };
        let kept = self.kept.get_mut(&name);
        let kept = kept.ok_or_else(|| format!("nothing is kept as {name}"))?;
        let contents = &kept.contents;
        match &mut kept.reader {
            Reader::Cursor(cursor) => scan(cursor, contents, ways),
            Reader::Snapshot(it) => check(keys, contents, |key| it.get(key), || it.cursor(), ways),
        }
    }

    /// Moves a kept cursor, or a new one, and checks its key and value.
    pub(crate) fn shift(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let (name, how, at) = (command.word()?, command.word()?, command.word()?);
        let kept = self.kept.get_mut(&name);
        let mut made;
        let (cursor, contents) = match kept.map(|kept| (&mut kept.reader, &kept.contents)) {
            Some((Reader::Cursor(cursor), contents)) => (&mut **cursor, contents),
            Some((Reader::Snapshot(snapshot), contents)) => {
                made = snapshot.cursor();
                (&mut made, contents)
            }
            None if name == "new" => {
                made = self.db()?.cursor();
                (&mut made, &self.contents)
            }
            None => return Err(format!("no cursor {name}").into()),
        };
        let (how, key) = how.split_once(':').unwrap_or((&how, ""));
        match how {
            "first" => cursor.seek_to_first()?,
            "last" => cursor.seek_to_last()?,
            "next" => cursor.next()?,
            "prev" => cursor.prev()?,
            "seek" => cursor.seek(&key_of(key))?,
            "seek-for-prev" => cursor.seek_for_prev(&key_of(key))?,
            other => return Err(format!("unknown move: {other}").into()),
        }
        let found = cursor
            .valid()
            .then(|| (cursor.key().to_vec(), cursor.value().to_vec()));
        let wanted = (at != "end").then(|| key_of(&at));
        let wanted =
            wanted.map(|key| (key.clone(), contents.get(&key).cloned().unwrap_or_default()));
        if found != wanted {
            let found = found.map(|(key, _)| key.escape_ascii().to_string());
            return Err(format!("the cursor is at {found:?}").into());
        }
        Ok(())
    }
}
