//! The note next to a directory: which directory it describes, its files, the process that works in
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

/// The line that begins every note.
const MAGIC: &str = "directory made by db_bench; it may be removed together with this file\n";

/// Which directory a note is about: a path can be given to another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Directory {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// When it was made, if the file system knows: inode numbers are reused.
    pub(super) born_ns: Option<u64>,
    /// What it held when the last run ended, including folders, with the inode numbers: another
    /// file may take a name. Unknown while a run goes on, or if no process was left to look.
    #[serde(default)]
    pub(super) held: Option<BTreeMap<String, u64>>,
    /// The process that works in it, or that did and has not listed its files.
    #[serde(default)]
    pub(super) worker: Option<Owner>,
    /// Foreign files that were found when a later run continued with the contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) foreign: Vec<String>,
    /// It was not there before; one that was stays the one it is, with its owner and attributes.
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

    /// The same, in the hands of this process: what it holds changes from now on.
    pub(super) fn taken(self) -> Self {
        Self {
            held: None,
            worker: Some(Owner::here()),
            ..self
        }
    }

    /// The same, left: what it holds is known.
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

/// Everything in a directory and in the folders in it.
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

/// The names in a directory, in order.
pub(super) fn names_in(db: &Path) -> io::Result<Vec<String>> {
    let names =
        fs::read_dir(db)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The note next to a directory, however its path is written.
pub(super) fn note(db: &Path) -> PathBuf {
    let mut plain: PathBuf = db.components().collect();
    if plain.file_name().is_none() {
        plain = fs::canonicalize(db).unwrap_or(plain);
    }
    let mut name = plain.into_os_string();
    name.push(".db_bench");
    PathBuf::from(name)
}

/// Where the note is written before it takes its place.
pub(super) fn new_note(db: &Path) -> PathBuf {
    let mut name = note(db).into_os_string();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes the note as a whole: a process that is killed meanwhile leaves the one before.
pub(super) fn write(db: &Path, directory: &Directory, rest: &[u8]) -> io::Result<()> {
    let bytes = [MAGIC.as_bytes(), &directory.line()?, rest].concat();
    fs::write(new_note(db), bytes)?;
    fs::rename(new_note(db), note(db))
}

/// The directory that a note describes, and the rest of the note.
pub(super) fn read(bytes: &[u8]) -> Option<(Directory, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let directory = serde_json::from_slice(&rest[..end]).ok()?;
    Some((directory, &rest[end + 1..]))
}

/// The directory as the note describes it, if it is the one that this program made.
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

/// Refuses a file in the note's place that is not a note: it is the user's.
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
