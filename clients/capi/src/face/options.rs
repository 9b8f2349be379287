//! Options of a database.

use std::sync::Arc;
use std::time::Duration;

use cairndb::{Compression, Durability, Error, Options, RecoveryMode, Result};

use crate::face::merge_operator::cairndb_merge_operator;
use crate::face::order::cairndb_comparator;
use crate::leveldb::objects::{give, take_back};

/// What a write survives: one of `CAIRNDB_DURABILITY_*`.
pub type cairndb_durability = u32;

/// The durability of the database, as set by `cairndb_options_set_durability`.
pub const CAIRNDB_DURABILITY_DEFAULT: u32 = 0;
/// The write is not logged and survives only once a later `cairndb_flush` has returned.
pub const CAIRNDB_DURABILITY_NONE: u32 = 1;
/// The write survives the death of the process. After a power failure the newest writes may be
/// missing, never one before a later one. The default, and LevelDB's writes without `sync`.
pub const CAIRNDB_DURABILITY_OS: u32 = 2;
/// When the call returns, the write and every logged write before it survive a power failure.
pub const CAIRNDB_DURABILITY_SYNC: u32 = 3;

/// How values are compressed: one of `CAIRNDB_COMPRESSION_*`.
pub type cairndb_compression = u32;

/// Values are stored as they are.
pub const CAIRNDB_COMPRESSION_NONE: u32 = 0;
/// Values are compressed one by one where that pays off. The default.
pub const CAIRNDB_COMPRESSION_FAST: u32 = 1;

/// How a damaged log is opened: one of `CAIRNDB_RECOVERY_*`.
pub type cairndb_recovery = u32;

/// Damage of what was synced is an error, and nothing is changed. The default.
pub const CAIRNDB_RECOVERY_STRICT: u32 = 0;
/// Everything before the first damaged record is kept, the rest is cut off and reported.
pub const CAIRNDB_RECOVERY_POINT_IN_TIME: u32 = 1;

/// Options of a database. Setters do nothing for NULL; a value out of range is reported by the
/// function that the options are passed to.
#[derive(Debug)]
pub struct cairndb_options {
    set: Settings<Options>,
    /// Applied when the options are read, because it cannot be undone in [`Options`].
    follow: bool,
}

/// Options that a program sets one by one, and the error of the first that was refused.
#[derive(Debug)]
pub(crate) struct Settings<T> {
    options: T,
    refused: Option<Error>,
}

impl<T: Clone> Settings<T> {
    pub(crate) fn new(options: T) -> Settings<T> {
        Settings {
            options,
            refused: None,
        }
    }

    /// Changes the options. The first error is kept.
    pub(crate) fn set(&mut self, set: impl FnOnce(T) -> Result<T>) {
        match set(self.options.clone()) {
            Ok(options) => self.options = options,
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }

    /// Returns the options.
    ///
    /// # Errors
    /// `InvalidArgument` if one was refused.
    pub(crate) fn read(&self) -> Result<T> {
        let refused = self.refused.as_ref();
        refused.map_or_else(|| Ok(self.options.clone()), |error| Err(error.clone()))
    }
}

/// Returns the level with this number; `None` for that of the database.
///
/// # Errors
/// `InvalidArgument` for any other number.
#[inline]
pub(crate) fn level(durability: u32) -> Result<Option<Durability>> {
    match durability {
        CAIRNDB_DURABILITY_DEFAULT => Ok(None),
        CAIRNDB_DURABILITY_NONE => Ok(Some(Durability::None)),
        CAIRNDB_DURABILITY_OS => Ok(Some(Durability::Os)),
        CAIRNDB_DURABILITY_SYNC => Ok(Some(Durability::Sync)),
        other => Err(Error::invalid("there is no such durability").found(other)),
    }
}

impl cairndb_options {
    /// Returns the options that a program has set; NULL stands for the defaults.
    ///
    /// # Errors
    /// `InvalidArgument` if a setter was called with a value out of range.
    ///
    /// # Safety
    /// `options` must be NULL or live.
    pub(crate) unsafe fn read(options: *const cairndb_options) -> Result<Options> {
        // SAFETY: guaranteed by the caller.
        let Some(given) = (unsafe { options.as_ref() }) else {
            return Ok(Options::new());
        };
        let options = given.set.read()?;
        Ok(if given.follow {
            options.follow()
        } else {
            options
        })
    }
}

/// Returns the compression with this number.
///
/// # Errors
/// `InvalidArgument` for any other number.
pub(crate) fn compression_of(number: u32) -> Result<Compression> {
    match number {
        CAIRNDB_COMPRESSION_NONE => Ok(Compression::None),
        CAIRNDB_COMPRESSION_FAST => Ok(Compression::Fast),
        other => Err(Error::invalid("there is no such compression").found(other)),
    }
}

/// Changes options; does nothing for NULL. The first error is kept.
///
/// # Safety
/// `options` must be NULL or live, and not in use by another thread.
unsafe fn set(options: *mut cairndb_options, set: impl FnOnce(Options) -> Result<Options>) {
    // SAFETY: guaranteed by the caller.
    if let Some(given) = unsafe { options.as_mut() } {
        given.set.set(set);
    }
}

/// Returns the defaults: 64 MiB of memory, durability `Os`, compression, bytewise order, and an
/// error for a missing database.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_options_create() -> *mut cairndb_options {
    give(cairndb_options {
        set: Settings::new(Options::new()),
        follow: false,
    })
}

/// Destroys options. A database keeps what it was opened with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_destroy(options: *mut cairndb_options) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Sets the bytes of memory for memtables, page cache, flushes and compactions: at least 256 KiB,
/// 64 MiB by default. LevelDB's write buffer and cache combined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_memory_budget(
    options: *mut cairndb_options,
    bytes: usize,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.memory_budget(bytes))) };
}

/// Sets the durability of writes that do not set their own: `CAIRNDB_DURABILITY_OS` by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_durability(
    options: *mut cairndb_options,
    durability: cairndb_durability,
) {
    let change = |options: Options| Ok(options.durability(level(durability)?.unwrap_or_default()));
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, change) };
}

/// Sets the compression of values that are written from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_compression(
    options: *mut cairndb_options,
    compression: cairndb_compression,
) {
    let change = |options: Options| Ok(options.compression(compression_of(compression)?));
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, change) };
}

/// Sets whether a missing database is created, with the last component of its path. `false` by
/// default, so that a wrong path is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_create_if_missing(
    options: *mut cairndb_options,
    create: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.create_if_missing(create))) };
}

/// Sets whether an existing database is an error. `false` by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_error_if_exists(
    options: *mut cairndb_options,
    error: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.error_if_exists(error))) };
}

/// Sets whether the database is opened without changing a byte. Any number of handles and processes
/// may read at the same time, and none may write meanwhile. `false` by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_read_only(
    options: *mut cairndb_options,
    read_only: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.read_only(read_only))) };
}

/// Sets whether the database is opened to read it while another process may write it. Any number of
/// processes may follow, and none of them keeps a writer out. Unlike a read-only handle, a follower
/// sees what is written after the open: each read outside a snapshot sees every write that was
/// acknowledged at `CAIRNDB_DURABILITY_OS` or `CAIRNDB_DURABILITY_SYNC` before it began, and those
/// at `CAIRNDB_DURABILITY_NONE` after their flush. Batches are seen whole. Without a writer it
/// shows the last state, and follows when one comes. `false` by default.
///
/// Writes fail with `READ_ONLY`, and an open with `NOT_SUPPORTED` while a version that does not
/// inform followers writes. A follower creates no database, and no file in it but `SHARED`. It
/// takes up to 256 MiB in addition to its memory budget, for what is in the log and not in tables
/// yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_follow(options: *mut cairndb_options, follow: bool) {
    // SAFETY: the header requires NULL or live options.
    if let Some(given) = unsafe { options.as_mut() } {
        given.follow = follow;
    }
}

/// Sets whether a follower shows the state of its last `cairndb_refresh` or `cairndb_wait_for`,
/// instead of the newest one at each read. `false` by default: if nothing was written, looking for
/// new writes costs a read a few instructions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_manual_refresh(
    options: *mut cairndb_options,
    manual: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.manual_refresh(manual))) };
}

/// Limits for how many milliseconds a follower holds files after it last looked for new writes.
/// After that, a writer that has removed files from the database may revoke the follower's
/// snapshots, iterators and current state: they fail with `REVOKED`, and the next read of the
/// current state looks for new writes. None by default: then only the writer's limit on space
/// revokes anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_reader_lease(
    options: *mut cairndb_options,
    lease_ms: u64,
) {
    let lease = Duration::from_millis(lease_ms);
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.reader_lease(lease))) };
}

/// Limits the bytes of the files that this handle, as the writer, keeps only because followers need
/// them. Beyond that the oldest views of followers are revoked: their reads fail with `REVOKED`. By
/// default as many bytes as the tables take, but at least 1 GiB. On a full disk followers keep
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_reader_space_max(
    options: *mut cairndb_options,
    bytes: u64,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.reader_space_max(bytes))) };
}

/// Sets the order of keys; its name is stored in the database. Bytewise by default, which NULL does
/// not restore: NULL changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_comparator(
    options: *mut cairndb_options,
    comparator: *const cairndb_comparator,
) {
    // SAFETY: the header requires NULL or a live comparator.
    if let Some(comparator) = unsafe { comparator.as_ref() } {
        let order = Arc::clone(&comparator.0);
        // SAFETY: the header requires NULL or live options.
        unsafe { set(options, |options| Ok(options.comparator(order.named()?))) };
    }
}

/// Sets the operator that folds merge operands; its name is stored in the database. None by
/// default; NULL changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_merge_operator(
    options: *mut cairndb_options,
    merge_operator: *const cairndb_merge_operator,
) {
    // SAFETY: the header requires NULL or a live operator.
    if let Some(operator) = unsafe { merge_operator.as_ref() } {
        let operator = Arc::clone(&operator.0);
        // SAFETY: the header requires NULL or live options.
        unsafe { set(options, |options| Ok(options.merge_operator(operator))) };
    }
}

/// Registers an order of keys, which keyspaces may name. NULL changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_register_comparator(
    options: *mut cairndb_options,
    comparator: *const cairndb_comparator,
) {
    // SAFETY: the header requires NULL or a live comparator.
    if let Some(comparator) = unsafe { comparator.as_ref() } {
        let change = |options: Options| Ok(options.register_comparator(comparator.0.named()?));
        // SAFETY: the header requires NULL or live options.
        unsafe { set(options, change) };
    }
}

/// Registers an operator that folds merge operands, which keyspaces may name; those of the library
/// are registered. NULL changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_register_merge_operator(
    options: *mut cairndb_options,
    merge_operator: *const cairndb_merge_operator,
) {
    // SAFETY: the header requires NULL or a live operator.
    if let Some(operator) = unsafe { merge_operator.as_ref() } {
        let operator = Arc::clone(&operator.0);
        let change = |options: Options| Ok(options.register_merge_operator(operator));
        // SAFETY: the header requires NULL or live options.
        unsafe { set(options, change) };
    }
}

/// Sets how a damaged log is opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_recovery(
    options: *mut cairndb_options,
    recovery: cairndb_recovery,
) {
    let change = |options: Options| match recovery {
        CAIRNDB_RECOVERY_STRICT => Ok(options.recovery(RecoveryMode::Strict)),
        CAIRNDB_RECOVERY_POINT_IN_TIME => Ok(options.recovery(RecoveryMode::PointInTime)),
        other => Err(Error::invalid("there is no such recovery").found(other)),
    };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, change) };
}

/// Forces files to be read through a mapping (`true`), or with pread and the page cache (`false`).
/// By default they are mapped on local file systems while they are smaller than half of the
/// machine's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_mapped(options: *mut cairndb_options, mapped: bool) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.mapped(mapped))) };
}

/// Sets whether checksums are verified at every read instead of once per open. `false` by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_verify_always(
    options: *mut cairndb_options,
    always: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.verify_always(always))) };
}

/// Sets the filter bits per key: at most 100, 10 by default, 0 for no filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_filter_bits_per_key(
    options: *mut cairndb_options,
    bits: u32,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.filter_bits_per_key(bits))) };
}

/// Sets the maximum length of the files that hold values of 8 KiB or more: 256 MiB by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_value_file_bytes(
    options: *mut cairndb_options,
    bytes: u64,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.value_file_bytes(bytes))) };
}

/// Sets whether a directory of LevelDB is converted when it is opened; otherwise it is an error.
/// `false` by default; `leveldb_open` always converts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_upgrade_leveldb(
    options: *mut cairndb_options,
    upgrade: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.upgrade_leveldb(upgrade))) };
}

/// Sets whether a directory of LevelDB is converted although a log that its manifest names is
/// missing. `false` by default, because every write in that log is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_options_set_upgrade_without_log(
    options: *mut cairndb_options,
    upgrade: bool,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.upgrade_without_log(upgrade))) };
}
