//! Ordered iteration: iterators, ranges, prefixes, and cursors in both directions:
//! `cargo run --example scan`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Options, WriteBatch};

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-scan-{}", std::process::id()));
    let db = Db::open(&path)?;

    // Years of four digits sort like the numbers they encode.
    let mut batch = WriteBatch::new();
    for year in 1990u32..2000 {
        let key = [b"year/".as_slice(), year.to_string().as_bytes()].concat();
        batch.put(&key, format!("rings of {year}").as_bytes());
    }
    batch.put(b"zone/north", b"slow growth");
    db.write(&batch)?;

    // An iterator is owned and sees one consistent state, like a snapshot.
    assert_eq!(db.iter().try_count()?, 11);
    assert_eq!(db.prefix(b"year/").try_count()?, 10);

    // Iterators work in both directions; this one starts at the end of the range.
    for entry in db.range(b"year/1993"..b"year/1996").rev() {
        let (key, value) = entry?;
        println!(
            "{}: {}",
            String::from_utf8_lossy(&key),
            String::from_utf8_lossy(&value)
        );
    }

    // A cursor borrows its key and value, which avoids an allocation for each step.
    let mut cursor = db.cursor();
    cursor.seek(b"year/1995")?;
    let mut years = 0;
    while cursor.valid() && cursor.key().starts_with(b"year/") {
        assert!(cursor.value().starts_with(b"rings of "));
        years += 1;
        cursor.next()?;
    }
    assert_eq!(years, 5);

    // The cursor is now on the first key after the years. One step back is the last year.
    cursor.prev()?;
    assert_eq!(cursor.key(), b"year/1999");

    drop(cursor);
    db.close()?;
    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
