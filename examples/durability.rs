//! The three levels of durability, and the report of an opening: `cargo run --example durability`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Durability, Options, WriteBatch, WriteOptions};

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-durability-{}", std::process::id()));

    // The level of writes that do not name their own. `Os` is the default.
    let db = Options::new()
        .create_if_missing(true)
        .durability(Durability::Os)
        .open(&path)?;
    assert!(db.open_report().created);

    // `Os`: survives the death of this process.
    db.put(b"reading", b"21.5")?;

    // `Sync`: survives a power loss, and so does every logged write before it.
    let mut order = WriteBatch::new();
    order.put(b"order/7", b"two stones");
    db.write_with(&order, &WriteOptions::new().durability(Durability::Sync))?;

    // `None`: not logged, for data that can be regenerated. `flush` makes it durable as well.
    let mut index = WriteBatch::new();
    index.put(b"index/stones", b"7");
    db.write_with(&index, &WriteOptions::new().durability(Durability::None))?;
    db.flush()?;

    // Whether or not the database was closed, the next opening reports what it found.
    db.close()?;
    let db = Db::open(&path)?;
    let report = db.open_report();
    println!(
        "clean: {}, replayed: {} records",
        report.clean, report.replayed_records
    );
    assert!(report.clean && report.log_cut.is_none());
    assert_eq!(db.iter().try_count()?, 3);

    db.close()?;
    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
