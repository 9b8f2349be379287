//! The directory of a database, and the note beside it.
//!
//! A directory is emptied only when it is empty already, or when the note `DIR.db_bench` beside it
//! says that this program made it: somebody's files are never destroyed. The note also carries what
//! the model knew when the process ended, so that a later run with `--use_existing_db` can go on
//! judging answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::model::Model;
use crate::plan::{Data, Keys, Plan};

/// The line that begins every note.
const MAGIC: &str = "directory made by db_bench; it may be removed together with this file\n";

/// What the model of a note was made for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    engine: String,
    num: u64,
    value_size: usize,
    compression_ratio: f64,
    key_len: usize,
    data: Data,
    keys: Keys,
    model_bytes: usize,
}

impl Origin {
    fn of(plan: &Plan, model_bytes: usize) -> Self {
        Self {
            engine: plan.engine.clone(),
            num: plan.num,
            value_size: plan.value_size,
            compression_ratio: plan.compression_ratio,
            key_len: plan.key_len,
            data: plan.data.clone(),
            keys: plan.keys,
            model_bytes,
        }
    }
}

/// The note beside a directory.
fn note(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".db_bench");
    PathBuf::from(name)
}

/// Where the note is written before it takes its place.
fn new_note(db: &Path) -> PathBuf {
    let mut name = note(db).into_os_string();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes the note as a whole: a process that is killed meanwhile leaves the one before.
fn write(db: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    fs::write(new_note(db), bytes)?;
    fs::rename(new_note(db), note(db))
}

fn is_ours(db: &Path) -> bool {
    fs::read(note(db)).is_ok_and(|bytes| bytes.starts_with(MAGIC.as_bytes()))
}

/// Makes `db` an empty directory of ours.
///
/// # Errors
/// When it holds files that this program did not make, or the system refuses.
pub fn make_fresh(db: &Path) -> Result<(), Fault> {
    let shown = db.display();
    match fs::read_dir(db) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                if !is_ours(db) {
                    return Err(Fault::new(format!(
                        "{shown} holds files that db_bench did not make: remove them yourself or name another directory with --db"
                    )));
                }
                fs::remove_dir_all(db)
                    .map_err(|error| Fault::io(format!("removing {shown}"), &error))?;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Fault::io(format!("reading {shown}"), &error)),
    }
    fs::create_dir_all(db).map_err(|error| Fault::io(format!("creating {shown}"), &error))?;
    write(db, MAGIC).map_err(|error| Fault::io(format!("writing a note beside {shown}"), &error))
}

/// Removes a directory of ours and its note; anything else is left alone.
///
/// # Errors
/// As the system reports it.
pub fn remove(db: &Path) -> io::Result<()> {
    if is_ours(db) {
        if db.exists() {
            fs::remove_dir_all(db)?;
        }
        fs::remove_file(note(db))?;
        if new_note(db).exists() {
            fs::remove_file(new_note(db))?;
        }
    }
    Ok(())
}

/// Writes what the model knows into the note, if the directory is ours.
///
/// # Errors
/// As the system reports it.
pub fn keep(db: &Path, plan: &Plan, model: &Model) -> io::Result<()> {
    if !is_ours(db) {
        return Ok(());
    }
    let words = if model.is_known() {
        model.to_bytes()
    } else {
        Vec::new()
    };
    let origin = serde_json::to_string(&Origin::of(plan, words.len()))?;
    let mut bytes = format!("{MAGIC}{origin}\n").into_bytes();
    bytes.extend_from_slice(&words);
    write(db, bytes)
}

/// Gives the model what the note of an existing database says; false when there is none that fits.
pub fn recall(db: &Path, plan: &Plan, model: &mut Model) -> bool {
    let Ok(bytes) = fs::read(note(db)) else {
        return false;
    };
    let Some(rest) = bytes.strip_prefix(MAGIC.as_bytes()) else {
        return false;
    };
    let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
        return false;
    };
    let Ok(origin) = serde_json::from_slice::<Origin>(&rest[..end]) else {
        return false;
    };
    let words = &rest[end + 1..];
    !words.is_empty() && origin == Origin::of(plan, words.len()) && model.restore(words)
}

/// Forgets what the note knew, before something changes the database.
///
/// # Errors
/// As the system reports it.
pub fn forget(db: &Path) -> io::Result<()> {
    if is_ours(db) {
        write(db, MAGIC)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebodys_files_are_never_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("letters");
        fs::create_dir(&db).expect("created");
        fs::write(db.join("mine.txt"), "mine").expect("written");
        let fault = make_fresh(&db).expect_err("not ours").to_string();
        assert!(
            fault.contains("letters") && fault.contains("--db"),
            "{fault}"
        );
        remove(&db).expect("nothing done");
        assert_eq!(
            fs::read_to_string(db.join("mine.txt")).expect("still there"),
            "mine"
        );
    }

    #[test]
    fn our_own_directory_is_emptied_again() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("deep/db");
        make_fresh(&db).expect("created with its parents");
        fs::write(db.join("000001.log"), "x").expect("written");
        make_fresh(&db).expect("ours");
        assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
        fs::write(new_note(&db), "half a no").expect("written");
        remove(&db).expect("ours");
        let left = fs::read_dir(home.path().join("deep")).expect("there");
        assert_eq!(left.count(), 0);
    }
}
