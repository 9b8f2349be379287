//! What the C interface costs: the same calls through it and in Rust, in one process, in turn.
//!
//! ```text
//! PREFIX=/tmp/cairndb clients/capi/install.sh
//! CAIRNDB_LIBRARY=/tmp/cairndb/lib/libcairndb.so cargo bench --package cairndb-capi
//! ```
//!
//! The shared library is loaded, as programs do, so nothing is inlined across the boundary. Both
//! sides have a database of their own, with the same entries. Each figure is the smallest over the
//! rounds, because other work on the machine only adds. Exits with 1 if a difference is above its
//! limit.

#![expect(unsafe_code, reason = "foreign functions, looked up by name")]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::ffi::{CString, c_char, c_void};
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::ptr::{null, null_mut};
use std::time::Instant;

use cairndb::Db;
use libloading::os::unix::{Library, Symbol};

const ENTRIES: u64 = 100_000;
const ROUNDS: usize = 21;

type Pointer = *mut c_void;

/// The functions of the library that are measured.
struct Functions {
    put: Symbol<
        unsafe extern "C" fn(
            Pointer,
            Pointer,
            *const u8,
            usize,
            *const u8,
            usize,
            *mut *mut c_char,
        ),
    >,
    get: Symbol<
        unsafe extern "C" fn(
            Pointer,
            Pointer,
            *const u8,
            usize,
            *mut usize,
            *mut *mut c_char,
        ) -> *mut u8,
    >,
    get_into: Symbol<
        unsafe extern "C" fn(
            Pointer,
            Pointer,
            *const u8,
            usize,
            *mut u8,
            usize,
            *mut usize,
            *mut bool,
        ) -> Pointer,
    >,
    free: Symbol<unsafe extern "C" fn(Pointer)>,
    first: Symbol<unsafe extern "C" fn(Pointer)>,
    next: Symbol<unsafe extern "C" fn(Pointer)>,
    valid: Symbol<unsafe extern "C" fn(Pointer) -> u8>,
    key: Symbol<unsafe extern "C" fn(Pointer, *mut usize) -> *const u8>,
    value: Symbol<unsafe extern "C" fn(Pointer, *mut usize) -> *const u8>,
}

fn symbol<T>(library: &Library, name: &str) -> Symbol<T> {
    // SAFETY: the types above are those of the headers.
    unsafe { library.get(name) }.expect("the library has the function")
}

/// The installed library, or the one that `CAIRNDB_LIBRARY` names. The one that this benchmark's
/// build leaves is not optimised across crates.
fn library() -> Library {
    let path = std::env::var_os("CAIRNDB_LIBRARY");
    let path = path.map_or_else(|| PathBuf::from("libcairndb.so.0"), PathBuf::from);
    println!("{}", path.display());
    // SAFETY: the library's initialisers are those of Rust's standard library.
    unsafe { Library::new(path) }.expect("the library is installed: clients/capi/install.sh")
}

fn key_of(n: u64) -> [u8; 16] {
    let mut key = *b"0000000000000000";
    let digits = n.to_string();
    let start = 16 - digits.len();
    key[start..].copy_from_slice(digits.as_bytes());
    key
}

/// A value as LevelDB's benchmark has it: half of its bytes are random, the other half repeats
/// them.
fn value_of(n: u64) -> [u8; 100] {
    let mut value = [0; 100];
    let mut state = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for at in 0..50 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [byte, ..] = state.to_le_bytes();
        value[at] = byte;
        value[at + 50] = byte;
    }
    value
}

/// Nanoseconds of one call, of `calls`.
fn time(calls: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for n in 0..calls {
        call(n);
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let each = start.elapsed().as_nanos() as f64 / calls as f64;
    each
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Prints one comparison; returns whether the difference is within the limit.
fn compare(
    name: &str,
    limit: f64,
    mut rust: impl FnMut() -> f64,
    mut c: impl FnMut() -> f64,
) -> bool {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (in_rust, in_c) = (rust(), c());
        // The first round warms up.
        if round > 0 {
            ours.push(in_rust);
            theirs.push(in_c);
        }
    }
    let (ours, theirs) = (smallest(&ours), smallest(&theirs));
    let more = theirs - ours;
    println!("{name:<28} Rust {ours:7.1} ns   C {theirs:7.1} ns   {more:+6.1} ns (limit {limit})");
    more <= limit
}

fn random(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % ENTRIES
}

fn main() -> ExitCode {
    let library = library();
    let f = Functions {
        put: symbol(&library, "leveldb_put"),
        get: symbol(&library, "leveldb_get"),
        get_into: symbol(&library, "cairndb_get_into"),
        free: symbol(&library, "leveldb_free"),
        first: symbol(&library, "leveldb_iter_seek_to_first"),
        next: symbol(&library, "leveldb_iter_next"),
        valid: symbol(&library, "leveldb_iter_valid"),
        key: symbol(&library, "leveldb_iter_key"),
        value: symbol(&library, "leveldb_iter_value"),
    };
    let home = tempfile::tempdir().expect("a directory");
    let options = cairndb::Options::new().create_if_missing(true);
    let rust = options
        .memory_budget(12 << 20)
        .open(home.path().join("rust"))
        .expect("opens");
    let c = open(&library, &home.path().join("c"));
    let values: Vec<[u8; 100]> = (0..=ENTRIES).map(value_of).collect();
    let puts = puts_compare(&f, &rust, c, &values);
    rust.compact_range(..).expect("compacts");
    // SAFETY: the database is open; NULL stands for the whole range.
    unsafe { compact(&library, c) };
    let reads = reads_compare(&f, &rust, c);
    let steps = steps_compare(&f, &library, &rust, c);
    // SAFETY: the database is open and not used any more.
    unsafe { symbol::<unsafe extern "C" fn(Pointer)>(&library, "leveldb_close")(c) };
    if puts && reads && steps {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn open(library: &Library, path: &std::path::Path) -> Pointer {
    let create: Symbol<unsafe extern "C" fn() -> Pointer> =
        symbol(library, "leveldb_options_create");
    let set: Symbol<unsafe extern "C" fn(Pointer, u8)> =
        symbol(library, "leveldb_options_set_create_if_missing");
    let open: Symbol<unsafe extern "C" fn(Pointer, *const c_char, *mut *mut c_char) -> Pointer> =
        symbol(library, "leveldb_open");
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
    // SAFETY: takes nothing.
    let options = unsafe { create() };
    // SAFETY: the options are live.
    unsafe { set(options, 1) };
    let mut error = null_mut();
    // SAFETY: options and path are live; there is no earlier error.
    let db = unsafe { open(options, path.as_ptr(), &raw mut error) };
    assert!(error.is_null() && !db.is_null(), "the database opens");
    db
}

/// # Safety
/// The database must be open.
unsafe fn compact(library: &Library, db: Pointer) {
    type Compact = unsafe extern "C" fn(Pointer, *const u8, usize, *const u8, usize);
    let compact: Symbol<Compact> = symbol(library, "leveldb_compact_range");
    // SAFETY: guaranteed by the caller.
    unsafe { compact(db, null(), 0, null(), 0) };
}

fn puts_compare(f: &Functions, rust: &Db, c: Pointer, values: &[[u8; 100]]) -> bool {
    let mut next = values.iter().cycle();
    let mut next_in_c = values.iter().cycle();
    compare(
        "put, random, 16 + 100 bytes",
        30.0,
        || {
            time(ENTRIES, |n| {
                let value = next.next().expect("endless");
                rust.put(&key_of(random(n)), value).expect("a put");
            })
        },
        || {
            time(ENTRIES, |n| {
                let (key, mut error) = (key_of(random(n)), null_mut());
                let value = next_in_c.next().expect("endless");
                // SAFETY: the database is open; lengths are those of the arrays.
                unsafe {
                    (f.put)(
                        c,
                        null_mut(),
                        key.as_ptr(),
                        16,
                        value.as_ptr(),
                        100,
                        &raw mut error,
                    );
                }
                assert!(error.is_null());
            })
        },
    )
}

fn reads_compare(f: &Functions, rust: &Db, c: Pointer) -> bool {
    let mut out = Vec::new();
    let mut into_vector = || {
        time(ENTRIES, |n| {
            assert!(rust.get_into(&key_of(random(n)), &mut out).expect("a get"));
            black_box(&out);
        })
    };
    let plain = compare("get, with free", 40.0, &mut into_vector, || {
        time(ENTRIES, |n| {
            let (key, mut len, mut error) = (key_of(random(n)), 0, null_mut());
            let (len_at, error_at) = (&raw mut len, &raw mut error);
            // SAFETY: the database is open; the length is the array's.
            let found = unsafe { (f.get)(c, null_mut(), key.as_ptr(), 16, len_at, error_at) };
            assert!(!black_box(found).is_null() && len == 100);
            // SAFETY: the library returned it.
            unsafe { (f.free)(found.cast()) };
        })
    });
    let mut buffer = [0_u8; 200];
    let into = compare("get into a buffer", 40.0, &mut into_vector, || {
        time(ENTRIES, |n| {
            let (key, mut len, mut found) = (key_of(random(n)), 0, false);
            let (len_at, found_at) = (&raw mut len, &raw mut found);
            let to = buffer.as_mut_ptr();
            // SAFETY: the database is open; the buffer has 200 bytes.
            let error =
                unsafe { (f.get_into)(c, null_mut(), key.as_ptr(), 16, to, 200, len_at, found_at) };
            assert!(error.is_null() && found && len == 100);
        })
    });
    plain && into
}

fn steps_compare(f: &Functions, library: &Library, rust: &Db, c: Pointer) -> bool {
    let create: Symbol<unsafe extern "C" fn(Pointer, Pointer) -> Pointer> =
        symbol(library, "leveldb_create_iterator");
    let destroy: Symbol<unsafe extern "C" fn(Pointer)> = symbol(library, "leveldb_iter_destroy");
    let mut cursor = rust.cursor();
    // SAFETY: the database is open.
    let iter = unsafe { create(c, null_mut()) };
    let within = compare(
        "step, with key and value",
        10.0,
        || {
            cursor.seek_to_first().expect("a seek");
            time(ENTRIES / 2, |_| {
                black_box((cursor.key(), cursor.value()));
                cursor.next().expect("a step");
            })
        },
        || {
            // SAFETY: the iterator is live.
            unsafe { (f.first)(iter) };
            time(ENTRIES / 2, |_| {
                let (mut key_len, mut value_len) = (0, 0);
                // SAFETY: the iterator is live.
                black_box(unsafe { (f.key)(iter, &raw mut key_len) });
                // SAFETY: as above.
                black_box(unsafe { (f.value)(iter, &raw mut value_len) });
                // SAFETY: as above.
                unsafe { (f.next)(iter) };
                black_box((key_len, value_len));
            })
        },
    );
    // Beside a loop without a call: all that the function does is check the handle.
    let mut valid = 0;
    let checked = compare(
        "call, and check of a handle",
        5.0,
        || {
            time(ENTRIES, |n| {
                black_box(n);
            })
        },
        || {
            time(ENTRIES, |_| {
                // SAFETY: the iterator is live.
                valid += u64::from(unsafe { (f.valid)(iter) });
            })
        },
    );
    assert!(
        valid > 0 && valid.is_multiple_of(ENTRIES),
        "half of the entries are left"
    );
    // SAFETY: the iterator is live and not used any more.
    unsafe { destroy(iter) };
    within && checked
}
