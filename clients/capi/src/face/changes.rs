//! The feed of changes of a database, and its leases.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::time::{Duration, UNIX_EPOCH};

use cairndb::{
    BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Db, Durability, Place, Result,
};

use crate::bytes::{c_string, parts_of, text};
use crate::face::database::with;
use crate::face::error::{cairndb_error, give_error, no_place, outcome, outcome_in, step_in};
use crate::face::handles::{cairndb_changes, cairndb_db, cairndb_snapshot};
use crate::face::options::{
    CAIRNDB_DURABILITY_OS, CAIRNDB_DURABILITY_SYNC, Settings, cairndb_durability, level,
};
use crate::handle::{Handle, HandleKind, Object, destroy, insert, with_exclusive, with_shared};
use crate::leveldb::objects::{give, take_back};
use crate::memory::copy_text;
use crate::objects::{Database, SnapshotOf};

/// Where a feed of changes begins, and what is kept for it. Setters do nothing for NULL; a wrong
/// value is reported by the function that the options are passed to. Destroy them with
/// `cairndb_changes_options_destroy`.
#[derive(Debug)]
pub struct cairndb_changes_options(Settings<ChangesOptions>);

impl cairndb_changes_options {
    /// Returns the options that a program has set; NULL stands for the defaults.
    ///
    /// # Errors
    /// `InvalidArgument` if a setter was called with a wrong value.
    ///
    /// # Safety
    /// `options` must be NULL or live.
    unsafe fn read(options: *const cairndb_changes_options) -> Result<ChangesOptions> {
        // SAFETY: guaranteed by the caller.
        let given = unsafe { options.as_ref() };
        given.map_or_else(|| Ok(ChangesOptions::new()), |given| given.0.read())
    }
}

/// Returns the defaults: changes from now on, once they are durable.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_changes_options_create() -> *mut cairndb_changes_options {
    let settings = Settings::new(ChangesOptions::new());
    give(cairndb_changes_options(settings))
}

/// Destroys options; NULL is allowed. Feeds keep what they were created with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_destroy(options: *mut cairndb_changes_options) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Changes options; does nothing for NULL. The first error is kept.
///
/// # Safety
/// `options` must be NULL or live, and not in use by another thread.
unsafe fn set(
    options: *mut cairndb_changes_options,
    set: impl FnOnce(ChangesOptions) -> Result<ChangesOptions>,
) {
    // SAFETY: guaranteed by the caller.
    if let Some(given) = unsafe { options.as_mut() } {
        given.0.set(set);
    }
}

/// Begins after `place`, the text that an earlier change had. Default: what the lease has not
/// acknowledged or, without a lease, now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_set_after(
    options: *mut cairndb_changes_options,
    place: *const c_char,
) {
    // SAFETY: the header requires a string.
    let place = unsafe { text(place, "the place") };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.after(place?.parse()?))) };
}

/// Keeps the log under a name, 1 to 255 bytes, from what was acknowledged on
/// (`cairndb_changes_acknowledge`), also while the database is closed. Default: the log is kept as
/// long as the feed lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_set_lease(
    options: *mut cairndb_changes_options,
    name: *const c_char,
) {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the lease's name") };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.lease(name?))) };
}

/// Sets how many bytes of log, and of values that only changes refer to, are kept at most: 1 GiB by
/// default. Past that the consumer falls off: it gets `REVOKED`. A lease that exists keeps its
/// limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_set_bytes_max(
    options: *mut cairndb_changes_options,
    bytes: u64,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.bytes_max(bytes))) };
}

/// Sets when a change is delivered: with `CAIRNDB_DURABILITY_SYNC`, the default, once no loss of
/// power takes it back; with `CAIRNDB_DURABILITY_OS` as soon as readers see it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_set_durability(
    options: *mut cairndb_changes_options,
    durability: cairndb_durability,
) {
    let change = |options: ChangesOptions| {
        let level = level(durability)?.unwrap_or(Durability::Sync);
        Ok(options.durability(level))
    };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, change) };
}

/// Sets the interval at which the log is synced while the feed lives: at most 1000 ms, and 100 ms
/// by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_options_set_sync_interval(
    options: *mut cairndb_changes_options,
    interval_ms: u64,
) {
    let interval = Duration::from_millis(interval_ms);
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.sync_interval(interval))) };
}

/// What happened in a change: one of `CAIRNDB_CHANGE_*`. Later versions may add some.
pub type cairndb_change_kind = u32;

/// A batch or a single write, whole.
pub const CAIRNDB_CHANGE_BATCH: u32 = 1;
/// Writes at `CAIRNDB_DURABILITY_NONE`. What they wrote is not known.
pub const CAIRNDB_CHANGE_UNLOGGED: u32 = 2;
/// A keyspace was created.
pub const CAIRNDB_CHANGE_KEYSPACE_CREATED: u32 = 3;
/// A keyspace was dropped, with all its entries.
pub const CAIRNDB_CHANGE_KEYSPACE_DROPPED: u32 = 4;

/// What an entry of a batch does: one of `CAIRNDB_OPERATION_*`. Later versions may add some.
pub type cairndb_operation = u32;

/// Sets the key to the value.
pub const CAIRNDB_OPERATION_PUT: u32 = 1;
/// Removes the key. There is no value.
pub const CAIRNDB_OPERATION_DELETE: u32 = 2;
/// Adds the value to the key, as an operand of the merge operator.
pub const CAIRNDB_OPERATION_MERGE: u32 = 3;
/// Removes the keys from the key up to, but not including, the value; to the last key if that is
/// NULL.
pub const CAIRNDB_OPERATION_DELETE_RANGE: u32 = 4;

/// The time of a change whose time is not known.
pub const CAIRNDB_NO_TIME: u64 = u64::MAX;

/// One entry of a batch that was written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_changed_entry {
    /// What it does.
    pub operation: cairndb_operation,
    /// Name of the keyspace; NULL for the default one.
    pub keyspace: *const c_char,
    /// Address of the key.
    pub key: *const c_char,
    /// Length of the key.
    pub key_len: usize,
    /// Address of the value, as the operation says; not NULL for an empty one.
    pub value: *const c_char,
    /// Length of the value.
    pub value_len: usize,
}

/// One change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_change {
    /// What happened.
    pub kind: cairndb_change_kind,
    /// `CAIRNDB_DURABILITY_SYNC` if no loss of power takes the change back, otherwise
    /// `CAIRNDB_DURABILITY_OS`.
    pub durability: cairndb_durability,
    /// Time of the write to within 100 ms: milliseconds since the beginning of 1970 in UTC.
    /// `CAIRNDB_NO_TIME` if nobody needed the changes then.
    pub time_ms: u64,
    /// The place after the change, as text of the form INCARNATION-NUMBER.
    pub place: *const c_char,
    /// Name of the keyspace that was created or dropped; otherwise NULL.
    pub keyspace: *const c_char,
    /// The entries of a batch, in the order in which they were written; otherwise NULL.
    pub entries: *const cairndb_changed_entry,
    /// Number of these entries.
    pub entry_count: usize,
    /// Number of entries that were not logged; otherwise 0.
    pub unlogged: u64,
}

/// A feed of changes, and what the structure of the change that it is at points to.
struct Feed {
    changes: Changes,
    at: Option<Change>,
    place: CString,
    /// The names of keyspaces, and the same as C strings.
    names: HashMap<String, CString>,
    entries: ChangedEntries,
}

/// Entries of a change.
struct ChangedEntries(Vec<cairndb_changed_entry>);

// SAFETY: the entries point only to memory of the feed that they are in.
unsafe impl Send for ChangedEntries {}

impl Feed {
    fn new(changes: Changes) -> Feed {
        Feed {
            changes,
            at: None,
            place: CString::default(),
            names: HashMap::new(),
            entries: ChangedEntries(Vec::new()),
        }
    }
}

impl Object for Feed {
    const KIND: HandleKind = HandleKind::Feed;
}

/// Opens a feed of changes and stores its handle in `*changes`: every batch, whole and in order,
/// the ranges that were deleted, and the keyspaces that were created and dropped. NULL options
/// stand for the defaults. While a feed lives, the log is synced within that interval of a write.
///
/// Errors: `REVOKED` if changes after the place are gone, or writes before it were lost in a crash;
/// `INVALID_ARGUMENT` if the place is of another database, or for an impossible option;
/// `READ_ONLY`; those of `cairndb_sync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_create(
    db: *mut cairndb_db,
    options: *const cairndb_changes_options,
    changes: *mut *mut cairndb_changes,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_changes_options::read(options) };
    let made = with_shared(Handle::of(db), |db: &Database| {
        insert(Feed::new(db.0.changes(&options?)?))
    });
    // SAFETY: the header requires NULL or the address of a handle.
    unsafe { outcome_in(changes, null_mut(), made.map(Handle::pointer)) }
}

/// Takes a snapshot, and opens a feed of what follows it. A lease of the options begins again at
/// the snapshot, and a place is ignored. Flushes, so that the snapshot shows only what is durable.
///
/// Errors: those of `cairndb_flush`; `INVALID_ARGUMENT` for an impossible option.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_snapshot_and_changes(
    db: *mut cairndb_db,
    options: *const cairndb_changes_options,
    snapshot: *mut *mut cairndb_snapshot,
    changes: *mut *mut cairndb_changes,
) -> *mut cairndb_error {
    if snapshot.is_null() {
        return give_error(&no_place());
    }
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_changes_options::read(options) };
    let database = Handle::of(db);
    let made = with_shared(database, |db: &Database| {
        if changes.is_null() {
            return Err(no_place());
        }
        let (snapshot, changes) = db.0.snapshot_and_changes(&options?)?;
        let snapshot = insert(SnapshotOf { snapshot, database })?;
        Ok((snapshot, insert(Feed::new(changes))?))
    });
    let (taken, made) = match made {
        Ok((taken, made)) => (Ok(taken), made),
        Err(error) => (Err(error), Handle::NULL),
    };
    if !changes.is_null() {
        // SAFETY: the header requires NULL or the address of a handle.
        unsafe { changes.write(made.pointer()) };
    }
    // SAFETY: as above.
    unsafe { outcome_in(snapshot, null_mut(), taken.map(Handle::pointer)) }
}

/// Stores the next change in `*change`, and in `*found` whether there is one. Waits for it, but
/// `limit_ms` milliseconds at most: not at all for 0, without a limit for `UINT64_MAX`. The
/// addresses are valid until the next `cairndb_changes_next` with this handle, or until it is
/// destroyed.
///
/// Errors: `REVOKED` if the consumer fell off; `CORRUPTION`, `IO`, `POISONED`; `CLOSED` also if the
/// database is closed meanwhile; `INTERRUPTED` by the watcher of `cairndb_watch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_next(
    changes: *mut cairndb_changes,
    limit_ms: u64,
    change: *mut cairndb_change,
    found: *mut bool,
) -> *mut cairndb_error {
    let next = |feed: &mut Feed| {
        let next = match limit_ms {
            0 => feed.changes.try_next(),
            _ => feed.changes.next_within(Duration::from_millis(limit_ms)),
        };
        Ok(next?.map(|next| feed.store(next)))
    };
    let next = || with_exclusive(Handle::of(changes), |_, feed| next(feed));
    // SAFETY: the header requires NULL or the addresses of a change and a truth value.
    unsafe { step_in(change, found, next) }
}

impl Feed {
    /// Keeps a change, and returns the structure that points to its parts.
    fn store(&mut self, change: Change) -> cairndb_change {
        self.place = c_string(&change.place.to_string());
        self.entries.0.clear();
        self.names.clear();
        let change = self.at.insert(change);
        let mut stored = cairndb_change {
            kind: 0,
            durability: match change.durability {
                Durability::Sync => CAIRNDB_DURABILITY_SYNC,
                _ => CAIRNDB_DURABILITY_OS,
            },
            time_ms: CAIRNDB_NO_TIME,
            place: self.place.as_ptr(),
            keyspace: null(),
            entries: null(),
            entry_count: 0,
            unlogged: 0,
        };
        if let Some(Ok(since)) = change.time.map(|time| time.duration_since(UNIX_EPOCH)) {
            stored.time_ms = u64::try_from(since.as_millis()).unwrap_or(CAIRNDB_NO_TIME);
        }
        let names = &mut self.names;
        let mut name_of = |name: &str| {
            let known = names.entry(name.to_owned());
            known.or_insert_with(|| c_string(name)).as_ptr()
        };
        match &change.kind {
            ChangeKind::Batch(entries) => {
                stored.kind = CAIRNDB_CHANGE_BATCH;
                let entries = entries.iter().map(|(keyspace, entry)| {
                    stored_entry(keyspace.map_or(null(), &mut name_of), entry)
                });
                self.entries.0.extend(entries);
                stored.entries = self.entries.0.as_ptr();
                stored.entry_count = self.entries.0.len();
            }
            ChangeKind::Unlogged { entries } => {
                (stored.kind, stored.unlogged) = (CAIRNDB_CHANGE_UNLOGGED, *entries);
            }
            ChangeKind::KeyspaceCreated { name } => {
                (stored.kind, stored.keyspace) = (CAIRNDB_CHANGE_KEYSPACE_CREATED, name_of(name));
            }
            ChangeKind::KeyspaceDropped { name } => {
                (stored.kind, stored.keyspace) = (CAIRNDB_CHANGE_KEYSPACE_DROPPED, name_of(name));
            }
            _ => {}
        }
        stored
    }
}

fn stored_entry(keyspace: *const c_char, entry: BatchEntry<'_>) -> cairndb_changed_entry {
    let (operation, key, value) = match entry {
        BatchEntry::Put { key, value } => (CAIRNDB_OPERATION_PUT, key, Some(value)),
        BatchEntry::Delete { key } => (CAIRNDB_OPERATION_DELETE, key, None),
        BatchEntry::Merge { key, operand } => (CAIRNDB_OPERATION_MERGE, key, Some(operand)),
        BatchEntry::DeleteRange { from, to } => (CAIRNDB_OPERATION_DELETE_RANGE, from, to),
        _ => (0, &[][..], None),
    };
    let (key, key_len) = parts_of(Some(key));
    let (value, value_len) = parts_of(value);
    cairndb_changed_entry {
        operation,
        keyspace,
        key,
        key_len,
        value,
        value_len,
    }
}

/// Stores the place after the last change in `*place`, as a string that the caller frees with
/// `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_place(
    changes: *mut cairndb_changes,
    place: *mut *mut c_char,
) -> *mut cairndb_error {
    let found = with_exclusive(Handle::of(changes), |_, feed: &mut Feed| {
        Ok(feed.changes.place())
    });
    // SAFETY: the header requires NULL or the address of a string.
    unsafe { place_in(place, found) }
}

/// Stores a place as text.
///
/// # Safety
/// `place` must be NULL, which is an error, or writable.
unsafe fn place_in(place: *mut *mut c_char, found: Result<Place>) -> *mut cairndb_error {
    if place.is_null() {
        return give_error(&no_place());
    }
    let found = found.map(|found| copy_text(&found.to_string()));
    // SAFETY: guaranteed by the caller.
    unsafe { outcome_in(place, null_mut(), found) }
}

/// Records that what was made of the changes up to `place` is stored: the lease keeps only what
/// follows. Without a lease, each change is done with when the next one is asked for. The lease is
/// durable after some time, so store the place as well, with what was made of the changes. Costs a
/// sync if log is freed, otherwise nothing.
///
/// Errors: `INVALID_ARGUMENT`, `REVOKED` for a place that was not delivered; those of
/// `cairndb_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_changes_acknowledge(
    changes: *mut cairndb_changes,
    place: *const c_char,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let place = unsafe { text(place, "the place") };
    outcome(with_exclusive(Handle::of(changes), |_, feed: &mut Feed| {
        feed.changes.acknowledge(place?.parse()?)
    }))
}

/// Destroys a feed, also after its database was closed. A lease stays.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_changes_destroy(changes: *mut cairndb_changes) -> *mut cairndb_error {
    outcome(destroy::<Feed>(Handle::of(changes)))
}

/// Stores in `*place` the place of everything written so far, after which `cairndb_changes_create`
/// delivers what follows, as a string that the caller frees with `free`. Syncs the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_place(
    db: *mut cairndb_db,
    place: *mut *mut c_char,
) -> *mut cairndb_error {
    let found = with_shared(Handle::of(db), |db: &Database| db.0.place());
    // SAFETY: the header requires NULL or the address of a string.
    unsafe { place_in(place, found) }
}

/// Calls `take` for each lease: with its name, the place up to which its consumer has acknowledged,
/// and whether its limit was exceeded, so that nothing is kept for it any more. The strings live
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_lease_list(
    db: *const cairndb_db,
    state: *mut c_void,
    take: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            name: *const c_char,
            place: *const c_char,
            fell_off: bool,
        ),
    >,
) -> *mut cairndb_error {
    let leases = with_shared(Handle::of(db), |db: &Database| db.0.leases());
    outcome(leases.map(|leases| {
        for lease in leases {
            let (name, place) = (c_string(&lease.name), c_string(&lease.place.to_string()));
            if let Some(take) = take {
                // SAFETY: the caller passed the function for this state.
                unsafe { take(state, name.as_ptr(), place.as_ptr(), lease.fell_off) };
            }
        }
    }))
}

/// Drops a lease, and frees what was kept for it. `NOT_FOUND` if there is none with this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_lease_drop(
    db: *mut cairndb_db,
    name: *const c_char,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the lease's name") };
    with(db, |db: &Db| db.drop_lease(name?))
}
