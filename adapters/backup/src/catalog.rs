//! `Catalog`: what a place holds, as its records state.
//!
//! Each base lists the records since the one before, so a catalog is read from the bases, and from
//! the records after the last one. Records that no readable base lists are read singly.

use std::collections::{BTreeMap, BTreeSet};

use cairndb_base::{Error, ErrorKind, Result};

use crate::records::{BASES, Base, Body, CHAIN, Piece, Prune, Record, chain_name, number_name};
use crate::repository::{Owner, Repository};

/// Numbers of records are below this.
const NUMBER_MAX: u64 = 1 << 62;
/// Maximum number of missing records that are listed.
const HOLES_MAX: usize = 100;

/// A base, and the name of its object.
#[derive(Clone, Debug)]
pub(crate) struct NamedBase {
    pub(crate) object: String,
    pub(crate) base: Base,
}

/// What a place holds.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// Readable bases, oldest first.
    pub(crate) bases: Vec<NamedBase>,
    /// Parts of the history by the numbers of their records.
    pub(crate) pieces: BTreeMap<u64, Piece>,
    /// The first record, and the first base, that is not pruned.
    pub(crate) first: u64,
    pub(crate) kept_from: u64,
    /// The number of the next record.
    pub(crate) next: u64,
    /// Hash of the last record; empty if there is none.
    pub(crate) last_hash: String,
    /// Objects that are pruned, as far as the records after the last base state.
    pub(crate) pruned: BTreeSet<String>,
    /// Records that are there.
    listed: BTreeSet<u64>,
    /// Bases that later ones list, and that are not there.
    missing: Vec<String>,
    /// Bases that records name.
    recorded: Vec<String>,
    /// What could not be read.
    pub(crate) damage: Vec<Error>,
    /// Whether an object that the place does not return counts as damaged.
    goes_around: bool,
}

impl Catalog {
    /// Reads what a place holds.
    ///
    /// # Errors
    /// `Io`. What is damaged is left out and listed.
    pub(crate) fn read(repository: &Repository) -> Result<Catalog> {
        Catalog::default().filled(repository)
    }

    /// Like [`Catalog::read`], but `Io` of one object is damage too. For those that do not append
    /// records: after an error that passes, these would begin another timeline.
    pub(crate) fn read_around(repository: &Repository) -> Result<Catalog> {
        let catalog = Catalog {
            goes_around: true,
            ..Catalog::default()
        };
        catalog.filled(repository)
    }

    fn filled(self, repository: &Repository) -> Result<Catalog> {
        let mut catalog = Catalog {
            first: 1,
            next: 1,
            ..self
        };
        let names = repository.place().list(BASES, "")?;
        let names = names
            .into_iter()
            .rev()
            .map(|it| format!("{BASES}/{}", it.name));
        catalog.read_bases(repository, &names.collect::<Vec<_>>())?;
        let last = catalog.bases.last().map_or(0, |last| last.base.number);
        let is_whole = catalog.damage.is_empty() && catalog.missing.is_empty();
        let after = if is_whole { last } else { 0 };
        // The last base's own record as well, for its hash. A base that was pruned may have listed
        // records that the oldest one needs.
        let oldest = catalog.bases.first().map(|it| &it.base);
        let unlisted = oldest.is_some_and(|oldest| {
            let previous = oldest.previous.as_deref();
            previous.is_some_and(|it| number_in(it) >= catalog.first)
        });
        let after = if unlisted { catalog.first } else { after };
        catalog.list(repository, after.saturating_sub(1))?;
        catalog.read_records(repository)?;
        catalog.check_holes(repository);
        catalog.bases.sort_by_key(|it| it.base.number);
        Ok(catalog)
    }

    /// Reads bases, newest first. One counts if a newer one or its own record names it.
    fn read_bases(&mut self, repository: &Repository, names: &[String]) -> Result<()> {
        let mut previous: Option<String> = None;
        for name in names {
            if number_in(name) < self.kept_from {
                break;
            }
            if previous.as_ref() == Some(name) || self.is_recorded(repository, name)? {
                previous = match self.read_base(repository, name) {
                    // It was pruned since the bases were listed.
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    read => read?,
                };
                let is_missing =
                    |it: &&String| number_in(it) >= self.kept_from && !names.contains(it);
                self.missing
                    .extend(previous.as_ref().filter(is_missing).cloned());
            }
        }
        self.bases.reverse();
        Ok(())
    }

    /// Returns whether a record names the base. If that record is damaged, the base counts.
    fn is_recorded(&mut self, repository: &Repository, name: &str) -> Result<bool> {
        let record = repository.record(number_in(name));
        match record.map(|(record, ..)| record.body) {
            Ok(Body::Base { object }) => Ok(object == name),
            // Another program wrote this record, or the base was never finished.
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => self.note(repository, error).map(|()| true),
        }
    }

    /// Reads a base, and returns the one before it.
    fn read_base(&mut self, repository: &Repository, name: &str) -> Result<Option<String>> {
        let contents = repository.read_all(name);
        let base = contents.and_then(|contents| {
            let (base, _) = repository.parsed::<Base>(name, &contents)?;
            Ok(base)
        });
        match base {
            Ok(base) => {
                self.note_first(base.first, base.kept_from);
                let pieces = base.pieces.iter();
                self.pieces
                    .extend(pieces.map(|piece| (piece.number, piece.clone())));
                let previous = base.previous.clone();
                let object = name.to_owned();
                self.bases.push(NamedBase { object, base });
                Ok(previous)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            Err(error) => self.note(repository, error).map(|()| None),
        }
    }

    /// Notes damage, each object once; an error of the place is returned.
    fn note(&mut self, repository: &Repository, error: Error) -> Result<()> {
        let is_damage = match error.kind() {
            ErrorKind::Io => self.goes_around && repository.is_of_object(&error),
            _ => true,
        };
        if !is_damage {
            return Err(error);
        }
        let mut known = self.damage.iter();
        if !known.any(|it| it.file_name() == error.file_name()) {
            self.damage.push(error);
        }
        Ok(())
    }

    fn note_first(&mut self, first: u64, kept_from: u64) {
        self.first = self.first.max(first);
        self.kept_from = self.kept_from.max(kept_from);
    }

    fn list(&mut self, repository: &Repository, after: u64) -> Result<()> {
        let listed = repository.place().list(CHAIN, &number_name(after))?;
        let numbers = listed.iter().filter_map(|it| it.name.parse::<u64>().ok());
        let numbers = numbers.filter(|number| *number < NUMBER_MAX);
        self.listed.extend(numbers);
        self.next = self.listed.last().map_or(1, |last| last + 1).max(self.next);
        Ok(())
    }

    /// Reads the listed records that no base lists, and the last one.
    fn read_records(&mut self, repository: &Repository) -> Result<()> {
        let last = self.next - 1;
        let known: BTreeSet<u64> = self.bases.iter().map(|it| it.base.number).collect();
        let numbers: Vec<u64> = self.listed.iter().copied().collect();
        for number in numbers {
            let listed = self.pieces.contains_key(&number) || known.contains(&number);
            if number < self.first || listed && number != last {
                continue;
            }
            match repository.record(number) {
                Ok((record, _, hash)) => self.add(number, record, hash),
                // It was pruned in the meantime.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => self.note(repository, error)?,
            }
        }
        for object in std::mem::take(&mut self.recorded) {
            let known = self.bases.iter().any(|it| it.object == object);
            if known || number_in(&object) < self.kept_from {
                continue;
            }
            match self.read_base(repository, &object) {
                Err(error) if error.kind() == ErrorKind::NotFound => self.missing.push(object),
                read => drop(read?),
            }
        }
        let (first, kept_from) = (self.first, self.kept_from);
        self.pieces.retain(|number, _| *number >= first);
        self.bases.retain(|it| it.base.number >= kept_from);
        Ok(())
    }

    fn add(&mut self, number: u64, record: Record, hash: String) {
        if number + 1 == self.next {
            self.last_hash = hash;
        }
        match record.body {
            Body::Changes(piece) => {
                self.pieces.insert(number, Piece { number, ..piece });
            }
            // Recorded since the bases were listed, or its object is missing.
            Body::Base { object } => self.recorded.push(object),
            Body::Prune(Prune {
                first,
                kept_from,
                objects,
            }) => {
                self.note_first(first, kept_from);
                self.pruned.extend(objects);
            }
        }
    }

    /// Notes bases and records that are missing. Records that bases list are looked for when they
    /// are needed.
    fn check_holes(&mut self, repository: &Repository) {
        let kept_from = self.kept_from;
        let missing = self.missing.iter().filter(|it| number_in(it) >= kept_from);
        let missing = missing.map(|name| missing_object(repository, name));
        self.damage.extend(missing.collect::<Vec<_>>());
        let Some(begin) = self.listed.first().copied() else {
            return;
        };
        let missing =
            (begin.max(self.first)..self.next).filter(|number| !self.listed.contains(number));
        let missing = missing.take(HOLES_MAX);
        let missing = missing.map(|number| missing_object(repository, &chain_name(number)));
        let missing: Vec<Error> = missing.collect();
        self.damage.extend(missing);
    }

    /// Returns the error of a record that its writer has stated and that is not there, nor any
    /// after it. `owner` is from before the records were listed.
    pub(crate) fn missing_end(&self, repository: &Repository, owner: &Owner) -> Option<Error> {
        let last = self.last_places().get(&owner.incarnation).copied()?;
        (last < owner.seq).then(|| missing_object(repository, &chain_name(self.next)))
    }

    /// Returns the last part of the history.
    pub(crate) fn last_piece(&self) -> Option<&Piece> {
        self.pieces.values().next_back()
    }

    /// Returns the last number of a write that was not logged and that a base does not have, or 0.
    pub(crate) fn unlogged_after(&self, base: &Base) -> u64 {
        let pieces = self
            .pieces
            .values()
            .filter(|it| it.timeline == base.timeline);
        let unlogged = pieces.map(|it| it.unlogged).filter(|seq| *seq > base.seq);
        unlogged.max().unwrap_or(0)
    }

    /// Returns the number of the newest timeline.
    pub(crate) fn timeline(&self) -> u32 {
        let bases = self.bases.last().map(|it| it.base.timeline);
        bases
            .max(self.last_piece().map(|it| it.timeline))
            .unwrap_or(0)
    }

    /// Returns the last sequence number of each incarnation.
    pub(crate) fn last_places(&self) -> BTreeMap<u64, u64> {
        let pieces = self.pieces.values().map(|it| (it.incarnation, it.until));
        let bases = self
            .bases
            .iter()
            .map(|it| (it.base.incarnation, it.base.seq));
        let mut last = BTreeMap::new();
        for (incarnation, seq) in pieces.chain(bases) {
            let known = last.entry(incarnation).or_insert(seq);
            *known = seq.max(*known);
        }
        last
    }

    /// Returns the incarnation and the sequence number up to which the newest timeline is backed
    /// up.
    pub(crate) fn last_place(&self) -> Option<(u64, u64)> {
        let timeline = self.timeline();
        // A base may be ahead of the records, if the program was killed between them.
        let piece = self.last_piece().filter(|it| it.timeline == timeline);
        let piece = piece.map(|it| (it.until, it.incarnation));
        let base = self.bases.last().map(|it| &it.base);
        let base = base.filter(|it| it.timeline == timeline);
        let (seq, incarnation) = piece.or(base.map(|it| (it.seq, it.incarnation)))?;
        Some((incarnation, seq))
    }
}

/// Returns the error of an object that is not there.
pub(crate) fn missing_object(repository: &Repository, name: &str) -> Error {
    let error = Error::corruption("an object of the backup is missing").file(name);
    error.directory(repository.place().url().as_ref())
}

/// Returns the number in the name of a base or record.
pub(crate) fn number_in(name: &str) -> u64 {
    let name = name.split_once('/').map_or(name, |(_, name)| name);
    let digits = name
        .split('-')
        .next()
        .and_then(|digits| digits.parse().ok());
    digits.unwrap_or(0)
}
