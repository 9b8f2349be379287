//! From the files of a directory to an open database: lock, `CURRENT`, manifest, tables, logs.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Order, Result, SeqNo};
use cairndb_env::{Dir, DirLock};

use super::memory::MemoryBuilder;
use super::tables::{TableInfo, Tables};
use super::{Database, ReadOptions, Recovery, Report, UnknownOrder};
use crate::batch::WriteBatch;
use crate::internal_key::InternalKey;
use crate::log::{LogReader, LogStep};
use crate::manifest::{NewTable, Version, missing, read_current, read_version};
use crate::name::{CURRENT, FileName, LOCK};
use crate::salvage::is_leveldb;

impl Database {
    /// Opens the database in a directory for reading. Nothing in the directory is changed.
    ///
    /// # Errors
    /// `NotFound` if the directory holds nothing of LevelDB's; `Locked` while a process has the
    /// database open; `Corruption` if manifest or logs are damaged, or if `CURRENT` or a file that
    /// the manifest names is missing; `InvalidArgument` if the comparator is unknown;
    /// `NotSupported` if the logs need more memory than the options allow; `Io`.
    pub fn open(dir: &Arc<dyn Dir>, options: &ReadOptions) -> Result<Database> {
        let opened = dir
            .lock_shared(LOCK)
            .and_then(|lock| open(dir, options, lock));
        opened.map_err(|error| error.directory(dir.path()))
    }

    /// Like [`Database::open`], but takes no lock: for a caller that holds the lock exclusively, as
    /// a conversion does. Without the lock, LevelDB may remove files while they are read.
    ///
    /// # Errors
    /// As [`Database::open`], except `Locked`.
    pub fn open_unlocked(dir: &Arc<dyn Dir>, options: &ReadOptions) -> Result<Database> {
        let opened = open(dir, options, None);
        opened.map_err(|error| error.directory(dir.path()))
    }
}

fn open(
    dir: &Arc<dyn Dir>,
    options: &ReadOptions,
    lock: Option<Box<dyn DirLock>>,
) -> Result<Database> {
    let manifest = read_current(&**dir).map_err(|error| missing_current(&**dir, error))?;
    let version = read_version(&**dir, manifest)?;
    let manifest = FileName::Manifest(manifest).to_string();
    let known = options.orders.find(&version.comparator);
    let order = match (&known, options.unknown_order) {
        (Some(order), _) => order.clone(),
        (None, UnknownOrder::Bytewise) => Order::Bytewise,
        (None, UnknownOrder::Refuse) => return Err(unknown_order(&version, &manifest)),
    };
    let infos = tables_in_use(&**dir, &version, &manifest, &order)?;
    let (decoded_max, open_max) = (options.decoded_bytes_max, options.open_tables_max);
    let tables = Arc::new(Tables::new(
        Arc::clone(dir),
        order.clone(),
        decoded_max,
        open_max,
    ));

    let torn = |offset| {
        Error::corruption("the manifest was torn")
            .file(&*manifest)
            .offset(offset)
    };
    let report = Report {
        torn_manifest: version.torn_at.map(torn),
        ..Report::default()
    };
    let mut replay = Replay {
        memory: MemoryBuilder::new(options.memory_bytes_max),
        last_seq: version.last_seq,
        recovery: options.recovery,
        report,
    };
    let mut runs = Vec::new();
    if known.is_some() {
        runs = runs_of(&infos, &order);
    } else {
        for info in &infos {
            replay.add_table(&tables, info)?;
        }
    }
    replay.add_logs(&**dir, &version)?;
    Ok(Database {
        memory: Arc::new(replay.memory.finish(order.clone())),
        tables,
        infos,
        runs,
        order,
        comparator: version.comparator,
        last_seq: replay.last_seq,
        report: replay.report,
        _lock: lock,
    })
}

/// Returns the error of reading `CURRENT`, or a clearer one if only that file is missing.
#[cold]
fn missing_current(dir: &dyn Dir, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound || !is_leveldb(dir).unwrap_or(false) {
        return error;
    }
    missing(CURRENT.to_owned())
}

#[cold]
fn unknown_order(version: &Version, manifest: &str) -> Error {
    let message = "the LevelDB database is ordered by a comparator that is not known; supply one \
        of that name and order";
    Error::invalid(message)
        .file(manifest)
        .found(format_args!("\"{}\"", version.comparator.escape_debug()))
}

/// The tables of all levels, of which each must be there in the length that the manifest states.
fn tables_in_use(
    dir: &dyn Dir,
    version: &Version,
    manifest: &str,
    order: &Order,
) -> Result<Vec<TableInfo>> {
    let mut infos = Vec::new();
    for (level, tables) in version.levels.iter().enumerate() {
        let mut of_level = Vec::new();
        for table in tables.values() {
            of_level.push(table_info(dir, table, manifest)?);
        }
        if level == 0 {
            of_level.reverse();
        } else {
            of_level.sort_by(|a, b| {
                let bounds = |info: &TableInfo| info.smallest.clone();
                compare_encoded(order, &bounds(a), &bounds(b))
            });
        }
        infos.extend(of_level);
    }
    Ok(infos)
}

fn compare_encoded(order: &Order, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let split = |key| crate::internal_key::split(key).unwrap_or((&[], 0));
    crate::internal_key::compare(order, split(a), split(b))
}

fn table_info(dir: &dyn Dir, table: &NewTable, manifest: &str) -> Result<TableInfo> {
    for bound in [&table.smallest, &table.largest] {
        InternalKey::decode(bound).map_err(|error| error.file(manifest))?;
    }
    let names = [
        FileName::Table(table.number),
        FileName::OldTable(table.number),
    ];
    for name in names.map(|name| name.to_string()) {
        let Some(size) = dir.size_of(&name)? else {
            continue;
        };
        if size < table.size {
            return Err(
                Error::corruption("a table is shorter than the manifest states")
                    .file(name)
                    .offset(size)
                    .expected(format_args!("{} bytes", table.size))
                    .found(format_args!("{size} bytes")),
            );
        }
        let (smallest, largest) = (table.smallest.clone(), table.largest.clone());
        let (level, number, size) = (table.level, table.number, table.size);
        return Ok(TableInfo {
            level,
            number,
            name,
            size,
            smallest,
            largest,
        });
    }
    let name = FileName::Table(table.number).to_string();
    Err(missing(name))
}

/// Whether there are logs, and no write is missing between the tables and the first batch in them.
fn continues(dir: &dyn Dir, version: &Version, logs: &[(u64, String)]) -> Result<bool> {
    for (_, name) in logs {
        let mut reader = LogReader::new(dir.open_read(name)?, name);
        if let LogStep::Record { .. } = reader.advance()? {
            let first = WriteBatch::decode(reader.payload()).map(|batch| batch.seq());
            return Ok(first.is_ok_and(|first| first <= version.last_seq.saturating_add(1)));
        }
    }
    Ok(!logs.is_empty())
}

/// Each table of level 0 alone; of every other level all tables, unless they overlap, which only a
/// damaged manifest makes them do.
fn runs_of(infos: &[TableInfo], order: &Order) -> Vec<Arc<[TableInfo]>> {
    let mut runs: Vec<Arc<[TableInfo]>> = Vec::new();
    for of_level in infos.chunk_by(|a, b| a.level == b.level) {
        let level = of_level.first().map_or(0, |info| info.level);
        let ascending = of_level.iter().zip(of_level.iter().skip(1));
        if level > 0 && ascending.clone().all(|(a, b)| a.is_before(order, b)) {
            runs.push(of_level.into());
        } else {
            runs.extend(of_level.iter().map(|info| Arc::from([info.clone()])));
        }
    }
    runs
}

/// Collects what is in memory.
struct Replay {
    memory: MemoryBuilder,
    last_seq: SeqNo,
    recovery: Recovery,
    report: Report,
}

impl Replay {
    /// Adds all entries of a table whose order is unknown.
    fn add_table(&mut self, tables: &Tables, info: &TableInfo) -> Result<()> {
        let mut cursor = tables.open(info)?.cursor();
        cursor.seek_to_first()?;
        while cursor.valid() {
            let added = self
                .memory
                .add_entry(cursor.key(), cursor.tag(), cursor.value());
            added.map_err(|error| error.file(&*info.name))?;
            cursor.next()?;
        }
        Ok(())
    }

    /// Replays every log that the manifest has not retired.
    fn add_logs(&mut self, dir: &dyn Dir, version: &Version) -> Result<()> {
        let mut logs: Vec<(u64, String)> = Vec::new();
        for name in dir.list()? {
            match FileName::parse(&name) {
                Some(FileName::Log(number))
                    if number >= version.log || Some(number) == version.previous_log =>
                {
                    logs.push((number, name));
                }
                _ => {}
            }
        }
        logs.sort_unstable();
        self.check_named(dir, version, &logs)?;
        for (number, name) in logs {
            self.add_log(dir, &name)?;
            self.report.logs.push(number);
        }
        Ok(())
    }

    fn add_log(&mut self, dir: &dyn Dir, name: &str) -> Result<()> {
        let mut reader = LogReader::new(dir.open_read(name)?, name);
        loop {
            match reader.advance()? {
                LogStep::Record { offset } => {
                    // What was torn before was not the end of the newest log.
                    if let Some(error) = self.report.torn_log.take() {
                        self.damaged(error)?;
                    }
                    let placed = |error: Error| error.file(name).offset(offset);
                    match self.memory.add_batch(reader.payload()).map_err(placed) {
                        Ok(last) => self.last_seq = self.last_seq.max(last),
                        Err(error) if error.kind() == ErrorKind::Corruption => {
                            self.damaged(error)?;
                        }
                        Err(error) => return Err(error),
                    }
                }
                LogStep::Damage { offset, what } => {
                    let error = Error::corruption(what).file(name).offset(offset);
                    if !reader.resumes()? {
                        self.report.torn_log.get_or_insert(error);
                        return Ok(());
                    }
                    self.damaged(error)?;
                }
                LogStep::End => return Ok(()),
            }
        }
    }

    /// Checks that `logs` has those that the manifest names. LevelDB creates a log before the edit
    /// that names it, and removes it after the edit that names the next one, so the writes of one
    /// that is missing are lost. Only goleveldb, whose edits name no previous log, removes an empty
    /// log without an edit.
    fn check_named(
        &mut self,
        dir: &dyn Dir,
        version: &Version,
        logs: &[(u64, String)],
    ) -> Result<()> {
        let named = [version.previous_log.unwrap_or(0), version.log];
        for number in named.into_iter().filter(|number| *number > 0) {
            if logs.iter().any(|(found, _)| *found == number) {
                continue;
            }
            let was_empty = version.previous_log.is_none() && continues(dir, version, logs)?;
            if !was_empty {
                self.missing_log(number)?;
            }
        }
        Ok(())
    }

    fn missing_log(&mut self, number: u64) -> Result<()> {
        let message = "a log that the manifest names is missing, and every write in it is lost; \
            restore it from a copy, or convert without it: `upgrade_without_log`, or `cairn \
            upgrade --without-log`";
        let error = Error::corruption(message).file(FileName::Log(number).to_string());
        if self.recovery == Recovery::Strict {
            return Err(error);
        }
        self.report.skip(error);
        Ok(())
    }

    fn damaged(&mut self, error: Error) -> Result<()> {
        if self.recovery != Recovery::Skip {
            return Err(error);
        }
        self.report.skip(error);
        Ok(())
    }
}
