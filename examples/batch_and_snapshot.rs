//! Atomic batches and snapshot reads: `cargo run --example batch_and_snapshot`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Options, Snapshot, WriteBatch};

/// Returns the balance of an account, 0 if it does not exist.
fn balance(snapshot: &Snapshot, account: &[u8]) -> cairndb::Result<u64> {
    let value = snapshot.get(account)?;
    Ok(value.map_or(0, |bytes| {
        let digits = String::from_utf8_lossy(&bytes);
        digits.parse().expect("balances are stored as digits")
    }))
}

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-batch-{}", std::process::id()));
    let db = Db::open(&path)?;
    db.put(b"ada", b"100")?;
    db.put(b"ben", b"20")?;

    // A snapshot shows the database as it is now, for as long as it lives.
    let before = db.snapshot();

    // Both writes or neither, even if the process dies or the power fails.
    let mut transfer = WriteBatch::new();
    transfer.put(b"ada", b"70");
    transfer.put(b"ben", b"50");
    db.write(&transfer)?;

    let after = db.snapshot();
    for (name, snapshot) in [("before", &before), ("after", &after)] {
        let (ada, ben) = (balance(snapshot, b"ada")?, balance(snapshot, b"ben")?);
        println!("{name}: ada {ada}, ben {ben}");
        assert_eq!(ada + ben, 120, "no snapshot shows half a transfer");
    }

    drop((before, after));
    db.close()?;
    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
