//! `Files`: what the place has of the database's files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairndb_base::{FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::name;

use crate::catalog::Catalog;
use crate::object::Hash;
use crate::records::{DATA, FileExtent, Table};
use crate::repository::{Repository, data_name, hash_in};

/// Number of bytes of a file that are read at a time.
const READ_BYTES: u64 = 1 << 20;

/// What the place has.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Objects by the hash of their contents.
    objects: BTreeMap<Hash, String>,
    /// Tables of this timeline by their names. A number is used for one file only.
    tables: BTreeMap<String, Table>,
    /// Parts of value files, from front to back without holes.
    values: BTreeMap<u64, Vec<FileExtent>>,
    /// Whether the database continues what the place has.
    continues: bool,
    /// Whether the parts of value files are known to be those of this database's files.
    checked_values: bool,
}

impl Files {
    /// Returns what a catalog states. If the history does not `continue`, files of the same name
    /// may have other contents.
    pub(crate) fn of(catalog: &Catalog, continues: bool) -> Files {
        let mut files = Files {
            continues,
            ..Files::default()
        };
        for named in &catalog.bases {
            let base = &named.base;
            for table in &base.tables {
                files.note(&table.object);
            }
            let is_last = base.number == catalog.bases.last().map_or(0, |it| it.base.number);
            if is_last {
                files.add(&base.extents);
                if continues {
                    let named = base.tables.iter().map(|it| (it.name.clone(), it.clone()));
                    files.tables.extend(named);
                }
            }
        }
        let timeline = catalog.timeline();
        for piece in catalog.pieces.values().filter(|it| it.timeline == timeline) {
            files.add(&piece.extents);
        }
        files.forget(|object| catalog.pruned.contains(object));
        files
    }

    fn note(&mut self, object: &str) {
        if let Some(hash) = hash_in(object) {
            self.objects.insert(hash, object.to_owned());
        }
    }

    /// Adds parts of value files. A part that does not continue its file is left out.
    pub(crate) fn add(&mut self, extents: &[FileExtent]) {
        for extent in extents {
            self.note(&extent.object);
            let known = self.values.entry(extent.file).or_default();
            if !known.contains(extent) && known.last().map_or(0, |it| it.to) == extent.from {
                known.push(extent.clone());
            }
        }
    }

    /// Forgets objects that were pruned.
    pub(crate) fn forget(&mut self, is_pruned: impl Fn(&str) -> bool) {
        self.objects.retain(|_, object| !is_pruned(object));
        self.tables.retain(|_, table| !is_pruned(&table.object));
        for extents in self.values.values_mut() {
            let gone = extents.iter().position(|it| is_pruned(&it.object));
            extents.truncate(gone.unwrap_or(extents.len()));
        }
    }

    /// Forgets objects that are not there, or were found damaged. Returns whether there are any.
    ///
    /// # Errors
    /// Those of the place.
    pub(crate) fn forget_absent(&mut self, repository: &Repository) -> Result<bool> {
        let listed = repository.place().list(DATA, "")?.into_iter();
        let damaged = repository.damaged()?;
        let there = listed.map(|it| format!("{DATA}/{}", it.name));
        let there: BTreeSet<String> = there.filter(|it| !damaged.contains(it)).collect();
        let extents = self.values.values().flatten().map(|it| &it.object);
        let mut known = self.objects.values().chain(extents);
        let lacks = known.any(|object| !there.contains(object));
        self.forget(|object| !there.contains(object));
        Ok(lacks)
    }

    /// Uploads contents, unless the place has them. Returns the object, and the number of bytes
    /// stored.
    fn upload(
        &mut self,
        repository: &Repository,
        dir: &Arc<dyn Dir>,
        next: u64,
        (named, from, to): (&str, u64, u64),
    ) -> Result<(String, u64)> {
        let hash = repository.hash_of(|take| read_part(&**dir, named, from, to, take))?;
        if let Some(object) = self.objects.get(&hash) {
            return Ok((object.clone(), 0));
        }
        let object = data_name(hash, next);
        let read =
            |take: &mut dyn FnMut(&[u8]) -> Result<()>| read_part(&**dir, named, from, to, take);
        let stored = repository.upload(&object, hash, read)?;
        self.objects.insert(hash, object.clone());
        Ok((object, stored))
    }

    /// Uploads a table. Returns it, and the number of bytes stored.
    pub(crate) fn upload_table(
        &mut self,
        repository: &Repository,
        dir: &Arc<dyn Dir>,
        next: u64,
        (name, bytes, checksum): (String, u64, u32),
    ) -> Result<(Table, u64)> {
        // A database that was replaced with an older copy may have another of this name.
        let known = self.tables.get(&name);
        if let Some(known) = known.filter(|it| (it.bytes, it.checksum) == (bytes, checksum)) {
            return Ok((known.clone(), 0));
        }
        let (object, stored) = self.upload(repository, dir, next, (&name, 0, bytes))?;
        let table = Table {
            name: name.clone(),
            bytes,
            checksum,
            object,
        };
        self.tables.insert(name, table.clone());
        Ok((table, stored))
    }

    /// Uploads value files up to their ends. Returns the parts that the place did not have, which
    /// count once they are [added](Files::add), and the number of bytes stored.
    pub(crate) fn upload_values(
        &mut self,
        repository: &Repository,
        dir: &Arc<dyn Dir>,
        next: u64,
        ends: &[(u64, u64)],
    ) -> Result<(Vec<FileExtent>, u64)> {
        self.check_values(repository, dir)?;
        let mut wanted = BTreeMap::<u64, u64>::new();
        for (file, end) in ends {
            let known = wanted.entry(*file).or_default();
            *known = (*known).max(*end);
        }
        let (mut extents, mut bytes) = (Vec::new(), 0);
        for (file, to) in wanted {
            let from = self.end_of(file);
            if to <= from {
                continue;
            }
            let named = name::value(FileNumber(file));
            let (object, stored) = self.upload(repository, dir, next, (&named, from, to))?;
            bytes += stored;
            extents.push(FileExtent {
                file,
                from,
                to,
                object,
            });
        }
        Ok((extents, bytes))
    }

    fn end_of(&self, file: u64) -> u64 {
        let extents = self.values.get(&file).and_then(|extents| extents.last());
        extents.map_or(0, |last| last.to)
    }

    /// Drops parts that are not those of this database's files. If the history continues, only the
    /// newest part is looked at: it differs if the database was replaced with an older copy.
    fn check_values(&mut self, repository: &Repository, dir: &Arc<dyn Dir>) -> Result<()> {
        if self.checked_values {
            return Ok(());
        }
        self.checked_values = true;
        if self.continues {
            let newest = self.values.iter().next_back();
            let newest = newest.and_then(|(file, extents)| Some((*file, extents.last()?)));
            let Some((file, newest)) = newest else {
                return Ok(());
            };
            if is_part(repository, &**dir, file, newest)? {
                return Ok(());
            }
        }
        for (file, extents) in &mut self.values {
            let mut same = 0;
            while same < extents.len() && is_part(repository, &**dir, *file, &extents[same])? {
                same += 1;
            }
            extents.truncate(same);
        }
        Ok(())
    }

    /// Returns the parts of a value file up to `end`.
    pub(crate) fn extents(&self, file: u64, end: u64) -> impl Iterator<Item = &FileExtent> {
        let extents = self.values.get(&file).into_iter().flatten();
        extents.take_while(move |it| it.from < end)
    }

    /// Forgets everything about files that are not listed: they were removed.
    pub(crate) fn retain(&mut self, tables: &[Table], values: &BTreeSet<u64>) {
        let names: BTreeSet<&str> = tables.iter().map(|it| &*it.name).collect();
        self.tables.retain(|name, _| names.contains(&**name));
        self.values.retain(|file, _| values.contains(file));
    }
}

/// Returns whether a part of a value file has the contents that the place has.
fn is_part(repository: &Repository, dir: &dyn Dir, file: u64, extent: &FileExtent) -> Result<bool> {
    let named = name::value(FileNumber(file));
    if dir.size_of(&named)?.is_none_or(|size| size < extent.to) {
        return Ok(false);
    }
    let read = |take: &mut dyn FnMut(&[u8]) -> Result<()>| {
        read_part(dir, &named, extent.from, extent.to, take)
    };
    Ok(hash_in(&extent.object) == Some(repository.hash_of(read)?))
}

/// Hands a part of a file to `take`.
fn read_part(
    dir: &dyn Dir,
    name: &str,
    from: u64,
    to: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let file = dir.open_read(name)?;
    let mut buffer = vec![0; usize::try_from(READ_BYTES.min(to - from)).unwrap_or(0)];
    let mut at = from;
    while at < to {
        cairndb_base::watch::check()?;
        let len = usize::try_from(READ_BYTES.min(to - at)).unwrap_or(0);
        file.read_at(at, &mut buffer[..len])?;
        take(&buffer[..len])?;
        at += len as u64;
    }
    Ok(())
}
