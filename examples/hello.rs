//! Open, put, get, delete, close: `cargo run --example hello`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Options};

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-hello-{}", std::process::id()));

    // Creates the database if it is missing. A `Db` is a handle: clone it and use it from any
    // thread.
    let db = Db::open(&path)?;
    db.put(b"chalk", b"soft")?;
    db.put(b"granite", b"hard")?;

    // A value dereferences to bytes. An absent key is `None`, not an error.
    if let Some(value) = db.get(b"granite")? {
        println!("granite is {}", String::from_utf8_lossy(&value));
    }
    assert!(db.get(b"basalt")?.is_none());

    // Reads into your own buffer, which avoids an allocation for each call.
    let mut buffer = Vec::new();
    assert!(db.get_into(b"chalk", &mut buffer)?);
    assert_eq!(buffer, b"soft");

    db.delete(b"chalk")?;
    assert!(db.get(b"chalk")?.is_none());

    // Closing returns errors. Dropping the last handle closes as well, but discards them.
    db.close()?;

    // The next open finds what was written.
    let db = Db::open(&path)?;
    assert_eq!(db.get(b"granite")?.as_deref(), Some(&b"hard"[..]));
    db.close()?;

    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
