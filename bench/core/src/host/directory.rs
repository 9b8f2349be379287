//! The database directory and the note next to it.
//!
//! A directory is emptied only if the note `DIR.db_bench` next to it records that this program
//! created that very directory, if no other run is using it, and if nothing was added to or changed
//! in it after the last run ended. User files are thus never destroyed. The process that waited for
//! the run lists the files that the run left. If a process was killed or crashed, there is no such
//! list. Files that were added, moved in or changed after the process's last sign of life then
//! count as the user's. The note also stores the state of the model at the end of the run, so that
//! a later run with `--use_existing_db` can continue to check answers.
//!
//! A note consists of the line `MAGIC` and a line that describes the directory. After a run, a line
//! with the parameters of the model and the model itself follow.

mod block_group;
mod foreign_files;
mod marker;
mod owner;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::workload::model::Model;
use crate::workload::plan::{Data, Keys, Plan};

use marker::{Directory, check_notes, made, names_in, new_note, note, read, write};

/// The parameters of the run that a note's model belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    engine: String,
    num: u64,
    value_size: usize,
    compression_ratio: f64,
    key_len: usize,
    data: Data,
    keys: Keys,
    #[serde(default)]
    keyspaces: u32,
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
            keyspaces: plan.keyspaces,
            model_bytes,
        }
    }
}

/// Removes the contents of a directory but not the directory itself: it may be a link or the
/// working directory.
fn empty(db: &Path) -> io::Result<()> {
    for entry in fs::read_dir(db)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns a path with an ending on its last component.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the staging directory, in which directories are created in a block group of their own.
fn staging(db: &Path) -> PathBuf {
    with_ending(&note(db), ".dir")
}

/// Creates `db` as an empty directory owned by this program, or empties it.
///
/// # Errors
/// If it contains files that this program did not create, or on a system error.
pub fn make_fresh(db: &Path) -> Result<(), Fault> {
    make_fresh_then(db, block_group::settle)
}

/// Creates the directory, describes it in the note, and lets the file system settle.
fn make_fresh_then(db: &Path, settle: impl FnOnce(&Path)) -> Result<(), Fault> {
    let shown = db.display();
    check_notes(db)?;
    let mut created = made(db).is_some_and(|directory| directory.created);
    match names_in(db) {
        Ok(held) if held.is_empty() => {}
        Ok(_) => {
            let Some(directory) = made(db) else {
                return Err(Fault::new(format!(
                    "{shown} holds files that db_bench did not create: remove them yourself or name another directory with --db"
                )));
            };
            check_nobodys(db, &directory)?;
            empty(db).map_err(|error| Fault::io(format!("emptying {shown}"), &error))?;
            if created {
                block_group::make(db, &staging(db));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            created = true;
            block_group::make(db, &staging(db));
        }
        Err(error) => return Err(Fault::io(format!("reading {shown}"), &error)),
    }
    fs::create_dir_all(db).map_err(|error| Fault::io(format!("creating {shown}"), &error))?;
    let taken = Directory::of(db).and_then(|directory| {
        let directory = Directory {
            created,
            ..directory.taken()
        };
        write(db, &directory, &[])
    });
    taken.map_err(|error| Fault::io(format!("writing a note next to {shown}"), &error))?;
    owner::begin(&note(db));
    // This comes last: on a slow disk it takes seconds, and a process that is killed during that
    // time has already written its note.
    settle(db);
    Ok(())
}

/// Returns an error if another run uses the directory or a user has added files to it.
fn check_nobodys(db: &Path, directory: &Directory) -> Result<(), Fault> {
    let shown = db.display();
    owner::wait_for_end(db, directory.worker.as_ref())?;
    let foreign = foreign_files::entries(db, directory)
        .map_err(|error| Fault::io(format!("reading {shown}"), &error))?;
    match foreign_files::list(&foreign) {
        None => Ok(()),
        Some(names) => Err(Fault::new(format!(
            "{shown} holds {names}, put there or changed after db_bench had ended: move away what is yours or name another directory with --db"
        ))),
    }
}

/// Removes a directory that this program created, and its note. A directory that existed before is
/// only emptied. Anything else is left alone, including one of our directories to which a user has
/// added files.
///
/// # Errors
/// As reported by the system.
pub fn remove(db: &Path) -> io::Result<()> {
    let Some(directory) = made(db) else {
        return Ok(());
    };
    if check_nobodys(db, &directory).is_err() {
        return Ok(());
    }
    empty(db)?;
    if directory.created {
        fs::remove_dir(db)?;
    }
    owner::end(&note(db));
    fs::remove_file(note(db))?;
    if new_note(db).exists() {
        fs::remove_file(new_note(db))?;
    }
    Ok(())
}

/// Writes the model's state to the note if the directory is ours. [`leave`] lists the files in it
/// after this process has ended, because libraries write until the process exits.
///
/// # Errors
/// As reported by the system.
pub fn keep(db: &Path, plan: &Plan, model: &Model) -> io::Result<()> {
    let Some(directory) = made(db) else {
        return Ok(());
    };
    let words = if model.is_known() {
        model.to_bytes()
    } else {
        Vec::new()
    };
    let origin = serde_json::to_string(&Origin::of(plan, words.len()))?;
    let rest = [origin.as_bytes(), b"\n", &words].concat();
    write(db, &directory.taken(), &rest)
}

/// Marks an existing database as in use by this run: from now on the note has no list of its files.
///
/// # Errors
/// If another run uses it, or as reported by the system.
pub fn enter(db: &Path) -> Result<(), Fault> {
    let Some(directory) = made(db) else {
        return Ok(());
    };
    owner::wait_for_end(db, directory.worker.as_ref())?;
    let taken = fs::read(note(db)).and_then(|bytes| {
        let rest = read(&bytes).map_or(&[][..], |(_, rest)| rest);
        let foreign = foreign_files::entries(db, &directory)?;
        let directory = Directory {
            foreign,
            ..directory.taken()
        };
        write(db, &directory, rest)
    });
    taken.map_err(|error| Fault::io("the note next to the database", &error))?;
    owner::begin(&note(db));
    Ok(())
}

/// Lists the files that an exited process left in one of our directories, unless it listed them
/// itself.
///
/// # Errors
/// As reported by the system.
pub fn leave(db: &Path, process: u32) -> io::Result<()> {
    match made(db) {
        Some(directory) if directory.worker.as_ref().is_some_and(|of| of.is(process)) => {
            let bytes = fs::read(note(db))?;
            let rest = read(&bytes).map_or(&[][..], |(_, rest)| rest);
            write(db, &directory.left(db)?, rest)?;
            owner::end(&note(db));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Copies the model from one note to the note of the directory that the database was copied to.
///
/// # Errors
/// As reported by the system.
pub fn copy_note(from: &Path, to: &Path) -> io::Result<()> {
    if let (Some(_), Some(directory)) = (made(from), made(to)) {
        let bytes = fs::read(note(from))?;
        let rest = read(&bytes).map_or(&[][..], |(_, rest)| rest);
        write(to, &directory, rest)?;
    }
    leave(to, std::process::id())
}

/// Restores the model from the note of an existing database; returns false if no note matches.
pub fn recall(db: &Path, plan: &Plan, model: &mut Model) -> bool {
    let Ok(bytes) = fs::read(note(db)) else {
        return false;
    };
    let Some((_, rest)) = read(&bytes) else {
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

/// Removes the model from the note before the database is changed.
///
/// # Errors
/// As reported by the system.
pub fn forget(db: &Path) -> io::Result<()> {
    match made(db) {
        Some(directory) => write(db, &directory.taken(), &[]),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
