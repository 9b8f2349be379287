//! Opening: a CairnDB database to read or to write, or a LevelDB database to read.
//!
//! `options.rs` has the options of every command; `live.rs` reads a database that another process
//! may have open for writing.

mod live;
mod options;

use std::path::Path;
use std::sync::Arc;

use cairndb::env::{Dir, Env, RealEnv};
use cairndb::leveldb::Order;
use cairndb::{Db, ErrorKind, Options};
use cairndb_format::evidence::{OtherStore, other_store_in};
use cairndb_leveldb::{Database, ReadOptions, UnknownOrder};

use crate::failure::{Failure, Result};
use crate::orders;
use crate::progress::{Progress, watched};
use crate::range::{Range, walk};
use crate::space::Space;
use crate::transfer::Contents;
pub(crate) use live::{Purpose, holder, reading};
pub(crate) use options::{options, options_for};

/// Opens a CairnDB database for reading, also while another process has it open for writing.
pub(crate) fn open_to_read(path: &Path, purpose: Purpose) -> Result<Db> {
    open_to_read_with(path, purpose, |options| options)
}

/// Like [`open_to_read`], with more options.
pub(crate) fn open_to_read_with(
    path: &Path,
    purpose: Purpose,
    change: impl Fn(Options) -> Options,
) -> Result<Db> {
    refuse_other_stores(path)?;
    reading(path, purpose, |options| {
        let options = change(options);
        watched("opening", || options.open(path))
    })
}

/// Opens a CairnDB database.
pub(crate) fn open_with(path: &Path, options: &Options) -> Result<Db> {
    refuse_other_stores(path)?;
    let opened = watched("opening", || options.open(path));
    opened.map_err(Failure::of(path))
}

/// Opens a CairnDB database for writing or, while another process does so, to follow it: that one
/// then records what is asked for.
pub(crate) fn open_to_change(path: &Path) -> Result<Db> {
    refuse_other_stores(path)?;
    let opened = watched("opening", || options_for(path).open(path));
    let opened = match opened {
        Err(error) if error.kind() == ErrorKind::Locked => {
            watched("opening", || options_for(path).follow().open(path))
        }
        opened => opened,
    };
    opened.map_err(Failure::of(path))
}

/// Fails if the database at `path` is LevelDB's. RocksDB's are refused by the open itself.
pub(crate) fn refuse_other_stores(path: &Path) -> Result<()> {
    if leveldb_at(path).is_none() {
        return Ok(());
    }
    // An open names a file without which no command works, `CURRENT` or the manifest.
    if let Err(error) = options().read_only(true).open(path)
        && error.kind() == ErrorKind::Corruption
    {
        return Err(Failure::of_leveldb(path)(error));
    }
    let path = path.display();
    Err(Failure::other(format!(
        "{path} holds a LevelDB database: commands that read entries or files work on it, others \
         do not; `cairn upgrade {path}` converts it in place"
    )))
}

/// Returns the directory if its database is LevelDB's.
pub(crate) fn leveldb_at(path: &Path) -> Option<Arc<dyn Dir>> {
    // Errors here are met again, and reported, when the directory is opened as CairnDB's.
    let dir = RealEnv::new().open_dir(path, false).ok()?;
    let store = other_store_in(&*dir).ok()?;
    (store == Some(OtherStore::LevelDb)).then_some(dir)
}

/// Opens a LevelDB database. If bytewise order stands in for an unknown comparator, all entries are
/// sorted in memory.
pub(crate) fn open_leveldb(dir: &Arc<dyn Dir>, path: &Path) -> Result<Database> {
    let mut options = ReadOptions::default();
    if orders::is_declared_bytewise() {
        options.unknown_order = UnknownOrder::Bytewise;
    } else {
        options.orders = orders::for_leveldb(&**dir);
    }
    Database::open(dir, &options).map_err(|error| match error.kind() {
        ErrorKind::InvalidArgument if !orders::is_declared_bytewise() => Failure::other(format!(
            "{}: {error}\ncairn: `--comparator` says which order it has; \
             --comparator=bytewise reads the entries under any order, sorted bytewise in memory",
            path.display()
        )),
        _ => Failure::of_leveldb(path)(error),
    })
}

/// A database of either store, open for reading.
#[derive(Debug)]
pub(crate) enum DatabaseReader {
    Cairn(Space),
    LevelDb(Box<Database>),
}

impl DatabaseReader {
    /// Opens the database at `path`, of whichever store, to read one keyspace.
    pub(crate) fn open(
        path: &Path,
        keyspace: Option<&str>,
        purpose: Purpose,
    ) -> Result<DatabaseReader> {
        match leveldb_at(path) {
            None => {
                let space = Space::of(&open_to_read(path, purpose)?, path, keyspace)?;
                Ok(DatabaseReader::Cairn(space))
            }
            Some(_) if keyspace.is_some() => {
                Err(Failure::usage("a LevelDB database has no keyspaces"))
            }
            Some(dir) => {
                let database = open_leveldb(&dir, path)?;
                Ok(DatabaseReader::LevelDb(Box::new(database)))
            }
        }
    }

    /// Returns the order of the keys of the database at `path`.
    pub(crate) fn order(&self, path: &Path) -> Order {
        match self {
            DatabaseReader::Cairn(space) => space.order(path),
            DatabaseReader::LevelDb(database) => database.order().clone(),
        }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, path: &Path, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self {
            DatabaseReader::Cairn(space) => {
                let mut value = Vec::new();
                let found = space.get_into(key, &mut value).map_err(Failure::of(path))?;
                Ok(found.then_some(value))
            }
            DatabaseReader::LevelDb(database) => {
                database.get(key).map_err(Failure::of_leveldb(path))
            }
        }
    }

    /// Visits the entries of a range until `visit` returns false.
    pub(crate) fn walk(
        &self,
        path: &Path,
        range: &Range,
        is_backward: bool,
        visit: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let order = self.order(path);
        range.check(&order)?;
        let over = (range, &order);
        match self {
            DatabaseReader::Cairn(space) => {
                walk(space.cursor(), over, is_backward, Failure::of(path), visit)
            }
            DatabaseReader::LevelDb(database) => {
                let failure = Failure::of_leveldb(path);
                walk(database.cursor(), over, is_backward, failure, visit)
            }
        }
    }

    /// Reads a range, and returns what it holds.
    pub(crate) fn contents(&self, path: &Path, range: &Range) -> Result<Contents> {
        let mut contents = Contents::default();
        self.walk(path, range, false, counting(&mut contents, 0))?;
        Ok(contents)
    }

    /// Returns the keyspace that is read; `None` of a LevelDB database.
    pub(crate) fn space(&self) -> Option<&Space> {
        match self {
            DatabaseReader::Cairn(space) => Some(space),
            DatabaseReader::LevelDb(_) => None,
        }
    }

    /// Returns the names of the keyspaces besides the default one.
    pub(crate) fn keyspaces(&self) -> Vec<String> {
        self.space().map_or_else(Vec::new, |it| it.db.keyspaces())
    }
}

/// Reads all keyspaces of a database, and returns what they hold.
pub(crate) fn contents_of(db: &Db, path: &Path) -> Result<Contents> {
    let mut contents = Contents::default();
    let range = (&Range::default(), &Order::Bytewise);
    for space in Space::all(db, path)? {
        let visit = counting(&mut contents, space.hash());
        walk(space.cursor(), range, false, Failure::of(path), visit)?;
    }
    Ok(contents)
}

/// Returns a function that adds up what it visits in the keyspace whose name has the hash
/// `keyspace`.
fn counting(contents: &mut Contents, keyspace: u64) -> impl FnMut(&[u8], &[u8]) -> Result<bool> {
    let mut progress = Progress::begin("checking");
    move |key, value| {
        contents.add_in(keyspace, key, value);
        progress.entry(|| None)?;
        Ok(true)
    }
}
