//! Eight threads on one handle: writes, reads, batches, snapshots, iterators, properties, and a
//! close in the middle of every other round.
//!
//! Each thread writes keys of its own and reads everybody's. Before the close every call succeeds
//! and a thread finds what it has written; afterwards every call returns the defined error. Under a
//! sanitizer (`xtask/check.sh tsan`) the rounds also reveal data races of the table of handles.
//! `CAIRN_ROUNDS` sets their number, 6 by default.

#![expect(
    unsafe_code,
    reason = "the functions under test take what a C program passes: addresses and lengths"
)]

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_capi::face::error::{cairndb_error_destroy, cairndb_last_error};
use cairndb_capi::leveldb::batch::{
    leveldb_writebatch_create, leveldb_writebatch_delete, leveldb_writebatch_destroy,
    leveldb_writebatch_put,
};
use cairndb_capi::leveldb::database::{
    leveldb_close, leveldb_get, leveldb_open, leveldb_property_value, leveldb_put, leveldb_write,
};
use cairndb_capi::leveldb::iterator::{
    leveldb_create_iterator, leveldb_iter_destroy, leveldb_iter_get_error, leveldb_iter_key,
    leveldb_iter_next, leveldb_iter_seek, leveldb_iter_valid, leveldb_iter_value,
};
use cairndb_capi::leveldb::leveldb_t;
use cairndb_capi::leveldb::objects::leveldb_free;
use cairndb_capi::leveldb::options::{
    leveldb_options_create, leveldb_options_destroy, leveldb_options_set_create_if_missing,
    leveldb_options_set_write_buffer_size, leveldb_readoptions_create, leveldb_readoptions_destroy,
    leveldb_readoptions_set_snapshot,
};
use cairndb_capi::leveldb::snapshot::{leveldb_create_snapshot, leveldb_release_snapshot};

const THREADS: u8 = 8;
const STEPS: u64 = 400;

/// The handle, which all threads use.
#[derive(Clone, Copy)]
struct Shared(*mut leveldb_t);

// SAFETY: the handle is a number, and the header allows all threads to use it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// One round: a database that eight threads use.
struct Round {
    db: Shared,
    /// Set before the database is closed: from then on, and only then, calls may fail.
    closing: AtomicBool,
    refused: AtomicU64,
}

impl Round {
    /// Notes an error of a call, which must be due to the close; frees its text.
    fn check(&self, error: *mut c_char) {
        if !error.is_null() {
            assert!(
                self.closing.load(Ordering::SeqCst),
                "an error before the close"
            );
            self.refused.fetch_add(1, Ordering::Relaxed);
            // SAFETY: a text of the library, which nothing else refers to.
            unsafe { leveldb_free(error.cast()) };
        }
    }

    /// Same for a call without a place for its error. Returns whether there was one.
    fn check_last(&self) -> bool {
        let error = cairndb_last_error();
        if error.is_null() {
            return false;
        }
        assert!(
            self.closing.load(Ordering::SeqCst),
            "an error before the close"
        );
        // SAFETY: nothing else refers to the error.
        unsafe { cairndb_error_destroy(error) };
        true
    }

    fn put(&self, key: &str, value: &str) {
        let mut error = null_mut();
        let (key, len) = (key.as_ptr().cast(), key.len());
        // SAFETY: the addresses and lengths are those of strings.
        unsafe {
            leveldb_put(
                self.db.0,
                null(),
                key,
                len,
                value.as_ptr().cast(),
                value.len(),
                &raw mut error,
            );
        }
        self.check(error);
    }

    /// Returns the value of `key`, and `None` without one or after the close.
    fn get(&self, options: *const Options, key: &str) -> Option<String> {
        let (mut error, mut len) = (null_mut(), 0);
        // SAFETY: the address and length are those of a string; the options are live.
        let value = unsafe {
            leveldb_get(
                self.db.0,
                options,
                key.as_ptr().cast(),
                key.len(),
                &raw mut len,
                &raw mut error,
            )
        };
        self.check(error);
        if value.is_null() {
            return None;
        }
        // SAFETY: the library returned this many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), len) }.to_vec();
        // SAFETY: nothing else refers to the value.
        unsafe { leveldb_free(value.cast()) };
        Some(String::from_utf8(bytes).expect("values are text"))
    }

    /// Adds one key and removes another, atomically.
    fn write(&self, added: &str, removed: &str) {
        let batch = leveldb_writebatch_create();
        let mut error = null_mut();
        let (address, len) = (added.as_ptr().cast(), added.len());
        // SAFETY: the addresses and lengths are those of a string; the batch is a handle.
        unsafe { leveldb_writebatch_put(batch, address, len, address, len) };
        // SAFETY: as above.
        unsafe { leveldb_writebatch_delete(batch, removed.as_ptr().cast(), removed.len()) };
        // SAFETY: handles, and the address of NULL.
        unsafe { leveldb_write(self.db.0, null(), batch, &raw mut error) };
        self.check(error);
        leveldb_writebatch_destroy(batch);
    }

    /// Reads a key through a snapshot, then overwrites it: the snapshot keeps the old value.
    fn read_past(&self, key: &str, step: u64) {
        self.put(key, "before");
        let snapshot = leveldb_create_snapshot(self.db.0);
        if self.check_last() {
            return;
        }
        let options = leveldb_readoptions_create();
        // SAFETY: live options, and a handle.
        unsafe { leveldb_readoptions_set_snapshot(options, snapshot) };
        self.put(key, &step.to_string());
        let found = self.get(options, key);
        assert!(
            found.is_none_or(|found| found == "before"),
            "a snapshot has changed"
        );
        // SAFETY: nothing else refers to the options.
        unsafe { leveldb_readoptions_destroy(options) };
        leveldb_release_snapshot(self.db.0, snapshot);
        self.check_last();
    }

    /// Reads up to 20 entries: keys rise, and every value is whole.
    fn scan(&self, from: &str) {
        // SAFETY: NULL stands for the defaults.
        let iter = unsafe { leveldb_create_iterator(self.db.0, null()) };
        if self.check_last() {
            return;
        }
        // SAFETY: the address and length are those of a string.
        unsafe { leveldb_iter_seek(iter, from.as_ptr().cast(), from.len()) };
        let mut last = String::new();
        for _ in 0..20 {
            self.check_last();
            if leveldb_iter_valid(iter) == 0 {
                break;
            }
            let (mut key_len, mut value_len) = (0, 0);
            // SAFETY: the addresses of lengths.
            let key = unsafe { leveldb_iter_key(iter, &raw mut key_len) };
            // SAFETY: as above.
            let value = unsafe { leveldb_iter_value(iter, &raw mut value_len) };
            assert!(!key.is_null() && !value.is_null(), "an entry without bytes");
            // SAFETY: the iterator has not moved since.
            let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), key_len) };
            let key = String::from_utf8(key.to_vec()).expect("keys are text");
            assert!(last < key, "{last} before {key}");
            last = key;
            leveldb_iter_next(iter);
        }
        let mut error = null_mut();
        // SAFETY: the address of NULL.
        unsafe { leveldb_iter_get_error(iter, &raw mut error) };
        self.check(error);
        leveldb_iter_destroy(iter);
        self.check_last();
    }

    fn property(&self) {
        // SAFETY: a string that ends with a NUL byte.
        let text = unsafe { leveldb_property_value(self.db.0, c"cairndb.stats".as_ptr()) };
        self.check_last();
        // SAFETY: NULL, or a text that nothing else refers to.
        unsafe { leveldb_free(text.cast()) };
    }

    fn work(&self, thread: u8) {
        for step in 0..STEPS {
            let key = format!("{thread}.{:04}", step % 100);
            match step % 8 {
                0..=2 => {
                    self.put(&key, &key);
                    let found = self.get(null(), &key);
                    let closing = self.closing.load(Ordering::SeqCst);
                    assert!(
                        closing || found.as_deref() == Some(&key),
                        "{key}: {found:?}"
                    );
                }
                3 => self.write(&key, &format!("{thread}.{:04}", (step + 50) % 100)),
                4 => self.read_past(&key, step),
                5 => self.scan(&format!("{}.", (thread + 1) % THREADS)),
                6 => drop(self.get(
                    null(),
                    &format!("{}.{:04}", step % u64::from(THREADS), step % 100),
                )),
                _ => self.property(),
            }
        }
    }
}

type Options = cairndb_capi::leveldb::options::leveldb_readoptions_t;

fn open(path: &Path) -> Shared {
    let name = CString::new(path.as_os_str().as_bytes()).expect("a path without NUL");
    let options = leveldb_options_create();
    let mut error = null_mut();
    // SAFETY: live options.
    unsafe { leveldb_options_set_create_if_missing(options, 1) };
    // SAFETY: as above.
    unsafe { leveldb_options_set_write_buffer_size(options, 1 << 16) };
    // SAFETY: live options, a string, the address of NULL.
    let db = unsafe { leveldb_open(options, name.as_ptr(), &raw mut error) };
    assert!(error.is_null() && !db.is_null(), "the open failed");
    // SAFETY: nothing else refers to the options.
    unsafe { leveldb_options_destroy(options) };
    Shared(db)
}

#[test]
fn eight_threads_share_a_handle_until_it_is_closed() {
    let rounds = std::env::var("CAIRN_ROUNDS").ok();
    let rounds: u64 = rounds.map_or(6, |text| text.parse().expect("a number"));
    let home = tempfile::tempdir().expect("a directory");
    for number in 0..rounds {
        let closes = number % 2 == 0;
        let round = Round {
            db: open(&home.path().join("shared")),
            closing: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        };
        let halfway = Barrier::new(usize::from(THREADS) + 1);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (round, halfway) = (&round, &halfway);
                scope.spawn(move || {
                    round.work(thread);
                    halfway.wait();
                    round.work(thread);
                    // On a busy machine the close may come later.
                    while closes && round.refused.load(Ordering::Relaxed) == 0 {
                        round.work(thread);
                    }
                });
            }
            halfway.wait();
            if closes {
                round.closing.store(true, Ordering::SeqCst);
                leveldb_close(round.db.0);
            }
        });
        if !closes {
            assert_eq!(round.refused.into_inner(), 0);
            leveldb_close(round.db.0);
        }
        // The next round opens the same directory: the close has released it.
        assert!(cairndb_last_error().is_null(), "an error of another call");
    }
}
