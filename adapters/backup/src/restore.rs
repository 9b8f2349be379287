//! `Restore`: makes a database as it was at some moment.
//!
//! It takes the newest base before that moment and the changes since. What it writes is what a
//! crash at that moment would have left, so opening the database does the rest. If an object is
//! damaged, an older base with more changes is tried.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use cairndb::Place;
use cairndb::physical::{Assembly, Logged, Only};
use cairndb_base::{Error, ErrorKind, FileNumber, Result, watch};
use cairndb_env::Dir;
use cairndb_files::make_directory;
use cairndb_format::name;

use crate::catalog::{Catalog, NamedBase};
use crate::moments::{Moment, Target, describe, time_of};
use crate::records::{BASES, Base, Body, CHAIN, DATA, FileExtent, Piece, take_change};
use crate::repository::{Repository, hash_in};

/// A database in the making, as it was at some moment; see [`Backup`](crate::Backup).
#[derive(Clone, Debug)]
#[must_use = "nothing is restored before `run`"]
pub struct Restore<'a> {
    repository: &'a Repository,
    moment: Moment,
    only: Option<Only>,
}

/// What was restored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The moment: the database begins its own history after it.
    pub place: Place,
    /// Time of the last change in it, if it is known.
    pub time: Option<SystemTime>,
    /// Number of files that were copied.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of changes that were applied after them.
    pub changes: u64,
    /// Whether writes that were not logged are missing: no base with them could be used.
    pub lacks_unlogged: bool,
    /// What was damaged, and done without.
    pub damage: Vec<Error>,
}

impl<'a> Restore<'a> {
    /// Returns a restore of the newest moment.
    pub fn new(repository: &'a Repository) -> Restore<'a> {
        Restore {
            repository,
            moment: Moment::Newest,
            only: None,
        }
    }

    /// Sets the moment.
    pub fn to(mut self, moment: Moment) -> Restore<'a> {
        self.moment = moment;
        self
    }

    /// Restores only some keyspaces, by name, and the entries of the default one only if `default`
    /// is set.
    pub fn only(mut self, names: impl IntoIterator<Item = String>, default: bool) -> Restore<'a> {
        let mut only = Only::default();
        only.keyspaces.extend(names);
        only.default = default;
        self.only = Some(only);
        self
    }

    /// Makes the database at `path`, which must be missing or empty. May be
    /// [watched](cairndb::watch).
    ///
    /// # Errors
    /// - `NotFound` if the moment is not in the backup, or has no such keyspace.
    /// - `InvalidArgument` if the directory is not empty, or the time or number means several
    ///   moments.
    /// - `Corruption` if objects are damaged without which the moment cannot be restored, with what
    ///   can be; for the newest moment also if there was a newer one.
    /// - `NoSpace`, `Io`. After an error there is no database.
    pub fn run(&self, path: &Path) -> Result<RestoreReport> {
        // Before the catalog: a backup that goes on meanwhile records more.
        let owner = self.repository.owner()?;
        let mut catalog = Catalog::read_around(self.repository)?;
        let target = catalog.find(self.repository, self.moment)?;
        let is_named = matches!(self.moment, Moment::Seq(_) | Moment::Place(_));
        let mut ends = catalog.moments(&BTreeSet::new()).into_iter();
        let is_end = ends.any(|it| (it.timeline, it.last.seq) == (target.timeline, target.seq));
        if is_end
            && !is_named
            && let Some(error) = catalog.lost_after(self.repository, target, owner.as_ref())
        {
            return Err(error);
        }
        let mut damage = std::mem::take(&mut catalog.damage);
        let bases = catalog.bases.iter().rev();
        let bases = bases.filter(|it| it.base.timeline == target.timeline);
        for named in bases.filter(|it| it.base.restorable <= target.seq) {
            let pieces = catalog.pieces_after(named, target.seq);
            let end = pieces.last().map_or(named.base.seq, |piece| piece.until);
            if end < target.seq {
                continue;
            }
            let made = make_directory(&**self.repository.env(), path, |dir| {
                self.fill(dir, named, &pieces, target)
            });
            match made {
                Ok(report) => return Ok(RestoreReport { damage, ..report }),
                Err(error) if self.is_damage(&error) => damage.push(error),
                Err(error) => return Err(error),
            }
        }
        Err(self.failed(&catalog, &damage))
    }

    /// Returns whether another way may be found around an error.
    fn is_damage(&self, error: &Error) -> bool {
        let is_object = |name: &str| {
            let folder = name.split_once('/').map(|(folder, _)| folder);
            folder.is_some_and(|folder| [BASES, CHAIN, DATA].contains(&folder))
        };
        let named = error.file_name().is_some_and(is_object);
        match error.kind() {
            ErrorKind::Corruption | ErrorKind::FormatTooNew => true,
            _ => named && self.repository.is_of_object(error),
        }
    }

    /// Returns what a restore without any usable base reports.
    fn failed(&self, catalog: &Catalog, damage: &[Error]) -> Error {
        let damaged: BTreeSet<String> = damage
            .iter()
            .filter_map(|error| error.file_name().map(str::to_owned))
            .collect();
        let left = describe(&catalog.moments(&damaged));
        let message = "this moment cannot be restored, because an object is damaged or missing; \
                       restore one of those that can be, and run verify-backup for all damage";
        let error = Error::corruption(message)
            .directory(self.repository.place().url().as_ref())
            .expected(format_args!("one of {left}"));
        match damage.last() {
            None => error,
            Some(last) => {
                let named = last.file_name().unwrap_or_default().to_owned();
                error.file(named).source_error(last.clone())
            }
        }
    }

    /// Writes all files of a database.
    fn fill(
        &self,
        dir: &Arc<dyn Dir>,
        named: &NamedBase,
        pieces: &[&Piece],
        target: Target,
    ) -> Result<RestoreReport> {
        let repository = self.repository;
        let contents = repository.read_all(&named.object)?;
        let (base, edit) = repository.parsed::<Base>(&named.object, &contents)?;
        let in_object = |error: Error| match error.file_name() {
            None => error.file(&*named.object),
            Some(_) => error,
        };
        let assembly = Assembly::new(&**repository.env(), dir, edit, self.only.clone());
        let mut assembly = assembly.map_err(in_object)?;
        let mut fetch = Fetch {
            repository,
            dir,
            files: 0,
            bytes: 0,
        };
        watch::expect(base.tables.iter().map(|it| it.bytes).sum());
        fetch.tables(&base, &assembly).map_err(in_object)?;
        let extents = pieces.iter().flat_map(|piece| &piece.extents);
        for (file, parts) in parts_of(base.extents.iter().chain(extents)) {
            fetch.values(file, &parts)?;
            assembly.add_values(file)?;
        }
        let mut report = RestoreReport {
            place: Place {
                incarnation: base.incarnation,
                seq: base.seq,
            },
            time: time_of(base.time_ms),
            files: fetch.files,
            bytes: fetch.bytes,
            changes: 0,
            lacks_unlogged: false,
            damage: Vec::new(),
        };
        for piece in pieces {
            report.lacks_unlogged |= piece.unlogged > base.seq && piece.unlogged <= target.seq;
            self.apply(
                piece,
                (base.restorable, target.seq),
                &mut assembly,
                &mut report,
            )?;
        }
        let begun = assembly.finish(report.place.seq)?;
        report.place.seq = begun.seq;
        Ok(report)
    }

    /// Adds the changes of a piece up to `until`. The base has the keyspaces as of `restorable`.
    fn apply(
        &self,
        piece: &Piece,
        (restorable, until): (u64, u64),
        assembly: &mut Assembly<'_>,
        report: &mut RestoreReport,
    ) -> Result<()> {
        watch::check()?;
        let (record, contents, _) = self.repository.record(piece.number)?;
        let name = crate::records::chain_name(piece.number);
        let found = match &record.body {
            Body::Changes(found) => (found.after, found.until) == (piece.after, piece.until),
            _ => false,
        };
        if !found {
            let message = "the record is not the one that the base lists";
            return Err(Error::corruption(message).file(name));
        }
        assembly.begin_incarnation(piece.incarnation, piece.after);
        let mut left = &contents[..];
        let in_record = |error: Error| error.file(name.clone());
        while let Some(change) = take_change(&mut left).map_err(in_record)? {
            if change.seq > until {
                break;
            }
            if change.seq <= report.place.seq {
                continue;
            }
            // The base has what was done to keyspaces up to there.
            let is_known = matches!(change.logged, Logged::Edit(_)) && change.seq <= restorable;
            if !is_known {
                assembly.add(&change.logged).map_err(in_record)?;
            }
            report.changes += 1;
            report.place = Place {
                incarnation: piece.incarnation,
                seq: change.seq,
            };
            report.time = time_of(change.time_ms).or(report.time);
        }
        Ok(())
    }
}

/// Returns the parts of each value file, from front to back.
fn parts_of<'e>(
    extents: impl Iterator<Item = &'e FileExtent>,
) -> BTreeMap<u64, Vec<&'e FileExtent>> {
    let mut files = BTreeMap::<u64, Vec<&FileExtent>>::new();
    for extent in extents {
        files.entry(extent.file).or_default().push(extent);
    }
    for parts in files.values_mut() {
        parts.sort_by_key(|it| (it.from, it.to));
    }
    files
}

/// Copies contents of files from the place.
struct Fetch<'f> {
    repository: &'f Repository,
    dir: &'f Arc<dyn Dir>,
    files: u64,
    bytes: u64,
}

impl Fetch<'_> {
    fn tables(&mut self, base: &Base, assembly: &Assembly<'_>) -> Result<()> {
        let objects = base.tables.iter().map(|it| (&*it.name, &*it.object));
        let objects: BTreeMap<&str, &str> = objects.collect();
        for (name, bytes) in assembly.tables() {
            let object = objects.get(&*name).ok_or_else(|| {
                Error::corruption("the base lists no object for a table").found(&name)
            })?;
            let mut file = self.dir.create(&name)?;
            self.append(object, bytes, |part| file.append(part))?;
            file.sync()?;
            self.files += 1;
        }
        Ok(())
    }

    fn values(&mut self, number: u64, parts: &[&FileExtent]) -> Result<()> {
        let mut file = self.dir.create(&name::value(FileNumber(number)))?;
        for part in parts {
            let have = file.size();
            if part.to <= have {
                continue;
            }
            if part.from > have {
                let message = "a part of a value file is missing from the backup";
                return Err(Error::corruption(message).file(&*part.object));
            }
            let mut skipped = have - part.from;
            self.append(&part.object, part.to - part.from, |bytes| {
                let skip = usize::try_from(skipped)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                skipped -= skip as u64;
                file.append(&bytes[skip..])
            })?;
        }
        file.sync()?;
        self.files += 1;
        Ok(())
    }

    /// Hands the contents of an object to `write`.
    fn append(
        &mut self,
        object: &str,
        bytes: u64,
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let wrong = |message| {
            let error = Error::corruption(message).file(object);
            error.directory(self.repository.place().url().as_ref())
        };
        let Some(named) = hash_in(object).filter(|_| is_data(object)) else {
            return Err(wrong("the name of the object is none that a backup gives"));
        };
        let mut read = 0;
        let hash = self.repository.read(object, |part| {
            watch::advance(part.len() as u64)?;
            read += part.len() as u64;
            if read > bytes {
                return Err(wrong("the object is longer than the backup states"));
            }
            write(part)
        })?;
        if (hash, read) != (named, bytes) {
            return Err(wrong(
                "the object does not have the contents that its name states",
            ));
        }
        self.bytes += read;
        Ok(())
    }
}

/// Returns whether a name is that of an object with contents: no other part of a path.
fn is_data(object: &str) -> bool {
    let Some(("", name)) = object
        .strip_prefix(DATA)
        .and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    name.bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
