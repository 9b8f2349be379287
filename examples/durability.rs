//! The three durability levels, and the open report: `cargo run --example durability`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Durability, Options, WriteBatch, WriteOptions};

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-durability-{}", std::process::id()));

    // The default level, for writes that do not set their own. Without this call it is `Os`.
    let db = Options::new()
        .create_if_missing(true)
        .durability(Durability::Os)
        .open(&path)?;
    assert!(db.open_report().created);

    // `Os`: survives a crash of this process.
    db.put(b"reading", b"21.5")?;

    // `Sync`: survives a power loss, and so does every logged write before it.
    let mut order = WriteBatch::new();
    order.put(b"order/7", b"two stones");
    db.write_with(&order, &WriteOptions::new().durability(Durability::Sync))?;

    // `None`: not logged, for data that can be regenerated. `flush` makes it durable.
    let mut index = WriteBatch::new();
    index.put(b"index/stones", b"7");
    db.write_with(&index, &WriteOptions::new().durability(Durability::None))?;
    db.flush()?;

    // The next open reports what it found, whether or not the database was closed.
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
