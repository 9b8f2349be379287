//! Import: entries of another format, put into a database.
//!
//! From time to time, the database is synced and the position in the source is saved beside it.
//! After a kill, the same command reads the source up to there again, checks that it is the same,
//! and continues. At the end, the database is read and compared with what it must hold.
//!
//! What it must hold is counted entry by entry. While keys ascend, each is new. Once one does not,
//! the entry that it may replace is looked up first.

use std::path::Path;

use cairndb::WriteBatch;
use cairndb::leveldb::Order;
use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::saved::{Saved, base64, beside};
use super::skipped::Skipped;
use super::source::{EntrySource, KeyspaceSpec, Step};
use crate::arguments::transfer::ResumeArguments;
use crate::database::{contents_of, open_with, options_for};
use crate::failure::{Failure, Result};
use crate::output::{counted, print};
use crate::progress::Progress;
use crate::space::Space;

/// Bytes of a batch.
const BATCH_BYTES: usize = 1 << 20;

/// What is to be imported.
pub(crate) struct Import<'a> {
    pub(crate) directory: &'a Path,
    /// The keyspace that takes the entries, unless the source has keyspaces; `None` is the default
    /// one.
    pub(crate) keyspace: Option<&'a str>,
    /// The format and what it is read from, as saved to be compared.
    pub(crate) what: String,
    /// What messages call the source.
    pub(crate) source_name: String,
    /// What the report adds about a format that the name of the source implies.
    pub(crate) inferred: String,
    /// Whether the database may hold entries already.
    pub(crate) add: bool,
    pub(crate) skip_bad: bool,
    pub(crate) resume: &'a ResumeArguments,
}

impl Import<'_> {
    /// Returns what a saved import is compared by.
    fn identity(&self) -> (&str, Option<&str>) {
        (&self.what, self.keyspace)
    }
}

/// How far an import is.
#[derive(Clone, Default, Serialize, Deserialize)]
struct ImportState {
    /// The source and its format.
    what: String,
    #[serde(default)]
    keyspace: Option<String>,
    /// The entries of the source up to the position.
    read: Contents,
    /// What the database holds there.
    expected: Contents,
    /// Whether every key so far was greater than all keys before it.
    ascends: bool,
    #[serde(default, with = "base64")]
    largest: Option<Vec<u8>>,
}

/// Imports entries.
pub(crate) fn import(request: &Import, source: &mut dyn EntrySource) -> Result<()> {
    let directory = request.directory;
    if request.keyspace.is_some() && source.has_keyspaces() {
        return Err(Failure::usage(format!(
            "{} has keyspaces itself; leave --keyspace out",
            request.source_name
        )));
    }
    let saved = Saved::at(beside(directory, ".cairn-import"));
    // What an interrupted import has put may be replaced; other entries may not.
    let may_add = request.add || request.resume.restart && saved.path().exists();
    // A new position replaces the old one only once the database is open.
    let begun = if request.resume.restart {
        None
    } else {
        saved.load::<ImportState>()?.filter(|_| directory.exists())
    };
    if begun
        .as_ref()
        .is_some_and(|state| (&*state.what, state.keyspace.as_deref()) != request.identity())
    {
        return Err(Failure::other(format!(
            "{} was left by another import, or with other options; finish that one, or begin again \
             with --restart",
            saved.path().display()
        )));
    }
    let db = open_with(directory, &options_for(directory).create_if_missing(true))?;
    let space = Space::of(&db, directory, request.keyspace)?;
    let mut importer = match begun {
        Some(state) => Importer::resume(request, &saved, space, state)?,
        None => Importer::begin(request, &saved, space, may_add)?,
    };
    let skipped = importer.take_all(source);
    if skipped.is_err() && !importer.has_written {
        // The command may be another one next time, as after a wrong name.
        saved.remove()?;
    }
    let skipped = skipped?;
    let contents = importer.finish()?;
    report(request, contents, &skipped)
}

/// Prints what was imported.
fn report(request: &Import, (read, held): (Contents, Contents), skipped: &Skipped) -> Result<()> {
    let entries = counted(read.entries, "entry", "entries");
    let (source, inferred, hash) = (&request.source_name, &request.inferred, read.hash);
    let imported = format!("imported {entries} from {source}{inferred}, hash {hash:016x}");
    let now = (held.entries != read.entries).then(|| {
        let entries = counted(held.entries, "entry", "entries");
        let (directory, hash) = (request.directory.display(), held.hash);
        format!("{directory} now holds {entries}, hash {hash:016x}")
    });
    let skipped = skipped.texts().map(|text| format!("skipped {text}"));
    print([imported].into_iter().chain(now).chain(skipped))
}

struct Importer<'a> {
    request: &'a Import<'a>,
    saved: &'a Saved,
    /// The current keyspace.
    space: Space,
    /// The hash of its name, and of that in the source.
    hashes: [u64; 2],
    order: Order,
    batch: WriteBatch,
    state: ImportState,
    largest: Vec<u8>,
    /// Bytes of the source that the last save covers.
    saved_bytes: u64,
    /// Entries of the source that an earlier command has imported.
    known: Contents,
    /// Whether an earlier command has begun the import.
    continues: bool,
    /// Whether entries after the saved position may be in the database, uncounted.
    is_resumed: bool,
    /// Whether the database may hold entries of this import.
    has_written: bool,
    old_value: Vec<u8>,
}

impl<'a> Importer<'a> {
    fn new(
        request: &'a Import<'a>,
        saved: &'a Saved,
        space: Space,
        state: ImportState,
    ) -> Importer<'a> {
        Importer {
            request,
            saved,
            hashes: [space.hash(), 0],
            order: space.order(request.directory),
            space,
            batch: WriteBatch::new(),
            largest: state.largest.clone().unwrap_or_default(),
            saved_bytes: state.read.bytes,
            known: state.read,
            state,
            continues: false,
            is_resumed: false,
            has_written: false,
            old_value: Vec::new(),
        }
    }

    /// Begins an import into a database that is empty, or may be added to.
    fn begin(
        request: &'a Import<'a>,
        saved: &'a Saved,
        space: Space,
        may_add: bool,
    ) -> Result<Importer<'a>> {
        let mut state = ImportState {
            what: request.what.clone(),
            keyspace: request.keyspace.map(str::to_owned),
            ascends: true,
            ..ImportState::default()
        };
        let directory = request.directory;
        state.largest = last_key(request, &space)?;
        let all = Space::all(&space.db, directory)?;
        let last_keys = all.iter().map(|space| last_key(request, space));
        let is_used = last_keys.collect::<Result<Vec<_>>>()?;
        let is_used = is_used.iter().any(Option::is_some);
        if is_used {
            let is_taken = request.keyspace.is_none() || state.largest.is_some();
            if is_taken && !may_add {
                return Err(Failure::other(format!(
                    "{} holds entries already; pass --add to add to them and to replace those with \
                     the same keys",
                    request.directory.display()
                )));
            }
            state.expected = contents_of(&space.db, directory)?;
        }
        saved.save(&state)?;
        let mut importer = Importer::new(request, saved, space, state);
        // The entries of an interrupted import can only be replaced while its file is there.
        importer.has_written = is_used && !request.add;
        Ok(importer)
    }

    /// Continues an import. Entries after the saved position may be in the database too.
    fn resume(
        request: &'a Import<'a>,
        saved: &'a Saved,
        space: Space,
        state: ImportState,
    ) -> Result<Importer<'a>> {
        let mut importer = Importer::new(request, saved, space, state);
        importer.continues = true;
        (importer.is_resumed, importer.has_written) = (true, true);
        if !importer.state.ascends {
            importer.count_again()?;
        }
        Ok(importer)
    }

    /// Counts what the database holds, so that from here on every key is looked up that may be
    /// among it.
    fn count_again(&mut self) -> Result<()> {
        self.state.expected = contents_of(&self.space.db, self.request.directory)?;
        self.is_resumed = false;
        self.find_largest()
    }

    /// Finds the largest key of the keyspace.
    fn find_largest(&mut self) -> Result<()> {
        let last = last_key(self.request, &self.space)?;
        self.largest = last.clone().unwrap_or_default();
        self.state.largest = last;
        Ok(())
    }

    /// Goes to a keyspace of the source, and creates it. What precedes a saved position
    /// `is_known`.
    fn enter(&mut self, spec: Option<&KeyspaceSpec>, is_known: bool) -> Result<()> {
        let (directory, name) = (self.request.directory, self.request.keyspace);
        self.write()?;
        let db = self.space.db.clone();
        self.space = match spec {
            None => Space::of(&db, directory, name)?,
            Some(spec) => {
                self.has_written = true;
                Space::made(&db, directory, &spec.name, &spec.options)?
            }
        };
        self.order = self.space.order(directory);
        let hash = self.space.hash();
        self.hashes = [hash, if spec.is_some() { hash } else { 0 }];
        if is_known {
            return Ok(());
        }
        if self.is_resumed {
            self.state.ascends = false;
            return self.count_again();
        }
        self.find_largest()
    }

    /// Puts all entries of the source. Returns what was skipped.
    fn take_all(&mut self, source: &mut dyn EntrySource) -> Result<Skipped> {
        let mut progress = Progress::begin("importing");
        let (mut skipped, mut read) = (Skipped::default(), Contents::default());
        loop {
            match source.advance()? {
                Step::End => break,
                Step::Keyspace(spec) => {
                    self.enter(spec.as_ref(), read.entries < self.known.entries)?;
                }
                Step::Bad(lines, _) if self.request.skip_bad => skipped.add(lines),
                Step::Bad(lines, reason) => {
                    self.save()?;
                    return Err(self.refusal(lines, &reason));
                }
                Step::Entry(key, value) if read.entries < self.known.entries => {
                    read.add_in(self.hashes[1], key, value);
                    if read.entries == self.known.entries && read != self.known {
                        return Err(self.other_source());
                    }
                }
                Step::Entry(key, value) => self.put(key, value)?,
            }
            progress.entry(|| source.progress())?;
        }
        if read.entries < self.known.entries {
            return Err(self.other_source());
        }
        Ok(skipped)
    }

    fn refusal(&self, lines: Option<(u64, u64)>, reason: &str) -> Failure {
        let source = &self.request.source_name;
        let place = match lines {
            Some((first, _)) => format!("line {first} of {source}"),
            None => source.clone(),
        };
        Failure::other(format!(
            "{place}: {reason}; correct it and run the command again, or pass --skip-bad"
        ))
    }

    fn other_source(&self) -> Failure {
        Failure::other(format!(
            "{} does not begin with the entries that were imported from it before; begin again \
             with --restart",
            self.request.source_name
        ))
    }

    /// Puts an entry.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.state.largest.is_some() && self.order.compare(key, &self.largest).is_le() {
            self.take_out(key)?;
        } else {
            self.state.largest.get_or_insert_default();
            self.largest.clear();
            self.largest.extend_from_slice(key);
        }
        self.state.expected.add_in(self.hashes[0], key, value);
        self.state.read.add_in(self.hashes[1], key, value);
        self.space.put(&mut self.batch, key, value);
        if self.batch.byte_len() >= BATCH_BYTES {
            self.write()?;
            if self.state.read.bytes - self.saved_bytes >= self.request.resume.save_every {
                self.save()?;
            }
        }
        Ok(())
    }

    /// Takes the entry of a key, which is about to be replaced, out of what is expected.
    fn take_out(&mut self, key: &[u8]) -> Result<()> {
        self.write()?;
        if self.is_resumed {
            self.count_again()?;
        }
        self.state.ascends = false;
        let found = self.space.get_into(key, &mut self.old_value);
        if found.map_err(Failure::of(self.request.directory))? {
            self.state
                .expected
                .remove_in(self.hashes[0], key, &self.old_value);
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.has_written = true;
        let written = self.space.db.write(&self.batch);
        self.batch.clear();
        written.map_err(Failure::of(self.request.directory))
    }

    /// Makes what was put durable, and saves the position.
    fn save(&mut self) -> Result<()> {
        self.write()?;
        let synced = self.space.db.sync();
        synced.map_err(Failure::of(self.request.directory))?;
        if let Some(largest) = &mut self.state.largest {
            largest.clone_from(&self.largest);
        }
        self.saved_bytes = self.state.read.bytes;
        self.saved.save(&self.state)
    }

    /// Makes everything durable, and compares the database with what it must hold. Returns what
    /// was read, and what the database holds.
    fn finish(mut self) -> Result<(Contents, Contents)> {
        self.write()?;
        let directory = self.request.directory;
        let db = &self.space.db;
        db.sync().map_err(Failure::of(directory))?;
        let held = contents_of(db, directory)?;
        let expected = self.state.expected;
        if held != expected {
            let cause = if self.continues {
                "most likely, something else has written to it since the import was interrupted; \
                 begin again with --restart, or import into a new directory"
            } else {
                "check the disk, and import into a new directory"
            };
            return Err(Failure::other(format!(
                "{} holds {}, hash {:016x}, but it must hold {}, hash {:016x}, after this import; \
                 {cause}",
                directory.display(),
                held.entries,
                held.hash,
                expected.entries,
                expected.hash
            )));
        }
        db.close().map_err(Failure::of(directory))?;
        self.saved.remove()?;
        Ok((self.state.read, held))
    }
}

/// Returns the last key of a keyspace.
fn last_key(request: &Import, space: &Space) -> Result<Option<Vec<u8>>> {
    let mut cursor = space.cursor();
    let sought = cursor.seek_to_last();
    sought.map_err(Failure::of(request.directory))?;
    Ok(cursor.valid().then(|| cursor.key().to_vec()))
}
