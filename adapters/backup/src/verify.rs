//! Listing and verifying backups.

use std::collections::BTreeSet;
use std::time::SystemTime;

use cairndb::Place;
use cairndb_base::{Error, Result, watch};

use crate::catalog::{Catalog, missing_object};
use crate::moments::{Moments, time_of};
use crate::records::{BASES, CHAIN, DATA, chain_name};
use crate::repository::{Repository, hash_in};

/// What a place has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Backups {
    /// What can be restored, oldest first.
    pub moments: Vec<Moments>,
    /// When the program that backs up, or did last, last looked for changes, and up to where it
    /// had recorded them.
    pub looked: Option<(SystemTime, Place)>,
    /// Which program that is.
    pub writer: Option<String>,
    /// Whether it has ended.
    pub ended: bool,
    /// Number of bases.
    pub bases: u64,
    /// What of the list itself is damaged.
    pub damage: Vec<Error>,
}

/// What a verification has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of objects that were read.
    pub objects: u64,
    /// Their bytes, as stored.
    pub bytes: u64,
    /// What is damaged or missing: every error names an object.
    pub damage: Vec<Error>,
    /// What can be restored in spite of that.
    pub moments: Vec<Moments>,
}

impl Repository {
    /// Lists what can be restored. Reads only what describes the backups; see
    /// [`Repository::verify`].
    ///
    /// # Errors
    /// Those of the place.
    pub fn backups(&self) -> Result<Backups> {
        // Before the catalog: a backup that goes on meanwhile records more.
        let owner = self.owner()?;
        let mut catalog = Catalog::read_around(self)?;
        let end = owner.as_ref().and_then(|it| catalog.missing_end(self, it));
        catalog.damage.extend(end);
        Ok(Backups {
            moments: catalog.moments(&BTreeSet::new()),
            looked: owner.as_ref().and_then(|owner| {
                let place = Place {
                    incarnation: owner.incarnation,
                    seq: owner.seq,
                };
                Some((time_of(owner.time_ms)?, place))
            }),
            writer: owner
                .as_ref()
                .map(|it| format!("process {} on {}", it.writer.process, it.writer.host)),
            ended: owner.is_none_or(|owner| owner.ended),
            bases: catalog.bases.len() as u64,
            damage: catalog.damage,
        })
    }

    /// Reads every object, and checks it and that nothing is missing. The next backup uploads again
    /// what is damaged and still there to be uploaded. May be [watched](cairndb::watch).
    ///
    /// # Errors
    /// Those of the place; `Interrupted`. Damage is reported, not returned.
    pub fn verify(&self) -> Result<VerifyReport> {
        // Before the catalog: a backup that goes on meanwhile records more.
        let owner = self.owner()?;
        let catalog = Catalog::read_around(self)?;
        let mut verification = Verification {
            repository: self,
            damaged: BTreeSet::new(),
            report: VerifyReport {
                objects: 0,
                bytes: 0,
                damage: Vec::new(),
                moments: Vec::new(),
            },
        };
        for error in &catalog.damage {
            verification.note(error.clone());
        }
        verification.records(&catalog)?;
        // A damaged last record is not missing.
        let end = owner.and_then(|it| catalog.missing_end(self, &it));
        if let Some(missing) = end.filter(|_| !verification.has_damaged_end(&catalog)) {
            verification.note(missing);
        }
        verification.data(&catalog)?;
        let damaged = verification.damaged;
        let mut report = verification.report;
        if !damaged.is_empty() {
            // The place may be one that this program cannot write to.
            let _ = self.note_damaged(&damaged);
        }
        report.moments = catalog.moments(&damaged);
        Ok(report)
    }
}

struct Verification<'r> {
    repository: &'r Repository,
    damaged: BTreeSet<String>,
    report: VerifyReport,
}

impl Verification<'_> {
    /// Notes damage, each object once.
    fn note(&mut self, error: Error) {
        let named = error.file_name().unwrap_or_default().to_owned();
        if self.damaged.insert(named) {
            self.report.damage.push(error);
        }
    }

    /// Notes the error of an object; one of the place ends the verification.
    fn check<T>(&mut self, found: Result<T>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if !self.repository.is_of_object(&error) => Err(error),
            Err(error) => {
                self.note(error);
                Ok(None)
            }
        }
    }

    fn has_damaged_end(&self, catalog: &Catalog) -> bool {
        self.damaged.contains(&chain_name(catalog.next - 1))
    }

    /// Reads bases and records.
    fn records(&mut self, catalog: &Catalog) -> Result<()> {
        let repository = self.repository;
        let sizes = |folder| -> Result<Vec<(String, u64)>> {
            let listed = repository.place().list(folder, "")?;
            let named = listed
                .into_iter()
                .map(|it| (format!("{folder}/{}", it.name), it.bytes));
            Ok(named.collect())
        };
        for named in &catalog.bases {
            let read = repository.read(&named.object, |_| watch::check());
            self.check(read)?;
        }
        for (_, bytes) in sizes(BASES)? {
            self.report.objects += 1;
            self.report.bytes += bytes;
        }
        let listed = sizes(CHAIN)?;
        let names: BTreeSet<&str> = listed.iter().map(|(name, _)| &**name).collect();
        for number in catalog.first..catalog.next {
            let name = chain_name(number);
            if !names.contains(&*name) {
                self.note(missing_object(repository, &name));
            }
        }
        let (mut before, mut follows) = (String::new(), false);
        for (name, bytes) in &listed {
            self.report.objects += 1;
            self.report.bytes += bytes;
            let number = name.rsplit('/').next().and_then(|it| it.parse().ok());
            let number = number.filter(|number| *number >= catalog.first);
            let Some(number) = number else { continue };
            watch::check()?;
            let record = self.check(repository.record(number))?;
            if let Some((record, _, _)) = &record
                && follows
                && record.previous != before
            {
                let message = "the record does not follow the one before it";
                let error = Error::corruption(message).file(&**name);
                self.note(error.directory(repository.place().url().as_ref()));
            }
            follows = record.is_some();
            before = record.map_or_else(String::new, |(_, _, hash)| hash);
        }
        Ok(())
    }

    /// Reads the contents of files.
    fn data(&mut self, catalog: &Catalog) -> Result<()> {
        let repository = self.repository;
        let mut needed = catalog.objects();
        for object in repository.place().list(DATA, "")? {
            let name = format!("{DATA}/{}", object.name);
            if !needed.remove(&name) {
                // Of a backup that has not got further, or that was pruned.
                continue;
            }
            self.report.objects += 1;
            self.report.bytes += object.bytes;
            let read = repository.read(&name, |part| watch::advance(part.len() as u64));
            if let Some(hash) = self.check(read)?
                && hash_in(&name) != Some(hash)
            {
                let message = "the object does not have the contents that its name states";
                self.note(Error::corruption(message).file(&*name));
            }
        }
        for name in needed {
            self.note(missing_object(repository, &name));
        }
        Ok(())
    }
}
