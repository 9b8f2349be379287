//! The directory of a database, and the note beside it.
//!
//! A directory is emptied only when the note `DIR.db_bench` beside it says that this program made it and
//! names the very directory, and nothing has been put into it since a run ended: somebody's files are
//! never destroyed. The note also carries what the model knew when the process ended, so that a later run
//! with `--use_existing_db` can go on judging answers.
//!
//! A note is the line `MAGIC`, a line that tells the directory, and after a run a line that tells what
//! the model was made for and the model itself.

mod apart;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

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

/// Which directory a note is about: a path can be given to another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Directory {
    device: u64,
    inode: u64,
    /// When it was made, where the file system knows: numbers are given again.
    born_ns: Option<u64>,
    /// What it held when the last run ended; unknown while one goes on, or when it did not end well.
    #[serde(default)]
    names: Option<Vec<String>>,
    /// It was not there before; one that was stays the one it is, with its owner and attributes.
    #[serde(default)]
    created: bool,
}

impl Directory {
    fn of(db: &Path) -> io::Result<Self> {
        let about = fs::metadata(db)?;
        let born = about.created().ok();
        let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            born_ns: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
            names: None,
            created: false,
        })
    }

    fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// What a directory holds, in order.
fn names_in(db: &Path) -> io::Result<Vec<String>> {
    let names =
        fs::read_dir(db)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The note beside a directory, however its path is written.
fn note(db: &Path) -> PathBuf {
    let mut plain: PathBuf = db.components().collect();
    if plain.file_name().is_none() {
        plain = fs::canonicalize(db).unwrap_or(plain);
    }
    let mut name = plain.into_os_string();
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
fn write(db: &Path, directory: &Directory, rest: &[u8]) -> io::Result<()> {
    let bytes = [MAGIC.as_bytes(), &directory.line()?, rest].concat();
    fs::write(new_note(db), bytes)?;
    fs::rename(new_note(db), note(db))
}

/// The directory that a note tells, and what follows.
fn read(bytes: &[u8]) -> Option<(Directory, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let directory = serde_json::from_slice(&rest[..end]).ok()?;
    Some((directory, &rest[end + 1..]))
}

/// The directory as the note tells it, if it is this one that this program made.
fn made(db: &Path) -> Option<Directory> {
    let bytes = fs::read(note(db)).ok()?;
    let (directory, _) = read(&bytes)?;
    let same = Directory {
        names: directory.names.clone(),
        created: directory.created,
        ..Directory::of(db).ok()?
    };
    (same == directory).then_some(directory)
}

/// Refuses a file at the note's place that is none: somebody's.
fn check_notes(db: &Path) -> Result<(), Fault> {
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

/// Removes what a directory holds, not itself: it may be a link, or where the program was started.
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

/// Where directories are made that are to lie apart.
fn staging(db: &Path) -> PathBuf {
    let mut name = note(db).into_os_string();
    name.push(".dir");
    PathBuf::from(name)
}

/// Makes `db` an empty directory of ours.
///
/// # Errors
/// When it holds files that this program did not make, or the system refuses.
pub fn make_fresh(db: &Path) -> Result<(), Fault> {
    let shown = db.display();
    check_notes(db)?;
    let mut created = made(db).is_some_and(|directory| directory.created);
    match names_in(db) {
        Ok(held) if held.is_empty() => {}
        Ok(held) => {
            let Some(directory) = made(db) else {
                return Err(Fault::new(format!(
                    "{shown} holds files that db_bench did not make: remove them yourself or name another directory with --db"
                )));
            };
            let foreign = |name: &&String| {
                let known = directory.names.as_ref();
                known.is_some_and(|names| names.binary_search(name).is_err())
            };
            if let Some(name) = held.iter().find(foreign) {
                return Err(Fault::new(format!(
                    "{shown} holds {name}, which was put there after db_bench had ended: move it away or name another directory with --db"
                )));
            }
            empty(db).map_err(|error| Fault::io(format!("emptying {shown}"), &error))?;
            if created {
                apart::make(db, &staging(db));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            created = true;
            apart::make(db, &staging(db));
        }
        Err(error) => return Err(Fault::io(format!("reading {shown}"), &error)),
    }
    fs::create_dir_all(db).map_err(|error| Fault::io(format!("creating {shown}"), &error))?;
    apart::settle(db);
    Directory::of(db)
        .and_then(|directory| {
            write(
                db,
                &Directory {
                    created,
                    ..directory
                },
                &[],
            )
        })
        .map_err(|error| Fault::io(format!("writing a note beside {shown}"), &error))
}

/// Removes a directory of ours and its note; anything else is left alone.
///
/// # Errors
/// As the system reports it.
pub fn remove(db: &Path) -> io::Result<()> {
    if made(db).is_some() {
        empty(db)?;
        fs::remove_dir(db)?;
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
    let Some(mut directory) = made(db) else {
        return Ok(());
    };
    directory.names = Some(names_in(db)?);
    let words = if model.is_known() {
        model.to_bytes()
    } else {
        Vec::new()
    };
    let origin = serde_json::to_string(&Origin::of(plan, words.len()))?;
    let rest = [origin.as_bytes(), b"\n", &words].concat();
    write(db, &directory, &rest)
}

/// A run begins over an existing database: from now on the note does not know what the directory holds.
///
/// # Errors
/// As the system reports it.
pub fn enter(db: &Path) -> io::Result<()> {
    let Some(directory) = made(db) else {
        return Ok(());
    };
    let bytes = fs::read(note(db))?;
    let rest = read(&bytes).map_or(&[][..], |(_, rest)| rest);
    let names = None;
    write(db, &Directory { names, ..directory }, rest)
}

/// Gives a directory of ours, into which another was copied, what the other's note knew.
///
/// # Errors
/// As the system reports it.
pub fn copy_note(from: &Path, to: &Path) -> io::Result<()> {
    let (Some(_), Some(directory)) = (made(from), made(to)) else {
        return Ok(());
    };
    let bytes = fs::read(note(from))?;
    let rest = read(&bytes).map_or(&[][..], |(_, rest)| rest);
    write(to, &directory, rest)
}

/// Gives the model what the note of an existing database says; false when there is none that fits.
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

/// Forgets what the note knew, before something changes the database.
///
/// # Errors
/// As the system reports it.
pub fn forget(db: &Path) -> io::Result<()> {
    match made(db) {
        Some(directory) => {
            let names = None;
            write(db, &Directory { names, ..directory }, &[])
        }
        None => Ok(()),
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
    fn a_directory_is_made_apart_and_nothing_else_is_left() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        for _ in 0..3 {
            make_fresh(&db).expect("ours");
            fs::write(db.join("000001.log"), "x").expect("written");
            let mut held = names_in(home.path()).expect("there");
            held.retain(|name| name != "db" && name != "db.db_bench");
            assert_eq!(held, [""; 0], "only the directory and its note");
        }
        // A run that was killed in between leaves its staging directory; the next one removes it.
        fs::create_dir_all(staging(&db).join("77-0")).expect("created");
        make_fresh(&db).expect("ours");
        assert!(!staging(&db).exists());
        // Files are nobody's to remove.
        fs::create_dir(staging(&db)).expect("created");
        fs::write(staging(&db).join("letter"), "keep").expect("written");
        make_fresh(&db).expect("ours");
        assert!(staging(&db).join("letter").exists());
        assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
    }

    #[test]
    fn a_directory_that_was_there_before_stays_the_one_it_is() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        fs::create_dir(&db).expect("created");
        let inode = || fs::metadata(&db).expect("there").ino();
        let before = inode();
        for _ in 0..3 {
            make_fresh(&db).expect("empty or ours");
            fs::write(db.join("000001.log"), "x").expect("written");
            assert_eq!(inode(), before);
        }
    }

    #[test]
    fn a_linked_directory_stays_the_one_it_is() {
        let home = tempfile::tempdir().expect("a directory");
        let (real, db) = (home.path().join("disk"), home.path().join("db"));
        fs::create_dir(&real).expect("created");
        std::os::unix::fs::symlink(&real, &db).expect("linked");
        for _ in 0..2 {
            make_fresh(&db).expect("ours");
            fs::write(real.join("000001.log"), "x").expect("written");
            assert_eq!(fs::read_link(&db).expect("still a link"), real);
        }
        assert!(!staging(&db).exists());
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

    /// The note of a directory that was removed was a licence to empty whatever took its place.
    #[test]
    fn a_note_is_about_one_directory() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        make_fresh(&db).expect("created");
        fs::write(db.join("000001.log"), "x").expect("written");
        fs::rename(&db, home.path().join("moved")).expect("renamed");
        fs::create_dir(&db).expect("created");
        fs::write(db.join("thesis.txt"), "precious").expect("written");
        let fault = make_fresh(&db).expect_err("another directory").to_string();
        assert!(fault.contains("did not make"), "{fault}");
        remove(&db).expect("nothing done");
        assert!(db.join("thesis.txt").exists());
    }

    #[test]
    fn what_was_put_in_later_is_not_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        make_fresh(&db).expect("created");
        fs::write(db.join("000001.log"), "x").expect("written");
        let plan = Plan::default();
        let model = Model::new(&crate::pool::Pool::new(0.5, 100), 100);
        keep(&db, &plan, &model).expect("ours");
        fs::create_dir(db.join("letters")).expect("created");
        let fault = make_fresh(&db)
            .expect_err("something was added")
            .to_string();
        assert!(fault.contains("letters"), "{fault}");
        fs::remove_dir(db.join("letters")).expect("removed");
        make_fresh(&db).expect("ours again");
    }

    #[test]
    fn a_file_where_the_note_goes_is_kept() {
        let home = tempfile::tempdir().expect("a directory");
        let db = home.path().join("db");
        for beside in [note(&db), new_note(&db)] {
            fs::write(&beside, "keep").expect("written");
            let fault = make_fresh(&db).expect_err("somebody's").to_string();
            assert!(fault.contains("db.db_bench"), "{fault}");
            assert_eq!(fs::read_to_string(&beside).expect("there"), "keep");
            fs::remove_file(&beside).expect("removed");
        }
        make_fresh(&db).expect("nothing in the way");
    }

    #[test]
    fn a_path_may_end_in_a_slash_and_lead_over_a_link() {
        let home = tempfile::tempdir().expect("a directory");
        let slashed = home.path().join("db/");
        make_fresh(&slashed).expect("created");
        assert_eq!(fs::read_dir(&slashed).expect("there").count(), 0);
        make_fresh(&home.path().join("db")).expect("the same");
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        fs::create_dir(&real).expect("created");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        for _ in 0..2 {
            make_fresh(&link).expect("ours");
            fs::write(link.join("000001.log"), "x").expect("written");
            assert!(real.join("000001.log").exists(), "the link leads there");
        }
    }
}
