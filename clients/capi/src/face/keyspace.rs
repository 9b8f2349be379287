//! Keyspaces: named sets of keys in one database.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use cairndb::{Keyspace, KeyspaceOptions, Result};

use crate::bytes::{bytes, c_string, range, text};
use crate::face::database::{with, with_keys, write_options};
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::cairndb_value;
use crate::face::handles::{
    cairndb_batch, cairndb_db, cairndb_iter, cairndb_keyspace, cairndb_snapshot,
};
use crate::face::iter::{cairndb_iter_options, create_with};
use crate::face::options::{Settings, cairndb_compression, cairndb_durability, compression_of};
use crate::handle::{Handle, destroy, insert, with_exclusive, with_shared};
use crate::leveldb::objects::{give, take_back};
use crate::objects::{Batch, Database, KeyspaceOf};
use crate::source::Source;

/// Options of a keyspace. Setters do nothing for NULL; a value out of range is reported by
/// `cairndb_keyspace_create`.
#[derive(Debug)]
pub struct cairndb_keyspace_options(Settings<KeyspaceOptions>);

/// Changes options; does nothing for NULL.
///
/// # Safety
/// `options` must be NULL or live, and not in use by another thread.
unsafe fn set(
    options: *mut cairndb_keyspace_options,
    set: impl FnOnce(KeyspaceOptions) -> Result<KeyspaceOptions>,
) {
    // SAFETY: guaranteed by the caller.
    if let Some(options) = unsafe { options.as_mut() } {
        options.0.set(set);
    }
}

/// Returns the defaults: bytewise order, no merge operator, the compression of the database.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_keyspace_options_create() -> *mut cairndb_keyspace_options {
    give(cairndb_keyspace_options(Settings::new(
        KeyspaceOptions::new(),
    )))
}

/// Destroys options; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_options_destroy(options: *mut cairndb_keyspace_options) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Sets the order of keys: the name of a comparator that `cairndb_options_register_comparator` has
/// registered at this open, and registers at every later one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_options_set_comparator(
    options: *mut cairndb_keyspace_options,
    name: *const c_char,
) {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the comparator's name") };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.comparator(name?))) };
}

/// Sets the operator that folds operands: the name of one that is registered, or "cairndb.add",
/// "cairndb.append" or "cairndb.max".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_options_set_merge_operator(
    options: *mut cairndb_keyspace_options,
    name: *const c_char,
) {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the merge operator's name") };
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.merge_operator(name?))) };
}

/// Sets the compression of values, whatever that of the database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_options_set_compression(
    options: *mut cairndb_keyspace_options,
    compression: cairndb_compression,
) {
    let change = |options: KeyspaceOptions| Ok(options.compression(compression_of(compression)?));
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, change) };
}

/// Sets about how long the values are. Keyspaces whose values differ more than fourfold do not
/// share tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_options_set_value_bytes(
    options: *mut cairndb_keyspace_options,
    bytes: u64,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| Ok(options.value_bytes(bytes))) };
}

/// Stores the handle of a keyspace in `*keyspace`.
///
/// # Safety
/// `name` must be NULL or a string, and `keyspace` NULL or writable.
unsafe fn store(
    db: *mut cairndb_db,
    name: *const c_char,
    keyspace: *mut *mut cairndb_keyspace,
    open: impl FnOnce(&Database, &str) -> Result<Keyspace>,
) -> *mut cairndb_error {
    // SAFETY: guaranteed by the caller.
    let name = unsafe { text(name, "the keyspace's name") };
    let opened = with_shared(Handle::of(db), |database: &Database| {
        insert(KeyspaceOf(open(database, name?)?))
    });
    // SAFETY: guaranteed by the caller.
    unsafe { outcome_in(keyspace, null_mut(), opened.map(Handle::pointer)) }
}

/// Stores a handle of the keyspace `name` in `*keyspace`. It may outlive the database.
///
/// Errors: `NOT_FOUND` if there is no such keyspace; `INVALID_ARGUMENT` if the name does not have 1
/// to 255 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_open(
    db: *mut cairndb_db,
    name: *const c_char,
    keyspace: *mut *mut cairndb_keyspace,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string, and the address of a handle.
    unsafe { store(db, name, keyspace, |db, name| db.0.keyspace(name)) }
}

/// Creates the keyspace `name`, durably, and stores its handle in `*keyspace`. NULL options stand
/// for the defaults.
///
/// Errors: `INVALID_ARGUMENT` if the name does not have 1 to 255 bytes or the keyspace exists, or
/// if its comparator or merge operator is not registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_create(
    db: *mut cairndb_db,
    name: *const c_char,
    options: *const cairndb_keyspace_options,
    keyspace: *mut *mut cairndb_keyspace,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { options.as_ref() };
    let create = |db: &Database, name: &str| {
        let options = options.map_or_else(|| Ok(KeyspaceOptions::new()), |given| given.0.read());
        db.0.create_keyspace(name, &options?)
    };
    // SAFETY: the header requires a string, and the address of a handle.
    unsafe { store(db, name, keyspace, create) }
}

/// Drops the keyspace `name` with all its entries, durably, and frees the space in the background.
/// Calls with its handles, and batches that write to it, then fail with `CLOSED`, also if the name
/// exists again. Iterators go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_drop(
    db: *mut cairndb_db,
    name: *const c_char,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let name = unsafe { text(name, "the keyspace's name") };
    with(db, |db| db.drop_keyspace(name?))
}

/// Calls `take` with the name of each keyspace, in order. The string lives during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_list(
    db: *const cairndb_db,
    state: *mut c_void,
    take: Option<unsafe extern "C" fn(state: *mut c_void, name: *const c_char)>,
) -> *mut cairndb_error {
    let names = with_shared(Handle::of(db), |db: &Database| Ok(db.0.keyspaces()));
    outcome(names.map(|names| {
        for name in names {
            let name = c_string(&name);
            if let Some(take) = take {
                // SAFETY: the caller passed the function for this state.
                unsafe { take(state, name.as_ptr()) };
            }
        }
    }))
}

/// Closes a handle of a keyspace, also after its database was closed.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_keyspace_close(keyspace: *mut cairndb_keyspace) -> *mut cairndb_error {
    outcome(destroy::<KeyspaceOf>(Handle::of(keyspace)))
}

/// Like `cairndb_put`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_put(
    keyspace: *mut cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let value = unsafe { bytes(value, value_len) };
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| {
        keys.put_with(key?, value?, &write_options(durability)?)
    })
}

/// Like `cairndb_delete`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_delete(
    keyspace: *mut cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| {
        keys.delete_with(key?, &write_options(durability)?)
    })
}

/// Like `cairndb_delete_range`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_delete_range(
    keyspace: *mut cairndb_keyspace,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| {
        keys.delete_range_with(range?, &write_options(durability)?)
    })
}

/// Like `cairndb_delete_prefix`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_delete_prefix(
    keyspace: *mut cairndb_keyspace,
    prefix: *const c_char,
    prefix_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let prefix = unsafe { bytes(prefix, prefix_len) };
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| keys.delete_prefix(prefix?))
}

/// Like `cairndb_merge`, in a keyspace, with its merge operator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_merge(
    keyspace: *mut cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let operand = unsafe { bytes(operand, operand_len) };
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| {
        keys.merge_with(key?, operand?, &write_options(durability)?)
    })
}

/// Like `cairndb_get`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_get(
    keyspace: *const cairndb_keyspace,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    value: *mut *mut cairndb_value,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes, and the address of a value.
    unsafe { Source::<KeyspaceOf>::new(keyspace, snapshot).get(key, key_len, value) }
}

/// Like `cairndb_get_into`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_get_into(
    keyspace: *const cairndb_keyspace,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    buffer: *mut c_char,
    capacity: usize,
    value_len: *mut usize,
    found: *mut bool,
) -> *mut cairndb_error {
    let source = Source::<KeyspaceOf>::new(keyspace, snapshot);
    // SAFETY: the header requires the same.
    unsafe { source.get_into((key, key_len), (buffer, capacity), value_len, found) }
}

/// Like `cairndb_contains`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_contains(
    keyspace: *const cairndb_keyspace,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    found: *mut bool,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes, and the address of a truth value.
    unsafe { Source::<KeyspaceOf>::new(keyspace, snapshot).contains(key, key_len, found) }
}

/// Like `cairndb_multi_get`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_multi_get(
    keyspace: *const cairndb_keyspace,
    snapshot: *const cairndb_snapshot,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut cairndb_value,
    errors: *mut *mut cairndb_error,
) -> *mut cairndb_error {
    let source = Source::<KeyspaceOf>::new(keyspace, snapshot);
    // SAFETY: the header requires the same.
    unsafe { source.multi_get(count, (keys, key_lens), values, errors) }
}

/// Like `cairndb_iter_create_with`, over the keys of a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_keyspace_iter_create(
    keyspace: *mut cairndb_keyspace,
    options: *const cairndb_iter_options,
    iter: *mut *mut cairndb_iter,
) -> *mut cairndb_error {
    // SAFETY: the header requires live options, and the address of a handle.
    unsafe { create_with::<KeyspaceOf>(Handle::of(keyspace), options, iter) }
}

/// Adds a write to a batch.
fn add(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    add: impl FnOnce(&mut Batch, &Keyspace) -> Result<()>,
) -> *mut cairndb_error {
    with_keys::<KeyspaceOf>(Handle::of(keyspace), |keys| {
        with_exclusive(Handle::of(batch), |_, batch: &mut Batch| add(batch, keys))
    })
}

/// Adds a put in a keyspace. `cairndb_write` writes to all keyspaces of a batch, or to none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_put_in(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let value = unsafe { bytes(value, value_len) };
    add(batch, keyspace, |batch, keys| {
        batch.0.put_in(keys, key?, value?);
        Ok(())
    })
}

/// Adds a deletion in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete_in(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    add(batch, keyspace, |batch, keys| {
        batch.0.delete_in(keys, key?);
        Ok(())
    })
}

/// Like `cairndb_batch_delete_range`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete_range_in(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    add(batch, keyspace, |batch, keys| {
        batch.0.delete_range_in(keys, range?);
        Ok(())
    })
}

/// Like `cairndb_batch_delete_prefix`, in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete_prefix_in(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    prefix: *const c_char,
    prefix_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let prefix = unsafe { bytes(prefix, prefix_len) };
    add(batch, keyspace, |batch, keys| {
        batch.0.delete_prefix_in(keys, prefix?);
        Ok(())
    })
}

/// Adds a merge operand in a keyspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_merge_in(
    batch: *mut cairndb_batch,
    keyspace: *const cairndb_keyspace,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let operand = unsafe { bytes(operand, operand_len) };
    add(batch, keyspace, |batch, keys| {
        batch.0.merge_in(keys, key?, operand?);
        Ok(())
    })
}
