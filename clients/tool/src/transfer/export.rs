//! Export: the entries of a range, in order, into a file or stdout.
//!
//! A file is made under another name, and its state is saved from time to time, so that the same
//! command continues after a kill. At the end it is read back. What went to stdout is not.

use std::io::IsTerminal;
use std::path::Path;

use cairndb_base::hash64;
use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::formats::FileFormat;
use super::formats::encoder::Encoder;
use super::formats::text_dump::lmdb_bytes;
use super::saved::{Saved, base64};
use super::source::{KeyspaceSpec, Step};
use super::target::{ExportTarget, Made, absolute, unusable};
use crate::arguments::transfer::ResumeArguments;
use crate::database::{DatabaseReader, Purpose, contents_of};
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::output::{counted, print};
use crate::progress::Progress;
use crate::range::Range;
use crate::sink::Sink;
use crate::space::Space;

/// What is to be exported.
pub(crate) struct Export<'a> {
    pub(crate) directory: &'a Path,
    /// `None` is the default keyspace.
    pub(crate) keyspace: Option<&'a str>,
    pub(crate) range: Range,
    /// What the user calls the format, with its options.
    pub(crate) format_name: String,
    /// What the report adds about a format that the name of the target implies.
    pub(crate) inferred: String,
    /// `None` is stdout.
    pub(crate) target: Option<&'a Path>,
    pub(crate) resume: &'a ResumeArguments,
}

/// How far an export is.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct ExportState {
    /// The database, the range and the format.
    what: String,
    contents: Contents,
    /// Length of the unfinished file.
    bytes: u64,
    /// `None` before the first entry.
    /// The keyspace of the last key, in an export of all of them.
    #[serde(default)]
    keyspace: Option<String>,
    #[serde(default, with = "base64")]
    last_key: Option<Vec<u8>>,
}

impl Export<'_> {
    /// Opens the database.
    pub(super) fn reader(&self) -> Result<DatabaseReader> {
        DatabaseReader::open(self.directory, self.keyspace, Purpose::Keep("exported"))
    }

    /// Returns the keyspaces to export besides the one that `reader` reads: all of them in the
    /// format of `dump`, unless one or a range was chosen.
    fn others(&self, format: &FileFormat, reader: &DatabaseReader) -> Result<Vec<Space>> {
        let is_whole = !format.is_text() && self.keyspace.is_none() && self.range.is_all();
        let Some(space) = reader.space().filter(|_| is_whole) else {
            return Ok(Vec::new());
        };
        let all = Space::all(&space.db, self.directory)?;
        Ok(all.into_iter().skip(1).collect())
    }
}

/// Exports entries to a file or stdout.
pub(crate) fn export(request: &Export, format: &FileFormat) -> Result<()> {
    let reader = request.reader()?;
    let target = ExportTarget::of(request.target)?;
    let room = survey(request, format, &reader)?;
    let sink = match target {
        ExportTarget::Made(made) => return make(request, format, reader, room, &made),
        ExportTarget::Stdout => {
            if !format.is_text() && std::io::stdout().is_terminal() {
                let message = "the output is not text, and stdout is a terminal; redirect it, or \
                    name a file";
                return Err(Failure::usage(message));
            }
            Sink::stdout()?
        }
        ExportTarget::Device(path) => {
            let file = std::fs::OpenOptions::new().write(true).open(&path);
            let file = file.map_err(|error| unusable(&path, &error))?;
            Sink::file(file, path.display().to_string(), 0)
        }
    };
    let others = request.others(format, &reader)?;
    let mut exporter = Exporter::new(format, sink, None, request.resume.save_every);
    exporter.begin(room, !others.is_empty());
    exporter.walk(request, reader, others)?;
    exporter.sink.flush()
}

/// Checks every entry against the limits of a store that is to load them. Returns an estimate of
/// the bytes that they take there.
fn survey(request: &Export, format: &FileFormat, reader: &DatabaseReader) -> Result<u64> {
    let Some(store) = format.store() else {
        return Ok(0);
    };
    let (mut room, mut progress) = (0_u64, Progress::begin("checking"));
    reader.walk(request.directory, &request.range, false, |key, value| {
        if let Some(reason) = store.refusal(key) {
            let key = escaped(key);
            return Err(Failure::other(format!(
                "the key \"{key}\" cannot be exported: {reason}; nothing was written"
            )));
        }
        room = room.saturating_add(lmdb_bytes(key, value));
        progress.entry(|| None)?;
        Ok(true)
    })?;
    Ok(room)
}

/// Makes a file.
fn make(
    request: &Export,
    format: &FileFormat,
    reader: DatabaseReader,
    room: u64,
    made: &Made,
) -> Result<()> {
    let (state, is_resumed) = claim(request, made)?;
    let file = made.open_partial(state.bytes)?;
    let name = made.partial.display().to_string();
    let sink = Sink::file(file, name, state.bytes);
    let is_begun = state.last_key.is_some();
    let saved = Some((&made.saved, state));
    let mut exporter = Exporter::new(format, sink, saved, request.resume.save_every);
    let others = request.others(format, &reader)?;
    let is_whole = !others.is_empty();
    let left_out = request.keyspace.is_none() && !is_whole;
    let left_out = if left_out {
        reader.keyspaces()
    } else {
        Vec::new()
    };
    if !is_begun {
        exporter.begin(room, is_whole);
    }
    let db = reader.space().map(|space| space.db.clone());
    let reader = exporter.walk(request, reader, others)?;
    exporter.sink.sync()?;
    let contents = exporter.contents;
    drop(exporter);
    if is_resumed {
        match db.filter(|_| is_whole) {
            Some(db) => check_same(request, contents_of(&db, request.directory)?, &contents)?,
            None => compare_database(request, &reader, &contents)?,
        }
    }
    read_back(format, made, &contents)?;
    made.finish()?;
    report(request, &contents, &left_out)
}

/// Takes the unfinished target for this export: what an interrupted one has left, or a new one.
/// Returns its state, and whether it is an earlier one.
pub(super) fn claim(request: &Export, made: &Made) -> Result<(ExportState, bool)> {
    if request.resume.restart {
        made.restart()?;
    }
    let what = format!(
        "{}{} {:?} as {}",
        absolute(request.directory),
        request
            .keyspace
            .map_or(String::new(), |name| format!(" {name:?}")),
        request.range,
        request.format_name
    );
    // A state without a file is left by a kill just before one was made or after it was renamed.
    let begun: Option<ExportState> = made.saved.load()?.filter(|_| made.partial.exists());
    match begun {
        Some(state) if state.what != what => Err(Failure::other(format!(
            "{} was left by another export, or with other options; finish that one, or begin again \
             with --restart",
            made.saved.path().display()
        ))),
        Some(state) if made.partial_bytes() >= state.bytes => Ok((state, true)),
        other => {
            if other.is_none() {
                made.check_unclaimed()?;
            }
            let state = ExportState {
                what,
                ..ExportState::default()
            };
            made.saved.save(&state)?;
            Ok((state, false))
        }
    }
}

/// Prints what was exported.
pub(super) fn report(request: &Export, contents: &Contents, left_out: &[String]) -> Result<()> {
    let target = request.target.unwrap_or("stdout".as_ref());
    let entries = counted(contents.entries, "entry", "entries");
    let (target, inferred, hash) = (target.display(), &request.inferred, contents.hash);
    let exported = format!("exported {entries} to {target}{inferred}, hash {hash:016x}");
    let left_out = (!left_out.is_empty()).then(|| {
        let names = left_out.iter().map(|name| escaped(name.as_bytes()));
        let names = names.collect::<Vec<_>>().join(", ");
        format!("not exported: the keyspaces {names}; --keyspace chooses one")
    });
    print([exported].into_iter().chain(left_out))
}

/// Checks that the database still holds the entries, part of which an earlier command has exported.
pub(super) fn compare_database(
    request: &Export,
    reader: &DatabaseReader,
    expected: &Contents,
) -> Result<()> {
    let found = reader.contents(request.directory, &request.range)?;
    check_same(request, found, expected)
}

fn check_same(request: &Export, found: Contents, expected: &Contents) -> Result<()> {
    if found == *expected {
        return Ok(());
    }
    Err(Failure::other(format!(
        "{} has changed since the export began; begin again with --restart",
        request.directory.display()
    )))
}

/// Checks that the file holds the entries.
fn read_back(format: &FileFormat, made: &Made, expected: &Contents) -> Result<()> {
    let differs = |reason: &str| {
        Failure::other(format!(
            "{} does not hold what was written to it: {reason}; check the disk, and begin again \
             with --restart",
            made.partial.display()
        ))
    };
    let mut progress = Progress::begin("reading back");
    let mut source = format.source(Some(&made.partial))?;
    let (mut found, mut keyspace) = (Contents::default(), 0);
    loop {
        match source.advance()? {
            Step::Entry(key, value) => found.add_in(keyspace, key, value),
            Step::Keyspace(spec) => {
                keyspace = spec.map_or(0, |spec| hash64(spec.name.as_bytes()));
            }
            Step::Bad(lines, reason) => {
                let line = lines.map_or(0, |(first, _)| first);
                return Err(differs(&format!("line {line}: {reason}")));
            }
            Step::End => break,
        }
        progress.entry(|| source.progress())?;
    }
    if found == *expected {
        return Ok(());
    }
    Err(differs(&format!(
        "{} of {}, hash {:016x} instead of {:016x}",
        found.entries, expected.entries, found.hash, expected.hash
    )))
}

/// Writes entries.
struct Exporter<'a> {
    encoder: Box<dyn Encoder>,
    sink: Sink,
    contents: Contents,
    progress: Progress,
    /// Where the state is saved, and the last one.
    saved: Option<(&'a Saved, ExportState)>,
    save_bytes: u64,
    /// The last key of an interrupted export, which is passed over.
    passed: Option<Vec<u8>>,
    /// Hash of the name of the current keyspace, in an export of all of them.
    keyspace: u64,
}

impl<'a> Exporter<'a> {
    fn new(
        format: &FileFormat,
        sink: Sink,
        saved: Option<(&'a Saved, ExportState)>,
        save_bytes: u64,
    ) -> Exporter<'a> {
        let state = saved.as_ref().map(|(_, state)| state);
        let passed = state.and_then(|state| state.last_key.clone());
        Exporter {
            encoder: format.encoder(),
            sink,
            contents: state.map_or_else(Contents::default, |state| state.contents),
            progress: Progress::begin("exporting"),
            passed,
            keyspace: 0,
            saved,
            save_bytes,
        }
    }

    fn begin(&mut self, room: u64, has_keyspaces: bool) {
        self.encoder.begin(room, has_keyspaces, self.sink.buffer());
    }

    /// Exports what `reader` reads and then the keyspaces `others`, from the position of an
    /// interrupted export on. Returns the reader.
    fn walk(
        &mut self,
        request: &Export,
        reader: DatabaseReader,
        others: Vec<Space>,
    ) -> Result<DatabaseReader> {
        let state = self.saved.as_ref().map(|(_, state)| state);
        let begun = state.and_then(|state| state.keyspace.clone());
        if begun.is_none() {
            self.walk_one(request, &reader)?;
        }
        let is_before = |it: &Space| begun.is_some() && it.name() != begun.as_deref();
        for space in others.into_iter().skip_while(is_before) {
            let name = space.name().unwrap_or_default().to_owned();
            self.keyspace = space.hash();
            if begun.as_ref() != Some(&name) {
                let options = space.options().unwrap_or_default();
                let spec = KeyspaceSpec { name, options };
                self.encoder.keyspace(&spec, self.sink.buffer());
                if let Some((_, state)) = &mut self.saved {
                    state.keyspace = Some(spec.name);
                }
            }
            self.walk_one(request, &DatabaseReader::Cairn(space))?;
        }
        self.encoder.end(&self.contents, self.sink.buffer());
        Ok(reader)
    }

    /// Exports what one keyspace holds.
    fn walk_one(&mut self, request: &Export, reader: &DatabaseReader) -> Result<()> {
        let range = request.range.beginning_at(self.passed.as_ref());
        reader.walk(request.directory, &range, false, |key, value| {
            self.take(key, value)
        })?;
        self.passed = None;
        Ok(())
    }

    fn save(&mut self, key: &[u8]) -> Result<()> {
        let Some((saved, state)) = &mut self.saved else {
            return Ok(());
        };
        self.encoder.cut(self.sink.buffer());
        state.bytes = self.sink.sync()?;
        state.contents = self.contents;
        state.last_key = Some(key.to_vec());
        saved.save(state)
    }

    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        if let Some(passed) = self.passed.take()
            && passed == key
        {
            return Ok(true);
        }
        self.encoder.entry(key, value, self.sink.buffer());
        self.contents.add_in(self.keyspace, key, value);
        self.sink.flush_full()?;
        self.progress.entry(|| None)?;
        if let Some((_, state)) = &self.saved
            && self.contents.bytes - state.contents.bytes >= self.save_bytes
        {
            self.save(key)?;
        }
        Ok(true)
    }
}
