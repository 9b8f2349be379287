//! The note next to a directory: the directory it describes, its files, and the process that uses
//! it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::owner::Owner;
use crate::fault::Fault;

/// The first line of every note.
const MAGIC: &str = "directory made by db_bench; it may be removed together with this file\n";

/// The directory that a note describes; another directory can later take the same path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Directory {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The creation time, if the file system reports it: inode numbers are reused.
    pub(super) born_ns: Option<u64>,
    /// The entries present when the last run ended, including folders, with their inode numbers,
    /// because another file may take the same name. `None` during a run, or if no process was left
    /// to list them.
    #[serde(default)]
    pub(super) held: Option<BTreeMap<String, u64>>,
    /// The process that uses it, or that used it and has not listed its files.
    #[serde(default)]
    pub(super) worker: Option<Owner>,
    /// User files that were found when a later run continued with the contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) foreign: Vec<String>,
    /// Whether the directory was created by this program. A directory that existed before is kept,
    /// with its owner and attributes.
    #[serde(default)]
    pub(super) created: bool,
}

impl Directory {
    pub(super) fn of(db: &Path) -> io::Result<Self> {
        let about = fs::metadata(db)?;
        let born = about.created().ok();
        let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            born_ns: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
            held: None,
            worker: None,
            foreign: Vec::new(),
            created: false,
        })
    }

    /// Marks the directory as used by this process: its contents change from now on.
    pub(super) fn taken(self) -> Self {
        Self {
            held: None,
            worker: Some(Owner::here()),
            ..self
        }
    }

    /// Marks the directory as no longer in use and records its contents.
    pub(super) fn left(self, db: &Path) -> io::Result<Self> {
        let held = entries_in(db)?;
        let number = |(path, about): (String, Metadata)| (path, about.ino());
        Ok(Self {
            held: Some(held.into_iter().map(number).collect()),
            worker: None,
            ..self
        })
    }

    fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// Returns all entries in a directory and in its subdirectories.
pub(super) fn entries_in(db: &Path) -> io::Result<Vec<(String, Metadata)>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(db.join(&folder))? {
            let entry = entry?;
            let (about, path) = (entry.metadata()?, folder.join(entry.file_name()));
            found.push((path.to_string_lossy().into_owned(), about.clone()));
            if about.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the sorted names in a directory.
pub(super) fn names_in(db: &Path) -> io::Result<Vec<String>> {
    let names =
        fs::read_dir(db)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Returns the path of the note next to a directory, however the directory's path is written.
pub(super) fn note(db: &Path) -> PathBuf {
    let mut plain: PathBuf = db.components().collect();
    if plain.file_name().is_none() {
        plain = fs::canonicalize(db).unwrap_or(plain);
    }
    plain.as_mut_os_string().push(".db_bench");
    plain
}

/// Returns the temporary path of the note, before it is renamed into place.
pub(super) fn new_note(db: &Path) -> PathBuf {
    let mut path = note(db);
    path.as_mut_os_string().push(".new");
    path
}

/// Writes the note atomically: if the process is killed during the write, the previous note
/// remains.
pub(super) fn write(db: &Path, directory: &Directory, rest: &[u8]) -> io::Result<()> {
    let bytes = [MAGIC.as_bytes(), &directory.line()?, rest].concat();
    fs::write(new_note(db), bytes)?;
    fs::rename(new_note(db), note(db))
}

/// Parses a note into the directory that it describes and the rest of the note.
pub(super) fn read(bytes: &[u8]) -> Option<(Directory, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let directory = serde_json::from_slice(&rest[..end]).ok()?;
    Some((directory, &rest[end + 1..]))
}

/// Returns the directory as the note describes it, if this program created it.
pub(super) fn made(db: &Path) -> Option<Directory> {
    let bytes = fs::read(note(db)).ok()?;
    let (directory, _) = read(&bytes)?;
    let same = Directory {
        held: directory.held.clone(),
        worker: directory.worker.clone(),
        foreign: directory.foreign.clone(),
        created: directory.created,
        ..Directory::of(db).ok()?
    };
    (same == directory).then_some(directory)
}

/// Returns an error if a file at the note's path is not a note: it belongs to the user.
pub(super) fn check_notes(db: &Path) -> Result<(), Fault> {
    for (path, whole) in [(note(db), true), (new_note(db), false)] {
        let Ok(bytes) = fs::read(&path) else { continue };
        let magic = MAGIC.as_bytes();
        let begun = !whole && magic.starts_with(&bytes);
        if !begun && !bytes.starts_with(magic) {
            return Err(Fault::new(format!(
                "{} is not a note of db_bench, which writes one of that name: move it away or name another directory with --db",
                path.display()
            )));
        }
    }
    Ok(())
}
