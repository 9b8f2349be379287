//! The LevelDB database that is converted: opened, and checked as far as that costs little.

use std::sync::Arc;

use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_files::check_seq;
use cairndb_format::name;
use cairndb_leveldb::{Database, EntryCursor, FileName, Orders, ReadOptions};

use crate::Target;

/// Tables that the reader keeps open besides those in which it stands: each costs its index.
const OPEN_TABLES_MAX: usize = 8;

/// An open database and its files.
pub(crate) struct UpgradeSource {
    pub(crate) database: Database,
    /// Names of LevelDB's files, except `LOCK`.
    pub(crate) names: Vec<String>,
    /// Bytes of its tables and logs.
    pub(crate) bytes: u64,
    /// Bytes of its logs.
    pub(crate) log_bytes: u64,
}

/// Whether the caller holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locked {
    Yes,
    No,
}

impl UpgradeSource {
    /// Opens the database to be converted, whose keys must be in the order of `target`.
    ///
    /// # Errors
    /// `InvalidArgument` if the order is another or a file is not a regular one; the errors of
    /// reading the manifest and the logs; `Locked`.
    pub(crate) fn open(target: &Target, locked: Locked) -> Result<UpgradeSource> {
        let (dir, order) = (&target.dir, &target.settings.output.order);
        let names = names(&**dir)?;
        let mut orders = Orders::default();
        if let Order::Custom(comparator) = order {
            orders = orders.with(Arc::clone(comparator));
        }
        let options = ReadOptions {
            orders,
            recovery: target.recovery,
            open_tables_max: OPEN_TABLES_MAX,
            ..ReadOptions::default()
        };
        let opened = match locked {
            Locked::Yes => Database::open_unlocked(dir, &options),
            Locked::No => Database::open(dir, &options),
        };
        let database = opened?;
        check_order(&**dir, &database, order)?;
        check_seq(database.last_seq())?;
        let logs = &database.report().logs;
        let mut log_bytes = 0;
        for name in &names {
            if matches!(FileName::parse(name), Some(FileName::Log(log)) if logs.contains(&log)) {
                log_bytes += dir.size_of(name)?.unwrap_or(0);
            }
        }
        let tables: u64 = database.tables().iter().map(|table| table.size).sum();
        Ok(UpgradeSource {
            database,
            names,
            bytes: tables.saturating_add(log_bytes),
            log_bytes,
        })
    }

    /// Returns a cursor over the live entries, which stands before the first one.
    pub(crate) fn live(&self) -> LiveEntries {
        LiveEntries {
            entries: self.database.entries(),
            order: self.database.order().clone(),
            last_seq: self.database.last_seq(),
            last_key: Vec::new(),
            begun: false,
            has_last: false,
        }
    }
}

/// Returns the names of LevelDB's files, except `LOCK` and manifests that are not in use: an
/// earlier attempt may have left one of ours, perhaps without contents that show whose it is.
///
/// # Errors
/// `InvalidArgument` if one of them is not a regular file.
fn names(dir: &dyn Dir) -> Result<Vec<String>> {
    let manifest = cairndb_leveldb::read_current(dir)?;
    let mut names = Vec::new();
    for found in dir.list()? {
        let Some(kind) = FileName::parse(&found) else {
            continue;
        };
        match dir.size_of(&found) {
            Ok(_) => {}
            Err(error) if error.io_kind().is_none() => {
                let message = "a file of the LevelDB database is a link, a pipe or a directory; \
                    replace it with the file itself, or remove it if it is none of LevelDB's";
                return Err(Error::invalid(message).file(found).directory(dir.path()));
            }
            Err(error) => return Err(error),
        }
        match kind {
            FileName::Lock => {}
            FileName::Manifest(number) if number != manifest => {}
            _ => names.push(found),
        }
    }
    Ok(names)
}

/// Checks that the comparator of the options is the database's.
fn check_order(dir: &dyn Dir, database: &Database, order: &Order) -> Result<()> {
    if database.comparator() == order.name() {
        return Ok(());
    }
    let number = cairndb_leveldb::read_current(dir)?;
    let message = "the LevelDB database is ordered by another comparator; set Options::comparator \
        to one of that name and order";
    Err(Error::invalid(message)
        .file(name::manifest(FileNumber(number)))
        .expected(database.comparator().escape_debug())
        .found(order.name().escape_debug()))
}

/// The live entries of a database in key order: of each key the newest entry, unless it is a
/// deletion.
pub(crate) struct LiveEntries {
    entries: EntryCursor,
    order: Order,
    last_seq: SeqNo,
    /// The key of the current entry, or of a deletion.
    last_key: Vec<u8>,
    has_last: bool,
    begun: bool,
}

impl LiveEntries {
    /// Goes to the next live entry. Returns whether there is one.
    ///
    /// # Errors
    /// `Corruption` if a table is damaged or keys are out of order; `NotSupported` if the entry is
    /// beyond a limit of this store or compressed in an unknown way; `Io`.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.begun {
            self.entries.next()?;
        } else {
            self.entries.seek_to_first()?;
            self.begun = true;
        }
        while self.entries.valid() {
            // LevelDB does not show what its manifest does not know of.
            if self.entries.seq() <= self.last_seq && self.is_new_key()? {
                self.last_key.clear();
                self.last_key.extend_from_slice(self.entries.key());
                self.has_last = true;
                if self.entries.kind() == Kind::Put {
                    self.check_limits()?;
                    return Ok(true);
                }
            }
            self.entries.next()?;
        }
        Ok(false)
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.entries.key()
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.entries.value()
    }

    /// Returns whether the current key differs from the last one.
    fn is_new_key(&self) -> Result<bool> {
        if !self.has_last {
            return Ok(true);
        }
        let key = self.entries.key();
        let order = self.order.compare(&self.last_key, key);
        if order.is_gt() {
            let message = "the keys of the LevelDB database are not in the comparator's order; \
                check that the comparator is the one with which it was written";
            return Err(Error::corruption(message).key(key));
        }
        Ok(order.is_lt())
    }

    fn check_limits(&self) -> Result<()> {
        let (key, value) = (self.key(), self.value());
        let too_long = |what: &'static str, most: usize, found: usize| {
            Error::new(ErrorKind::NotSupported, what)
                .key(key)
                .expected(format_args!("at most {most} bytes"))
                .found(format_args!("{found} bytes"))
        };
        if key.len() > KEY_BYTES_MAX {
            let message = "a key is longer than CairnDB allows; delete it through LevelDB first";
            return Err(too_long(message, KEY_BYTES_MAX, key.len()));
        }
        if value.len() > VALUE_BYTES_MAX {
            let message = "a value is longer than CairnDB allows; divide it through LevelDB first";
            return Err(too_long(message, VALUE_BYTES_MAX, value.len()));
        }
        Ok(())
    }
}
